import { type Clock, settlesWithin } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { NodeDirectory, NodePlace, OwnedKey } from '../store/store.ts';

/** The objects and callbacks that a lease gets from its node. */
export interface LeaseContext {
  place: NodePlace;
  leaseMs: number;
  directory: NodeDirectory;
  clock: Clock;
  logger: Logger;
  /** The keys of the sessions that this process has loaded, and so believes that it owns. */
  owned: () => readonly OwnedKey[];
  /** Called when another node owns a session that this process owned. */
  onLost: (key: OwnedKey) => void;
  /** Called after each renewal with the other nodes that live. */
  onOthers: (others: readonly NodePlace[]) => void;
}

/** How often a lease is renewed within its duration, so that one lost renewal does no harm. */
const RENEWALS = 5;
/** The share of its lease for which a node is sure that the lease has not ended. The rest is a margin, because the clock of the store may be faster. */
const SURE = 0.9;
/** How far the clock of this machine may differ from that of the store. An approval request may expire that much earlier or later. */
const CLOCK_MS = 1000;
/** How long a node that shuts down waits for the store. */
const LEAVE_MS = 2000;

/** The lease of this node, with which the store shows the other nodes that this one is alive. Each renewal also reads the clock of the store. */
export class NodeLease {
  readonly #context: LeaseContext;
  #cancelRenewal: () => void = () => undefined;
  #isClosed = false;
  #joined: Promise<unknown> | null = null;
  #renewing: Promise<void> = Promise.resolve();
  /** The number of renewals that have not been answered yet. */
  #renewals = 0;
  /** Until this time (by the monotonic clock of this process) no other node takes over the sessions of this node, unless it finds this process dead. */
  #sureUntil = Number.NEGATIVE_INFINITY;
  readonly #onSure = new Set<() => void>();
  /** How many milliseconds the clock of this machine is behind that of the store, negative if it is ahead; 0 while they differ by at most `CLOCK_MS`. */
  #behindMs = 0;

  constructor(context: LeaseContext) {
    this.#context = context;
  }

  get isSure(): boolean {
    return this.#context.clock.elapsed() < this.#sureUntil;
  }

  /** Whether the lease may have ended, because it could not be renewed. False for a starting node, which has no lease yet. */
  get mayHaveEnded(): boolean {
    return this.#sureUntil > Number.NEGATIVE_INFINITY && !this.isSure;
  }

  onSure(callback: () => void): () => void {
    this.#onSure.add(callback);
    return () => this.#onSure.delete(callback);
  }

  /** While this node is sure of its lease, resolves after `ms`; otherwise resolves when the lease is renewed. Resolves at once when the signal aborts. */
  sureOrLater(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise<void>((resolve) => {
      const end = () => {
        leave();
        cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const leave = this.onSure(end);
      const cancel = this.isSure ? this.#context.clock.after(ms, end) : () => undefined;
      signal.addEventListener('abort', end);
    });
  }

  /** Milliseconds since 1970, corrected to the clock of the store, so that all nodes agree. */
  now(): number {
    return this.#context.clock.now() + this.#behindMs;
  }

  /** Registers the node and keeps its lease until `close`. */
  join(): Promise<unknown> {
    this.#joined ??= this.#renew().catch((error: unknown) => {
      this.#joined = null;
      throw error;
    });
    return this.#joined;
  }

  /** Ends the lease. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRenewal();
    const { directory, clock, logger, place } = this.#context;
    // Wait for a renewal that is under way: it could register the node again after it has left.
    const left = this.#renewing.then(() => (this.#joined ? directory.leave(place.name) : undefined));
    const hasLeft = await settlesWithin(left, LEAVE_MS, clock).catch(() => false);
    if (!hasLeft)
      logger.warn(
        'store unavailable at shutdown: other nodes take over the sessions of this one when its lease ends',
      );
  }

  /** Renews the lease until the node closes. Gives up sessions that another node has taken over meanwhile. */
  async #renew(): Promise<void> {
    const { directory, clock, logger, place, leaseMs, onOthers } = this.#context;
    this.#cancelRenewal();
    this.#cancelRenewal = clock.after(leaseMs / RENEWALS, () => {
      if (this.#isClosed) return;
      this.#renewing = this.#renew().catch((error: unknown) => {
        logger.error(
          'could not renew the lease of this node: its sessions move when the lease ends; check the store',
          { error: String(error) },
        );
      });
    });
    const askedAt = clock.elapsed();
    // While an earlier renewal is pending, this one cannot tell whether the lease had ended in between, because the earlier one may have restored it.
    // So lost sessions are looked up after this renewal too.
    const isAlone = this.#renewals++ === 0;
    try {
      const wasLiving = await directory.renew(place, leaseMs);
      if (!wasLiving || !isAlone) await this.#giveUpLost();
    } finally {
      this.#renewals--;
    }
    const wasSure = this.isSure;
    this.#sureUntil = askedAt + leaseMs * SURE;
    if (!wasSure) for (const callback of [...this.#onSure]) callback();
    const asked = clock.elapsed();
    const { nodes, now } = await directory.living();
    this.#compareClocks(now + (clock.elapsed() - asked) / 2);
    onOthers(nodes.filter(({ name }) => name !== place.name));
  }

  /** Uses the clock of the store when that of this machine differs by more than `CLOCK_MS`. */
  #compareClocks(now: number): void {
    const { clock, logger } = this.#context;
    const behindMs = Math.round(now - clock.now());
    const isOff = Math.abs(behindMs) > CLOCK_MS;
    if (isOff && this.#behindMs === 0) {
      logger.warn('the clock of this machine differs from that of the database: correct it', { behindMs });
    }
    this.#behindMs = isOff ? behindMs : 0;
  }

  async #giveUpLost(): Promise<void> {
    const { directory, owned, onLost } = this.#context;
    const believed = owned();
    if (believed.length === 0) return;
    const still = await directory.stillOwned(believed);
    for (const key of believed) if (!still.includes(key)) onLost(key);
  }
}
