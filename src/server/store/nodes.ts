import type { OwnedKey, SessionKey, Store } from './store.ts';

/** A process among several that share a store, and where the others reach it. */
export interface NodePlace {
  /** No other process has or had it. */
  name: string;
  /** `http://host:port` */
  address: string;
}

/** Who owns a session: whoever asked, from now on; or another node, which lives. */
export type Acquired =
  | { kind: 'mine'; key: OwnedKey }
  | { kind: 'elsewhere'; node: NodePlace; fence: number };

/**
 * What a store that several nodes share knows of them: which live, and which owns a session. A node lives until its lease
 * ends, by the clock of the store, unless it is renewed before. Who lives is only good for finding the owner: what keeps a
 * node from writing to a session that another has taken is the fence.
 */
export interface NodeDirectory {
  /** The node lives for so long from now on. False when its lease had ended before, or it is new. */
  renew(node: NodePlace, leaseMs: number): Promise<boolean>;
  /** The nodes that live, and what the clock of the store says: milliseconds since 1970. */
  living(): Promise<{ nodes: NodePlace[]; now: number }>;
  /**
   * Makes a node the owner of a session, unless another owns it that lives. `suspect`: the fence of an owner that is known to be
   * dead. Null when there is no such session.
   */
  acquire(key: SessionKey, node: string, suspect: number | null): Promise<Acquired | null>;
  /** The owner lets go of a session; nothing happens when another owns it. */
  release(key: OwnedKey): Promise<void>;
  /** Of these owners, those that still are. */
  stillOwned(keys: readonly OwnedKey[]): Promise<OwnedKey[]>;
  /** A node lets go of all its sessions, and is no more. */
  leave(name: string): Promise<void>;
}

/** A store that several nodes may use at once. */
export interface SharedStore extends Store {
  readonly nodes: NodeDirectory;
  /**
   * What all sessions of the app, and all of the user, share as it is now: other nodes change it, too. Null when the session is gone, or another
   * owner has it.
   */
  sharedState(key: OwnedKey): Promise<Record<string, unknown> | null>;
}
