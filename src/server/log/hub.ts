import type { OwnedKey } from '../store/store.ts';

/** A part of a log, as the hub stores it: the chunks of one write. */
export interface LogWindow {
  /** The fence of the owner that wrote the window. */
  fence: number;
  /** The number of the last chunk in the window. */
  last: number;
  /** The chunks of the window, as JSON. */
  text: string;
}

/** Chunks to add to the log of a session. */
export interface Addition {
  key: OwnedKey;
  /** The name of the log. */
  epoch: string;
  last: number;
  text: string;
  /** Whether these are all chunks of the log, and replace those in the hub; otherwise they are added. */
  isWhole: boolean;
  /** The hub may discard windows before this one. */
  oldest: Pick<LogWindow, 'fence' | 'last'> | null;
}

/** The result of an addition. `kept`: it was added; `gone`: there is no such log; `refused`: a later owner has the log. */
export type Added = 'kept' | 'gone' | 'refused';

/** A request to take tokens from a user's bucket that all nodes share. */
export interface Spending {
  /** The name of the limit. */
  limit: string;
  user: string;
  burst: number;
  perMinute: number;
  /** The number of tokens; a negative number gives them back. */
  count: number;
}

/**
 * The data that nodes share besides their store: the logs of sessions, so that a client can resume with its chunk ids after the owner died, and the counters
 * of each user. A hub may lose everything or be unavailable, since the store has all messages. Each method can safely be called again after a failure.
 */
export interface Hub {
  /**
   * Gives the log of a session to its new owner: from then on the hub refuses additions with an earlier fence. Creates a log with the name `epoch` when there
   * is none. Throws `StaleFence` when a later owner has the log.
   */
  take(key: OwnedKey, epoch: string): Promise<{ epoch: string; windows: LogWindow[] }>;
  /** Adds to logs, at most one addition for each log. Throws when the hub is unavailable, and adds nothing then. */
  append(additions: readonly Addition[]): Promise<Added[]>;
  /** Removes the log of a session. */
  remove(key: OwnedKey): Promise<void>;
  /** Takes tokens of a user; resolves with the number left. */
  spend(spending: Spending): Promise<number>;
  /** Records how many connections a user has at this node; resolves with the number at all nodes. */
  connections(user: string, count: number): Promise<number>;
  /** The name under which the hub counts the connections of this process; the name of its node begins with it. */
  readonly process?: string;
  /**
   * Stops counting the connections of a process that died, before the hub itself notices: its clients reconnect at once, and would count twice. If the process
   * lives nevertheless, the connections of a user count again when their number changes.
   */
  forget?(process: string): Promise<void>;
  /** Why the hub cannot be used at the moment, as a text for the operator; null when it can. A hub without this method is always usable. */
  fault?(): string | null;
  /** Calls `callback` whenever the hub is available again and may have lost logs. The returned function unsubscribes. */
  onBack(callback: () => void): () => void;
  close(): Promise<void>;
}
