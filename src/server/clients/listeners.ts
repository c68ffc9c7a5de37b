import type { ProtocolError } from '../../protocol/index.ts';
import { RateLimiter } from '../access/limits.ts';
import type { Engine } from '../engine.ts';
import type { History } from '../ledger/history.ts';
import type { Output } from '../output/output.ts';
import { type Sound, Utterances } from '../output/utterances.ts';
import type { Listener, Place } from '../registry/session.ts';

/** The objects that `Listeners` uses: the engine, the history and output of the session, and a callback for faults. */
export interface ListenersContext {
  engine: Engine;
  history: History;
  output: Output;
  /** Called when the id of the active connection could not be stored. */
  onFault: (error: unknown) => void;
}

/** How long the active client may take to reconnect before another listener becomes active. */
const COMEBACK_MS = 5000;

/** The limit for changes of the active connection that clients cause: ten at once, and one a second. */
const CLAIMS = { burst: 10, perMinute: 60 };

/** The listeners of a conversation. At most one of them has the active connection, and gets the sound. */
export class Listeners {
  private readonly context: ListenersContext;
  private readonly active = new ActiveConnection((holder) => this.activeChanged(holder));
  private readonly utterances: Utterances;
  private isClosed = false;
  private cancelPassing: () => void = () => undefined;
  private readonly claims: RateLimiter;
  /** The listener that claims the active connection and waits until another change is allowed. */
  private claimant: Listener | null = null;
  private cancelClaim: () => void = () => undefined;
  /** The last write that stores the id of the active connection in the session. `identified` settles with that write, but never rejects. */
  private identifying: Promise<void> = Promise.resolve();
  private identified: Promise<void> = Promise.resolve();

  constructor(context: ListenersContext) {
    this.context = context;
    this.claims = new RateLimiter(CLAIMS, context.engine.clock);
    // Numbers of utterances must not repeat. Earlier owners sent at least one chunk for each utterance, so they used no number above `log.last`.
    this.utterances = new Utterances(context.output.log.last);
  }

  /** The id of the active connection; null when there is none. */
  get holder(): string | null {
    return this.active.holder?.id ?? null;
  }

  /** Whether a client is connected over a socket. Then messages, instructions and answers of the application are handled like those of a socket. */
  get hasSocket(): boolean {
    return this.active.all.some(({ watches }) => watches !== 'always');
  }

  has(listener: Listener): boolean {
    return this.active.has(listener);
  }

  /** Adds a listener. Resolves when the id of the active connection is stored. Rejects when that fails and this listener is active. */
  join(listener: Listener): Promise<void> {
    this.active.join(listener);
    return this.active.holder === listener ? this.identifying : this.identified;
  }

  /** The sound after the position up to which a listener already has it; empty unless the listener is active. */
  soundsFor(listener: Listener, sound: Place['sound']): Sound[] {
    if (!sound || this.active.holder !== listener) return [];
    return this.utterances.from(sound.n, sound.at);
  }

  /**
   * Makes a listener active; null makes no listener active, but a listener that cannot watch stays active. If many listeners claim in a short time, only the
   * last claim takes effect, as soon as the limit allows another change. The changes are limited, because each is stored and sent to all watchers.
   */
  claim(listener: Listener | null): void {
    if (listener?.watches === 'always') return;
    this.cancelPassing();
    if (listener === null || listener === this.active.holder) {
      this.forgetClaim();
      if (listener === null) this.active.release();
      return;
    }
    const isWaiting = this.claimant !== null;
    this.claimant = listener;
    if (!isWaiting) this.claimWhenAllowed();
  }

  private claimWhenAllowed(): void {
    const wait = this.claims.take('');
    if (wait > 0) {
      this.cancelClaim = this.context.engine.clock.after(wait, () => this.claimWhenAllowed());
      return;
    }
    const { claimant } = this;
    this.claimant = null;
    if (claimant) this.active.claim(claimant);
  }

  private forgetClaim(): void {
    this.cancelClaim();
    this.claimant = null;
  }

  /** Removes a listener. Returns whether it was the last one. */
  leave(listener: Listener): boolean {
    const { active } = this;
    const wasActive = active.holder === listener;
    if (!active.leave(listener)) return false;
    if (active.isEmpty) return true;
    if (wasActive && !this.isClosed) this.passOnLater();
    return false;
  }

  /** Gives the active client a moment to reconnect; otherwise another listener becomes active. */
  private passOnLater(): void {
    this.cancelPassing();
    this.cancelPassing = this.context.engine.clock.after(COMEBACK_MS, () => this.active.passOn());
  }

  /** Cancels the timers, because this process closes the conversation. */
  close(): void {
    this.isClosed = true;
    this.cancelPassing();
    this.forgetClaim();
  }

  /** Reports a failure to one connection, if it is still open. */
  replyTo(connection: string, error: ProtocolError): void {
    this.active.all.find(({ id }) => id === connection)?.failed(error);
  }

  /** Reports a failure to every listener. */
  replyToAll(error: ProtocolError): void {
    for (const listener of this.active.all) listener.failed(error);
  }

  /** Ends every listener. */
  endAll(...why: Parameters<Listener['end']>): void {
    for (const listener of this.active.all) listener.end(...why);
  }

  /** Plays the sound of a message on the active connection, if there is one. */
  play({ messageId, sampleRate, data }: { messageId: string; sampleRate: number; data: string }): void {
    // The sound is kept even while no connection is active: the active client may reconnect in a moment and continue with it.
    const sound = this.utterances.add(messageId, sampleRate, data);
    this.active.holder?.play(sound);
  }

  /** Discards the sound that is not played yet. */
  stopPlayback(): void {
    this.utterances.flush();
    this.active.holder?.stopPlayback();
  }

  /** Called when the active connection changed. Sends watchers its id (null when no connection is active), and stores the id in the session, unless null. */
  private activeChanged(holder: Listener | null): void {
    const { output, history, onFault } = this.context;
    const connectionId = holder?.id ?? null;
    if (this.active.isWatched) output.inject({ type: 'data-floor', data: { connectionId }, transient: true });
    if (connectionId === null) return;
    output.readers.loseActive();
    // The writes run one after the other, so that the last change is written last.
    this.identifying = this.identified.then(() => history.identify(connectionId));
    this.identified = this.identifying.catch(onFault);
  }
}

/**
 * The listeners of a conversation, at most one of which is active: only the active listener gets sound and runs browser tools. A listener that cannot watch
 * becomes active when it joins, and is disconnected when another listener becomes active.
 */
class ActiveConnection {
  private readonly listeners = new Set<Listener>();
  private current: Listener | null = null;
  private readonly onChange: (holder: Listener | null) => void;

  /** `onChange` is called after every change, with the listener that is active now. */
  constructor(onChange: (holder: Listener | null) => void) {
    this.onChange = onChange;
  }

  /** The active listener; null when there is none. */
  get holder(): Listener | null {
    return this.current;
  }

  get all(): Listener[] {
    return [...this.listeners];
  }

  get isEmpty(): boolean {
    return this.listeners.size === 0;
  }

  /** Whether any listener can watch while another one is active. */
  get isWatched(): boolean {
    return this.all.some(({ watches }) => watches !== 'never');
  }

  has(listener: Listener): boolean {
    return this.listeners.has(listener);
  }

  /** Adds a listener. It becomes active when no listener is, or when it cannot watch. A listener that only watches never becomes active. */
  join(listener: Listener): void {
    this.listeners.add(listener);
    if (this.current === null || listener.watches === 'never') this.claim(listener);
  }

  /** Makes a listener active. Does nothing for a listener that is active already, only watches, or was removed. */
  claim(listener: Listener): void {
    const before = this.current;
    if (before === listener || listener.watches === 'always' || !this.listeners.has(listener)) return;
    this.current = listener;
    if (before?.watches === 'never') {
      this.listeners.delete(before);
      before.end('taken_over', 'This conversation continues in another window.');
    }
    this.onChange(listener);
  }

  /** Makes no listener active, because a client sends over HTTP. A listener that cannot watch stays active. */
  release(): void {
    if (this.current?.watches !== 'when-another-speaks') return;
    this.current = null;
    this.onChange(null);
  }

  /** Called when the active client did not reconnect: of the listeners that may be active, the one that joined last becomes active. */
  passOn(): void {
    const next = this.all.findLast(({ watches }) => watches !== 'always');
    if (this.current === null && next) this.claim(next);
  }

  /** Removes a listener; false when it was removed before. */
  leave(listener: Listener): boolean {
    if (!this.listeners.delete(listener)) return false;
    if (this.current === listener) {
      this.current = null;
      this.onChange(null);
    }
    return true;
  }
}
