import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { nameOf } from '../store/rules.ts';
import type { AuditEntry, SessionKey, Store } from '../store/store.ts';

/** How long the refused answers of a user are counted together. */
const WINDOW_MS = 60_000;
/** The largest number of `refused` lines that the audit log gets for one user in that time. Further refused answers are only counted. */
const MAX_LINES = 30;

/** The refused answers of one user in the current minute. */
interface Window {
  /** The lines that were written: session, approval, call and reason as JSON. */
  written: Set<string>;
  /** The number of refused answers that got no line, by the name of the session. */
  folded: Map<string, { key: SessionKey; count: number }>;
  /** Cancels the timer that ends the minute. */
  cancel: () => void;
}

/**
 * Writes refused answers to the audit log, and limits the number of lines. An answer that is refused again for the same reason within a minute gets no second
 * line, and a user gets at most 30 lines. At the end of the minute one line for each session, of at most 30 sessions, says how many answers got no line. Each
 * node counts only the answers that it refuses.
 */
export class RefusedAnswers {
  private readonly store: Store;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly windows = new Map<string, Window>();

  constructor(store: Store, clock: Clock, logger: Logger) {
    this.store = store;
    this.clock = clock;
    this.logger = logger;
  }

  /** Writes the line of a refused answer, or only counts the answer. */
  async write(key: SessionKey, line: AuditEntry): Promise<void> {
    const { written, folded } = this.windowOf(key);
    const what = JSON.stringify([key.id, line.approvalId, line.toolCallId, line.reason]);
    if (written.size < MAX_LINES && !written.has(what)) {
      written.add(what);
      await this.store.audit(key, line);
      return;
    }
    const session = nameOf(key);
    const counted = folded.get(session);
    if (counted) counted.count++;
    else if (folded.size < MAX_LINES) folded.set(session, { key, count: 1 });
  }

  /** Writes the lines for answers that were only counted. Call it while the store is still open. */
  async close(): Promise<void> {
    const ends = [...this.windows.keys()].map((name) => this.end(name));
    await Promise.all(ends).catch((error: unknown) => this.failed(error));
  }

  private windowOf({ app, user }: SessionKey): Window {
    const name = JSON.stringify([app, user]);
    let window = this.windows.get(name);
    if (!window) {
      const cancel = this.clock.after(WINDOW_MS, () => {
        this.end(name).catch((error: unknown) => this.failed(error));
      });
      window = { written: new Set(), folded: new Map(), cancel };
      this.windows.set(name, window);
    }
    return window;
  }

  /** Ends the minute of a user: writes a line for each session with the number of answers that were only counted. */
  private async end(name: string): Promise<void> {
    const window = this.windows.get(name);
    this.windows.delete(name);
    window?.cancel();
    const folded = [...(window?.folded.values() ?? [])];
    await Promise.all(
      folded.map(async ({ key, count }) => {
        // The line names no call, so the audit log of a session that was deleted meanwhile does not need it.
        if (await this.store.findSession(key)) await this.store.audit(key, foldedLine(count));
      }),
    );
  }

  private failed(error: unknown): void {
    this.logger.warn('refused answers were not written to the audit log: check the store', {
      error: String(error),
    });
  }
}

function foldedLine(count: number): AuditEntry {
  return {
    kind: 'refused',
    approvalId: null,
    toolCallId: null,
    toolName: null,
    argsHash: null,
    args: null,
    reason: count === 1 ? '1 more refused answer' : `${count} more refused answers`,
  };
}
