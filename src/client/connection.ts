import type { Chunk, SessionInfo } from '../protocol/chunks.ts';
import { encodeFrame } from '../protocol/codec.ts';
import { ERRORS, type ProtocolError } from '../protocol/errors.ts';
import { type ConnectionState, refusalOf } from './connection-state.ts';
import { type DialOptions, dialWebSocket, type WebSocketLike } from './dial.ts';
import { type ConnectionEvent, Incoming } from './incoming.ts';
import { Listeners } from './listeners.ts';
import { browserNetwork, type Network } from './network.ts';
import { type Letter, Outbox } from './outbox.ts';
import type { Played } from './played.ts';
import { Pulse } from './pulse.ts';
import { systemTimers, type Timers } from './timers.ts';

/** What plays the sound of a connection. */
export interface SoundEnd {
  /** Says how much sound it has in the address of a new socket, which goes on behind it. */
  place(query: URLSearchParams): void;
  /** Is silent at once; says how much was heard of what was being spoken. */
  silence(): Played | undefined;
}

/** How to connect. */
export interface ConnectionOptions extends DialOptions {
  /** Opens something else in place of a WebSocket, to a session and behind a chunk. */
  dial?: ((session: string, last: string | null) => WebSocketLike) | undefined;
  /** Finds out why no connection opens. Resolves with an error that no retry can repair, else with null. */
  findCause?: (() => Promise<ProtocolError | null>) | undefined;
  timers?: Timers | undefined;
  network?: Network | undefined;
  heartbeatMs?: number | undefined;
  /** Sees every frame, as it goes and comes. */
  onFrame?: ((direction: 'in' | 'out', data: string | Uint8Array) => void) | undefined;
}

/** Longer than a node waits for the lease of another to end. */
const HANDSHAKE_MS = 10_000;
/** A page that comes back does not wait long to learn that its socket died meanwhile. */
const RETURN_MS = 5_000;
/** How long `findCause` may take. */
const CAUSE_MS = 4_000;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;
/** Sound that may wait in the socket; what comes on top is dropped, since late sound is worse than none. */
const MAX_BUFFERED = 256 * 1024;

/** The close code of a socket that broke off. */
const LOST = 1006;
/** No chunk id: a server does not know what comes after it. */
const NOWHERE = '-';

/** Close codes that say: what you sent will not do. */
const REFUSED: readonly number[] = [ERRORS.invalid_frame.close, ERRORS.too_large.close];

/** Errors of a server that hands the session over: the refused request had no effect. */
const MOVING: readonly string[] = ['moved', 'shutting_down'];

/** One WebSocket to one session that comes back by itself, goes on where it was, and loses no message. */
export class Connection {
  /** What the server said first, on the newest socket. */
  info?: SessionInfo;
  /** Who plays the sound that comes. */
  player?: SoundEnd | undefined;
  /** Whether nothing is to be heard until someone says something. */
  isAtRest: () => boolean = () => false;
  readonly #options: ConnectionOptions;
  readonly #timers: Timers;
  readonly #network: Network;
  readonly #outbox = new Outbox();
  readonly #pulse: Pulse;
  readonly #watchers = new Listeners<[]>();
  readonly #listeners = new Listeners<[ConnectionEvent]>();
  #current: ConnectionState = { status: 'idle' };
  #socket: WebSocketLike | null = null;
  readonly #incoming = new Incoming();
  #session: string | null = null;
  #attempt = 0;
  /** Why the server closed, when it wants to know anew who is there; the next try is the last. */
  #refusal: { code: number; reason: string } | null = null;
  /** The text of the error that `findCause` gave for the last try. Only the same error twice in a row is final: a server may be starting. */
  #cause: string | null = null;
  /** Counts attempts to connect: results of an earlier attempt are ignored. */
  #epoch = 0;
  #cancelTimer: (() => void) | null = null;
  #stopWatching: (() => void) | null = null;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.#network = options.network ?? browserNetwork;
    this.#pulse = new Pulse({
      timers: this.#timers,
      ms: options.heartbeatMs,
      ping: () => this.#transmit(encodeFrame('ping', { timestamp: this.#timers.now() })),
      onDeath: () => this.#dead(),
      pause: () => this.#pause(),
      isAtRest: () => this.isAtRest(),
    });
  }

  get state(): ConnectionState {
    return this.#current;
  }

  /** The session of this connection, once it has one. */
  get sessionId(): string | null {
    return this.#session;
  }

  /** Whether what is said goes in posts, one for each request, and what is heard comes beside them. */
  get isPosting(): boolean {
    return this.#options.dial !== undefined;
  }

  /** Calls the listener whenever the state changes; the returned function ends that. */
  subscribe(listener: () => void): () => void {
    return this.#watchers.add(listener);
  }

  /** Calls the listener with everything that is heard; the returned function ends that. */
  listen(listener: (event: ConnectionEvent) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Connects, or takes the session back from another connection. Another session id begins anew. */
  connect(session?: string): void {
    if (session !== undefined && session !== this.#session) {
      if (this.#session !== null) this.#forget();
      this.#session = session;
    }
    const { status } = this.#current;
    if (status === 'connecting' || status === 'live') return;
    this.#stopWatching ??= this.#network.onReturn(() => this.#hasReturned());
    this.#attempt = 0;
    this.#refusal = null;
    this.#open();
  }

  /** Whether all is heard that was said before the connection began. */
  get isPresent(): boolean {
    return this.#incoming.isPresent;
  }

  /** Hears the whole conversation anew, as one who has missed too much of it. What was sent is still on its way. */
  renew(): void {
    this.#incoming.last = NOWHERE;
    if (!this.#socket) return;
    this.#release(1000);
    this.#open();
  }

  /** Ends the connection; it does not come back unless told to. */
  close(): void {
    this.#release(1000);
    this.#stopWatching?.();
    this.#stopWatching = null;
    this.#outbox.clear();
    if (this.#current.status !== 'idle') this.#become({ status: 'closed', code: 1000, reason: '' });
  }

  /** Sends a frame that must arrive: now, or when the connection is back. */
  post(letter: Letter): void {
    const isLive = this.#current.status === 'live';
    this.#outbox.add(letter, isLive);
    if (isLive) this.#write(letter.text);
  }

  /** Nobody wants a posted frame any more. Says whether it had not even left. */
  withdraw(requestId: string): boolean {
    return this.#outbox.remove(requestId);
  }

  /** Sends a frame that only makes sense now; false when there is no connection. */
  send(frame: string | Uint8Array<ArrayBuffer>): boolean {
    if (this.#current.status !== 'live') return false;
    if (typeof frame !== 'string' && (this.#socket?.bufferedAmount ?? 0) > MAX_BUFFERED) return false;
    this.#write(frame);
    return true;
  }

  #open(): void {
    this.#cancelTimer?.();
    const { dial, key } = this.#options;
    if (dial) this.#use(dial(String(this.#session), this.#incoming.last));
    else if (typeof key === 'function') this.#dialWith(key);
    else this.#dial(key);
    this.#cancelTimer = this.#timers.after(HANDSHAKE_MS, () => this.#dead());
    this.#become({ status: 'connecting', attempt: this.#attempt });
  }

  /** Gets the newest key before it connects. A key function that throws ends the attempts, except with a `TypeError`: the network is down. */
  #dialWith(key: () => string | Promise<string>): void {
    const fail = (error: unknown) =>
      error instanceof TypeError
        ? this.#lost(LOST, '')
        : this.#lost(ERRORS.unauthorized.close, (error as Error).message);
    this.#expect(
      Promise.resolve()
        .then(key)
        .then(
          (newest) => () => this.#dial(newest),
          (error) => () => fail(error),
        ),
    );
  }

  /** Does what a promise resolves with, unless the connection was closed or opened anew meanwhile. */
  #expect(work: Promise<() => void>): void {
    const epoch = ++this.#epoch;
    void work.then((then) => {
      if (epoch === this.#epoch) then();
    });
  }

  #dial(key: string | undefined): void {
    const place = (query: URLSearchParams) => this.player?.place(query);
    this.#use(dialWebSocket(this.#options, this.#session, this.#incoming.last, key, place));
  }

  #use(socket: WebSocketLike): void {
    this.#socket = socket;
    this.#incoming.begin();
    socket.onmessage = (event: { data: unknown }) => this.#receive(event.data);
    socket.onclose = (event: { code: number; reason: string }) => this.#lost(event.code, event.reason);
    socket.onerror = () => undefined;
  }

  #receive(data: unknown): void {
    this.#pulse.heard();
    const frame = typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer);
    this.#options.onFrame?.('in', frame);
    let isMoved = false;
    for (const event of this.#incoming.push(frame)) {
      if (event.type === 'session') this.#greeted(event.session);
      else if (event.type === 'chunk' && this.#isSentAgain(event.chunk)) isMoved = true;
      else {
        const requestId = event.type === 'chunk' ? requestOf(event.chunk) : undefined;
        if (requestId !== undefined) this.#outbox.remove(requestId);
        this.#listeners.tell(event);
      }
    }
    // The server closes such a socket itself; a client that waited for that would lose time.
    if (isMoved) this.#dead();
  }

  /** Whether a chunk refuses a request that the next connection sends again: its session goes to another server. */
  #isSentAgain(chunk: Chunk): boolean {
    if (chunk.type !== 'data-error' || !MOVING.includes(chunk.data.code)) return false;
    return this.#outbox.keep(chunk.data.requestId ?? '');
  }

  #greeted(greeting: SessionInfo): void {
    const { floor, connectionId } = greeting;
    // The server may not have seen the replaced socket close: claim the floor for this connection.
    const isOwn = !!floor && floor === this.info?.connectionId;
    const session = isOwn ? { ...greeting, floor: connectionId } : greeting;
    this.#session = session.sessionId;
    this.info = session;
    this.#attempt = 0;
    this.#refusal = null;
    this.#cause = null;
    this.#cancelTimer?.();
    this.#pulse.start();
    this.#listeners.tell({ type: 'session', session });
    // What waited goes first: nobody may send before it.
    for (const text of this.#outbox.renew(session.received)) this.#write(text);
    if (isOwn) this.#write(encodeFrame('floor', {}));
    this.#become({ status: 'live', sessionId: session.sessionId, connectionId: session.connectionId });
  }

  /** A page that nobody sees leaves its stream to others: a browser has six for a server. It comes back when it is seen. */
  #pause(): boolean {
    if (!this.isPosting || !this.#network.isHidden?.() || !this.isAtRest()) return false;
    this.#release(1000);
    this.#become({ status: 'idle' });
    return true;
  }

  #write(frame: string | Uint8Array<ArrayBuffer>): void {
    this.#transmit(frame);
    this.#pulse.sent(frame.length);
  }

  #transmit(frame: string | Uint8Array<ArrayBuffer>): void {
    this.#options.onFrame?.('out', frame);
    this.#socket?.send(frame);
  }

  /** The other side says nothing any more. A socket that is half open would take minutes to notice. A server that is slow is asked for no cause. */
  #dead(): void {
    this.#release(4000);
    this.#retry();
  }

  #lost(code: number, reason: string): void {
    this.#release();
    if (code === ERRORS.taken_over.close) return this.#become({ status: 'taken-over' });
    if (code === ERRORS.unauthorized.close && !this.#refusal) {
      // Signed out, or only what showed the sign-in is stale: the browser may have a fresh cookie by now.
      this.#refusal = { code, reason };
      return this.#open();
    }
    if (refusalOf(code)) return this.#become({ status: 'closed', code, reason });
    if (REFUSED.includes(code)) {
      this.#outbox.clear();
      this.#listeners.tell({ type: 'refused', code, reason });
    }
    this.#failed();
  }

  /** The connection is gone, or never was: then a plain request may show that no further try helps. */
  #failed(): void {
    const { findCause } = this.#options;
    const isAsked = this.#current.status === 'connecting' && !this.#refusal && this.#network.isOnline();
    if (!findCause || !isAsked) return this.#retry();
    this.#expect(findCause().then((error) => () => this.#explained(error)));
    this.#cancelTimer = this.#timers.after(CAUSE_MS, () => this.#explained(null));
  }

  #explained(error: ProtocolError | null): void {
    this.#release();
    const code = error?.code ?? 'internal';
    const { close = LOST } = ERRORS[code] as { close?: number };
    const isRefused = code === 'unauthorized' || code === 'forbidden';
    // An address that worked is right: what answers there now is a proxy whose server is away.
    const isKnown = isRefused || (!this.info && this.#cause === error?.message);
    this.#cause = error?.message ?? null;
    if (error && isKnown && refusalOf(close)) this.#lost(close, error.message);
    else this.#retry();
  }

  #retry(): void {
    if (this.#refusal) return this.#become({ status: 'closed', ...this.#refusal });
    const ceiling = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** this.#attempt);
    const isOnline = this.#network.isOnline();
    const delay = isOnline ? ceiling * (0.5 + this.#timers.random() / 2) : MAX_DELAY_MS;
    this.#attempt++;
    const retryAt = this.#timers.now() + delay;
    this.#cancelTimer = this.#timers.after(delay, () => this.#open());
    this.#become({ status: isOnline ? 'reconnecting' : 'offline', attempt: this.#attempt, retryAt });
  }

  /** The network or the person is back, or the network is gone: try at once, or see whether the socket still lives. */
  #hasReturned(): void {
    const { status } = this.#current;
    if (status === 'reconnecting' || status === 'offline' || status === 'idle') {
      this.#attempt = 0;
      this.#open();
    } else if (status === 'live') {
      if (this.#network.isOnline()) this.#pulse.look(RETURN_MS);
      else this.#dead();
    }
  }

  #release(code?: number): void {
    this.#epoch++;
    this.#pulse.stop();
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onmessage = null;
    socket.onclose = null;
    if (code !== undefined) socket.close(code);
  }

  #forget(): void {
    this.#release(1000);
    this.#incoming.last = null;
    this.#outbox.clear();
    this.#current = { status: 'idle' };
  }

  #become(state: ConnectionState): void {
    this.#current = state;
    this.#watchers.tell();
  }
}

/** The request that the server has spoken about. */
function requestOf(chunk: Chunk): string | undefined {
  return chunk.type === 'data-accepted' || chunk.type === 'data-error' ? chunk.data.requestId : undefined;
}
