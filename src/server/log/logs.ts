import type { OwnedKey } from '../store/store.ts';
import { HeldLog, type Lease } from './held-log.ts';
import { ChunkLog, type ShownLog } from './log.ts';

/** The log of one session, from when it is taken up until it is let go of. */
export interface SessionLog {
  /** Everything that was said. */
  readonly chunks: ChunkLog;
  /** What of it may be told. */
  readonly shown: ShownLog;
  /** Resolves when all that was said so far may be told, undefined when it may be already. Rejects when that takes too long. */
  told(): Promise<void> | undefined;
  /** Calls back when something has waited for seconds and cannot be told yet; once, until all could be told again. */
  onStall?(callback: () => void): void;
  /** Whether all from that number on outlives this process. */
  keeps(from: number): boolean;
  /** Nothing more is said here. */
  close(): void;
  /** Nobody needs it any more. */
  remove(): void;
}

/** Where the logs of sessions are. */
export interface Logs {
  /** The log of a session for its owner: what an earlier one left of it, or a new one. */
  open(key: OwnedKey): Promise<SessionLog>;
  /** A new log in place of one that does not go together with what is stored. */
  replace(log: SessionLog): SessionLog;
  /** Resolves when everything that was said is kept, or after a while. */
  close(): Promise<void>;
}

/** Names a log. */
export function newEpoch(newId: () => string): string {
  return newId().slice(0, 8);
}

/** Logs in memory: they end with their owner. */
export class MemoryLogs implements Logs {
  readonly #newId: () => string;
  readonly #lease: Lease | null;

  /** `lease`: what is said while it may have ended is held back. */
  constructor(newId: () => string, lease: Lease | null) {
    this.#newId = newId;
    this.#lease = lease;
  }

  async open(): Promise<SessionLog> {
    return this.#begin();
  }

  replace(): SessionLog {
    return this.#begin();
  }

  async close(): Promise<void> {}

  #begin(): SessionLog {
    const chunks = new ChunkLog(newEpoch(this.#newId));
    const lease = this.#lease;
    const nothing = () => undefined;
    const keeps = () => false;
    if (!lease) return { chunks, shown: chunks, told: nothing, keeps, close: nothing, remove: nothing };
    const shown = new HeldLog(chunks, { isGathered: false, lease });
    const show = () => {
      if (lease.isSure) shown.show(chunks.last);
    };
    const leave = [chunks.subscribe(show), lease.onSure(show)];
    const close = () => {
      for (const end of leave) end();
    };
    return { chunks, shown, told: nothing, keeps, close, remove: nothing };
  }
}
