import type { Content, FunctionCall, FunctionResponse } from '@google/genai';
import { PENDING_RESPONSE } from '../../adk/history.ts';
import { CANCELLED } from '../../protocol/index.ts';
import { callsIn } from '../function-calls.ts';
import { noticeOf } from '../prompt-texts.ts';

/**
 * A call of the model. `ids` are its ids in the live session, without those that the model cancelled. A call that the session only read in its history has
 * none.
 */
interface KnownCall {
  /** The id that ADK knows. */
  id: string;
  key: string;
  name: string;
  args: Record<string, unknown>;
  ids: string[];
  /** The number of the message that the call came in. */
  message: number;
  response?: FunctionResponse;
}

/** A call with its id. */
type NamedCall = FunctionCall & { id: string };

/** What to send to the model after calls were answered. */
export interface Answers {
  responses: FunctionResponse[];
  /** Results of calls that the model's session does not know, as text. */
  notices: { text: string; isSilent: boolean }[];
}

/** The largest number of open calls, and of repetitions of one call. `add` throws when a server exceeds it. */
const MAX_OPEN = 128;
/** How many of the newest cancelled ids, and of the newest finished calls, are remembered. */
const MAX_CANCELLED = 1000;
const MAX_KNOWN = 1000;

/**
 * The calls of a live session. A model that forgot a call may repeat it under another id. The repetition runs no tool, and gets the response of the first
 * call. Calls that were made before this connection come from the history.
 */
export class LiveCalls {
  private readonly byId = new Map<string, KnownCall>();
  /** Calls without a response. */
  private readonly open = new Set<KnownCall>();
  /** Calls that were answered since the model last ended its turn. */
  private readonly answered = new Set<KnownCall>();
  private readonly cancelled = new Set<string>();
  /** The calls of the model's current turn. */
  private latest: KnownCall[] = [];
  private message = 0;

  /** Whether a call that the session itself made has no response. */
  get areOpen(): boolean {
    return this.waiting > 0;
  }

  /** The number of open calls that the session itself made, not counting those that it read in its history. */
  private get waiting(): number {
    let count = 0;
    for (const made of this.open) if (made.ids.length > 0) count += 1;
    return count;
  }

  /** Whether an open call keeps the model from answering. Calls of the tools in `nonBlocking` do not. */
  areBlocking(nonBlocking: ReadonlySet<string>): boolean {
    for (const { ids, name } of this.open) if (ids.length > 0 && !nonBlocking.has(name)) return true;
    return false;
  }

  /**
   * Whether the session knows a call only by ids that are not in ADK's history. Only this connection can map such ids, so only it can answer the
   * call.
   */
  get haveOtherIds(): boolean {
    return [...this.byId.values()].some(({ id, ids }) => ids.length > 0 && !ids.includes(id));
  }

  /** Whether a call of the current turn is open. */
  get areLatestOpen(): boolean {
    return this.latest.some((made) => this.open.has(made));
  }

  /** Adds the calls of a history. `isKnown`: the session is resumed, so it made these calls itself. */
  addHistory(history: readonly Content[], isKnown: boolean): void {
    const responses = new Map<string, FunctionResponse>();
    let spokenAt = -1;
    for (const [index, { role, parts = [] }] of history.entries()) {
      for (const { functionResponse: response, text, thought } of parts) {
        if (response?.id && response.response?.status !== PENDING_RESPONSE.status) {
          responses.set(response.id, response);
        }
        if (role === 'model' && text && !thought) spokenAt = index;
      }
    }
    for (const [index, content] of history.entries()) {
      for (const call of callsIn(content)) {
        if (!call.id) continue;
        const response = responses.get(call.id);
        const made = this.remember({ ...call, id: call.id }, isKnown);
        if (!response) continue;
        if (isKnown && response.response?.error === CANCELLED) {
          this.cancel([call.id]);
          continue;
        }
        made.response = response;
        this.open.delete(made);
        // The model has said nothing since it made this call, so it may not have received the response, and may repeat the call.
        if (isKnown && index >= spokenAt) this.answered.add(made);
      }
    }
    this.latest = this.latest.filter((made) => this.open.has(made));
  }

  /**
   * Adds the calls of one message. Returns the new calls, and the responses to repeated calls. Throws when the calls exceed `MAX_OPEN`, or when the
   * id of an open call names a different call.
   */
  add(calls: readonly NamedCall[]): { fresh: FunctionCall[]; responses: FunctionResponse[] } {
    this.message += 1;
    const fresh: FunctionCall[] = [];
    const responses: FunctionResponse[] = [];
    const repeated = new Set<KnownCall>();
    for (const call of calls) {
      const { id } = call;
      if (this.cancelled.has(id)) continue;
      const before = this.sameIdAs(call) ?? this.sameAs(call, repeated);
      if (!before) {
        this.remember(call, true);
        fresh.push(call);
        if (this.waiting > MAX_OPEN) throw new Error(`The live model has more than ${MAX_OPEN} open calls.`);
        continue;
      }
      repeated.add(before);
      this.byId.set(id, before);
      if (!before.ids.includes(id)) before.ids.push(id);
      if (before.ids.length > MAX_OPEN)
        throw new Error(`The live model repeated the call "${call.name}" more than ${MAX_OPEN} times.`);
      if (before.response) responses.push({ ...before.response, id });
    }
    return { fresh, responses };
  }

  /** Records that the model cancelled these ids. Returns the ids that ADK knows, of the calls that have no other id left. */
  cancel(ids: readonly string[]): string[] {
    const unwanted: string[] = [];
    for (const id of ids) {
      this.cancelled.add(id);
      const [oldest] = this.cancelled;
      if (this.cancelled.size > MAX_CANCELLED && oldest !== undefined) this.cancelled.delete(oldest);
      const made = this.byId.get(id);
      if (!made) continue;
      made.ids = made.ids.filter((one) => one !== id);
      if (made.ids.length > 0) continue;
      this.open.delete(made);
      unwanted.push(made.id);
    }
    return unwanted;
  }

  /** Records responses, and returns what to send to the model. `isKnownAll`: the session was resumed, and may know calls that the history no longer has. */
  answer(given: readonly FunctionResponse[], isKnownAll: boolean): Answers {
    const responses: FunctionResponse[] = [];
    const notices: Answers['notices'] = [];
    for (const response of given) {
      const { id = '', name = '', response: given = {} } = response;
      const made = this.byId.get(id);
      if (made) {
        made.response ??= response;
        this.open.delete(made);
        this.answered.add(made);
      }
      if (made && made.ids.length > 0) responses.push(...made.ids.map((one) => ({ ...response, id: one })));
      else if (this.cancelled.has(id)) continue;
      else if (isKnownAll) responses.push(response);
      else {
        const text = noticeOf(name, made?.args ?? {}, given);
        notices.push({ text, isSilent: given.interrupted === true });
      }
    }
    return { responses, notices };
  }

  /** Forgets which calls belong to the current turn. Call it when another turn may start before these calls are answered: they stay open. */
  leaveTurn(): void {
    this.latest = [];
  }

  /** Call it when the model ended its turn. From then on, a call that equals an answered call is a new call. */
  endTurn(): void {
    this.leaveTurn();
    this.answered.clear();
    for (const [id, made] of this.byId) {
      if (this.byId.size <= MAX_KNOWN) return;
      if (!this.open.has(made)) this.byId.delete(id);
    }
  }

  private remember(call: NamedCall, isKnown: boolean): KnownCall {
    const ids = isKnown ? [call.id] : [];
    const { id, name = '', args = {} } = call;
    const made: KnownCall = { id, key: keyOf(call), name, args, ids, message: this.message };
    this.byId.set(call.id, made);
    this.open.add(made);
    if (isKnown) this.latest.push(made);
    return made;
  }

  /** The earlier call with the same id, if the provider sent it again. Throws when the id names two different open calls. */
  private sameIdAs(call: NamedCall): KnownCall | undefined {
    const made = this.byId.get(call.id);
    if (!made?.ids.includes(call.id) || !(this.open.has(made) || this.answered.has(made))) return undefined;
    if (made.key === keyOf(call)) return made;
    if (this.open.has(made)) throw new Error(`The live model gave one id to two calls: ${call.id}.`);
    return undefined;
  }

  private sameAs(call: NamedCall, taken: ReadonlySet<KnownCall>): KnownCall | undefined {
    const key = keyOf(call);
    for (const made of [...this.open, ...this.answered]) {
      if (made.key === key && made.message !== this.message && !taken.has(made)) return made;
    }
    return undefined;
  }
}

/** A key that is equal for calls with the same name and the same arguments, in any order. */
function keyOf({ name = '', args = {} }: FunctionCall): string {
  return `${name} ${JSON.stringify(sorted(args))}`;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  );
}
