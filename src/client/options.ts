import type { Chunk } from '../protocol/chunks.ts';
import type { ExecutorOptions } from './executors.ts';
import type { Timers } from './timers.ts';

/** Options of both transports. */
export interface TransportOptions extends ExecutorOptions {
  /** Deltas of one block that arrive within this time reach the chat as one. */
  mergeMs?: number | undefined;
  /**
   * What the end of a request by `stop()` means: the agent is interrupted, or (`detach`) goes on unheard. `useChat` of
   * `@ai-sdk/react` 4 calls `stop()` when a component goes away, too; with `detach` only `interrupt()` interrupts.
   */
  onAbort?: 'interrupt' | 'detach' | undefined;
  /** Hears data that is told and not kept: transcripts, errors, ends of calls in earlier messages. */
  onData?: ((chunk: Extract<Chunk, { type: `data-${string}` }>) => void) | undefined;
  newId?: (() => string) | undefined;
  timers?: Timers | undefined;
}

/** How long deltas gather, if nobody says otherwise. */
export const MERGE_MS = 16;
