import type { Chunk, SessionInfo } from '../../protocol/chunks.ts';
import { ERRORS, type ProtocolError } from '../../protocol/errors.ts';
import { browserNetwork, Listeners, type Network, systemTimers, type Timers } from '../platform.ts';
import { type ConnectionState, endOf, finalErrorOf } from './connection-state.ts';
import { Heartbeat } from './heartbeat.ts';
import { type Link, type LinkKind, LOST, type OutgoingFrame, type ReceivedChunk } from './link.ts';
import { Outbox, type OutgoingRequest } from './outbox.ts';
import { type ConnectionEvent, StreamPosition } from './position.ts';

/** How much sound of a message the user heard before an interruption. Without `messageId`, the message with the newest sound is meant. */
export interface Played {
  messageId?: string;
  playedMs: number;
}

/** Plays the agent's sound that arrives over a connection. A `Voice` sets its player as `connection.player`. */
export interface SoundPlayer {
  /**
   * The position after which the server continues the sound: the number of the utterance, `-`, and how many of its samples have arrived. Null when no
   * sound has arrived.
   */
  position(): string | null;
  /** Stops playing at once. Returns how much of the current message was heard; undefined when nothing was playing. */
  silence(): Played | undefined;
}

/** Options of a connection. */
export interface ConnectionOptions {
  timers?: Timers | undefined;
  /** Says whether the page is online and visible. Default: the browser's own signals. */
  network?: Network | undefined;
  /** Milliseconds between two pings while no answer is expected. Default: 15,000. */
  heartbeatMs?: number | undefined;
}

/** The timeout of a handshake. A server node may have to wait until the lease of a dead node ends before it can answer; this timeout is longer. */
const HANDSHAKE_MS = 10_000;
/** How long a link may take to answer a ping after the page became visible again or the network came back. */
const RETURN_MS = 5_000;
/** How long `findCause` of a link may take. */
const CAUSE_MS = 4_000;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

/** An id that no chunk has. When a link asks for the chunks after this id, the server cannot continue, and sends a reset. */
const NOWHERE = '-';

/** The codes with which the server closes a connection because of a request that it cannot accept. */
const REFUSED: readonly number[] = [ERRORS.invalid_frame.close, ERRORS.too_large.close];

/** The errors of a server whose sessions move to another node. The rejected request had no effect, so it can be sent again. */
const MOVING: readonly string[] = ['moved', 'shutting_down'];

/**
 * A connection to one session. It opens one link after another, continues each after the last chunk that it received, and sends a request
 * on each new link until the server has answered the request. Listeners get decoded chunks in order, each once.
 */
export class Connection {
  /** The player of the agent's sound, if the page has one. */
  player: SoundPlayer | undefined;
  readonly #kind: LinkKind;
  readonly #timers: Timers;
  readonly #network: Network;
  readonly #outbox = new Outbox();
  readonly #heartbeat: Heartbeat;
  readonly #position = new StreamPosition();
  readonly #stateListeners = new Listeners<[]>();
  readonly #listeners = new Listeners<[ConnectionEvent]>();
  #state: ConnectionState = { status: 'idle' };
  #info: SessionInfo | undefined;
  #link: Link | null = null;
  #sessionId: string | null = null;
  #attempt = 0;
  /** The close code and reason of a link that the server closed as `unauthorized`. If the next attempt to connect also fails, the connection stays closed. */
  #signedOut: { code: number; reason: string } | null = null;
  /**
   * The text of the error that `findCause` returned after the last attempt. While a server starts, a proxy may answer for it. So most errors are final
   * only when two attempts in a row return the same one.
   */
  #cause: string | null = null;
  /** Changes with each link and each `findCause`. The result of a `findCause` that was started with another value is ignored. */
  #epoch = 0;
  #cancelTimer: (() => void) | null = null;
  #unsubscribe: (() => void) | null = null;

  constructor(kind: LinkKind, options: ConnectionOptions = {}) {
    this.#kind = kind;
    this.#timers = options.timers ?? systemTimers;
    this.#network = options.network ?? browserNetwork;
    this.#heartbeat = new Heartbeat({
      timers: this.#timers,
      idleMs: options.heartbeatMs,
      ping: () => this.#link?.ping(),
      onDeath: () => this.#abandon(),
      pause: () => this.#pause(),
    });
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** The id of the session: the one that `connect` was given, later the one in the server's session info. Null while there is neither. */
  get sessionId(): string | null {
    return this.#sessionId;
  }

  /** The session info of the newest link, which is the server's first chunk on a link; undefined before the first one has arrived. */
  get info(): SessionInfo | undefined {
    return this.#info;
  }

  /** Whether all chunks that are older than the newest link have been received. Always true on a link that resumed after the last chunk of this page. */
  get isCaughtUp(): boolean {
    return this.#position.isCaughtUp;
  }

  /** Calls the listener whenever the state changes. The returned function unsubscribes. */
  subscribe(listener: () => void): () => void {
    return this.#stateListeners.add(listener);
  }

  /** Calls the listener with every event of the connection. The returned function unsubscribes. */
  listen(listener: (event: ConnectionEvent) => void): () => void {
    return this.#listeners.add(listener);
  }

  /**
   * Connects, also after another connection took over. With the id of another session it leaves the current session.
   */
  connect(sessionId?: string): void {
    if (sessionId !== undefined && sessionId !== this.#sessionId) {
      if (this.#sessionId !== null) this.#forget();
      this.#sessionId = sessionId;
    }
    const { status } = this.#state;
    if (status === 'connecting' || status === 'live') return;
    this.#unsubscribe ??= this.#network.onReturn(() => this.#onReturn());
    this.#attempt = 0;
    this.#signedOut = null;
    this.#open();
  }

  /**
   * Asks the server for a reset: the newest messages of the conversation. If there is a link, a new one replaces it; otherwise the next link gets the
   * reset. Requests that the server has not answered are kept, and sent again if needed.
   */
  resync(): void {
    this.#position.moveTo(NOWHERE);
    if (!this.#link) return;
    this.#release(1000);
    this.#open();
  }

  /** Closes the connection, and drops the requests that the server has not answered. The connection stays closed until `connect()`. */
  close(): void {
    this.#release(1000);
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.#outbox.clear();
    if (this.#state.status !== 'idle') this.#setState({ status: 'closed', code: 1000, reason: '' });
  }

  /**
   * Sends a request that must arrive. It is sent when the connection is live, and again on every new link until the server has answered it. Throws when
   * its data cannot be written as JSON, and `busy` for a typed message when too many requests wait.
   */
  post(request: OutgoingRequest): void {
    const { requestId, frame } = request;
    const isLive = this.#state.status === 'live';
    this.#outbox.add(request, isLive);
    try {
      if (isLive) this.#write(frame);
      // Data that cannot be written as JSON throws here, and not later when a link opens.
      else JSON.stringify(frame.data);
    } catch (error) {
      this.#outbox.remove(requestId);
      throw error;
    }
  }

  /** Drops a posted request. Returns whether the server cannot have accepted it: it was never sent, or only rejected because its session was moving. */
  withdraw(requestId: string): boolean {
    return this.#outbox.remove(requestId);
  }

  /**
   * Sends a frame that would be useless later, such as a control frame, sound or a picture. A lost frame is not sent again. Returns false when the frame
   * was not sent.
   */
  send(frame: OutgoingFrame | Uint8Array<ArrayBuffer>): boolean {
    if (this.#state.status !== 'live') return false;
    if (frame instanceof Uint8Array) {
      if (!this.#link?.sendBinary(frame)) return false;
      this.#heartbeat.sent(frame.length);
    } else this.#write(frame);
    return true;
  }

  /**
   * Sets whether the page expects nothing from the server. While it expects nothing, the connection pings less often, and a hidden page may close its
   * link.
   */
  setAtRest(isAtRest: boolean): void {
    this.#heartbeat.setAtRest(isAtRest);
  }

  /** Resolves when the condition is true, `ms` milliseconds have passed, the signal aborts, or the connection has ended and will not reconnect by itself. */
  until(condition: () => boolean, signal: AbortSignal | undefined, ms?: number): Promise<void> {
    if (condition() || signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const cleanUp: (() => void)[] = [];
      const stop = () => {
        for (const undo of cleanUp) undo();
        resolve();
      };
      const check = () => {
        if (condition() || endOf(this.#state)) stop();
      };
      cleanUp.push(this.listen(check), this.subscribe(check));
      if (ms !== undefined) cleanUp.push(this.#timers.after(ms, stop));
      signal?.addEventListener('abort', stop);
    });
  }

  #open(): void {
    this.#cancelTimer?.();
    const target = {
      sessionId: this.#sessionId,
      last: this.#position.last,
      sound: this.player?.position() ?? null,
    };
    this.#link = this.#kind.open(target, {
      onChunks: (chunks) => this.#receive(chunks),
      onBinary: (frame) => {
        this.#heartbeat.received();
        this.#listeners.notify({ type: 'binary', frame });
      },
      onClose: (code, reason) => this.#onClose(code, reason),
    });
    this.#cancelTimer = this.#timers.after(HANDSHAKE_MS, () => {
      this.#release(4000);
      // The server has not answered the handshake. It may be slow, or another WebSocket library on the same HTTP server may have left the handshake
      // unanswered. `upgrade_required` shows only that the server answers plain HTTP, so retry after that error.
      this.#findCause((error) => (error?.code === 'upgrade_required' ? null : error));
    });
    this.#setState({ status: 'connecting', attempt: this.#attempt });
  }

  #receive(chunks: ReceivedChunk[]): void {
    this.#heartbeat.received();
    if (chunks.length === 0) return;
    let isMoving = false;
    for (const received of chunks) {
      const event = this.#position.advance(received);
      if (event.type === 'session') this.#greet(event.session);
      else if (event.type === 'chunk' && this.#isRetried(event.chunk)) isMoving = true;
      else {
        const requestId = event.type === 'chunk' ? answeredRequest(event.chunk) : undefined;
        if (requestId !== undefined) this.#outbox.remove(requestId);
        this.#listeners.notify(event);
      }
    }
    this.#listeners.notify({ type: 'frame-end' });
    // A server whose session moves to another node will close this link. Close the link now instead of waiting for that, and open another.
    if (isMoving) this.#abandon();
  }

  /** Whether a chunk rejects a request only because its session moves to another node. The next link sends such a request again. */
  #isRetried(chunk: Chunk): boolean {
    if (chunk.type !== 'data-error' || !MOVING.includes(chunk.data.code)) return false;
    return this.#outbox.retry(chunk.data.requestId ?? '');
  }

  #greet(greeting: SessionInfo): void {
    const { floor, connectionId } = greeting;
    // If `floor` names the previous link of this page, the server has not noticed yet that this link closed. So the new link becomes the active
    // connection in its place.
    const wasActive = !!floor && floor === this.#info?.connectionId;
    const session = wasActive ? { ...greeting, floor: connectionId } : greeting;
    this.#sessionId = session.sessionId;
    this.#info = session;
    this.#attempt = 0;
    this.#signedOut = null;
    this.#cause = null;
    this.#cancelTimer?.();
    this.#heartbeat.start();
    this.#listeners.notify({ type: 'session', session });
    // Send the requests in the outbox before the state becomes `live`. Listeners may send as soon as the state is `live`, and their requests must come later.
    for (const frame of this.#outbox.resend(session.received)) this.#write(frame);
    if (wasActive) this.#write({ type: 'floor', data: {} });
    this.#setState({ status: 'live', sessionId: session.sessionId, connectionId });
  }

  #write(frame: OutgoingFrame): void {
    this.#heartbeat.sent(this.#link?.send(frame) ?? 0);
  }

  /** Closes the link of a hidden page that expects nothing. The connection opens a new link when the page becomes visible. */
  #pause(): boolean {
    const isUnused = this.#network.isHidden?.() && this.#heartbeat.isAtRest;
    if (!this.#kind.pausesWhenHidden || !isUnused) return false;
    this.#release(1000);
    this.#setState({ status: 'idle' });
    return true;
  }

  /** Closes a link that does not answer, and opens another. A half-open socket would report its end only after minutes. */
  #abandon(): void {
    this.#release(4000);
    this.#retry();
  }

  #onClose(code: number, reason: string): void {
    this.#release();
    if (code === ERRORS.taken_over.close) return this.#setState({ status: 'taken-over' });
    if (code === ERRORS.unauthorized.close && !this.#signedOut) {
      // The user may have signed in again in another tab: the browser then has a new cookie.
      this.#signedOut = { code, reason };
      return this.#open();
    }
    if (finalErrorOf(code)) return this.#setState({ status: 'closed', code, reason });
    if (REFUSED.includes(code)) {
      this.#outbox.clear();
      this.#listeners.notify({ type: 'refused', code, reason });
    }
    this.#findCause();
  }

  /**
   * Asks over HTTP why a link did not open, and then retries or closes. If the link had opened before it closed, this method retries without asking.
   * `certain` maps the error that the server returned to the error to use; null means that a retry may succeed.
   */
  #findCause(certain = (error: ProtocolError | null) => error): void {
    const mayAsk = this.#state.status === 'connecting' && !this.#signedOut && this.#network.isOnline();
    if (!this.#kind.findCause || !mayAsk) return this.#retry();
    const epoch = ++this.#epoch;
    void this.#kind.findCause().then((error) => epoch === this.#epoch && this.#onCause(certain(error)));
    this.#cancelTimer = this.#timers.after(CAUSE_MS, () => this.#onCause(null));
  }

  #onCause(error: ProtocolError | null): void {
    this.#release();
    const code = error?.code ?? 'internal';
    const { close = LOST } = ERRORS[code] as { close?: number };
    const isRejected = code === 'unauthorized' || code === 'forbidden';
    // If a link to this address has worked before, the address is right. A proxy whose server is down sent the error, so retry.
    const isCertain = isRejected || (!this.#info && this.#cause === error?.message);
    this.#cause = error?.message ?? null;
    if (error && isCertain && finalErrorOf(close)) this.#onClose(close, error.message);
    else this.#retry();
  }

  #retry(): void {
    if (this.#signedOut) return this.#setState({ status: 'closed', ...this.#signedOut });
    const ceiling = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** this.#attempt);
    const isOnline = this.#network.isOnline();
    const delay = isOnline ? ceiling * (0.5 + this.#timers.random() / 2) : MAX_DELAY_MS;
    this.#attempt++;
    const retryAt = this.#timers.now() + delay;
    this.#cancelTimer = this.#timers.after(delay, () => this.#open());
    this.#setState({ status: isOnline ? 'reconnecting' : 'offline', attempt: this.#attempt, retryAt });
  }

  /** Handles a page that became visible, and a network that came or went. */
  #onReturn(): void {
    const { status } = this.#state;
    if (status === 'reconnecting' || status === 'offline' || status === 'idle') {
      this.#attempt = 0;
      this.#open();
    } else if (status === 'live') {
      if (this.#network.isOnline()) this.#heartbeat.check(RETURN_MS);
      else this.#abandon();
    }
  }

  #release(code?: number): void {
    this.#epoch++;
    this.#heartbeat.stop();
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const link = this.#link;
    this.#link = null;
    if (code !== undefined) link?.close(code);
  }

  #forget(): void {
    this.#release(1000);
    this.#position.moveTo(null);
    this.#outbox.clear();
    this.#state = { status: 'idle' };
  }

  #setState(state: ConnectionState): void {
    this.#state = state;
    this.#stateListeners.notify();
  }
}

/** Returns the id of the request that a chunk accepts or rejects; undefined for other chunks. */
function answeredRequest(chunk: Chunk): string | undefined {
  return chunk.type === 'data-accepted' || chunk.type === 'data-error' ? chunk.data.requestId : undefined;
}
