import type { Blob, Content } from '@google/genai';
import type { Detection, ToolFacts } from '../../../protocol/index.ts';
import type { CallOutcome } from '../../ledger/approvals.ts';
import type { Context } from './context.ts';
import type { RunRequest } from './effects.ts';
import { NOT_COMPLETED } from './errors.ts';
import type { Draft } from './messages.ts';
import type { OpenCalls } from './open-calls.ts';

type Driver = RunRequest['driver'];

/** The run of the agent; `n` is its number. An input that carries the number of an older run is ignored. */
type Run =
  | { is: 'none' }
  | { is: 'opening'; n: number; driver: Driver }
  | { is: 'open'; n: number; driver: Driver; isMuted: boolean; hasSpoken: boolean }
  | { is: 'closing'; n: number; driver: Driver };

/** A run that has just ended. */
export interface EndedRun {
  driver: Driver;
  /** Whether `close` was called; false when the run ended by itself. */
  wasClosed: boolean;
  /** Whether the run produced no output and recognised no speech; false for a run that was closed. */
  wasSilent: boolean;
  /** When the run was opened. */
  openedAt: number;
  /** The connection that sent sound or pictures to the run; null when none did. */
  fedBy: string | null;
}

/** A call that the model made, and that ADK has neither run nor deferred yet. */
interface MadeCall {
  toolName: string;
  args: Record<string, unknown>;
  facts: ToolFacts;
  draft: Draft;
  /** True: the call is announced as soon as all earlier calls are. False: the call is announced when it is stored, or when ADK has answered it. */
  isAnnouncedNext: boolean;
}

/** Owns the state of the agent's run. It opens, feeds, mutes and closes one run at a time, by emitting effects. */
export class AgentRun {
  private readonly context: Context;
  private readonly open: OpenCalls;
  private run: Run = { is: 'none' };
  private held = false;
  private count = 0;
  private openedAt = Number.NEGATIVE_INFINITY;
  /** The connection that sent sound or pictures to the run; null when none did. */
  private fedBy: string | null = null;
  /** Which side detects the end of the user's speech: `next` in the next run, `now` in the open run. */
  private readonly detection: { next: Detection; now: Detection } = { next: 'server', now: 'server' };
  /** The ids of calls that the model cancelled, so that it must get no response to them. */
  private readonly cancelled = new Set<string>();
  private readonly made = new Map<string, MadeCall>();
  /** The ids of the calls for which `isAnnounced` is true. */
  private readonly announced = new Set<string>();
  /** Whether the model got input since it last ended a turn. */
  private hasInput = false;
  /** Whether the model started to speak without input since its last turn. Then no user message waits for this output. */
  private unprompted = false;
  /** By message id: the texts about settled calls that an agent which is driven turn by turn has not received yet. */
  private readonly notices = new Map<string, string[]>();

  constructor(context: Context, open: OpenCalls) {
    this.context = context;
    this.open = open;
  }

  get isNone(): boolean {
    return this.run.is === 'none';
  }

  get isOpen(): boolean {
    return this.run.is === 'open';
  }

  /** Whether the run with this number is open. */
  isOpenAs(n: number): boolean {
    return this.run.is === 'open' && this.run.n === n;
  }

  /** The number of the open live run, which takes input at any time; null when there is none. */
  get live(): number | null {
    return this.run.is === 'open' && this.run.driver === 'live' ? this.run.n : null;
  }

  /** Whether there is a run with the live driver (BIDI): opening, open or closing. */
  get isLive(): boolean {
    return this.run.is !== 'none' && this.run.driver === 'live';
  }

  get isClosing(): boolean {
    return this.run.is === 'closing';
  }

  /** Whether the output of the model's turn is ignored, because the user interrupted it. */
  get isMuted(): boolean {
    return this.run.is === 'open' && this.run.isMuted;
  }

  /** Whether an HTTP request is starting. Its response opens the next run, so no other run opens meanwhile. */
  get isHeld(): boolean {
    return this.held;
  }

  hold(): void {
    this.held = true;
  }

  release(): void {
    this.held = false;
  }

  /** The number that the next run gets. */
  get nextNumber(): number {
    return this.count + 1;
  }

  /** Opens a live run, if there is no run, none is held back, and the session is not closed. */
  openLive(): void {
    if (this.run.is !== 'none' || this.held || this.context.isClosed) return;
    this.fedBy = null;
    this.openedAt = this.context.now;
    this.detection.now = this.detection.next;
    this.start({ driver: 'live', detection: this.detection.now });
  }

  /** Opens a run in which the agent gives one answer. `continues`: the invocation of ADK that the run continues, if it is known. */
  openTurn(content: Content, customMetadata: Record<string, unknown>, continues?: string): void {
    const { optimistic } = this.context.policy;
    this.start({ driver: 'turn', content, customMetadata, optimistic, continues });
    // The server sends nothing more to the run of a turn. So this run counts as open at once, and does not wait for `run-opened` as a live run does.
    this.run = { is: 'open', n: this.count, driver: 'turn', isMuted: false, hasSpoken: false };
  }

  private start(request: RunRequest): void {
    const { context } = this;
    this.count++;
    this.run = { is: 'opening', n: this.count, driver: request.driver };
    if (!context.policy.hasResponse) {
      // An earlier run may have left calls without a response, and a model may reject such a history. So these calls get an error first, except for
      // calls that still wait for an answer.
      const waiting = this.open.ids();
      context.store([{ do: 'close-dangling', errorText: NOT_COMPLETED, messageId: null, waiting }], null);
    }
    context.emit({ type: 'open-run', n: this.count, request });
  }

  /** Marks the live run as open: ADK has read the session, and the run takes input. Returns false for an older run. */
  opened(n: number): boolean {
    if (this.run.is !== 'opening' || this.run.n !== n) return false;
    this.run = { is: 'open', n, driver: this.run.driver, isMuted: false, hasSpoken: false };
    return true;
  }

  /** Closes the run. Calls that wait stay open. */
  close(): void {
    const { run } = this;
    if (run.is === 'none' || run.is === 'closing') return;
    this.run = { is: 'closing', n: run.n, driver: run.driver };
    this.context.emit({ type: 'close-run', n: run.n });
  }

  /** Closes a live run without waiting for its end, because the process may end first. */
  abandon(): void {
    this.close();
    this.run = { is: 'none' };
  }

  /** Forgets a run that could not open, because the write before it failed. Returns false when there is no run with this number. */
  neverOpened(n: number | null): boolean {
    if (this.run.is === 'none' || this.run.n !== n) return false;
    this.run = { is: 'none' };
    return true;
  }

  /** Records that the run with this number has ended, and returns the facts about it; null for an older run. */
  ended(n: number): EndedRun | null {
    const { run, openedAt, fedBy } = this;
    if (run.is === 'none' || run.n !== n) return null;
    this.run = { is: 'none' };
    // Keep the ids of cancelled calls whose tools still run. These tools may end during the next run, which may resume the same session of the model,
    // and the model must not get their outcomes.
    for (const id of this.cancelled) if (!this.open.get(id)) this.cancelled.delete(id);
    this.made.clear();
    return {
      driver: run.driver,
      wasClosed: run.is === 'closing',
      wasSilent: run.is === 'opening' || (run.is === 'open' && !run.hasSpoken),
      openedAt,
      fedBy,
    };
  }

  /** Records that the run produced output, or recognised speech. */
  noteSpeech(): void {
    if (this.run.is === 'open') this.run.hasSpoken = true;
  }

  /** Cancels the output of the model. The rest of its turn is ignored. */
  mute(): void {
    const { run } = this;
    if (run.is !== 'open') return;
    run.isMuted = true;
    this.hasInput = false;
    this.made.clear();
    this.context.emit({ type: 'mute', n: run.n });
  }

  unmute(): void {
    if (this.run.is === 'open') this.run.isMuted = false;
  }

  /** Sends content to the model, if a live run is open. */
  send(content: Content): void {
    const { live } = this;
    if (live === null) return;
    this.promptedBy(true);
    this.context.emit({ type: 'send', n: live, content });
  }

  /**
   * Sends the model the response to a call that ended before clients got it. Does nothing when the model cancelled the call, or when no live run is
   * open.
   */
  sendResponse(
    { id, toolName: name }: { id: string; toolName: string },
    response: Record<string, unknown>,
  ): void {
    const { live } = this;
    if (this.cancelled.delete(id) || live === null) return;
    // A model says nothing after an `interrupted` response, so such a response is no input that it must answer.
    this.promptedBy(response.interrupted !== true);
    const content = { role: 'user', parts: [{ functionResponse: { id, name, response } }] };
    this.context.emit({ type: 'send', n: live, content });
  }

  /** Returns the number of the run whose model gets the outcome of a call; null when no model gets the outcome. */
  expectResponse(callId: string, outcome: CallOutcome): number | null {
    if (this.cancelled.delete(callId) || this.run.is !== 'open') return null;
    this.promptedBy(!(outcome.kind === 'error' && outcome.interrupted));
    return this.run.n;
  }

  /** Sends sound or a picture to the open live run; returns false when there is none. */
  sendMedia(blob: Blob): boolean {
    const { live } = this;
    if (live === null) return false;
    this.context.emit({ type: 'send-media', n: live, blob });
    return true;
  }

  /** Signals the start or end of speech to the open live run; returns false when there is none. */
  signal(activity: 'start' | 'end'): boolean {
    const { live } = this;
    if (live === null) return false;
    this.context.emit({ type: 'signal-activity', n: live, activity });
    return true;
  }

  /** Chooses which side detects the end of speech in the next run; returns whether the open run differs. */
  chooseDetection(detection: Detection): boolean {
    this.detection.next = detection;
    return this.detection.now !== detection;
  }

  /** Records which connection sends sound or pictures to the run. */
  setFedBy(connection: string): void {
    this.fedBy = connection;
  }

  /** The connection that sent sound or pictures to the last live run; null when none did. */
  get feeder(): string | null {
    return this.fedBy;
  }

  /** Whether the model got input since it last ended a turn. */
  get isPrompted(): boolean {
    return this.hasInput;
  }

  /** Whether the model started to speak although it got no input since its last turn. */
  get isUnprompted(): boolean {
    return this.unprompted;
  }

  /** Records that the model started to speak, and whether it got input before that in this turn. */
  noteSpeaking(): void {
    this.unprompted = !this.hasInput;
  }

  /** Records that the model got sound, a picture or speech of the user. */
  prompt(): void {
    this.hasInput = true;
  }

  private promptedBy(expectsAnswer: boolean): void {
    if (expectsAnswer) this.hasInput = true;
    this.unprompted = false;
  }

  /** Records that the model ended its turn. */
  endTurn(): void {
    this.hasInput = false;
    this.unprompted = false;
    this.made.clear();
  }

  /** Records that the model cancelled a call, so that the model gets no response to that call. */
  cancel(callId: string): void {
    this.cancelled.add(callId);
  }

  hasCancelled(callId: string): boolean {
    return this.cancelled.has(callId);
  }

  /** Whether the model made calls that ADK has neither run nor deferred yet. */
  get hasMadeCalls(): boolean {
    return this.made.size > 0;
  }

  /** The tool facts of the calls that ADK has neither run nor deferred yet. */
  get madeFacts(): ToolFacts[] {
    return [...this.made.values()].map(({ facts }) => facts);
  }

  noteCall(callId: string, call: MadeCall): void {
    this.made.set(callId, call);
  }

  hasCall(callId: string): boolean {
    return this.made.has(callId);
  }

  /** Removes and returns a call that the model made. */
  takeCall(callId: string): MadeCall | undefined {
    const call = this.made.get(callId);
    this.made.delete(callId);
    return call;
  }

  /**
   * Removes and returns the calls that waited only for the announcement of earlier calls, up to the first call that must be stored before it is
   * announced.
   */
  takeAnnouncedNext(): { id: string; call: MadeCall }[] {
    const taken: { id: string; call: MadeCall }[] = [];
    for (const [id, call] of this.made) {
      if (!call.isAnnouncedNext) break;
      this.made.delete(id);
      taken.push({ id, call });
    }
    return taken;
  }

  clearCalls(): void {
    this.made.clear();
  }

  /** Records that clients got a call that is not stored: it was announced as soon as the model made it, or its record could not be stored. */
  noteAnnounced(callId: string): void {
    this.announced.add(callId);
  }

  /**
   * Whether a call was announced before it was stored, and has neither a record nor an outcome. ADK's own loop runs the tool of such a call, or is
   * about to defer the call.
   */
  isAnnounced(callId: string): boolean {
    return this.announced.has(callId);
  }

  /** Like `isAnnounced`, but also forgets the call, so that a second query returns false. */
  takeAnnounced(callId: string): boolean {
    return this.announced.delete(callId);
  }

  /** Removes and returns the ids of the calls for which `isAnnounced` is true. */
  takeAllAnnounced(): string[] {
    const ids = [...this.announced];
    this.announced.clear();
    return ids;
  }

  /**
   * Records that a call of a message was settled, so that the agent must continue the message. `notice`: the text that informs the agent of the
   * outcome; null when the agent reads the response in the history, because it has written to no other message since.
   */
  addNotice(messageId: string, notice: string | null): void {
    this.notices.set(messageId, [
      ...(this.notices.get(messageId) ?? []),
      ...(notice === null ? [] : [notice]),
    ]);
  }

  /** Whether the agent must still continue a message, because one of its calls was settled. */
  owesNotice(messageId: string): boolean {
    return this.notices.has(messageId);
  }

  /** Removes and returns the texts that inform the agent of settled calls of a message. */
  takeNotices(messageId: string): string[] {
    const notices = this.notices.get(messageId) ?? [];
    this.notices.delete(messageId);
    return notices;
  }

  clearNotices(): void {
    this.notices.clear();
  }
}
