import { type Chunk, ProtocolError } from '../../protocol/index.ts';
import { type Clock, settlesWithin } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { BatchTimer, Departure } from '../output/pace.ts';
import { type OwnedKey, StaleFence } from '../store/store.ts';
import type { Added, Addition, Hub } from './hub.ts';
import { type Lease, type Logs, newEpoch, type SessionLog } from './log.ts';
import { ReplicatedLog, type ReplicatedLogContext } from './replicated-log.ts';

/**
 * Text deltas of all sessions within this time are written to the hub together. Other chunks are written at once. A socket gathers text deltas for
 * only 12 ms. Here the time is longer, because a model produces a word every 10 to 40 ms, and a call to the hub costs as much as the handling of a
 * word.
 */
const WINDOW_MS = 50;
/** How long a caller of `released` waits until the hub has every chunk, and how long the opening of a log waits for the hub. */
const WRITE_TIMEOUT_MS = 5000;
/** The time between two attempts while the hub is unavailable. */
const AGAIN_MS = 100;
/** How long chunks wait for the hub before clients get an error. */
const STALL_MS = 3000;
/** How often the server checks whether chunks have waited for `STALL_MS`. */
const STALL_CHECK_MS = 1000;
/** How long a process that ends waits until the hub has its last chunks. */
const CLOSE_MS = 2000;
const AWAY = 'The server cannot store the conversation at the moment. Try again in a few seconds.';

/** The objects and callbacks that `ReplicatedLogs` gets from the server. */
export interface ReplicatedLogsContext {
  hub: Hub;
  clock: Clock;
  logger: Logger;
  newId: () => string;
  /** The lease of this process; null when no other process can become the owner of its sessions. */
  lease: Lease | null;
  /** Whether this process owns the session according to the store. */
  isOwner: (key: OwnedKey) => Promise<boolean>;
  /** Called when another process owns the session. */
  onLost: (key: OwnedKey) => void;
  /** Whether the hub has been unavailable for longer than a restart takes. Then the opening of a log fails at once. */
  isAway?: () => boolean;
}

interface Waiting {
  upTo: number;
  done: () => void;
}

/**
 * The logs of a process, replicated to a hub so that they outlive the process: the hub gets each chunk before any client does. At most one write runs
 * at a time. It contains every chunk, of all sessions, that the hub does not have yet. While the hub is unavailable, chunks wait in the logs.
 */
export class ReplicatedLogs implements Logs {
  readonly #context: ReplicatedLogsContext;
  readonly #departure: Departure;
  readonly #open = new Set<ReplicatedLog>();
  /** The logs with chunks that the hub does not have and that the current write does not contain. */
  readonly #due = new Set<ReplicatedLog>();
  readonly #waiting = new Map<ReplicatedLog, Waiting[]>();
  readonly #ofEach: ReplicatedLogContext;
  readonly #leave: (() => void)[];
  #isPlanned = false;
  #isBusy = false;
  /** Whether a chunk other than a text or reasoning delta was appended during the current write. Then the next write follows directly. */
  #isUrgent = false;
  /** Cancels the timer of the next attempt to write after a failed one; null when no attempt is planned. */
  #cancelAttempt: (() => void) | null = null;
  /** Whether the last write failed. */
  #isAway = false;
  #onIdle: (() => void) | null = null;
  /** Since when chunks wait for the hub without a successful write; null when none waits. */
  #waitsSince: number | null = null;
  #cancelStallCheck: (() => void) | null = null;

  constructor(context: ReplicatedLogsContext) {
    this.#context = context;
    const { hub, clock, lease } = context;
    this.#departure = new Departure(new BatchTimer(clock, WINDOW_MS), () => this.#keepSoon());
    this.#ofEach = {
      lease,
      onAppended: (log, chunk) => this.#appended(log, chunk),
      wait: (log) => this.#wait(log),
      onClose: (log) => this.#open.delete(log),
      onRemove: (log) => this.#remove(log),
    };
    this.#leave = [
      // The hub may have lost logs while it was unavailable. Write to every open log: the answer shows whether the log still exists.
      hub.onBack(() => {
        for (const log of this.#open) this.#due.add(log);
        this.#attempt();
      }),
      ...(lease ? [lease.onSure(() => this.#keep())] : []),
    ];
  }

  async open(key: OwnedKey): Promise<SessionLog> {
    const log = this.#read(key, await this.#found(key)) ?? this.#begin(key);
    this.#open.add(log);
    return log;
  }

  replace(log: SessionLog): SessionLog {
    log.close();
    const other = this.#begin((log as ReplicatedLog).key);
    this.#open.add(other);
    return other;
  }

  async close(): Promise<void> {
    const { clock } = this.#context;
    this.#keep();
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      this.#reportIdle();
    });
    await settlesWithin(idle, CLOSE_MS, clock);
    for (const leave of this.#leave) leave();
    this.#cancelAttempt?.();
    this.#cancelStallCheck?.();
    this.#due.clear();
  }

  /** Makes this process the owner of a log in the hub, and reads the log. Waits for a short time while the hub is unavailable. */
  async #found(key: OwnedKey): ReturnType<Hub['take']> {
    const { hub, newId, clock, logger, isAway = () => false } = this.#context;
    const epoch = newEpoch(newId);
    const until = clock.elapsed() + WRITE_TIMEOUT_MS;
    let hasRestored = false;
    for (;;) {
      try {
        return await hub.take(key, epoch);
      } catch (error) {
        if (error instanceof StaleFence) {
          // If the store was restored from a backup, the hub may know a later owner than the store. The store is right then: the log in the hub has
          // chunks of messages that the store lacks.
          if (hasRestored || !(await this.#context.isOwner(key))) throw error;
          hasRestored = true;
          logger.warn(
            'the log in the hub has a later owner than the store, as after a restore of the store from a backup: a new log is started',
            {
              session: key.id,
            },
          );
          await hub.remove(key);
          continue;
        }
        if (isAway()) throw new ProtocolError('overloaded', AWAY, { retryAfterMs: 2000 });
        if (clock.elapsed() + AGAIN_MS > until) {
          logger.error(
            'could not open the log of a session in the hub: clients of the session get an error and try again; check the hub',
            {
              session: key.id,
              error: String(error),
            },
          );
          throw new ProtocolError('internal', AWAY, { retryAfterMs: WRITE_TIMEOUT_MS });
        }
      }
      await new Promise<void>((resolve) => {
        clock.after(AGAIN_MS, resolve);
      });
    }
  }

  /** Creates the log from its windows in the hub; null when the windows cannot be read. */
  #read(key: OwnedKey, { epoch, windows }: Awaited<ReturnType<Hub['take']>>): ReplicatedLog | null {
    try {
      return new ReplicatedLog(key, epoch, windows, this.#ofEach);
    } catch (error) {
      this.#context.logger.error(
        'a log in the hub cannot be read: a new log is started, and clients load the stored messages',
        { session: key.id, error: String(error) },
      );
      return null;
    }
  }

  /** Creates a new log, which replaces the one in the hub. */
  #begin(key: OwnedKey): ReplicatedLog {
    const log = new ReplicatedLog(key, newEpoch(this.#context.newId), [], this.#ofEach);
    log.isWhole = true;
    this.#due.add(log);
    this.#keepSoon();
    return log;
  }

  #appended(log: ReplicatedLog, chunk: Chunk | null): void {
    this.#due.add(log);
    this.#waitsSince ??= this.#context.clock.elapsed();
    this.#cancelStallCheck ??= this.#checkStallLater();
    const type = chunk?.type;
    if (!this.#isBusy) this.#departure.arrived(type);
    else if (type !== 'text-delta' && type !== 'reasoning-delta') this.#isUrgent = true;
  }

  /** Writes to the hub in a microtask, so that chunks that are appended directly after each other are written together. */
  #keepSoon(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    queueMicrotask(() => {
      this.#isPlanned = false;
      this.#keep();
    });
  }

  #keep(): void {
    const { hub, lease } = this.#context;
    // While the lease may have ended, another process may own the sessions. So this process writes nothing to their logs.
    const isHeld = this.#isBusy || this.#cancelAttempt !== null || lease?.isSure === false;
    if (isHeld || this.#due.size === 0) return;
    const logs = [...this.#due];
    this.#due.clear();
    const additions = logs.map((log) => log.addition());
    this.#isBusy = true;
    this.#isUrgent = false;
    this.#departure.left();
    hub.append(additions).then(
      (results) => {
        this.#isBusy = false;
        this.#isAway = false;
        this.#waitsSince = this.#due.size === 0 ? null : this.#context.clock.elapsed();
        for (const [index, log] of logs.entries()) this.#added(log, additions[index], results[index]);
        this.#continue();
      },
      (error: unknown) => {
        this.#isBusy = false;
        for (const log of logs) this.#due.add(log);
        if (!this.#isAway)
          this.#context.logger.error(
            'could not write chunks to the hub: clients get the chunks when the hub works again; check the hub',
            { error: String(error) },
          );
        this.#isAway = true;
        this.#attemptLater();
      },
    );
  }

  /** Checks later whether chunks still wait. One timer for all logs is enough, because the hub usually has the chunks long before the timer fires. */
  #checkStallLater(): () => void {
    const { clock } = this.#context;
    return clock.after(STALL_CHECK_MS, () => {
      this.#cancelStallCheck = this.#waitsSince === null ? null : this.#checkStallLater();
      if (this.#waitsSince === null || clock.elapsed() - this.#waitsSince < STALL_MS) return;
      for (const log of this.#open) log.stalled();
    });
  }

  #attemptLater(): void {
    this.#cancelAttempt ??= this.#context.clock.after(AGAIN_MS, () => this.#attempt());
  }

  #attempt(): void {
    this.#cancelAttempt?.();
    this.#cancelAttempt = null;
    this.#keep();
  }

  #continue(): void {
    if (this.#due.size === 0) this.#reportIdle();
    else if (this.#isUrgent) this.#keep();
    else this.#departure.arrived('text-delta');
  }

  #added(log: ReplicatedLog, addition: Addition | undefined, result: Added | undefined): void {
    if (!addition || result === 'refused') return this.#lost(log);
    if (result === 'gone') {
      this.#writeAgain(log).catch((error: unknown) => {
        this.#context.logger.error(
          'a log that the hub lost cannot be written again, because the store did not say who owns its session: the server tries again; check the store',
          {
            session: log.key.id,
            error: String(error),
          },
        );
        this.#due.add(log);
        this.#attemptLater();
      });
      return;
    }
    log.added(addition);
    if (!log.isKept) this.#due.add(log);
    this.#releaseWaiting(log);
  }

  /**
   * Writes a whole log again, because the hub has lost it. Only the owner of the session may do that: another owner may have started a new log, and
   * the hub may have lost that log too.
   */
  async #writeAgain(log: ReplicatedLog): Promise<void> {
    if (!(await this.#context.isOwner(log.key))) return this.#lost(log);
    log.isWhole = true;
    this.#due.add(log);
    this.#keep();
  }

  #lost(log: ReplicatedLog): void {
    this.#open.delete(log);
    this.#due.delete(log);
    this.#context.onLost(log.key);
    for (const { done } of this.#waiting.get(log) ?? []) done();
    this.#waiting.delete(log);
  }

  async #wait(log: ReplicatedLog): Promise<void> {
    const released = new Promise<void>((done) => {
      const waiting = this.#waiting.get(log) ?? [];
      waiting.push({ upTo: log.chunks.last, done });
      this.#waiting.set(log, waiting);
    });
    if (await settlesWithin(released, WRITE_TIMEOUT_MS, this.#context.clock)) return;
    throw new ProtocolError('internal', AWAY, { retryAfterMs: WRITE_TIMEOUT_MS });
  }

  #releaseWaiting(log: ReplicatedLog): void {
    const waiting = this.#waiting.get(log);
    if (!waiting) return;
    const rest = waiting.filter(({ upTo }) => upTo > log.shown.last);
    if (rest.length > 0) this.#waiting.set(log, rest);
    else this.#waiting.delete(log);
    for (const { upTo, done } of waiting) if (upTo <= log.shown.last) done();
  }

  #remove(log: ReplicatedLog): void {
    const { hub, logger } = this.#context;
    const { key } = log;
    this.#due.delete(log);
    hub.remove(key).catch((error: unknown) => {
      // A log that is not removed expires in the hub.
      logger.warn('the log of a deleted session was not removed: the hub discards it later', {
        session: key.id,
        error: String(error),
      });
    });
  }

  #reportIdle(): void {
    if (!this.#isBusy && this.#due.size === 0) this.#onIdle?.();
  }
}
