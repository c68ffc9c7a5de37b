import type { Content, FunctionCall, FunctionResponse } from '@google/genai';
import { PENDING_RESPONSE } from '../adk/history.ts';
import { callsIn } from './function-calls.ts';
import { noticeOf } from './notice.ts';

/** A call of the model, under every id that it made it by. */
interface Made {
  key: string;
  ids: string[];
  /** In which message it came. */
  message: number;
  response?: FunctionResponse;
  /** The turn in which it was answered. */
  answeredIn?: number;
}

/** What a response to calls leads to. */
export interface Answers {
  responses: FunctionResponse[];
  /** Results of calls that the model's session does not know: told in words. */
  notices: { text: string; isSilent: boolean }[];
}

/**
 * The calls of a live session. A model that forgot a call may make it again under another id: such a call is not made twice,
 * but gets the answer of the first.
 */
export class GeminiCalls {
  private readonly byId = new Map<string, Made>();
  private readonly open = new Set<Made>();
  private readonly cancelled = new Set<string>();
  /** Arguments of calls that this session was only told about. */
  private readonly told = new Map<string, Record<string, unknown>>();
  /** The calls of the turn that the model is in. */
  private latest: Made[] = [];
  private message = 0;
  private turn = 0;

  /** Whether a call waits for its answer. */
  get areOpen(): boolean {
    return this.open.size > 0;
  }

  /** Whether a call of the turn that the model is in waits for its answer. */
  get areLatestOpen(): boolean {
    return this.latest.some((made) => this.open.has(made));
  }

  /** Takes the calls of a history. `isKnown`: the model's session is the one that made them. */
  tell(history: readonly Content[], isKnown: boolean): void {
    const answered = new Set<string>();
    for (const { parts = [] } of history) {
      for (const { functionResponse } of parts) {
        const { id, response } = functionResponse ?? {};
        if (id && response?.status !== PENDING_RESPONSE.status) answered.add(id);
      }
    }
    for (const call of history.flatMap((content) => callsIn(content))) {
      if (!call.id) continue;
      if (!isKnown) this.told.set(call.id, call.args ?? {});
      else if (!answered.has(call.id)) this.add(call, call.id);
    }
  }

  /** Takes the calls of one message: gives those that are to be made, and answers to those that were. */
  take(calls: readonly FunctionCall[]): { fresh: FunctionCall[]; responses: FunctionResponse[] } {
    this.message += 1;
    const fresh: FunctionCall[] = [];
    const responses: FunctionResponse[] = [];
    const repeated = new Set<Made>();
    for (const call of calls) {
      const { id } = call;
      const before = id === undefined ? undefined : this.sameAs(call, repeated);
      if (!before || id === undefined) {
        fresh.push(call);
        if (id !== undefined) this.add(call, id);
        continue;
      }
      repeated.add(before);
      before.ids.push(id);
      this.byId.set(id, before);
      if (before.response) responses.push({ ...before.response, id });
    }
    return { fresh, responses };
  }

  /** The model wants to hear no more of these calls. */
  cancel(ids: readonly string[]): void {
    for (const id of ids) {
      this.cancelled.add(id);
      const made = this.byId.get(id);
      if (!made) continue;
      made.ids = made.ids.filter((one) => one !== id);
      if (made.ids.length === 0) this.open.delete(made);
    }
  }

  answer(given: readonly FunctionResponse[], isKnownAll: boolean): Answers {
    const responses: FunctionResponse[] = [];
    const notices: Answers['notices'] = [];
    for (const response of given) {
      const { id, name = '', response: said = {} } = response;
      const made = id === undefined ? undefined : this.byId.get(id);
      if (made) {
        made.response ??= response;
        made.answeredIn = this.turn;
        this.open.delete(made);
        responses.push(...made.ids.map((one) => ({ ...response, id: one })));
      } else if (id !== undefined && this.cancelled.has(id)) continue;
      else if (id === undefined || isKnownAll) responses.push(response);
      else {
        const text = noticeOf(name, this.told.get(id) ?? {}, said);
        notices.push({ text, isSilent: said.interrupted === true });
      }
    }
    return { responses, notices };
  }

  /** The model has ended a turn that goes on when its calls are answered. */
  leaveTurn(): void {
    this.latest = [];
  }

  /** The model has ended its turn. With nothing open, the same call is another one from now on. */
  endTurn(): void {
    this.leaveTurn();
    if (!this.areOpen) this.turn += 1;
  }

  private add(call: FunctionCall, id: string): void {
    const made = { key: keyOf(call), ids: [id], message: this.message };
    this.byId.set(id, made);
    this.open.add(made);
    this.latest.push(made);
  }

  private sameAs(call: FunctionCall, taken: ReadonlySet<Made>): Made | undefined {
    const key = keyOf(call);
    for (const made of this.byId.values()) {
      if (made.key !== key || made.message === this.message || taken.has(made)) continue;
      if (this.open.has(made) || made.answeredIn === this.turn) return made;
    }
    return undefined;
  }
}

/** A call without its id. The order of arguments says nothing. */
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
