import { type Event, LiveRequestQueue, type LlmResponse, type RunConfig, StreamingMode } from '@google/adk';
import type { Blob, Content } from '@google/genai';
import {
  type DeferredCall,
  type RunView,
  resumptionOf,
  type ServerTools,
  type Speaker,
} from '../../adk/for-server.ts';
import { failedWith } from '../../models/for-server.ts';
import type { Detection } from '../../protocol/index.ts';
import { settlesWithin } from '../clock.ts';
import type { Engine } from '../engine.ts';
import type { History } from '../ledger/history.ts';
import { type CallRecord, StoreError } from '../store/store.ts';
import type { Failure } from './machine/agent-failure.ts';
import type { RunRequest, Ticket } from './machine/effects.ts';
import type { Input } from './machine/inputs.ts';

/** What runs of an agent need from around them. */
export interface AdkRunsContext {
  engine: Engine;
  history: History;
  tools: ServerTools;
  openCalls: () => CallRecord[];
  push: (input: Input) => void;
  /** A run failed, of whatever. */
  onFault: (error: unknown) => void;
  /** Something to wait for before more is read from the agent. */
  room: () => Promise<void> | undefined;
}

/** A run that was opened and is not over. */
interface OpenRun {
  n: number;
  queue: LiveRequestQueue | null;
  controller: AbortController;
  /** Whether the client says when the person speaks, and whether they do. */
  isPushToTalk: boolean;
  isTalking: boolean;
  isOver: boolean;
  /** Cancels the timer that gives the run up when it does not end. */
  cancelDeadline: (() => void) | null;
}

type TurnRequest = Extract<RunRequest, { driver: 'turn' }>;

/** A call that ADK waits with until it is written down. */
class CallTicket {
  readonly settled: Promise<void>;
  private resolve: () => void = () => undefined;
  private reject: (error: Error) => void = () => undefined;

  constructor() {
    this.settled = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.settled.catch(() => undefined);
  }

  letGo(error: string | null): void {
    if (error === null) this.resolve();
    else this.reject(new Error(error));
  }
}

/** How long a run that is told to end may take; a model's connection that hangs is left behind. */
const END_MS = 5000;
/** So many events in one go, then everyone else gets a turn. */
const EVENTS_IN_A_ROW = 200;

/** The runs of a conversation's agent in ADK: opened, fed, read and closed. What comes of them is pushed to the machine. */
export class AdkRuns {
  private readonly context: AdkRunsContext;
  private readonly runs = new Map<number, OpenRun>();
  /** The calls that ADK waits with. */
  private readonly tickets = new Set<CallTicket>();

  constructor(context: AdkRunsContext) {
    this.context = context;
  }

  /** Opens a run. Never throws: whatever goes wrong is how it ended. */
  open(n: number, request: RunRequest): void {
    const live = request.driver === 'live';
    const run: OpenRun = {
      n,
      queue: live ? new LiveRequestQueue() : null,
      controller: new AbortController(),
      isPushToTalk: request.driver === 'live' && request.detection === 'client',
      isTalking: false,
      isOver: false,
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

  show(n: number, blob: Blob): void {
    this.runs.get(n)?.queue?.sendRealtime(blob);
  }

  /** The person interrupts the model. */
  hush(n: number): void {
    const run = this.runs.get(n);
    run?.queue?.sendActivityStart();
    // Where the client says when the person speaks, every beginning has an end.
    if (run?.isPushToTalk && !run.isTalking) run.queue?.sendActivityEnd();
  }

  /** The person begins to speak, or has finished. */
  signal(n: number, activity: 'start' | 'end'): void {
    const run = this.runs.get(n);
    if (!run) return;
    run.isTalking = activity === 'start';
    if (activity === 'start') run.queue?.sendActivityStart();
    else run.queue?.sendActivityEnd();
  }

  /** Tells a run to end; one that does not is left behind. */
  close(n: number): void {
    const run = this.runs.get(n);
    if (!run) return;
    run.queue?.close();
    run.controller.abort();
    const { engine, history } = this.context;
    const late = () => {
      engine.logger.error('the run does not end', { session: history.key.sessionId });
      this.over(run, null);
    };
    run.cancelDeadline ??= engine.clock.after(END_MS, late);
  }

  letGo(ticket: Ticket, error: string | null): void {
    if (ticket instanceof CallTicket) ticket.letGo(error);
  }

  /** Tells all runs to end: nobody hears any more what comes of them. */
  closeAll(): void {
    for (const n of this.runs.keys()) this.close(n);
    for (const ticket of this.tickets) ticket.letGo('The conversation went on elsewhere.');
  }

  /** Resolves when no run is open any more, or after a while. */
  async ended(): Promise<void> {
    const { clock } = this.context.engine;
    const all = [...this.runs.values()].map(
      (run) =>
        new Promise<void>((resolve) => {
          this.waiting.push({ run, resolve });
        }),
    );
    if (all.length > 0) await settlesWithin(Promise.all(all), END_MS, clock);
  }

  private readonly waiting: { run: OpenRun; resolve: () => void }[] = [];

  /** Returns what went wrong, or null. Never rejects. */
  private async read(run: OpenRun, request: RunRequest): Promise<Failure | null> {
    const { engine, history, tools, openCalls, push, room, onFault } = this.context;
    const { plugin } = engine;
    const { appName, userId, sessionId: id } = history.key;
    let view: RunView | null = null;
    let count = 0;
    const tell = (event: Event): Promise<void> | undefined => {
      if (view) push({ type: 'event', n: run.n, event, view });
      const full = room();
      if (full) return unlessAborted(full, run.controller.signal);
      return ++count % EVENTS_IN_A_ROW === 0 ? nextRound() : undefined;
    };
    try {
      const defer = async (call: DeferredCall): Promise<void> => {
        const ticket = new CallTicket();
        this.tickets.add(ticket);
        push({ type: 'deferred', n: run.n, call, ticket });
        await ticket.settled.finally(() => this.tickets.delete(ticket));
      };
      // The machine wants nothing of a partial text but its words.
      const fastPath = (response: LlmResponse, from: Speaker) =>
        run.isOver ? undefined : tell({ ...response, ...from } as Event);
      const live = run.queue !== null;
      const optimistic = request.driver === 'turn' && request.optimistic;
      view = plugin.begin({ appName, userId, id }, { live, optimistic, defer, tools, openCalls, fastPath });
      // What is stored before ADK has read the session would reach the model twice.
      if (run.queue) {
        view.begun
          .then(() => push({ type: 'opened', n: run.n }))
          .catch((error: unknown) => this.over(run, failureOf(error)));
      }
      const events =
        run.queue && request.driver === 'live'
          ? await this.liveEvents(run.queue, request.detection)
          : this.turnEvents(run, request as TurnRequest);
      for await (const event of events) {
        if (run.isOver) return null;
        const wait = tell(event);
        if (wait) await wait;
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

  /** The events of a live run; it goes on with the model's session of the last one, if that is still the same conversation. */
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
    for (const waiting of this.waiting) if (waiting.run === run) waiting.resolve();
    this.context.push({ type: 'ended', n: run.n, error });
  }
}

/** The configuration of a live run in which the client says when the person speaks, or the model finds out. */
function runConfigOf(live: Partial<RunConfig>, detection: Detection): Partial<RunConfig> {
  if (detection === 'server') return live;
  const { realtimeInputConfig } = live;
  const automaticActivityDetection = {
    ...realtimeInputConfig?.automaticActivityDetection,
    disabled: true,
  };
  return { ...live, realtimeInputConfig: { ...realtimeInputConfig, automaticActivityDetection } };
}

/** The text about a failed run for the person: about the store, or about the model. */
function failureOf(error: unknown): Failure {
  return error instanceof StoreError ? { code: 'STORE', message: error.message } : failedWith(error);
}

/** Lets everyone else have a turn. */
function nextRound(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Waits, but not beyond the end of a run. */
function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const end = () => {
      signal.removeEventListener('abort', end);
      resolve();
    };
    signal.addEventListener('abort', end);
    work.then(end, reject);
  });
}
