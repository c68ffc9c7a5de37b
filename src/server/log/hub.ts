import type { OwnedKey } from '../store/store.ts';

/** A part of a log as the hub stores it: the chunks that one write added. */
export interface LogWindow {
  /** The fence of the owner that wrote the window. */
  fence: number;
  /** The number of the last chunk in the window. */
  last: number;
  /** The chunks of the window, as a JSON array. */
  text: string;
}

/** Chunks to add to the log of a session. `last` is the number of the last chunk, and `text` has the chunks as a JSON array. */
export interface Addition {
  key: OwnedKey;
  /** The name of the log, which every chunk id begins with. A new log of the same session has another name. */
  epoch: string;
  last: number;
  text: string;
  /** Whether these chunks replace those that the hub has of the log; otherwise they are added. */
  isWhole: boolean;
  /** The oldest window that the hub must keep; null when it may discard all windows before this addition. */
  oldest: Pick<LogWindow, 'fence' | 'last'> | null;
}

/**
 * The result of an addition. `kept`: the hub has the chunks; `gone`: the hub has no log of this name; `refused`: a later owner of the session has the
 * log.
 */
export type Added = 'kept' | 'gone' | 'refused';

/** A request to take tokens from the token bucket of a user, which all nodes share. The bucket limits how often a user may do something. */
export interface Spending {
  /** The name of the limit. A user has a bucket of their own for each limit. */
  limit: string;
  user: string;
  burst: number;
  perMinute: number;
  /** The number of tokens to take; a negative number returns tokens. */
  count: number;
}

/**
 * The data that nodes share besides their store: the logs of sessions, so that a client can resume with its chunk ids after the owner of the session
 * died, and counters for each user. A hub may lose its data or be unavailable, because the store has all messages. Each method can safely be called
 * again after a failure.
 */
export interface Hub {
  /**
   * Makes the caller the owner of the log of a session, and returns the log. From then on the hub refuses additions with an earlier fence. If there
   * is no log, creates one with the name `epoch`. Throws `StaleFence` when a later owner has the log.
   */
  take(key: OwnedKey, epoch: string): Promise<{ epoch: string; windows: LogWindow[] }>;
  /**
   * Adds chunks to logs, with at most one addition for each log. Throws when the hub is unavailable. If only the hub's answer was lost, the hub has
   * the chunks all the same.
   */
  append(additions: readonly Addition[]): Promise<Added[]>;
  /** Removes the log of a session. */
  remove(key: OwnedKey): Promise<void>;
  /** Takes tokens of a user; resolves with the number of tokens left. */
  spend(spending: Spending): Promise<number>;
  /** Records how many connections a user has at this node; resolves with the number at all nodes. */
  connections(user: string, count: number): Promise<number>;
  /** The name under which the hub counts the connections of this process. The name of the node of this process begins with it. */
  readonly process?: string;
  /**
   * Stops counting the connections of a process that died, before the hub itself notices its death: its clients reconnect to other nodes at once, and
   * would count twice. If the process is alive nevertheless, the connections of a user count again as soon as their number changes.
   */
  forget?(process: string): Promise<void>;
  /**
   * Why the hub cannot be used at the moment, as a text for the operator; null when it can be used. A hub without this method is always treated as
   * usable.
   */
  fault?(): string | null;
  /** Calls `callback` whenever the hub is available again and may have lost logs. The returned function unsubscribes. */
  onBack(callback: () => void): () => void;
  close(): Promise<void>;
}
