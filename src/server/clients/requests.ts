import type { Chunk, ProtocolError } from '../../protocol/index.ts';
import type { Requester } from '../registry/session.ts';
import { type AcceptedRequest, MAX_REQUESTS } from '../store/store.ts';

/** The names of a request. */
export interface RequestNames {
  /** The `requestId` of the client. */
  name?: string | undefined;
  logged?: string | undefined;
  /** The connection that the request came over. */
  connection?: string | undefined;
}

/** A request of a client, over HTTP or a socket, until the state has handled it ("taken") or rejected it. */
export class PendingRequest {
  readonly id: number;
  readonly name: string | undefined;
  readonly connection: string | null;
  /** The name of the request in the log. */
  readonly logged: string | null;
  /** Resolves when the request is taken, with the number of the log entry before its first chunk. Rejects when the request is rejected. */
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

  /** The stored acknowledgement of the request; null until there is one. */
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

/** The requests of a session: those that are neither taken nor rejected, and the last named ones that were accepted. */
export class Requests {
  private count = 0;
  /** By id, until a request needs no further reply. */
  private readonly open = new Map<number, PendingRequest>();
  /** Requests that are neither taken nor rejected. */
  private readonly untaken = new Set<PendingRequest>();
  private readonly pending = new Map<string, PendingRequest>();
  /** In the order in which they were accepted; those of an earlier process have no pending request. */
  private readonly acceptedRequests = new Map<
    string,
    { accepted: AcceptedRequest; request: PendingRequest | null }
  >();
  /** The log names of the newest request and of the request that is being answered. */
  private newest: string | null = null;
  private answering: string | null = null;

  constructor(accepted: readonly AcceptedRequest[]) {
    for (const one of accepted) this.acceptedRequests.set(one.requestId, { accepted: one, request: null });
  }

  /** The requests that were accepted last, oldest first. */
  get list(): AcceptedRequest[] {
    return [...this.acceptedRequests.values()].map(({ accepted }) => accepted);
  }

  /** The name in the log of the request that is being answered, or of the newest one. */
  get logged(): string | null {
    return this.answering ?? this.newest;
  }

  /** Sets the log name of the newest request; null when it has none, or when a listener joined since. */
  setNewest(name: string | null): void {
    this.newest = name;
  }

  /** Records that no request is being answered. */
  clearAnswering(): void {
    this.answering = null;
  }

  /** Finds a named request that was made in this process before. */
  made(name: string | undefined): PendingRequest | null {
    if (name === undefined) return null;
    return this.pending.get(name) ?? this.acceptedRequests.get(name)?.request ?? null;
  }

  /** Finds a named request that was accepted before, by this process or an earlier one. */
  find(name: string | undefined): AcceptedRequest | null {
    return (name !== undefined && this.acceptedRequests.get(name)?.accepted) || null;
  }

  /** Forgets an accepted request that had no effect, so that its client may make it again. */
  forget(name: string): void {
    this.acceptedRequests.delete(name);
  }

  /** Adds a request. `place` returns the number of the last entry in the log. */
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

  /** Rejects a request, which may be made again. */
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

/** Private replies to the client of one HTTP response, until the response sends them. */
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
