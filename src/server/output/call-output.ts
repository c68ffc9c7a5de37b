import type { CallOutlet } from '../../adk/for-server.ts';
import type { Clock } from '../clock.ts';

/** The time between two preliminary outputs of a call. */
const PROGRESS_MS = 200;
/** The largest preliminary output, as JSON. */
const PROGRESS_BYTES = 32 * 1024;

/** The tool, clock and callbacks that a `CallOutput` uses. */
export interface CallOutputContext {
  toolName: string;
  clock: Clock;
  /** Returns the output after validation by the schema of the tool; throws when it does not fit. */
  check: (output: unknown) => unknown;
  /** Sends a preliminary output. */
  send: (output: unknown) => void;
  /** Logs why a value of the tool is not sent. */
  warn: (text: string) => void;
}

/**
 * Sends the preliminary outputs of one call, limited in size and rate. A tool may report far more often than a page can show: a value that comes too soon
 * waits, and a newer one replaces it. A value that cannot be sent never fails the call, which may already have had its effect.
 */
export class CallOutput implements CallOutlet {
  private readonly context: CallOutputContext;
  /** The newest value that is not sent yet. */
  private waiting: { output: unknown } | null = null;
  /** The time before which nothing more is sent. */
  private nextAt: number;
  private cancelTimer: (() => void) | null = null;
  private hasWarned = false;
  private isClosed = false;

  constructor(context: CallOutputContext) {
    this.context = context;
    this.nextAt = context.clock.elapsed();
  }

  progress(output: unknown): void {
    if (this.isClosed) return;
    try {
      this.waiting = { output: this.copyOf(output) };
    } catch (error) {
      this.warn(error instanceof Error ? error.message : String(error));
      return;
    }
    this.flush();
  }

  close(): void {
    this.isClosed = true;
    this.cancelTimer?.();
  }

  /** Copies the value, because the tool may change its own object afterwards. */
  private copyOf(output: unknown): unknown {
    const text = JSON.stringify(this.context.check(output)) ?? 'null';
    const bytes = Buffer.byteLength(text);
    if (bytes > PROGRESS_BYTES) throw new Error(`it has ${bytes} bytes, and ${PROGRESS_BYTES} are allowed`);
    return JSON.parse(text);
  }

  private flush(): void {
    const { clock, send } = this.context;
    if (!this.waiting || this.cancelTimer) return;
    const now = clock.elapsed();
    if (now < this.nextAt) {
      this.cancelTimer = clock.after(this.nextAt - now, () => {
        this.cancelTimer = null;
        this.flush();
      });
      return;
    }
    const { output } = this.waiting;
    this.waiting = null;
    this.nextAt = now + PROGRESS_MS;
    send(output);
  }

  /** Logs at most one warning for each call: a tool may report the same bad value a thousand times. */
  private warn(why: string): void {
    if (this.hasWarned) return;
    this.hasWarned = true;
    this.context.warn(`a preliminary output of the tool "${this.context.toolName}" is not shown: ${why}`);
  }
}
