import type { Io } from './command.ts';

/** A progress bar that appears only when the work takes longer than a second. */
export interface Progress {
  update(done: number): void;
  end(): void;
}

const PATIENCE_MS = 1000;
const REDRAW_MS = 100;
const WIDTH = 30;

/** Starts a progress bar for a number of steps; silent when nobody watches. */
export function createProgress(total: number, io: Io): Progress {
  const start = io.now();
  let drawn = 0;
  return {
    update(done) {
      const now = io.now();
      if (!io.isTerminal || now - start < PATIENCE_MS || now - drawn < REDRAW_MS) return;
      drawn = now;
      const filled = Math.round((done / total) * WIDTH);
      io.err(`\r[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${done}/${total}`);
    },
    end() {
      if (drawn > 0) io.err(`\r${' '.repeat(WIDTH + 30)}\r`);
    },
  };
}
