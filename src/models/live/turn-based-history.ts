import type { Content, FunctionCall, FunctionResponse } from '@google/genai';
import { PENDING_RESPONSE } from '../../adk/history.ts';
import { callsIn, newCallId } from '../function-calls.ts';

/** A call, with its response once there is one. */
interface Slot {
  call: FunctionCall;
  response?: Record<string, unknown>;
}

/** A content, with the calls in it. */
interface Entry {
  content: Content;
  slots: Slot[];
  /** Whether the model no longer waits for the calls of this entry. A response to one of them is then `late`. */
  isPast: boolean;
}

/**
 * What to do after a response to a call. `due`: all calls of the same content have responses, so call the model. `waiting`: other calls of that content
 * have no response yet. `settled`: do nothing. `late`: give the model the response as a text.
 */
export type Answered =
  | { kind: 'due' | 'waiting' | 'settled' }
  | { kind: 'late'; args: Record<string, unknown> };

/**
 * The history that a model without live API gets in a live conversation. Every call is directly followed by its response, even if the response came
 * later, or by a placeholder.
 */
export class LiveConversation {
  private readonly entries: Entry[] = [];
  private readonly ids = new Set<string>();

  /** Whether the model waits for responses to the calls of the newest content. */
  get isWaiting(): boolean {
    const last = this.entries.at(-1);
    return last !== undefined && !last.isPast && last.slots.some(isOpen);
  }

  /** Adds the history from before this live run. */
  addHistory(contents: readonly Content[]): void {
    for (const content of contents) {
      const responses = (content.parts ?? []).flatMap((part) => part.functionResponse ?? []);
      if (responses.length === 0) this.add(content, true);
      else this.fillIn(responses);
    }
  }

  /** Adds a message of the user, or a notice. */
  addUser(content: Content): void {
    this.add({ role: 'user', ...content }, true);
  }

  /** Adds a content of the model. Each of its calls gets a unique id that ADK does not remove. */
  addModel(content: Content): void {
    for (const call of callsIn(content)) {
      if (!call.id || call.id.startsWith('adk-') || this.ids.has(call.id)) call.id = newCallId();
    }
    this.add(content, false);
  }

  /** Stops waiting for responses to the open calls. Responses that arrive after this are `late`. */
  moveOn(): void {
    const last = this.entries.at(-1);
    if (last) last.isPast = true;
  }

  answer(response: FunctionResponse): Answered {
    const found = this.find(response);
    const given = response.response ?? {};
    const isInterrupted = given.interrupted === true;
    if (!found) return isInterrupted ? { kind: 'settled' } : { kind: 'late', args: {} };
    const { entry, slot } = found;
    if (slot.response) return { kind: 'settled' };
    slot.response = given;
    if (isInterrupted) return { kind: 'settled' };
    if (entry.isPast || entry !== this.entries.at(-1)) return { kind: 'late', args: slot.call.args ?? {} };
    if (entry.slots.some(isOpen)) return { kind: 'waiting' };
    return { kind: entry.slots.some((one) => one.response?.interrupted === true) ? 'settled' : 'due' };
  }

  /** The history for the next call of the model. */
  contents(): Content[] {
    return this.entries.flatMap(({ content, slots }) => {
      const copy = { ...content, parts: (content.parts ?? []).map((part) => ({ ...part })) };
      if (slots.length === 0) return [copy];
      return [copy, { role: 'user', parts: slots.map((slot) => ({ functionResponse: responseOf(slot) })) }];
    });
  }

  private add(content: Content, isPast: boolean): void {
    const slots = callsIn(content).map((call) => ({ call }));
    for (const { call } of slots) {
      if (call.id) this.ids.add(call.id);
    }
    this.entries.push({ content, slots, isPast });
  }

  /** Matches responses of the history with their calls: by id, or by name and order where the calls have no ids. */
  private fillIn(responses: FunctionResponse[]): void {
    const taken = new Set<Slot>();
    const latest = this.entries.findLast((entry) => entry.slots.length > 0)?.slots ?? [];
    for (const response of responses) {
      const slot =
        this.findById(response.id)?.slot ??
        latest.find((one) => one.call.name === response.name && isOpen(one) && !taken.has(one));
      if (!slot) continue;
      taken.add(slot);
      if (response.response && !isPlaceholder(response.response)) slot.response = response.response;
    }
  }

  private find(response: FunctionResponse): { entry: Entry; slot: Slot } | undefined {
    const exact = this.findById(response.id);
    if (exact) return exact;
    // ADK removes its own ids from the history. Such a call is found by its name, the oldest first.
    for (const entry of this.entries) {
      const slot = entry.slots.find(
        (one) =>
          isOpen(one) &&
          one.call.name === response.name &&
          (one.call.id === undefined || response.id === undefined),
      );
      if (slot) return { entry, slot };
    }
    return undefined;
  }

  private findById(id: string | undefined): { entry: Entry; slot: Slot } | undefined {
    if (id === undefined || !this.ids.has(id)) return undefined;
    for (const entry of this.entries) {
      const slot = entry.slots.find((one) => one.call.id === id);
      if (slot) return { entry, slot };
    }
    return undefined;
  }
}

function isOpen(slot: Slot): boolean {
  return slot.response === undefined;
}

function isPlaceholder(response: Record<string, unknown>): boolean {
  return response.status === PENDING_RESPONSE.status && response.note === PENDING_RESPONSE.note;
}

function responseOf({ call, response }: Slot): FunctionResponse {
  return {
    ...(call.id === undefined ? {} : { id: call.id }),
    ...(call.name === undefined ? {} : { name: call.name }),
    response: response ?? { ...PENDING_RESPONSE },
  };
}
