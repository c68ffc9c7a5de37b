import type { Blob } from '@google/genai';
import { type Answer, type Detection, type Heard, ProtocolError } from '../../protocol/index.ts';
import type { Identity } from '../access/sign-in.ts';
import { Listeners } from '../clients/listeners.ts';
import { Requests } from '../clients/requests.ts';
import { settlesWithin } from '../clock.ts';
import type { Engine } from '../engine.ts';
import { tellTool } from '../ledger/decision-callbacks.ts';
import { History } from '../ledger/history.ts';
import { innerHost, toolOf } from '../ledger/inner-runs.ts';
import type { SessionLog } from '../log/log.ts';
import { Output } from '../output/output.ts';
import type {
  AnsweredBy,
  Joined,
  Listener,
  MessagePage,
  Place,
  PostedContinuation,
  PostedMessage,
  RequestContext,
  Session,
  SseResponse,
  TypedMessage,
} from '../registry/session.ts';
import { type CallRecord, type OwnedKey, type PageRequest, StaleFence } from '../store/store.ts';
import { AgentRuns } from './agent-runs.ts';
import { ClientRequests } from './client-requests.ts';
import { EffectRunner, type EffectTargets } from './effect-runner.ts';
import { Reading } from './reading.ts';
import { announcedBy, type RecoveredSession, type RecoverySource, recoverSession } from './recovery.ts';
import { ConversationState } from './state/conversation-state.ts';
import { StoreWriter } from './store-writer.ts';
import { ToolRunner } from './tool-runner.ts';

/** How long `close` waits for the run of the agent to end. */
const END_MS = 5000;
/** The longest time that `paused` waits. Its caller then reads `isPaused` again, because no input reports that the wait for an answer to speech is over. */
const PAUSE_CHECK_MS = 500;
const DELETED = 'This conversation was deleted.';
const WAITS =
  'The answer is delayed, because the server cannot reach its storage. It continues as soon as the server can; nothing is lost.';
const MOVED = 'Another server took this conversation over. Try again in a moment.';

/** A stored session that this process owns. `isEmpty`: it was just created, so there is nothing to load from the store. */
export interface OwnedSession {
  key: OwnedKey;
  isEmpty: boolean;
}

/**
 * One conversation, as routes and sockets use it, from the moment when this process becomes its owner until its release. It connects the modules: `state/`
 * decides, the effect runner acts, `clients/` has the listeners and their requests. Of its own it keeps only whether the session was new and whether it is
 * being deleted.
 */
export class Conversation implements Session {
  readonly key: OwnedKey;
  private readonly engine: Engine;
  private readonly history: History;
  /** Whether the session had no message when this process opened it. */
  private readonly wasNew: boolean;
  private readonly log: SessionLog;
  private readonly output: Output;
  private readonly state: ConversationState;
  private readonly runner: EffectRunner;
  private readonly requests: Requests;
  private readonly listeners: Listeners;
  private readonly reading: Reading;
  private readonly clientRequests: ClientRequests;
  /** Whether the session is being deleted. Then no client can join it, and it accepts no request. */
  private isRemoved = false;

  private constructor(
    source: RecoverySource,
    session: RecoveredSession,
    log: SessionLog,
    onLost: () => void,
  ) {
    const { key, engine, history } = source;
    const { store, clock, drafts, events, newId, options } = engine;
    const { recovered, isNew } = session;
    const logFields = () => this.logFields;
    const onFault = (error: unknown) => this.runner.fault(error);
    this.key = key;
    this.engine = engine;
    this.history = history;
    this.wasNew = isNew;
    this.log = log;
    this.output = new Output({
      onWait: (error) =>
        engine.logger.error(
          'a message cannot be stored: its write is repeated until it succeeds; check the store',
          {
            ...this.logFields,
            error: String(error),
          },
        ),
      isOver: () => this.runner.isGone,
      ...{ store, key, log, clock, drafts, events, onFault },
    });
    const { output } = this;
    this.requests = new Requests(session.requests);
    this.listeners = new Listeners({ engine, history, output, onFault });
    this.state = new ConversationState(options, newId, recovered);
    for (const message of recovered.messages) output.adopt(message);
    const { requests, listeners, state } = this;
    const announced = recovered.calls.flatMap(announcedBy);
    const targets = (runner: EffectRunner): EffectTargets => {
      const apply = runner.apply.bind(runner);
      const circumstancesOf = (callId: string) => state.circumstancesOf(callId);
      const inner = innerHost(source, (call) => runs.defer(0, call));
      const tools = new ToolRunner({ key, engine, history, inner, apply, circumstancesOf, logFields });
      const store = new StoreWriter({
        key,
        engine,
        output,
        history,
        isNew,
        queued: session.queued,
        onDecided: (call, by) => {
          if (!options.tellsDecisions) return;
          const findTool = (decided: CallRecord) => toolOf({ engine, history }, decided);
          tellTool({ key, logger: engine.logger, findTool }, call, by ?? { user: key.user });
        },
        logFields,
      });
      const runs: AgentRuns = new AgentRuns({
        engine,
        history,
        inner,
        apply,
        onFault,
        tools: tools.tools,
        room: () => output.readers.room(),
      });
      return { store, runs, tools, output, requests, listeners };
    };
    this.runner = new EffectRunner(
      {
        engine,
        state,
        announced,
        logFields,
        onLost: () => {
          onLost();
          this.moved();
        },
      },
      targets,
    );
    log.onStall?.(() => {
      engine.logger.warn(
        'chunks could not be written to the hub for several seconds: clients got an error, and get the chunks later; check the hub',
        this.logFields,
      );
      listeners.replyToAll(new ProtocolError('internal', WAITS, { retryAfterMs: 5000 }));
    });
    const { runner } = this;
    this.reading = new Reading({ key, engine, output, state, runner, requests, listeners });
    const { reading } = this;
    this.clientRequests = new ClientRequests(isNew, {
      checkIsHere: () => this.checkIsHere(),
      ...{ key, engine, output, state, runner, requests, listeners, reading },
    });
  }

  /**
   * Loads a stored session that this process owns. `onLost` is called when another process becomes the owner later. Throws `moved` when another process becomes
   * the owner while the session is loaded.
   */
  static async load(
    { key, isEmpty }: OwnedSession,
    engine: Engine,
    onLost: () => void,
  ): Promise<Conversation> {
    const { owners, sessionService } = engine;
    try {
      const source = { key, engine, history: new History(sessionService, key) };
      const recovered = await recoverSession(source, isEmpty);
      return new Conversation(source, recovered.session, recovered.log, onLost);
    } catch (error) {
      sessionService.disown(key);
      owners.release(key);
      throw asMoved(error);
    }
  }

  /** The fields of every log line about this conversation: the session, its active connection, and the request that is being answered or came last. */
  private get logFields(): Record<string, unknown> {
    const { holder } = this.listeners;
    const { logged } = this.requests;
    return {
      session: this.key.id,
      ...(holder && { connection: holder }),
      ...(logged && { request: logged }),
    };
  }

  /** Records that a request uses the session, for `isUnusedFor`. */
  touch(): void {
    this.runner.touch();
  }

  /** Whether nothing runs, no client reads, and the last use was more than `ms` milliseconds ago. */
  isUnusedFor(ms: number): boolean {
    const { state, runner } = this;
    const isBusy = state.isBusy || state.isStarting || state.isRunOpen || runner.isWorking;
    if (isBusy || this.output.shown.readers > 0) return false;
    return this.engine.clock.elapsed() - runner.lastUsedAt > ms;
  }

  say(message: TypedMessage, asked: RequestContext & { again: boolean }): Promise<void> {
    return this.clientRequests.say(message, asked);
  }

  continueMessage(messageId: string, asked: RequestContext): Promise<void> {
    return this.clientRequests.continueMessage(messageId, asked);
  }

  answer(answers: Answer[], asked: RequestContext & { by: Identity }): Promise<void> {
    return this.clientRequests.answer(answers, asked);
  }

  answerFor(by: Identity, answers: Answer[], requestId: string): Promise<void> {
    return this.clientRequests.answerFor(by, answers, requestId);
  }

  sendFor(message: TypedMessage, requestId: string): Promise<string | null> {
    return this.clientRequests.sendFor(message, requestId);
  }

  instruct(text: string, requestId: string): Promise<string> {
    return this.clientRequests.instruct(text, requestId);
  }

  speak(text: string, requestId: string): Promise<string> {
    return this.clientRequests.speak(text, requestId);
  }

  media(blob: Blob, { id: from }: Listener): void {
    this.runner.apply({ type: 'media', blob, from });
  }

  microphone(action: 'start' | 'stop', detection: Detection, { id: from }: Listener): void {
    this.runner.apply({ type: 'microphone', action, detection, from });
  }

  async stop(asked: Partial<RequestContext> & { heard?: Heard } = {}): Promise<boolean> {
    const wasRunning = this.state.isBusy;
    return (await this.clientRequests.interrupt(asked)) && wasRunning;
  }

  async post(message: PostedMessage): Promise<SseResponse> {
    return this.resumable(this.active(await this.clientRequests.post(message)));
  }

  async postAnswers(answers: Answer[], from: AnsweredBy): Promise<SseResponse> {
    return this.resumable(this.active(await this.clientRequests.postAnswers(answers, from)));
  }

  async postContinuation(continuation: PostedContinuation): Promise<SseResponse> {
    return this.resumable(this.active(await this.clientRequests.postContinuation(continuation)));
  }

  async resume(last: string | null): Promise<SseResponse | null> {
    const response = this.reading.resume(last);
    // A client that names its last chunk resumes its own response, so it becomes the active client. Other clients only watch.
    return this.resumable(response && last !== null ? this.active(response) : response);
  }

  async replay(): Promise<SseResponse | null> {
    const response = await this.reading.replay();
    return this.resumable(response && this.active(response));
  }

  confirm(last: string): void {
    this.reading.confirm(last);
  }

  /** Marks the client of a response as the active client, unless a socket is the active connection. If the active client lags, the agent waits for it. */
  private active(response: SseResponse): SseResponse {
    return { isActive: this.listeners.holder === null, ...response };
  }

  page(request: PageRequest): Promise<MessagePage | null> {
    return this.reading.page(request);
  }

  async join(listener: Listener, at: Place): Promise<Joined> {
    this.checkIsHere();
    const joined = await this.reading.join(listener, at).catch((error: unknown) => {
      throw asMoved(error);
    });
    return this.resumable(joined);
  }

  /** Resolves with `place` as soon as the hub, if there is one, has the whole log: a client can then resume at `place` even if this process dies. */
  private async resumable<T>(place: T): Promise<T> {
    const released = this.log.released();
    if (released) await released;
    return place;
  }

  claim(listener: Listener | null): void {
    this.listeners.claim(listener);
  }

  leave(listener: Listener): void {
    if (this.listeners.leave(listener)) this.runner.apply({ type: 'left' });
  }

  /** Resolves when the agent is idle and no request waits. */
  settled(): Promise<void> {
    const { state } = this;
    return this.runner.untilIdle(() => state.isBusy || state.isStarting);
  }

  /**
   * Whether the agent is idle, no request waits, and the user neither speaks nor waits for an answer to speech. Also true when this process no longer
   * works on the session.
   */
  get isPaused(): boolean {
    const { state, runner, engine } = this;
    const isBusy = state.isBusy || state.isStarting || runner.isWorking;
    return runner.isGone || !(isBusy || state.isInSpeech(engine.clock.now()));
  }

  /** Resolves when the conversation is paused, or after half a second. */
  async paused(): Promise<void> {
    await settlesWithin(
      this.runner.untilIdle(() => !this.isPaused),
      PAUSE_CHECK_MS,
      this.engine.clock,
    );
  }

  /**
   * Stops the agent, waits for the end of its run, but no longer than `END_MS`, and rejects the requests that the state has not handled. Calls that wait
   * for an answer stay open in the store.
   */
  async close(): Promise<void> {
    const { runner, state } = this;
    this.listeners.close();
    runner.apply({ type: 'shut-down' });
    const stopped = runner.untilIdle(() => state.isResponding || state.isRunOpen);
    await settlesWithin(Promise.all([stopped, runner.runsEnded()]), END_MS, this.engine.clock);
    this.requests.rejectAll(
      this.isRemoved
        ? new ProtocolError('not_found', DELETED)
        : new ProtocolError('shutting_down', 'The server is restarting. Try again in a moment.'),
    );
  }

  /** Whether the session has no title and no message, stored or queued. The registry removes such a session instead of releasing it. */
  async isBlank(): Promise<boolean> {
    const { key, engine, wasNew } = this;
    const { store } = engine;
    if (!wasNew || (await store.loadPage(key, { count: 1, bytes: 0 }))?.messages.length !== 0) return false;
    const [summary, waiting] = await Promise.all([store.findSession(key), store.waitingMessages(key)]);
    return summary?.title === null && waiting.length === 0;
  }

  /** Closes the log and ends this process's ownership of the session. Resolves when another process can become the owner. */
  release(): Promise<void> {
    this.log.close();
    this.history.disown();
    return this.engine.owners.release(this.key);
  }

  /**
   * Closes and releases the session, and asks its clients to reconnect: the node that they reach then becomes the owner. Call it while the session is
   * paused.
   */
  async handOver(): Promise<void> {
    await this.close();
    // If the last chunks cannot be replicated, continue all the same: the next owner sends clients the stored messages instead.
    await this.log.released()?.catch(() => undefined);
    this.runner.drop();
    await this.release();
    this.sendAway();
  }

  /** Stops all work on the session, because the store says that another process owns it. */
  lose(): void {
    this.runner.fault(new StaleFence(this.key));
  }

  private checkIsHere(): void {
    if (this.isRemoved) throw new ProtocolError('not_found', DELETED);
    if (this.runner.isGone) throw movedError();
  }

  /** Releases the session, which another process owns now, and asks clients to reconnect, so that they reach the new owner. */
  private moved(): void {
    this.engine.logger.warn(
      'another node owns a session now: the clients of the session were asked to reconnect',
      this.logFields,
    );
    this.listeners.close();
    this.release();
    this.sendAway();
  }

  /** Ends every connection and response with the error `moved`, so that clients reconnect to the owner of the session. */
  sendAway(): void {
    const why = movedError();
    this.requests.rejectAll(why);
    this.output.end(why);
    this.listeners.endAll(why.code, why.message);
  }

  /** Closes the conversation because its session is being deleted, and informs its clients. */
  async remove(): Promise<void> {
    this.isRemoved = true;
    this.listeners.endAll('not_found', DELETED);
    await this.close();
    this.runner.drop();
    this.log.remove();
  }
}

function movedError(): ProtocolError {
  return new ProtocolError('moved', MOVED, { retryAfterMs: 1000 });
}

/** Converts the error of a write that failed because another process owns the session to an error for clients. Returns any other error unchanged. */
function asMoved(error: unknown): unknown {
  return error instanceof StaleFence ? movedError() : error;
}
