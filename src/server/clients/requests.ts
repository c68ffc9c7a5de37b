import type { Chunk, ProtocolError } from '../../protocol/index.ts';
import type { Requester } from '../registry/session.ts';
import { type AcceptedRequest, MAX_REQUESTS } from '../store/store.ts';

/** The ids of a request, and the connection over which the request came. */
export interface RequestNames {
  /** The `requestId` of the client. */
  name?: string | undefined;
  /** The id of the request in log lines. */
  logged?: string | undefined;
  /** The connection that the request came over. */
  connection?: string | undefined;
}

/**
 * A request of a client, over HTTP or a socket, or of the application. In the end `ConversationState` has either handled it ("taken") or rejected it. A
 * request with a `requestId` is also acknowledged, once the store has recorded it (`accepted`).
 */
export class PendingRequest {
  readonly id: number;
  readonly name: string | undefined;
  readonly connection: string | null;
  /** The id of the request in log lines. */
  readonly logged: string | null;
  /** Resolves when the request is taken, with the seq of the log entry before the first chunk of its response. Rejects when the request is rejected. */
  readonly taken: Promise<number>;
  private acceptance: AcceptedRequest | null = null;
  private readonly place: () => number;
  private clients: Requester[] = [];
  private from = 0;
  private resolve: (place: number) => void = () => undefined;
  private fail: (error: ProtocolError) => void = () => undefined;

  constructor(id: number, place: () => number, { name, logged, connection }: RequestNames = {}) {
    this.id = id;
    this.place = place;
    this.name = name;
    this.logged = logged ?? null;
    this.connection = connection ?? null;
    this.taken = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.fail = reject;
    });
    // Prevents an unhandled rejection when no code waits for this promise.
    this.taken.catch(() => undefined);
  }

  /** The stored acknowledgement of the request; null until the request is accepted. */
  get accepted(): AcceptedRequest | null {
    return this.acceptance;
  }

  /** Adds a client that sent this request, for the first time or again. */
  join(client: Requester): void {
    if (this.acceptance) client.accepted(this.acceptance);
    else this.clients.push(client);
  }

  /** Records that the response to the request begins at the current end of the log. */
  markResponse(): void {
    this.from = this.place();
  }

  take(): void {
    this.resolve(this.from);
  }

  acknowledge(accepted: AcceptedRequest): void {
    this.acceptance = accepted;
    // The clients get no further reply, so the request does not keep references to their connections.
    for (const client of this.clients.splice(0)) client.accepted(accepted);
  }

  /** Reports that a part of the request was rejected. */
  warn(error: ProtocolError): void {
    for (const client of this.clients) client.failed(error.about(this.name));
  }

  reject(error: ProtocolError): void {
    this.fail(error);
  }
}

/** The requests of a session: those that are neither taken nor rejected, and the last accepted requests with a `requestId`. */
export class Requests {
  private count = 0;
  /** The requests that may need a further reply, by `PendingRequest.id`. */
  private readonly open = new Map<number, PendingRequest>();
  /** Requests that are neither taken nor rejected. */
  private readonly untaken = new Set<PendingRequest>();
  /** The requests that are not accepted yet, by their `requestId`. */
  private readonly pending = new Map<string, PendingRequest>();
  /** The accepted requests by their `requestId`, in the order of acceptance. Those of an earlier process have no `request`. */
  private readonly acceptedRequests = new Map<
    string,
    { accepted: AcceptedRequest; request: PendingRequest | null }
  >();
  /** The ids that log lines use for the newest request and for the request that is being answered. */
  private newest: string | null = null;
  private answering: string | null = null;

  constructor(accepted: readonly AcceptedRequest[]) {
    for (const one of accepted) this.acceptedRequests.set(one.requestId, { accepted: one, request: null });
  }

  /** The requests that were accepted last, oldest first. */
  get list(): AcceptedRequest[] {
    return [...this.acceptedRequests.values()].map(({ accepted }) => accepted);
  }

  /** The id that log lines contain: the id of the request that is being answered, otherwise the id of the newest request. */
  get logged(): string | null {
    return this.answering ?? this.newest;
  }

  /** Sets the id by which log lines name the newest request; null when that request has no id, or when a listener has joined since. */
  setNewest(name: string | null): void {
    this.newest = name;
  }

  /** Records that no request is being answered. */
  clearAnswering(): void {
    this.answering = null;
  }

  /** Finds a request that may still need a reply, by `PendingRequest.id`. */
  get(id: number): PendingRequest | undefined {
    return this.open.get(id);
  }

  /**
   * Finds the request with this `requestId` that a client sent to this process before. Null when there is none, or when it was rejected or is no longer kept.
   */
  made(name: string | undefined): PendingRequest | null {
    if (name === undefined) return null;
    return this.pending.get(name) ?? this.acceptedRequests.get(name)?.request ?? null;
  }

  /** Finds the accepted request with this `requestId`, of this process or an earlier one; null when there is none among the last `MAX_REQUESTS`. */
  find(name: string | undefined): AcceptedRequest | null {
    return (name !== undefined && this.acceptedRequests.get(name)?.accepted) || null;
  }

  /** Forgets an accepted request that had no effect, so that the server accepts it when the client sends it again. */
  forget(name: string): void {
    this.acceptedRequests.delete(name);
  }

  /** Adds a request. `place` returns the seq of the newest log entry. */
  add(place: () => number, names: RequestNames, client: Requester | undefined): PendingRequest {
    const request = new PendingRequest(++this.count, place, names);
    if (client) request.join(client);
    this.open.set(request.id, request);
    this.untaken.add(request);
    if (request.name !== undefined) this.pending.set(request.name, request);
    return request;
  }

  /** Records that the response to a request begins. */
  markResponse(id: number): void {
    const request = this.open.get(id);
    request?.markResponse();
    if (request) this.answering = request.logged;
  }

  take(id: number): void {
    const request = this.open.get(id);
    if (!request) return;
    request.take();
    this.untaken.delete(request);
    if (request.name === undefined || request.accepted) this.open.delete(id);
  }

  acknowledge(id: number, accepted: AcceptedRequest): void {
    const request = this.open.get(id);
    if (!request) return;
    this.accept(request, accepted);
    request.acknowledge(accepted);
    if (!this.untaken.has(request)) this.open.delete(id);
  }

  warn(id: number, error: ProtocolError): void {
    this.open.get(id)?.warn(error);
  }

  /** Rejects a request. The client may send it again with the same `requestId`. */
  reject(id: number, error: ProtocolError): void {
    const request = this.open.get(id);
    if (!request) return;
    this.open.delete(id);
    this.untaken.delete(request);
    if (request.name !== undefined) this.pending.delete(request.name);
    request.reject(error);
  }

  /** Rejects every request that was neither taken nor rejected. */
  rejectAll(why: ProtocolError): void {
    for (const { id } of this.untaken) this.reject(id, why);
  }

  private accept(request: PendingRequest, accepted: AcceptedRequest): void {
    const { requestId } = accepted;
    this.pending.delete(requestId);
    this.acceptedRequests.delete(requestId);
    this.acceptedRequests.set(requestId, { accepted, request });
    const [oldest] = this.acceptedRequests.keys();
    if (this.acceptedRequests.size > MAX_REQUESTS && oldest !== undefined)
      this.acceptedRequests.delete(oldest);
  }
}

/** The chunk that acknowledges a request to its client. */
export function acceptedChunk({ requestId, messageId }: AcceptedRequest): Chunk {
  const data = { requestId, ...(messageId === null ? {} : { messageId }) };
  return { type: 'data-accepted', data, transient: true };
}

const NO_CHUNKS: readonly Chunk[] = [];

/** Collects the private replies to the client of one HTTP response until the response sends them. */
export class PrivateReplies implements Requester {
  private chunks: Chunk[] = [];

  accepted(accepted: AcceptedRequest): void {
    this.chunks.push(acceptedChunk(accepted));
  }

  failed(error: ProtocolError): void {
    this.chunks.push({ type: 'data-error', data: error.toWire(), transient: true });
  }

  /** Removes and returns the replies. It is called for every token, so it creates no new array when there are none. */
  take(): readonly Chunk[] {
    return this.chunks.length === 0 ? NO_CHUNKS : this.chunks.splice(0);
  }
}

/**
 * The `send` requests of the AI SDK's own transport that this process has read from sockets and not answered yet: the server starts their turn, or forwards
 * them to the owner of the session. A request to resume a chat waits for them, so that its client does not get `no-active` too early.
 */
export class PendingSends {
  private readonly pending = new Map<string, Set<Promise<unknown>>>();

  /** Adds a request of a chat, and removes the request again when it is answered or fails. */
  add<T>(user: string, chat: string, answered: Promise<T>): Promise<T> {
    const key = JSON.stringify([user, chat]);
    const all = this.pending.get(key) ?? new Set();
    this.pending.set(key, all);
    all.add(answered);
    const remove = () => {
      all.delete(answered);
      if (all.size === 0 && this.pending.get(key) === all) this.pending.delete(key);
    };
    answered.then(remove, remove);
    return answered;
  }

  /** Resolves when every request of the chat that was added before this call is answered or has failed. */
  async settled(user: string, chat: string): Promise<void> {
    await Promise.allSettled(this.pending.get(JSON.stringify([user, chat])) ?? []);
  }
}
