import type { OwnedKey } from '../store/store.ts';

/** A piece of a log as a hub keeps it. */
export interface LogWindow {
  /** The owner that wrote it. */
  fence: number;
  /** The number of its last chunk. */
  last: number;
  /** Its chunks, as JSON. */
  text: string;
}

/** Something to be added to the log of a session. */
export interface Addition {
  key: OwnedKey;
  /** The name of the log. */
  epoch: string;
  last: number;
  text: string;
  /** Whether it is all there is, and takes the place of whatever is there; else it is added to what is there, or to nothing. */
  isWhole: boolean;
  /** Windows before this one may go. */
  oldest: Pick<LogWindow, 'fence' | 'last'> | null;
}

/** `gone`: there is no log to add to. `refused`: a later owner has it. */
export type Added = 'kept' | 'gone' | 'refused';

/** Tokens that a user takes from a bucket that all nodes share. */
export interface Spending {
  /** What is limited. */
  limit: string;
  user: string;
  burst: number;
  perMinute: number;
  /** How many; a negative number gives them back. */
  count: number;
}

/**
 * What the nodes of a group share beside their store: the logs of their sessions, so that the chunk ids of a client outlive an owner, and the counts of
 * what each user asks for. It may lose everything, or be away: what is stored is never only here. Everything it does may be asked for again.
 */
export interface Hub {
  /**
   * The log of a session, for its new owner: after this, nobody with an earlier fence adds to it. When there is none, one of that name begins. Throws
   * `StaleFence` when a later owner has it.
   */
  take(key: OwnedKey, epoch: string): Promise<{ epoch: string; windows: LogWindow[] }>;
  /** Adds to logs, one each, or to none when it is away: then it throws. */
  append(additions: readonly Addition[]): Promise<Added[]>;
  /** Nobody needs the log of a session any more. */
  remove(key: OwnedKey): Promise<void>;
  /** Takes tokens of a user; the number that is left. */
  spend(spending: Spending): Promise<number>;
  /** A user has so many connections at this node; the number at all nodes together. */
  connections(user: string, count: number): Promise<number>;
  /** Why it cannot be used at the moment, in words for an administrator; null when it can. A hub without it always can. */
  fault?(): string | null;
  /** Calls back whenever it was away, and what was kept may be lost; the returned function ends that. */
  onBack(callback: () => void): () => void;
  close(): Promise<void>;
}
