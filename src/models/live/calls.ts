import type { Content, FunctionCall, FunctionResponse } from '@google/genai';
import { PENDING_RESPONSE } from '../../adk/history.ts';
import { CANCELLED } from '../../protocol/index.ts';
import { callsIn } from '../function-calls.ts';
import { noticeOf } from '../notice.ts';

/** A call of the model, under every id by which its session made it: none, when it was only told of the call. */
interface Made {
  /** By which ADK knows it. */
  id: string;
  key: string;
  name: string;
  args: Record<string, unknown>;
  ids: string[];
  /** In which message it came. */
  message: number;
  response?: FunctionResponse;
}

/** A call with its id. */
type NamedCall = FunctionCall & { id: string };

/** What a response to calls leads to. */
export interface Answers {
  responses: FunctionResponse[];
  /** Results of calls that the model's session does not know: told in words. */
  notices: { text: string; isSilent: boolean }[];
}

/** More calls than this wait in no conversation, nor is one made so often: such a service is broken. */
const MOST_OPEN = 128;
/** Ids that the model took back before it used them, and calls that are over: the newest are remembered. */
const MOST_CANCELLED = 1000;
const MOST_KNOWN = 1000;

/**
 * The calls of a live session. A model that forgot a call may make it again under another id: such a call is not made twice,
 * but gets the answer of the first. What another process knew of it stands in the history.
 */
export class GeminiCalls {
  private readonly byId = new Map<string, Made>();
  /** Those without an answer. */
  private readonly open = new Set<Made>();
  /** Those that were answered since the model ended its turn. */
  private readonly answered = new Set<Made>();
  private readonly cancelled = new Set<string>();
  /** The calls of the turn that the model is in. */
  private latest: Made[] = [];
  private message = 0;

  /** Whether the model waits for the answer to a call. */
  get areOpen(): boolean {
    return this.waiting > 0;
  }

  /** How many calls the model waits for; others it was only told of. */
  private get waiting(): number {
    let count = 0;
    for (const made of this.open) if (made.ids.length > 0) count += 1;
    return count;
  }

  /** Whether the model says nothing before a call is answered. `beside`: the tools whose calls go on beside the conversation. */
  holdUp(beside: ReadonlySet<string>): boolean {
    for (const { ids, name } of this.open) if (ids.length > 0 && !beside.has(name)) return true;
    return false;
  }

  /** Whether the session knows a call only by an id that the history does not have: nobody else can answer it. */
  get haveOtherIds(): boolean {
    return [...this.byId.values()].some(({ id, ids }) => ids.length > 0 && !ids.includes(id));
  }

  /** Whether a call of the turn that the model is in waits for its answer. */
  get areLatestOpen(): boolean {
    return this.latest.some((made) => this.open.has(made));
  }

  /** Takes the calls of a history. `isKnown`: the model's session is the one that made them. */
  tell(history: readonly Content[], isKnown: boolean): void {
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
        const made = this.add({ ...call, id: call.id }, isKnown);
        if (!response) continue;
        if (isKnown && response.response?.error === CANCELLED) {
          this.cancel([call.id]);
          continue;
        }
        made.response = response;
        this.open.delete(made);
        // The model has not said anything since: it may not have heard of it.
        if (isKnown && index >= spokenAt) this.answered.add(made);
      }
    }
    this.latest = this.latest.filter((made) => this.open.has(made));
  }

  /** Takes the calls of one message: returns those that are to be made, and answers to those that were. */
  take(calls: readonly NamedCall[]): { fresh: FunctionCall[]; responses: FunctionResponse[] } {
    this.message += 1;
    const fresh: FunctionCall[] = [];
    const responses: FunctionResponse[] = [];
    const repeated = new Set<Made>();
    for (const call of calls) {
      const { id } = call;
      if (this.cancelled.has(id)) continue;
      const before = this.sameIdAs(call) ?? this.sameAs(call, repeated);
      if (!before) {
        this.add(call, true);
        fresh.push(call);
        if (this.waiting > MOST_OPEN) throw new Error('The live model makes calls without end.');
        continue;
      }
      repeated.add(before);
      this.byId.set(id, before);
      if (!before.ids.includes(id)) before.ids.push(id);
      if (before.ids.length > MOST_OPEN) throw new Error('The live model makes one call without end.');
      if (before.response) responses.push({ ...before.response, id });
    }
    return { fresh, responses };
  }

  /** The model wants to hear no more of these calls. Returns those that it wants under no other id either. */
  cancel(ids: readonly string[]): string[] {
    const unwanted: string[] = [];
    for (const id of ids) {
      this.cancelled.add(id);
      const [oldest] = this.cancelled;
      if (this.cancelled.size > MOST_CANCELLED && oldest !== undefined) this.cancelled.delete(oldest);
      const made = this.byId.get(id);
      if (!made) continue;
      made.ids = made.ids.filter((one) => one !== id);
      if (made.ids.length > 0) continue;
      this.open.delete(made);
      unwanted.push(made.id);
    }
    return unwanted;
  }

  answer(given: readonly FunctionResponse[], isKnownAll: boolean): Answers {
    const responses: FunctionResponse[] = [];
    const notices: Answers['notices'] = [];
    for (const response of given) {
      const { id = '', name = '', response: said = {} } = response;
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
        const text = noticeOf(name, made?.args ?? {}, said);
        notices.push({ text, isSilent: said.interrupted === true });
      }
    }
    return { responses, notices };
  }

  /** The model has ended a turn that goes on when its calls are answered. */
  leaveTurn(): void {
    this.latest = [];
  }

  /** The model has ended its turn. A call like one that was answered is another one from now on. */
  endTurn(): void {
    this.leaveTurn();
    this.answered.clear();
    for (const [id, made] of this.byId) {
      if (this.byId.size <= MOST_KNOWN) return;
      if (!this.open.has(made)) this.byId.delete(id);
    }
  }

  private add(call: NamedCall, isKnown: boolean): Made {
    const ids = isKnown ? [call.id] : [];
    const { id, name = '', args = {} } = call;
    const made: Made = { id, key: keyOf(call), name, args, ids, message: this.message };
    this.byId.set(call.id, made);
    this.open.add(made);
    if (isKnown) this.latest.push(made);
    return made;
  }

  /** A call that is told once more. An id that names two calls at once can be answered by nobody. */
  private sameIdAs(call: NamedCall): Made | undefined {
    const made = this.byId.get(call.id);
    if (!made?.ids.includes(call.id) || !(this.open.has(made) || this.answered.has(made))) return undefined;
    if (made.key === keyOf(call)) return made;
    if (this.open.has(made)) throw new Error('The live model gave one id to two calls.');
    return undefined;
  }

  private sameAs(call: NamedCall, taken: ReadonlySet<Made>): Made | undefined {
    const key = keyOf(call);
    for (const made of [...this.open, ...this.answered]) {
      if (made.key === key && made.message !== this.message && !taken.has(made)) return made;
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
