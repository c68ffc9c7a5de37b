import type { Event } from '@google/adk';
import type { Content } from '@google/genai';
import type { DeferredCall, RunView } from '../../../src/adk/for-server.ts';
import { withLiveFacts } from '../../../src/adk/live-facts.ts';
import type { Ticket } from '../../../src/server/conversation/state/effects.ts';
import type { Input } from '../../../src/server/conversation/state/inputs.ts';

/** The tools, by where they run and whether they ask. */
export const TOOLS = {
  weather: { runsOn: 'server', asks: false },
  pay: { runsOn: 'server', asks: true },
  play: { runsOn: 'client', asks: false },
  locate: { runsOn: 'client', asks: true },
  choose: { runsOn: 'client', asks: false, question: { kind: 'answer' } },
} as const;

export type ToolName = keyof typeof TOOLS;

interface MadeCall {
  id: string;
  name: ToolName;
}

/** A run of an agent as ADK would show it, of which the test decides every step. */
/** Tickets are numbered over all runs. */
let tickets = 0;

export class FakeRun {
  readonly n: number;
  readonly driver: 'live' | 'turn';
  is: 'opening' | 'open' | 'closing' | 'over';
  /** How many turns a live model still has to come to the end of. */
  owes = 0;
  /** The person interrupted, and the model has not stopped yet. */
  mustStop = false;
  /** Calls that were announced and that the gate has not seen yet. */
  readonly made: MadeCall[] = [];
  /** Calls that ADK answers itself, and what it answers. */
  readonly inside: (MadeCall & { error?: string })[] = [];
  /** Calls of an interrupted turn that the gate had not seen when it was interrupted. After the end of the turn none of them comes. */
  readonly interrupted = new Set<string>();
  /** The ids of the calls to which the model got a response of the server. */
  readonly responses: string[] = [];
  /** Calls that wait to be written down. */
  readonly tickets = new Map<Ticket, MadeCall>();
  /** Whether a run that goes turn by turn ends when its calls are written down. */
  private isPausing = false;
  /** The person interrupted, and the turn has not ended. */
  private isMuted = false;
  private turn = 0;
  private readonly waiting = new Map<string, number>();
  private readonly push: (input: Input) => void;

  constructor(n: number, driver: 'live' | 'turn', push: (input: Input) => void) {
    this.n = n;
    this.driver = driver;
    this.is = driver === 'live' ? 'opening' : 'open';
    this.push = push;
  }

  /** Whether calls of the turn are not answered yet. */
  get isWaiting(): boolean {
    return [...this.waiting.values()].includes(this.turn);
  }

  /** Whether calls are on their way from the model to the server. */
  get isCalling(): boolean {
    return this.made.length + this.inside.length + this.tickets.size > 0;
  }

  /** Whether the model may say something now. */
  get maySpeak(): boolean {
    return this.is === 'open' && (this.driver === 'live' || (!this.isCalling && !this.isPausing));
  }

  get mayPause(): boolean {
    return this.is === 'open' && this.isPausing && !this.isCalling;
  }

  get waitsFor(): string[] {
    return [...this.waiting.keys()];
  }

  open(): void {
    this.is = 'open';
    this.push({ type: 'run-opened', n: this.n });
  }

  words(): void {
    this.speaks();
    this.tell(
      this.driver === 'turn'
        ? { content: { role: 'model', parts: [{ text: 'word ' }] }, partial: true }
        : { outputTranscription: { text: 'word ', finished: false }, partial: true },
    );
  }

  thought(): void {
    this.speaks();
    this.tell({ content: { role: 'model', parts: [{ text: 'hm ', thought: true }] }, partial: true });
  }

  sound(): void {
    this.speaks();
    const inlineData = { mimeType: 'audio/pcm;rate=24000', data: 'AAAA' };
    this.tell({ content: { role: 'model', parts: [{ inlineData }] } });
  }

  /** Speech beside calls that wait begins a turn of its own, as a typed message does. */
  heard(): void {
    if (this.isWaiting) this.turn++;
    this.tell({ inputTranscription: { text: 'hello', finished: true } });
  }

  call(calls: MadeCall[]): void {
    this.speaks();
    for (const call of calls) {
      const isInside = this.driver === 'turn' && call.name === 'weather';
      (isInside ? this.inside : this.made).push(call);
      if (this.isMuted) this.interrupted.add(call.id);
      // What it still calls of a turn that was interrupted, it does not wait for.
      if (this.driver === 'live') this.waiting.set(call.id, this.mustStop ? -1 : this.turn);
    }
    const parts = calls.map(({ id, name }) => ({ functionCall: { id, name, args: {} } }));
    this.tell({ author: 'agent', content: { role: 'model', parts } });
  }

  /** The gate sees the next call. */
  defer(): void {
    const call = this.made.shift();
    if (!call) return;
    const ticket = ++tickets;
    this.tickets.set(ticket, call);
    const deferred: DeferredCall = {
      id: call.id,
      toolName: call.name,
      args: {},
      agent: 'agent',
      invocationId: `i${this.n}`,
      branch: undefined,
      ...TOOLS[call.name],
    };
    this.push({ type: 'deferred', n: this.n, call: deferred, ticket });
  }

  /** A call is written down, or never will be. */
  letGo(ticket: Ticket, error: string | null): void {
    const call = this.tickets.get(ticket);
    this.tickets.delete(ticket);
    if (!call || this.is === 'over') return;
    if (error !== null) this.inside.push({ ...call, error });
    else if (this.driver === 'turn') this.isPausing = true;
  }

  /** ADK answers a call itself. */
  answer(): void {
    const call = this.inside.shift();
    if (!call) return;
    const { id, name, error } = call;
    this.waiting.delete(id);
    if (this.driver === 'live') this.owes = Math.max(1, this.owes);
    const response = error === undefined ? { ok: true } : { error };
    this.tell({
      author: 'agent',
      content: { role: 'user', parts: [{ functionResponse: { id, name, response } }] },
    });
  }

  /** The model comes to the end of what it has to say. */
  complete(): void {
    if (this.driver === 'turn') {
      this.tell({ author: 'agent', content: { role: 'model', parts: [{ text: 'End.' }] } });
      return this.end(null);
    }
    this.endTurn();
    this.tell({ outputTranscription: { text: 'End.', finished: true } });
    this.turnComplete();
  }

  /** The model stops, because it was interrupted or heard the user. */
  stop(): void {
    if (!this.mustStop) this.endTurn();
    this.mustStop = false;
    this.tell({ interrupted: true });
    this.turnComplete();
  }

  cancel(id: string): void {
    this.waiting.delete(id);
    this.tell({ interrupted: true, ...withLiveFacts({ cancelledCalls: [id] }) });
  }

  end(message: string | null): void {
    this.is = 'over';
    this.made.length = 0;
    this.inside.length = 0;
    this.push({
      type: 'run-ended',
      n: this.n,
      error: message === null ? null : { code: 'MODEL_ERROR', message },
    });
  }

  /** Something is said to a live model. */
  listen({ parts = [] }: Content): void {
    if (parts.some((part) => part.text)) {
      // A turn that waits for calls is set aside, and the model answers this instead.
      this.owes = this.isWaiting ? Math.max(1, this.owes) : this.owes + 1;
      this.turn++;
    }
    for (const { functionResponse } of parts) {
      if (!functionResponse) continue;
      const { id = '', response } = functionResponse;
      this.responses.push(id);
      const isOfNow = this.waiting.get(id) === this.turn;
      this.waiting.delete(id);
      if (response?.interrupted === true) continue;
      this.owes = isOfNow ? Math.max(1, this.owes) : this.owes + 1;
    }
  }

  /** A live model hears or sees something. */
  sense(): void {
    this.owes = Math.max(1, this.owes);
  }

  /** The state decides to mute the model. On a slow disk the model learns of it later, when `mute` is called. */
  interrupt(): void {
    for (const { id } of this.made) this.interrupted.add(id);
    this.isMuted = true;
  }

  mute(): void {
    this.mustStop = true;
    this.owes = 0;
    this.turn++;
  }

  /** Whatever a live model begins to say or calls, it comes to the end of. */
  private speaks(): void {
    if (this.driver === 'live' && this.is === 'open' && !this.mustStop) this.owes = Math.max(1, this.owes);
  }

  private turnComplete(): void {
    this.isMuted = false;
    this.interrupted.clear();
    this.tell({ turnComplete: true });
  }

  private endTurn(): void {
    this.owes = Math.max(0, this.owes - 1);
    this.turn++;
  }

  private tell(event: Partial<Event>): void {
    this.push({ type: 'event', n: this.n, event: event as Event, view: VIEW });
  }
}

const factsOf = (id: string) => TOOLS[id.replace(/^\d+-/, '') as ToolName];

const VIEW: RunView = {
  begun: Promise.resolve(),
  factsOf,
  questionsIn: () => [],
  // Every other call that waits could still be changed by a callback.
  mayChange: (id) =>
    Number.parseInt(id, 10) % 2 === 1 && (factsOf(id).asks || factsOf(id).runsOn === 'client'),
  outputChunk: (toolCallId, response) =>
    typeof response.error === 'string'
      ? { type: 'tool-output-error', toolCallId, errorText: response.error }
      : { type: 'tool-output-available', toolCallId, output: response },
};
