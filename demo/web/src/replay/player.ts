import type { Message } from 'duologue/protocol';
import type { Mode, UseDuologueHelpers, UseDuologueOptions } from 'duologue/react';
import type { Recording } from '../wire/recording.ts';
import type { WireEvent } from '../wire/wire-event.ts';
import { RecordedServer } from './recorded-server.ts';
import { type Action, actionsOf, isStream, isWatch, type Output, outputsIn } from './script.ts';

/** The speed of a replay: as recorded, or as fast as possible. */
export type Pace = 'real' | 'fast';

/** The state of a replay. */
export interface ReplayState {
  status: 'playing' | 'paused' | 'ended';
  /** Whether an event is being played. It is played to its end, even when the user pauses the replay. */
  isBusy: boolean;
  pace: Pace;
  position: number;
  total: number;
  /** At the end: whether the page shows what it showed when it was recorded; null when that is not known. */
  matches: boolean | null;
}

/** How long the player waits for the page to do what the recorded page did. */
const TIMEOUT_MS = 2_000;
/** Longer than the time for which the transports merge deltas (`mergeMs`). */
const REST_MS = 30;

/**
 * Replays a recording. The player repeats the user's actions in the chat, its transports receive the recorded server data, and
 * the whole client between them is the real one.
 */
export class ReplayPlayer {
  readonly id = crypto.randomUUID();
  readonly recording: Recording;
  /** The events that were played so far. New events are added to the same array. */
  readonly events: WireEvent[] = [];
  readonly dropped = 0;
  private readonly server: RecordedServer;
  private readonly outputs: Map<string, Output>;
  private readonly watchers = new Set<() => void>();
  private readonly waiting = new Set<() => void>();
  private chat: UseDuologueHelpers | null = null;
  private current: ReplayState;
  private currentMode: Mode;
  private isStopped = false;

  constructor(recording: Recording, pace: Pace = 'real') {
    this.recording = recording;
    this.server = new RecordedServer(recording.events, () => this.touch());
    this.outputs = outputsIn(recording.events);
    this.currentMode = firstMode(recording);
    this.current = {
      status: 'playing',
      isBusy: false,
      pace,
      position: 0,
      total: recording.events.length,
      matches: null,
    };
  }

  get state(): ReplayState {
    return this.current;
  }

  /** The transport mode of the conversation at this position of the recording. */
  get mode(): Mode {
    return this.currentMode;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.watchers.add(listener);
    return () => this.watchers.delete(listener);
  };

  /** The options with which the conversation talks to the recorded server. */
  options(toolNames: readonly string[]): Partial<UseDuologueOptions> & { sessionId: string } {
    const { sessionId, events } = this.recording;
    const wasLoaded = events.some(
      (event) => event.type === 'request' && event.method === 'GET' && /\/sessions\/[^/]+$/.test(event.path),
    );
    return {
      sessionId,
      fetch: this.server.fetch,
      // Another tab may show the real conversation, which has the same id.
      sharesStream: false,
      WebSocket: this.server.WebSocket,
      tools: Object.fromEntries(
        toolNames.map((name) => [
          name,
          (_: never, call: { toolCallId: string }) => this.outputOf(call.toolCallId),
        ]),
      ),
      messages: wasLoaded ? undefined : [],
    };
  }

  /** Takes the chat after each render. The first call starts the replay. */
  act(chat: UseDuologueHelpers): void {
    this.chat = chat;
    this.touch();
    if (this.current.status === 'playing') void this.run();
  }

  play(pace: Pace): void {
    if (this.current.status === 'ended') return;
    this.become({ status: 'playing', pace });
    void this.run();
  }

  pause(): void {
    if (this.current.status === 'playing') this.become({ status: 'paused' });
    this.touch();
  }

  /** Plays one event. */
  async step(): Promise<void> {
    this.pause();
    if (this.current.isBusy || this.current.status === 'ended') return;
    this.become({ isBusy: true });
    await this.next();
    this.become({ isBusy: false });
  }

  /** Ends the replay for good. */
  stop(): void {
    this.isStopped = true;
    this.touch();
  }

  private async run(): Promise<void> {
    if (this.current.isBusy) return;
    this.become({ isBusy: true });
    while (this.current.status === 'playing' && !this.isStopped) {
      await this.gap();
      if (this.current.status !== 'playing' || this.isStopped) break;
      await this.next();
    }
    this.become({ isBusy: false });
  }

  private async next(): Promise<void> {
    const event = this.recording.events[this.current.position];
    if (event) {
      await this.perform(event);
      this.events.push(event);
      this.become({ position: this.current.position + 1 });
    }
    if (this.current.position < this.current.total || this.isStopped) return;
    await this.rest();
    // The last response may still be on its way through the chat.
    const { messages } = this.recording;
    const isSame = () => areSame(messages, this.chat?.messages ?? []);
    this.become({ status: 'ended', matches: messages.length === 0 ? null : await this.until(isSame) });
  }

  /** Waits for the recorded time between the previous event and the next one. */
  private async gap(): Promise<void> {
    const { position, pace } = this.current;
    const [before, event] = [this.recording.events[position - 1], this.recording.events[position]];
    if (!before || !event) return;
    const end = performance.now() + (event.at - before.at);
    const isOver = () => this.current.pace === 'fast' || this.current.status !== 'playing' || this.isStopped;
    if (pace === 'real') await this.until(() => isOver() || performance.now() >= end, event.at - before.at);
  }

  private async perform(event: WireEvent): Promise<void> {
    if (isStream(event)) await this.switchTo('sse');
    if (event.type === 'open' || isWatch(event)) {
      await this.switchTo(event.type === 'open' ? 'bidi' : 'sse');
      await this.opened(event.channel);
    }
    for (const action of actionsOf(event)) await this.do(action);
    await this.until(() => this.server.hasAsked(event));
    const isHeard =
      event.type === 'response' ||
      (event.type !== 'request' && event.type !== 'open' && event.direction === 'in');
    if (!isHeard) return;
    await this.until(() => this.server.isBound(event.channel));
    this.server.deliver(event);
  }

  private async switchTo(mode: Mode): Promise<void> {
    if (this.currentMode === mode) return;
    await this.rest();
    this.currentMode = mode;
    this.tell();
    await this.until(() => this.chat?.mode === mode);
  }

  /** Waits until the page has opened a recorded channel. If the page does not connect by itself, makes it reconnect. */
  private async opened(channel: number): Promise<void> {
    const isThere = () => this.server.isBound(channel);
    if (await this.until(isThere, 100)) return;
    if (this.chat?.connection.status !== 'live') await this.chat?.reconnect();
    await this.until(isThere);
  }

  private async do(action: Action): Promise<void> {
    if (action.type === 'interrupt') return this.chat?.interrupt();
    if (action.type === 'decide') {
      const { toolCallId, approved, reason } = action;
      const find = () => this.chat?.approvals.find((approval) => approval.toolCallId === toolCallId);
      await this.until(() => find() !== undefined);
      const approval = find();
      if (approval)
        void (approved ? this.chat?.approve(approval, reason) : this.chat?.deny(approval, reason));
      return;
    }
    await this.rest();
    const { messageId } = action;
    if (action.type === 'regenerate')
      void this.chat?.regenerate(messageId === undefined ? {} : { messageId });
    else if (messageId === undefined) void this.chat?.sendMessage(action.message as never);
    else void this.chat?.sendMessage({ ...action.message, messageId } as never);
  }

  /** Waits until the chat is ready at two checks in a row: data may have arrived that the chat has not handled yet. */
  private async rest(): Promise<void> {
    const isReady = () => this.chat?.status === 'ready' || this.chat?.status === 'error';
    for (let quiet = 0; quiet < 2 && !this.isStopped; quiet++) {
      await this.until(() => false, REST_MS);
      if (isReady()) continue;
      quiet = -1;
      if (!(await this.until(isReady))) return;
    }
  }

  private outputOf(toolCallId: string): Promise<unknown> {
    const output = this.outputs.get(toolCallId);
    if (!output) return new Promise(() => undefined);
    return 'output' in output ? Promise.resolve(output.output) : Promise.reject(new Error(output.errorText));
  }

  /** Waits until a condition holds or a timeout ends; returns whether it holds. */
  private async until(isSo: () => boolean, timeoutMs = TIMEOUT_MS): Promise<boolean> {
    const end = performance.now() + timeoutMs;
    while (!isSo() && !this.isStopped) {
      const left = end - performance.now();
      if (left <= 0) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(left, 1_000));
        this.waiting.add(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    return isSo();
  }

  private touch(): void {
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const wake of waiting) wake();
  }

  private become(change: Partial<ReplayState>): void {
    this.current = { ...this.current, ...change };
    this.touch();
    this.tell();
  }

  private tell(): void {
    for (const watcher of [...this.watchers]) watcher();
  }
}

function firstMode({ events, mode }: Recording): Mode {
  const first = events.find((event) => event.type === 'open' || isStream(event) || isWatch(event));
  if (!first) return mode;
  return first.type === 'open' ? 'bidi' : 'sse';
}

function areSame(one: readonly Message[], other: readonly Message[]): boolean {
  return canonical(one) === canonical(other);
}

/** The value as JSON with sorted fields, so that equal values have equal texts. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}
