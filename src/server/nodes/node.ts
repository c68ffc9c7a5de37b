import type { Duplex } from 'node:stream';
import type { SessionInfo } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { PreparedEvent } from '../events/event-hub.ts';
import type { Reply } from '../http/reply.ts';
import type { Lease } from '../log/log.ts';
import type { Logger } from '../logger.ts';
import {
  type NewSession,
  type NodeDirectory,
  type NodePlace,
  type OwnedKey,
  type SessionKey,
  StaleFence,
} from '../store/store.ts';
import { Elsewhere, NotHere, StoreAway } from './elsewhere.ts';
import { Fitness, type NodeEngine } from './fitness.ts';
import {
  FORWARDED,
  type ForwardableRequest,
  type Forwarding,
  forward,
  forwardUpgrade,
  isFit,
  NOT_HERE,
  reach,
  Unreached,
  withoutBody,
} from './forward.ts';
import { NodeLease } from './lease.ts';
import { nodeNameOf, Peers } from './peers.ts';

/** Options of a node: a process that shares its store with other processes. */
export interface NodeOptions {
  /** The address at which the other nodes reach this one: `http://host:port`. */
  address: string;
  /** How long the other nodes wait for a node that does not renew its lease, in milliseconds; 5 seconds unless given. */
  leaseMs?: number;
  /** How long this node may take to shut down, in milliseconds: answers in progress end within this time, or are interrupted; 20 seconds unless given. */
  drainMs?: number;
}

/** The objects and callbacks that `ClusterNode` gets from the server. */
export interface NodeContext extends NodeOptions {
  directory: NodeDirectory;
  clock: Clock;
  logger: Logger;
  /** The keys of the sessions that this process has loaded, and so believes that it owns. */
  owned: () => readonly OwnedKey[];
  /** The name of this process, with which the name of the node begins; the name of the machine unless given. */
  process?: string | undefined;
  /** Called when another node was found dead, before its lease has ended. */
  onDead?: (node: NodePlace) => void;
  /** Called when another node owns a session that this process owned. */
  onLost: (key: OwnedKey) => void;
  /** The path at which the server is mounted, the same on every node. */
  basePath: string;
  /** Why the hub cannot be used at the moment; null when the hub can be used, or when there is no hub. */
  hubFault: () => string | null;
  /** Called when this node cannot use the store or the hub (`away`) and another node can. */
  onUnfit: (away: readonly NodeEngine[]) => void;
}

/** Of the failed attempts to connect to another node, only the one with this number is logged. The first is not: the other node may not listen yet. */
const LOGGED_ATTEMPT = 2;
/** The time between two attempts to find the owner of a session. */
const LOOK_MS = 200;
/** How long the search for an owner continues after a lease has ended: one attempt finds that the lease has ended, and the next takes the session over. */
const SLACK_MS = 2000;

/**
 * One process of several that share a store. Each session is owned by one of them, which answers all requests for it; the others forward requests to the
 * owner. A node renews its lease to show that it lives. When a lease ends, the node that gets the next request for a session of the dead node becomes
 * the owner of that session.
 */
export class ClusterNode implements Lease {
  readonly place: NodePlace;
  readonly leaseMs: number;
  readonly drainMs: number;
  readonly #context: NodeContext;
  readonly #peers: Peers;
  readonly #fitness: Fitness;
  readonly #lease: NodeLease;
  #isLeaving = false;
  #isClosed = false;
  /** The other nodes that live, as far as this one knows. */
  #others: readonly NodePlace[] = [];
  /** The number of sessions that were passed to other nodes. It selects the next node in turn. */
  #given = 0;

  constructor(context: NodeContext) {
    this.#context = context;
    this.leaseMs = context.leaseMs ?? 5000;
    this.drainMs = context.drainMs ?? 20_000;
    const { directory, clock, logger, basePath, owned, onLost, hubFault, onUnfit, onDead } = context;
    this.place = { name: nodeNameOf(context.process), address: context.address };
    this.#peers = new Peers(clock, (node) => {
      logger.warn('another node died: its sessions get a new owner when they are used', { node: node.name });
      onDead?.(node);
    });
    this.#lease = new NodeLease({
      ...{ directory, clock, logger, owned, onLost },
      place: this.place,
      leaseMs: this.leaseMs,
      onOthers: (others) => this.#meetAll(others),
    });
    this.#fitness = new Fitness({
      ...{ clock, logger, hubFault, onUnfit },
      isStoreAway: () => this.#lease.mayHaveEnded,
      others: () => this.#others.filter((node) => !this.#peers.isDead(node)),
      isFit: (node) => isFit(node, basePath),
    });
  }

  /** Throws while this node cannot reach the store: `Elsewhere` when another node can, otherwise `StoreAway`. */
  check(): void {
    if (!this.#lease.mayHaveEnded) return;
    const { refuge } = this.#fitness;
    throw refuge ? new Elsewhere(refuge) : new StoreAway();
  }

  /** Which of the store and the hub this node cannot use at the moment. Unless the list is empty, balancers should send this node no requests. */
  get away(): NodeEngine[] {
    return this.#fitness.away;
  }

  /** Whether the store or the hub fails at this moment: other nodes send no work to this one. */
  get isTroubled(): boolean {
    return this.#fitness.isTroubled;
  }

  get isSure(): boolean {
    return this.#lease.isSure;
  }

  onSure(callback: () => void): () => void {
    return this.#lease.onSure(callback);
  }

  /** Whether the store says that this node is the owner. */
  async isOwner(key: OwnedKey): Promise<boolean> {
    return (await this.#context.directory.stillOwned([key])).length > 0;
  }

  /**
   * See `Owners`. The store confirms that this node is the owner; then the lease must still hold by this node's own clock. A process that was frozen
   * between the two checks finds its lease ended, and waits for the next renewal, which shows which sessions it has lost.
   */
  async startAsOwner<T>(key: OwnedKey, signal: AbortSignal, start: () => Promise<T>): Promise<T> {
    const { logger, onLost } = this.#context;
    for (;;) {
      const isOwner = await this.isOwner(key).catch((error: unknown) => {
        const about = { session: key.id, error: String(error) };
        logger.warn(
          'the store cannot confirm the owner of a session: a tool call of the session waits until the store answers; check the store',
          about,
        );
        return null;
      });
      if (isOwner === false) {
        onLost(key);
        throw new StaleFence(key);
      }
      if (signal.aborted || this.#isClosed) throw new Error('The call was aborted.');
      if (isOwner && this.isSure) return start();
      await this.#lease.sureOrLater(LOOK_MS, signal);
    }
  }

  /** Milliseconds since 1970, corrected to the clock of the store, so that all nodes agree. */
  now(): number {
    return this.#lease.now();
  }

  /**
   * Makes this node the owner of a session. Null when the session does not exist. Throws `Elsewhere` when another living node owns the session, or gets it
   * because this node is shutting down or cannot use the hub. Throws `NotHere` when this node is shutting down and no other node lives.
   */
  async take(key: SessionKey): Promise<OwnedKey | null> {
    const { directory } = this.#context;
    await this.join();
    const heir = this.#isLeaving ? this.#heir() : null;
    let found = await directory.acquire(key, this.place.name, null);
    if (found?.kind === 'elsewhere' && this.#peers.isDead(found.node)) {
      found = await directory.acquire(key, this.place.name, found.fence);
    }
    if (!found) return null;
    if (found.kind === 'elsewhere') throw new Elsewhere(found.node);
    await this.#passOn(found.key, heir);
    return found.key;
  }

  /** Creates a session for this node, or for another node if this one is shutting down; then throws `Elsewhere`. */
  async create(key: SessionKey, event: PreparedEvent | null): Promise<NewSession> {
    await this.join();
    const heir = this.#isLeaving ? this.#heir() : null;
    const created = await this.#context.directory.create(key, this.place.name, event?.outbox);
    event?.happened();
    await this.#passOn(created.key, heir);
    return created;
  }

  /**
   * Keeps the session on this node, or throws `Elsewhere`. With an heir, because this node is shutting down, passes the session to it first. If this node
   * cannot use the hub and another node can, releases the session first.
   */
  async #passOn(key: OwnedKey, heir: NodePlace | null): Promise<void> {
    if (heir) {
      // Two steps: acquire the session for this node, then pass it to the heir. Acquiring it directly for the heir would give the session a new
      // fence even if the heir owns it already, and so end the conversation there.
      await this.#context.directory.acquire(key, heir.name, key.fence);
      throw new Elsewhere(heir);
    }
    const refuge = this.away.includes('hub') ? this.#fitness.refuge : null;
    if (!refuge) return;
    await this.release(key);
    throw new Elsewhere(refuge);
  }

  /** Makes this node take no more sessions: it forwards requests for sessions without an owner to another node. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** The addresses of the node that got the request from the client (`serves`), and of this node, which answers it (`owns`). */
  placesOf({ headers }: Request): NonNullable<SessionInfo['nodes']> {
    const owns = this.place.address;
    return { serves: headers.get(FORWARDED) ?? owns, owns };
  }

  /** Gives up the ownership of a session that has no clients here. */
  async release(key: OwnedKey): Promise<void> {
    if (this.#isClosed) return;
    await this.#context.directory.release(key).catch((error: unknown) => {
      // The next request for the session acquires it again: on this node at once, on another node after the lease has ended.
      this.#context.logger.warn(
        'a session was not released: another node gets it when the lease of this one ends',
        { session: key.id, error: String(error) },
      );
    });
  }

  /** Registers this node and keeps its lease until `close`. */
  join(): Promise<unknown> {
    return this.#lease.join();
  }

  /** Answers a request here, or forwards it to the node that owns the session. */
  answer(asked: ForwardableRequest, here: () => Promise<Reply>): Promise<Reply> {
    return this.route(asked, here, async (handover, end) => {
      const answered = await forward(handover, asked.body());
      if (answered.headers[NOT_HERE] !== undefined) {
        answered.body.destroy();
        return null;
      }
      answered.body.once('close', end);
      return answered;
    });
  }

  /** Opens a socket here, or connects its stream to the node that owns the session; then the result is null. */
  async admit<T>(request: Request, here: () => Promise<T>, stream: Duplex, head: Buffer): Promise<T | null> {
    const admitted = await this.route<{ session: T | null }>(
      withoutBody(request),
      async () => ({ session: await here() }),
      async (handover, end) => {
        if (!(await forwardUpgrade(handover, stream, head))) return null;
        handover.signal.addEventListener('abort', () => stream.destroy());
        stream.once('close', end);
        return { session: null };
      },
    );
    return admitted.session;
  }

  /** Sends a request to every other living node. Resolves when each of them has answered, or could not be asked. */
  async askOthers(request: Request): Promise<void> {
    const { nodes } = await this.#context.directory.living();
    const others = nodes.filter((node) => node.name !== this.place.name && !this.#peers.isDead(node));
    const ask = (node: NodePlace) =>
      this.#ask(withoutBody(request), node, async (handover, end) => {
        const { body } = await forward(handover, null);
        body.resume().once('close', end);
        return true;
      });
    await Promise.all(others.map(ask));
  }

  /** Ends the lease, the timers and the forwarded streams of this node. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const left = this.#lease.close();
    this.#peers.close();
    this.#fitness.close();
    await left;
  }

  /** The next of the other nodes, in turn, for a session without an owner. Throws `NotHere` when no other node lives. */
  #heir(): NodePlace {
    const living = this.#others.filter((node) => !this.#peers.isDead(node));
    const heir = living[this.#given++ % living.length];
    if (!heir) throw new NotHere();
    return heir;
  }

  /** Answers a request here or forwards it, and retries until the owner has answered, for at most a little longer than a lease. */
  async route<T>(asked: ForwardableRequest, here: () => Promise<T>, there: Forwarding<T>): Promise<T> {
    const { clock } = this.#context;
    const until = clock.elapsed() + this.leaseMs + SLACK_MS;
    for (;;) {
      try {
        // A GET has no body and can be forwarded at once. The body of a POST has to be read first, and `here` reads it.
        if (asked.request.method === 'GET') this.check();
        return await here();
      } catch (thrown) {
        if (!(thrown instanceof Elsewhere || thrown instanceof StoreAway)) throw thrown;
        // If another node forwarded this request here, that node looks for the owner again.
        if (asked.request.headers.has(FORWARDED)) throw new NotHere();
        if (thrown instanceof StoreAway) throw thrown;
        const result = await this.#ask(asked, thrown.node, there);
        if (result !== null) return result;
      }
      if (clock.elapsed() > until || this.#isClosed) throw new NotHere();
      await new Promise<void>((resolve) => {
        clock.after(LOOK_MS, resolve);
      });
    }
  }

  /** Forwards to another node. Null when the caller must look for the owner again: that node does not own the session, cannot be reached, or failed. */
  async #ask<T>(asked: ForwardableRequest, node: NodePlace, there: Forwarding<T>): Promise<T | null> {
    const ending = new AbortController();
    // Stop waiting for the answer when the other node dies.
    const end = this.#peers.follow(node, () => ending.abort());
    try {
      const result = await there(
        { request: asked.request, node, from: this.place.address, signal: ending.signal },
        end,
      );
      this.#peers.reached(node);
      if (result === null) end();
      else asked.handedOn();
      return result;
    } catch (error) {
      end();
      if (error instanceof Unreached) {
        this.#peers.failed(node, error.isRefused);
        return null;
      }
      this.#context.logger.warn('forwarding a request to another node failed: see node and error', {
        node: node.name,
        error: String(error),
      });
      // The other node may have handled the request. Only the client can decide whether to repeat a request that must not be handled twice.
      if (asked.isRepeatable()) return null;
      throw new NotHere();
    }
  }

  /** Notes which other nodes live, and tries to connect to those that were not reached yet. */
  #meetAll(others: readonly NodePlace[]): void {
    this.#others = others;
    this.#peers.cutAllBut(others);
    for (const node of others) if (this.#peers.isToBeMet(node)) this.#meet(node);
  }

  /**
   * Tries to connect to another node, at every renewal until it succeeds. Only a node that was reached once can be recognised as dead before its lease ends.
   */
  #meet(node: NodePlace): void {
    reach(node).then(
      () => this.#peers.reached(node),
      (error: unknown) => {
        if (this.#peers.notMet(node) !== LOGGED_ATTEMPT) return;
        const about = { node: node.name, address: node.address, error: String(error) };
        this.#context.logger.warn(
          'another node cannot be reached: check its address; each node must be able to reach all others',
          about,
        );
      },
    );
  }
}
