import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../clock.ts';
import type { NodePlace } from '../store/store.ts';

/** A node is dead when its port has refused connections for this long. A single refusal may come from a node that is starting. */
const REFUSED_MS = 400;

/** Separates the name of the process from the random id in the name of a node. */
const SEPARATOR = '/';

/** A new name for a node of a process. */
export const nodeNameOf = (process = hostname()): string => `${process}${SEPARATOR}${randomUUID()}`;

/** The name of the process that a node runs in. */
export const processOf = ({ name }: NodePlace): string => name.split(SEPARATOR)[0] ?? name;

interface Peer {
  /** Whether this node ever connected to the peer. */
  wasReached: boolean;
  /** `tries`: the number of failed attempts to connect. `isBeingMet`: an attempt is under way. */
  tries: number;
  isBeingMet: boolean;
  /** The time since which the port of the peer refuses connections; null when it does not. */
  refusedSince: number | null;
  isDead: boolean;
  /** Called when the peer has no lease any more, or when this node closes. */
  followed: Set<() => void>;
}

/** Tracks which other nodes are alive, by this node's own connections to them. */
export class Peers {
  readonly #clock: Clock;
  readonly #onDead: (node: NodePlace) => void;
  readonly #peers = new Map<string, Peer>();

  /** `onDead` is called once for each node that is found dead. */
  constructor(clock: Clock, onDead: (node: NodePlace) => void) {
    this.#clock = clock;
    this.#onDead = onDead;
  }

  reached(node: NodePlace): void {
    const peer = this.#of(node.name);
    peer.wasReached = true;
    peer.refusedSince = null;
  }

  /**
   * Records that a node could not be reached. A node that was reached before, and whose port has refused connections for `REFUSED_MS`, is dead. A node that
   * was never reached may be in a closed network, so it stays alive until its lease ends. So does a node after any other failure.
   */
  failed(node: NodePlace, isRefused: boolean): void {
    const peer = this.#of(node.name);
    if (!isRefused) {
      peer.refusedSince = null;
      return;
    }
    const now = this.#clock.elapsed();
    peer.refusedSince ??= now;
    if (peer.isDead || !peer.wasReached || now - peer.refusedSince < REFUSED_MS) return;
    peer.isDead = true;
    this.#onDead(node);
  }

  /** Whether a node is known to be dead, even if its lease has not ended. */
  isDead(node: NodePlace): boolean {
    return this.#peers.get(node.name)?.isDead ?? false;
  }

  /** Calls `end` when a node has no lease any more, so that a forwarded request or stream can be ended. The returned function removes the callback. */
  follow(node: NodePlace, end: () => void): () => void {
    const { followed } = this.#of(node.name);
    followed.add(end);
    return () => followed.delete(end);
  }

  /**
   * Whether the caller must try to connect to a node, because the node was never reached and no attempt is running. The caller reports the end of the attempt
   * with `reached` or `notMet`.
   */
  isToBeMet(node: NodePlace): boolean {
    const peer = this.#of(node.name);
    if (peer.wasReached || peer.isBeingMet) return false;
    peer.isBeingMet = true;
    return true;
  }

  /** Records a failed attempt to connect, and returns how many have failed. A starting node registers before it listens, so a later attempt may succeed. */
  notMet(node: NodePlace): number {
    const peer = this.#of(node.name);
    peer.isBeingMet = false;
    return ++peer.tries;
  }

  /** Calls the callbacks of all nodes that are not in `living`, and forgets those nodes. */
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
