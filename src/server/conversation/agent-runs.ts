import { type Event, LiveRequestQueue, type LlmResponse, type RunConfig, StreamingMode } from '@google/adk';
import type { Blob, Content } from '@google/genai';
import {
  type DeferredCall,
  type InnerHost,
  type RunView,
  resumptionOf,
  type ServerTools,
  type Speaker,
  unlessAborted,
} from '../../adk/for-server.ts';
import { failedWith } from '../../models/for-server.ts';
import type { Detection } from '../../protocol/index.ts';
import { nextRound, settlesWithin } from '../clock.ts';
import type { Engine } from '../engine.ts';
import type { History } from '../ledger/history.ts';
import { StoreError } from '../store/store.ts';
import type { RunRequest, Ticket } from './state/effects.ts';
import type { Failure } from './state/errors.ts';
import type { Input } from './state/inputs.ts';

/** The objects and callbacks that `AgentRuns` gets from its conversation. */
export interface AgentRunsContext {
  engine: Engine;
  history: History;
  tools: ServerTools;
  inner: InnerHost;
  /** Applies an input that a run causes, such as an event of the agent, to the state. */
  apply: (input: Input) => void;
  /** Called with the error of a run that failed. */
  onFault: (error: unknown) => void;
  /** While the active client lags, returns a promise to await before the next event of the agent is read; otherwise undefined. */
  room: () => Promise<void> | undefined;
}

/** A run that was opened and has not ended. */
interface OpenRun {
  n: number;
  queue: LiveRequestQueue | null;
  controller: AbortController;
  /** Whether the client signals when the user starts and stops speaking. */
  isPushToTalk: boolean;
  /** Whether the last of these signals says that the user started to speak. */
  isTalking: boolean;
  isOver: boolean;
  /** Called when the run has ended. */
  onOver: (() => void)[];
  /** Cancels the timer that abandons a closing run; null while the run is not closing. */
  cancelDeadline: (() => void) | null;
}

type TurnRequest = Extract<RunRequest, { driver: 'turn' }>;

/** How long a closing run may take to end before it is abandoned. A model or a tool may ignore its abort signal. */
const END_MS = 5000;
/** How many events of a run are read in a row before the event loop serves other sessions. */
const EVENTS_IN_A_ROW = 200;

/** Opens, feeds, reads and closes the ADK runs of a conversation. Each event of a run becomes an input of the state. */
export class AgentRuns {
  private readonly context: AgentRunsContext;
  private readonly runs = new Map<number, OpenRun>();
  /** By the ticket of a deferred call: the function that lets ADK continue with the call. */
  private readonly waitingCalls = new Map<Ticket, (error: string | null) => void>();
  private lastTicket = 0;

  constructor(context: AgentRunsContext) {
    this.context = context;
  }

  /** Opens a run. Never throws: a failure becomes the input `run-ended`. */
  open(n: number, request: RunRequest): void {
    const live = request.driver === 'live';
    const run: OpenRun = {
      n,
      queue: live ? new LiveRequestQueue() : null,
      controller: new AbortController(),
      isPushToTalk: request.driver === 'live' && request.detection === 'client',
      isTalking: false,
      isOver: false,
      onOver: [],
      cancelDeadline: null,
    };
    this.runs.set(n, run);
    this.read(run, request)
      .then((error) => this.over(run, error))
      .catch((error: unknown) => this.over(run, failureOf(error)));
  }

  send(n: number, content: Content): void {
    this.runs.get(n)?.queue?.sendContent(content);
  }

  sendMedia(n: number, blob: Blob): void {
    this.runs.get(n)?.queue?.sendRealtime(blob);
  }

  /** Cancels the output of the model. */
  mute(n: number): void {
    const run = this.runs.get(n);
    run?.queue?.sendActivityStart();
    // The start of an activity makes the model stop its output. With push to talk, each start needs an end. While the user talks, the client will
    // send the end.
    if (run?.isPushToTalk && !run.isTalking) run.queue?.sendActivityEnd();
  }

  /** Signals to the model that the user has started or stopped speaking. */
  signal(n: number, activity: 'start' | 'end'): void {
    const run = this.runs.get(n);
    if (!run) return;
    run.isTalking = activity === 'start';
    if (activity === 'start') run.queue?.sendActivityStart();
    else run.queue?.sendActivityEnd();
  }

  /** Closes a run. If the run does not end within `END_MS`, the state gets `run-ended` all the same, and later events of the run are ignored. */
  close(n: number): void {
    const run = this.runs.get(n);
    if (!run) return;
    run.queue?.close();
    run.controller.abort();
    const { engine, history } = this.context;
    const late = () => {
      engine.logger.error(
        `a run of the agent did not end within ${END_MS} ms: it is abandoned; check tools and callbacks that ignore their abort signal`,
        { session: history.key.sessionId },
      );
      this.over(run, null);
    };
    run.cancelDeadline ??= engine.clock.after(END_MS, late);
  }

  /** Defers a call of the agent, or of an agent that is used as a tool. Resolves when the call is stored; rejects when the call could not be stored. */
  async defer(n: number, call: DeferredCall): Promise<void> {
    const ticket = ++this.lastTicket;
    const released = new Promise<void>((resolve, reject) => {
      this.waitingCalls.set(ticket, (error) => (error === null ? resolve() : reject(new Error(error))));
    });
    this.context.apply({ type: 'deferred', n, call, ticket });
    await released.finally(() => this.waitingCalls.delete(ticket));
  }

  /** Lets ADK continue with a deferred call. `error` says why the call could not be stored; null when it is stored. */
  releaseCall(ticket: Ticket, error: string | null): void {
    this.waitingCalls.get(ticket)?.(error);
  }

  /** Closes all runs and rejects all deferred calls, because another process owns the session. */
  closeAll(): void {
    for (const n of this.runs.keys()) this.close(n);
    for (const release of this.waitingCalls.values()) release('Another process owns the session now.');
  }

  /** Resolves when no run is open, or after `END_MS`. */
  async ended(): Promise<void> {
    const { clock } = this.context.engine;
    const untilOver = (run: OpenRun) => new Promise<void>((resolve) => run.onOver.push(resolve));
    const all = [...this.runs.values()].map(untilOver);
    if (all.length > 0) await settlesWithin(Promise.all(all), END_MS, clock);
  }

  /** Reads the events of a run. Returns the failure of the run; null when the run ended without a failure. */
  private async read(run: OpenRun, request: RunRequest): Promise<Failure | null> {
    const { engine, history, tools, inner, apply, room, onFault } = this.context;
    const { plugin } = engine;
    const { appName, userId, sessionId: id } = history.key;
    let view: RunView | null = null;
    let count = 0;
    const pass = (event: Event): Promise<void> | undefined => {
      if (view) apply({ type: 'event', n: run.n, event, view });
      const full = room();
      if (full) return unlessAborted(full, run.controller.signal, () => undefined);
      return ++count % EVENTS_IN_A_ROW === 0 ? nextRound() : undefined;
    };
    try {
      const defer = (call: DeferredCall) => this.defer(run.n, call);
      // Partial responses of the model go to the state directly, not through ADK, because the state needs only their text deltas.
      // The spread is last, because Node 20 needs microseconds to create an object that begins with a spread, and this runs for every text delta.
      const fastPath = (response: LlmResponse, { author, branch }: Speaker) =>
        run.isOver ? undefined : pass({ author, branch, ...response } as Event);
      const live = run.queue !== null;
      const optimistic = request.driver === 'turn' && request.optimistic;
      const continues = request.driver === 'turn' ? request.continues : undefined;
      const active = { live, optimistic, continues, defer, tools, inner, fastPath };
      view = plugin.begin({ appName, userId, id }, active);
      // The run takes input once ADK has read the session. Input that is stored before that would reach the model twice: in the history and through
      // the queue.
      if (run.queue) {
        view.begun
          .then(() => apply({ type: 'run-opened', n: run.n }))
          .catch((error: unknown) => this.over(run, failureOf(error)));
      }
      const events =
        run.queue && request.driver === 'live'
          ? await this.liveEvents(run.queue, request.detection)
          : this.turnEvents(run, request as TurnRequest);
      for await (const event of events) {
        if (run.isOver) return null;
        const wait = pass(event);
        if (wait) await wait;
        // A workflow node that asks the user ends the run. Defer its question first, so that the question is stored and clients get it before the run
        // ends.
        for (const call of view.questionsIn(event)) await defer(call);
      }
      return null;
    } catch (error) {
      onFault(error);
      return failureOf(error);
    } finally {
      if (view) plugin.end(view);
    }
  }

  private turnEvents({ controller }: OpenRun, request: TurnRequest): AsyncIterable<Event> {
    const { engine, history } = this.context;
    const { userId, sessionId } = history.key;
    const { content: newMessage, customMetadata } = request;
    return engine.runner.runAsync({
      userId,
      sessionId,
      newMessage,
      runConfig: { streamingMode: StreamingMode.SSE },
      abortSignal: controller.signal,
      customMetadata,
    });
  }

  /** Starts a live run and returns its events. If possible (`resumptionOf`), the run resumes the session that the last run had at the model provider. */
  private async liveEvents(liveRequestQueue: LiveRequestQueue, detection: Detection) {
    const { engine, history } = this.context;
    const { userId, sessionId } = history.key;
    const { events } = await history.load();
    const old = resumptionOf(events, engine.clock.now());
    const parts = (old?.responses ?? []).map((functionResponse) => ({ functionResponse }));
    if (parts.length > 0) liveRequestQueue.sendContent({ role: 'user', parts });
    return engine.runner.runLive({
      userId,
      sessionId,
      liveRequestQueue,
      runConfig: runConfigOf(engine.options.live, detection) as RunConfig,
      ...(old ? { liveSessionResumptionHandle: old.handle } : {}),
    });
  }

  private over(run: OpenRun, error: Failure | null): void {
    if (run.isOver) return;
    run.isOver = true;
    run.cancelDeadline?.();
    run.queue?.close();
    this.runs.delete(run.n);
    for (const resolve of run.onOver) resolve();
    this.context.apply({ type: 'run-ended', n: run.n, error });
  }
}

/** The configuration of a live run. With `detection: 'client'` the client signals speech, so the model's own speech detection is off. */
function runConfigOf(live: Partial<RunConfig>, detection: Detection): Partial<RunConfig> {
  if (detection === 'server') return live;
  const { realtimeInputConfig } = live;
  const automaticActivityDetection = {
    ...realtimeInputConfig?.automaticActivityDetection,
    disabled: true,
  };
  return { ...live, realtimeInputConfig: { ...realtimeInputConfig, automaticActivityDetection } };
}

/** Converts an error of the store or of the model to the failure of a run. */
function failureOf(error: unknown): Failure {
  return error instanceof StoreError ? { code: 'STORE', message: error.message } : failedWith(error);
}
