import type { Connection } from './connection.ts';
import { endingOf } from './connection-state.ts';
import type { Timers } from './timers.ts';

/** Resolves when the condition holds, and also when it will not: the time is up, the signal aborts, the connection ends. */
export function until(
  { connection, timers, signal }: { connection: Connection; timers: Timers; signal: AbortSignal | undefined },
  condition: () => boolean,
  ms?: number,
): Promise<void> {
  if (condition() || signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const leave: (() => void)[] = [];
    const stop = () => {
      for (const undo of leave) undo();
      resolve();
    };
    const check = () => {
      if (condition() || endingOf(connection.state)) stop();
    };
    leave.push(connection.listen(check), connection.subscribe(check));
    if (ms !== undefined) leave.push(timers.after(ms, stop));
    signal?.addEventListener('abort', stop);
  });
}
