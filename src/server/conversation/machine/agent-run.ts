import type { Event } from '@google/adk';
import type { Content } from '@google/genai';
import type { DeferredCall, RunView } from '../../../adk/for-server.ts';
import type { Detection, ProtocolError } from '../../../protocol/index.ts';
import type { Settlement } from '../../ledger/approvals.ts';
import type { AgentEvents, OpenRun, Words } from './agent-events.ts';
import { agentFailure, type Failure } from './agent-failure.ts';
import type { RunRequest, Ticket } from './effects.ts';
import type { Inbox } from './inbox.ts';
import type { Writing } from './messages.ts';
import type { Shared } from './shared.ts';

/** Where the agent's run is. What comes of an older one, by its number, is bookkeeping only. */
type Run =
  | { is: 'none' }
  | { is: 'opening'; n: number; driver: RunRequest['driver'] }
  | OpenRun
  | { is: 'closing'; n: number; driver: RunRequest['driver'] };

/** The text of a call that an earlier run left without an answer. */
export const NOT_COMPLETED = 'The call was not completed';

/** What the run needs of other parts. */
interface Needs extends Shared {
  readonly events: AgentEvents;
  readonly inbox: Inbox;
  readonly calls: {
    issue(call: DeferredCall, writing: Writing, ticket: Ticket, n: number): void;
    turnDown(call: DeferredCall, ticket: Ticket): void;
  };
  readonly media: {
    opening(): Detection;
    opened(n: number): void;
    notOpened(why: ProtocolError | null): boolean;
    ended(): void;
  };
  readonly responses: { turnEnded(error: Failure | null): void };
  readonly turnBegins: { ready(failure?: string): void };
  readonly turnByTurn: { stop(): void; ended(error: Failure | null, isClosing: boolean): void };
}

/** The agent's run as the machine sees it: opened, fed, interrupted and closed, one at a time. */
export class AgentRun {
  private run: Run = { is: 'none' };
  private count = 0;
  /** Calls that the model took back: it must get no response to them. */
  private readonly forgotten = new Set<string>();
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  get isNone(): boolean {
    return this.run.is === 'none';
  }

  get isOpen(): boolean {
    return this.run.is === 'open';
  }

  /** Whether it is that run which is open. */
  isOpenAs(n: number): boolean {
    return this.run.is === 'open' && this.run.n === n;
  }

  /** The number of the live run that is open and takes what is said as it is said; none is null. */
  get listening(): number | null {
    return this.run.is === 'open' && this.run.driver === 'live' ? this.run.n : null;
  }

  /** Whether the run was told to end, and has not yet. */
  get isClosing(): boolean {
    return this.run.is === 'closing';
  }

  /** Whether a run is still the one that is open. */
  isStill(run: OpenRun): boolean {
    return this.run === run;
  }

  /** Whether the model hears what is said as it is said. */
  get isLive(): boolean {
    return this.run.is !== 'none' && this.run.driver === 'live';
  }

  /** Opens a live run, if there is none. */
  openLive(): void {
    if (this.run.is !== 'none' || this.parts.life.isClosed) return;
    this.begin({ driver: 'live', detection: this.parts.media.opening() });
  }

  /** Lets the agent give one answer; returns the number of its run. */
  openTurn(content: Content, customMetadata: Record<string, unknown>): number {
    const { optimistic } = this.parts.policy;
    this.begin({ driver: 'turn', content, customMetadata, optimistic });
    // Nothing is fed to it later: it is open as soon as it is begun.
    this.run = { is: 'open', n: this.count, driver: 'turn', isMuted: false, hasSpoken: false };
    return this.count;
  }

  /** Ends the run; what waits stays open. */
  close(): void {
    const { run } = this;
    if (run.is === 'none' || run.is === 'closing') return;
    this.run = { is: 'closing', n: run.n, driver: run.driver };
    this.parts.core.emit({ type: 'close-run', n: run.n });
  }

  /** Ends the run at once: there may be no time to wait for its end. */
  letGo(): void {
    const { run } = this;
    if (run.is === 'none') return;
    if (run.driver === 'turn') this.parts.turnByTurn.stop();
    else {
      if (run.is !== 'closing') this.parts.core.emit({ type: 'close-run', n: run.n });
      this.run = { is: 'none' };
    }
    this.cutOff(true, '');
  }

  /** What a run was to begin with was not kept; it may have been told to end meanwhile. False when it is not that run. */
  neverOpened(n: number | null): boolean {
    if (this.run.is === 'none' || this.run.n !== n) return false;
    this.run = { is: 'none' };
    return true;
  }

  /** Tells the model something, if the run is open. `isAsked`: the model is expected to say something to it. */
  send(content: Content, isAsked = true): void {
    const { listening: n } = this;
    if (n === null) return;
    this.parts.events.fed(isAsked);
    this.parts.core.emit({ type: 'send', n, content });
  }

  /** Tells the model what came of a call. */
  sendResponse(
    { id, toolName: name }: { id: string; toolName: string },
    response: Record<string, unknown>,
  ): void {
    if (this.forgotten.delete(id)) return;
    // That nobody wants a call any more is nothing to answer to.
    const isAsked = response.interrupted !== true;
    this.send({ role: 'user', parts: [{ functionResponse: { id, name, response } }] }, isAsked);
  }

  /** The run whose model is to hear how a call ended; null when it is not. */
  expectReply(callId: string, settlement: Settlement): number | null {
    if (this.forgotten.delete(callId) || this.run.is !== 'open') return null;
    this.parts.events.fed(!(settlement.kind === 'error' && settlement.interrupted));
    return this.run.n;
  }

  /** The model wants to hear no more of a call. */
  forgetCall(id: string): void {
    this.forgotten.add(id);
  }

  /** Whether the model took a call back. */
  hasForgotten(id: string): boolean {
    return this.forgotten.has(id);
  }

  /** Interrupts the model: nothing more of its turn is heard. */
  hush(): void {
    const { run } = this;
    if (run.is !== 'open') return;
    run.isMuted = true;
    this.parts.events.hushed();
    this.parts.core.emit({ type: 'hush', n: run.n });
  }

  opened(n: number): void {
    const { turnBegins, media } = this.parts;
    if (this.run.is !== 'opening' || this.run.n !== n) return;
    this.run = { is: 'open', n, driver: this.run.driver, isMuted: false, hasSpoken: false };
    media.opened(n);
    turnBegins.ready();
  }

  /** A call that ADK made. */
  deferred(n: number, call: DeferredCall, ticket: Ticket): void {
    const { core, messages, calls, events } = this.parts;
    const { run } = this;
    const writing = events.callerOf(call.id) ?? messages.speaking;
    if (run.is !== 'open' || run.n !== n) {
      core.emit({ type: 'let-go', ticket, error: 'The run is over.' });
      return;
    }
    // Its message may be over, or may never have been.
    const isWanted = writing && messages.get(writing.message.id) && !run.isMuted;
    if (!isWanted) calls.turnDown(call, ticket);
    else calls.issue(call, writing, ticket, n);
  }

  /** The words that an event is, if nothing but saying them is to be done about it. */
  words(n: number, event: Event): Words | null {
    const { run } = this;
    if (run.is !== 'open' || run.n !== n) return null;
    const words = this.parts.events.words(run, event);
    if (words) run.hasSpoken = true;
    return words;
  }

  event(n: number, event: Event, view: RunView): void {
    const { run } = this;
    if (run.is !== 'open' || run.n !== n) return;
    run.hasSpoken ||= Boolean(event.content ?? event.inputTranscription ?? event.outputTranscription);
    this.parts.events.take(run, event, view);
  }

  /** The run is over: what it was saying ends with it. */
  ended(n: number, error: Failure | null): void {
    const { core, events, responses, turnByTurn, turnBegins, inbox, media, isResponding } = this.parts;
    const { run } = this;
    if (run.is === 'none' || run.n !== n) return;
    this.run = { is: 'none' };
    // One that is still being made ends beside the next run, which may go on with the same session of the model.
    for (const id of this.forgotten) if (!this.parts.open.get(id)) this.forgotten.delete(id);
    events.forgetCalls();
    if (run.driver === 'turn') {
      if (isResponding) responses.turnEnded(error);
      else turnByTurn.ended(error, run.is === 'closing');
      return;
    }
    const isLetGo = run.is === 'closing';
    const failure = agentFailure(error ?? { code: 'UNKNOWN_ERROR', message: '' });
    const { text } = failure;
    if (error) core.emit(failure.note);
    const isMute = run.is === 'opening' || (run.is === 'open' && !run.hasSpoken);
    const isTold = isMute && media.notOpened(error ? failure.error : null);
    if (error && !isTold) for (const effect of failure.code) core.emit(effect);
    this.cutOff(isLetGo, text);
    turnBegins.ready(text);
    inbox.advance();
    media.ended();
  }

  private begin(request: RunRequest): void {
    this.count++;
    this.run = { is: 'opening', n: this.count, driver: request.driver };
    const { core, open } = this.parts;
    if (!this.parts.isResponding) {
      // A call without an answer would be the first thing that the model hears of.
      const waiting = open.ids();
      core.storing([{ do: 'close-dangling', errorText: NOT_COMPLETED, messageId: null, waiting }], null);
    }
    core.emit({ type: 'open-run', n: this.count, request });
  }

  private cutOff(isLetGo: boolean, text: string): void {
    const { messages, open, life } = this.parts;
    const { speaking, next, isAtWork } = messages;
    // Also one that the model was to go on with, and did not.
    const isOwed = speaking !== null && open.in(speaking.message.id).length === 0;
    for (const writing of speaking && (isAtWork || isOwed) ? [speaking, ...next] : next) {
      const { id, parts } = writing.message;
      if (life.isClosed && parts.length === 0) {
        // A message without a word in it never was, and can be asked for again.
        messages.forget(writing);
        continue;
      }
      const hasFailed = writing === speaking && isAtWork && !isLetGo;
      if (!hasFailed && open.in(id).length > 0) {
        // It goes on when its calls are answered, in this process or the next.
        messages.pause(writing);
        continue;
      }
      if (hasFailed) writing.failure ??= text;
      messages.finish(writing, { interrupted: isLetGo && isAtWork && writing === speaking });
    }
    messages.isAtWork = false;
    messages.speaking = null;
    messages.next = [];
    messages.lastToSpeak = null;
  }
}
