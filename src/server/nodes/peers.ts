import type { Clock } from '../clock.ts';
import type { NodePlace } from '../store/store.ts';

/** Between two refusals after which a node is dead: one may be a node that is only being started. */
const REFUSED_MS = 400;

interface Peer {
  /** Whether it was ever reached from here. */
  wasReached: boolean;
  /** How often it was tried to meet it, and whether it is now. */
  tries: number;
  isBeingMet: boolean;
  /** Since when no process listens there. */
  refusedSince: number | null;
  isDead: boolean;
  /** Ends what is followed there. */
  followed: Set<() => void>;
}

/** The other nodes, as far as this one had to do with them. */
export class Peers {
  readonly #clock: Clock;
  readonly #peers = new Map<string, Peer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  reached(node: NodePlace): void {
    const peer = this.#of(node.name);
    peer.wasReached = true;
    peer.refusedSince = null;
  }

  /**
   * A node could not be reached. A node whose port is closed is dead, but only if it was reached before: else it may be the way to
   * it that is closed. All others are waited for until their lease ends.
   */
  failed(node: NodePlace, isRefused: boolean): void {
    const peer = this.#of(node.name);
    if (!isRefused) {
      peer.refusedSince = null;
      return;
    }
    const now = this.#clock.elapsed();
    peer.refusedSince ??= now;
    if (peer.wasReached && now - peer.refusedSince >= REFUSED_MS) peer.isDead = true;
  }

  /** Whether a node is known to be dead, whatever its lease says. */
  isDead(node: NodePlace): boolean {
    return this.#peers.get(node.name)?.isDead ?? false;
  }

  /** Something is followed at a node, and is ended when that does not live any more; the returned function ends that. */
  follow(node: NodePlace, end: () => void): () => void {
    const { followed } = this.#of(node.name);
    followed.add(end);
    return () => followed.delete(end);
  }

  /** Whether this node must still connect to a peer: it never did, and is not trying to. The caller tries from now on. */
  isToBeMet(node: NodePlace): boolean {
    const peer = this.#of(node.name);
    if (peer.wasReached || peer.isBeingMet) return false;
    peer.isBeingMet = true;
    return true;
  }

  /** A node was not met; returns how often. It may be met later: one that starts says that it lives before it listens. */
  notMet(node: NodePlace): number {
    const peer = this.#of(node.name);
    peer.isBeingMet = false;
    return ++peer.tries;
  }

  /** Ends what is followed at nodes that do not live any more, and forgets them. */
  cutAllBut(living: readonly NodePlace[]): void {
    for (const [name, { followed }] of this.#peers) {
      if (living.some((node) => node.name === name)) continue;
      this.#peers.delete(name);
      for (const end of followed) end();
    }
  }

  close(): void {
    this.cutAllBut([]);
  }

  #of(name: string): Peer {
    let peer = this.#peers.get(name);
    if (!peer) {
      peer = {
        wasReached: false,
        tries: 0,
        isBeingMet: false,
        refusedSince: null,
        isDead: false,
        followed: new Set(),
      };
      this.#peers.set(name, peer);
    }
    return peer;
  }
}
