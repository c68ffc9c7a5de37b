import type { ProtocolError } from '../../protocol/index.ts';
import { RateLimiter } from '../access/rate-limit.ts';
import type { Engine } from '../engine.ts';
import type { Listener, Place } from '../home/home.ts';
import type { History } from '../ledger/history.ts';
import type { Output } from '../output/output.ts';
import { type Sound, Utterances } from '../output/utterances.ts';
import { Floor } from './floor.ts';

/** What those who listen need from around them. */
export interface ListenersContext {
  engine: Engine;
  history: History;
  output: Output;
  onFault: (error: unknown) => void;
  /** Nobody is there any more, for the time being. */
  onLeft: () => void;
  /** Nobody came back. */
  onAbandoned: () => void;
}

/** How long a conversation waits for someone to come back. */
const GRACE_MS = 60_000;
/** How long the floor stays free for whoever had it and lost their connection. */
const COMEBACK_MS = 5000;

/** Changes of the floor that connections cause: ten at once, and one a second. */
const CLAIMS = { burst: 10, perMinute: 60 };

/** Those who listen to a conversation: they come and go, one of them has the floor, and that one hears what is spoken. */
export class Listeners {
  private readonly context: ListenersContext;
  private readonly floor = new Floor((holder) => this.floorTaken(holder));
  private readonly utterances: Utterances;
  private isClosed = false;
  private cancelGrace: () => void = () => undefined;
  private cancelPassing: () => void = () => undefined;
  private readonly claims: RateLimiter;
  /** The listener that claims the floor and waits until another change is allowed. */
  private claimant: Listener | null = null;
  private cancelClaim: () => void = () => undefined;
  /** Writes down which connection has the floor; the second never rejects. */
  private identifying: Promise<void> = Promise.resolve();
  private identified: Promise<void> = Promise.resolve();

  constructor(context: ListenersContext) {
    this.context = context;
    this.claims = new RateLimiter(CLAIMS, context.engine.clock);
    // Each speaks in a message, and each message has a chunk.
    this.utterances = new Utterances(context.output.log.last);
  }

  /** The connection that has the floor. */
  get holder(): string | null {
    return this.floor.holder?.id ?? null;
  }

  has(listener: Listener): boolean {
    return this.floor.has(listener);
  }

  /** Someone listens from now on. Resolves when it is written down who has the floor. */
  join(listener: Listener): Promise<void> {
    this.cancelGrace();
    this.floor.join(listener);
    return this.floor.holder === listener ? this.identifying : this.identified;
  }

  /** The rest of the sound that someone has the beginning of, if they are to hear it. */
  soundsFor(listener: Listener, sound: Place['sound']): Sound[] {
    if (!sound || this.floor.holder !== listener) return [];
    return this.utterances.from(sound.n, sound.at);
  }

  /**
   * Makes a listener the active connection; null sets the floor free. Of many claims in a short time only the last takes effect, as soon
   * as the limit allows another change: each change is stored and sent to all clients.
   */
  takeFloor(listener: Listener | null): void {
    if (listener?.watches === 'always') return;
    this.cancelPassing();
    if (listener === null || listener === this.floor.holder) {
      this.forgetClaim();
      if (listener === null) this.floor.free();
      return;
    }
    const isWaiting = this.claimant !== null;
    this.claimant = listener;
    if (!isWaiting) this.claimWhenRoom();
  }

  /** Makes the waiting claim take effect, now or when the limit allows another change. */
  private claimWhenRoom(): void {
    const wait = this.claims.take('');
    if (wait > 0) {
      this.cancelClaim = this.context.engine.clock.after(wait, () => this.claimWhenRoom());
      return;
    }
    const { claimant } = this;
    this.claimant = null;
    if (claimant) this.floor.take(claimant);
  }

  private forgetClaim(): void {
    this.cancelClaim();
    this.claimant = null;
  }

  /** Someone is gone. When nobody comes back, the run and all that runs for it are let go of. */
  leave(listener: Listener): void {
    const { engine, onLeft, onAbandoned } = this.context;
    const hadFloor = this.floor.holder === listener;
    if (!this.floor.leave(listener)) return;
    if (!this.floor.isEmpty) {
      if (hadFloor && !this.isClosed) this.passOnLater();
      return;
    }
    onLeft();
    if (!this.isClosed) this.cancelGrace = engine.clock.after(GRACE_MS, onAbandoned);
  }

  /** Whoever had the floor may come back at once; else one of those who are there has it. */
  private passOnLater(): void {
    this.cancelPassing();
    this.cancelPassing = this.context.engine.clock.after(COMEBACK_MS, () => this.floor.passOn());
  }

  /** Nobody is waited for any more. */
  close(): void {
    this.isClosed = true;
    this.cancelPassing();
    this.forgetClaim();
    this.cancelGrace();
  }

  /** Tells one of them what went wrong with something that it asked for. */
  tell(connection: string, error: ProtocolError): void {
    this.floor.all.find(({ id }) => id === connection)?.told(error);
  }

  /** Tells everyone what went wrong for all of them. */
  tellAll(error: ProtocolError): void {
    for (const listener of this.floor.all) listener.told(error);
  }

  /** Tells everyone why they lose the conversation. */
  endAll(...why: Parameters<Listener['end']>): void {
    for (const listener of this.floor.all) listener.end(...why);
  }

  /** A message is spoken. */
  play({ messageId, sampleRate, data }: { messageId: string; sampleRate: number; data: string }): void {
    // Kept in any case: whoever has the floor may be away for a moment.
    const sound = this.utterances.add(messageId, sampleRate, data);
    this.floor.holder?.play(sound);
  }

  /** Nobody wants to hear what was said so far. */
  hush(): void {
    this.utterances.flush();
    this.floor.holder?.hush();
  }

  /** Another connection has the floor: those who watch are told, and the session's state names it. */
  private floorTaken(holder: Listener | null): void {
    const { output, history, onFault } = this.context;
    const connectionId = holder?.id ?? null;
    if (this.floor.isWatched) output.inject({ type: 'data-floor', data: { connectionId }, transient: true });
    if (connectionId === null) return;
    output.readers.loseFloor();
    // One after the other: the last to come is the one that is written down.
    this.identifying = this.identified.then(() => history.identify(connectionId));
    this.identified = this.identifying.catch(onFault);
  }
}
