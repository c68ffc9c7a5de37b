import type { BaseTool } from '@google/adk';
import { type CallOutlet, type DataOptions, preliminaryOutput } from '../../adk/for-server.ts';
import type { Chunk } from '../../protocol/index.ts';
import { type DataSchemas, readOwnData } from '../../protocol/own-data.ts';
import type { Clock } from '../clock.ts';
import { CallData } from './call-data.ts';
import { jsonOf, Throttle } from './throttle.ts';

/** What a tool reports while it runs. With the id of the call it is an input of the state. */
export type CallReport =
  | { type: 'tool-progress'; output: unknown }
  | { type: 'tool-chunks'; chunks: Chunk[] };

/** The tool, clock and callbacks that a `CallOutput` uses. */
export interface CallOutputContext {
  tool: BaseTool;
  /** The schemas of the data parts that tools may send. */
  data: DataSchemas;
  clock: Clock;
  /** Passes the reports of the tool to the state. */
  report: (report: CallReport) => void;
  /** Logs why a value of the tool is not sent. */
  warn: (text: string) => void;
}

/**
 * Sends what the tool of one call reports while it runs, limited in size and rate. A tool may report far more often than a page can show: a value that
 * arrives too soon waits, and a newer one of the same kind or part replaces it. A value that cannot be sent is logged, and the call continues, because it may
 * already have had its effect.
 */
export class CallOutput implements CallOutlet {
  private readonly context: CallOutputContext;
  /** The newest preliminary output that is not sent yet. */
  private waiting: { output: unknown } | null = null;
  private readonly pace: Throttle;
  private readonly parts: CallData;
  /** The kinds of values whose failure was logged. Each is logged once, because a tool may report the same bad value a thousand times. */
  private readonly warned = new Set<string>();
  private isClosed = false;

  constructor(context: CallOutputContext) {
    const { clock, report } = context;
    this.context = context;
    this.pace = new Throttle(clock, () => {
      if (this.waiting) report({ type: 'tool-progress', output: this.waiting.output });
      this.waiting = null;
    });
    this.parts = new CallData(clock, (chunks) => report({ type: 'tool-chunks', chunks }));
  }

  progress(output: unknown): void {
    this.attempt('a preliminary output', () => {
      this.waiting = { output: jsonOf(preliminaryOutput(this.context.tool, output)).value };
      this.pace.request();
    });
  }

  data(name: string, value: unknown, options: DataOptions): void {
    this.attempt(`the data "${name}"`, () =>
      this.parts.add(name, jsonOf(readOwnData(this.context.data, name, value)), options),
    );
  }

  setMetadata(fields: Readonly<Record<string, unknown>>): void {
    this.attempt('metadata', () => this.parts.addMetadata(fields));
  }

  close(): void {
    this.isClosed = true;
    this.pace.cancel();
    this.parts.close();
  }

  /**
   * Calls `take`, which sends a value, unless the call has ended. If `take` throws, logs why the value is not sent, once for each kind of value
   * (`what`).
   */
  private attempt(what: string, take: () => void): void {
    if (this.isClosed) return;
    try {
      take();
    } catch (error) {
      if (this.warned.has(what)) return;
      this.warned.add(what);
      const why = error instanceof Error ? error.message : String(error);
      this.context.warn(`${what} of the tool "${this.context.tool.name}" is not shown: ${why}`);
    }
  }
}
