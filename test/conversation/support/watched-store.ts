import { createMemoryStore, type Store } from '../../../src/server/index.ts';
import type { ManualClock } from '../../support/clock.ts';
import type { Journal } from './journal.ts';

/** The methods of a store that change it. */
export const WRITES = [
  'appendEvent',
  'putMessage',
  'truncateMessages',
  'addWaiting',
  'issueCalls',
  'moveCall',
  'decideCall',
  'audit',
  'acceptRequest',
] as const satisfies (keyof Store)[];

/** The error text of a failed write. */
export const FAULT = 'The disk is full.';

export type Write = (typeof WRITES)[number];

/** The store as one process uses it. After that process has died, its writes are discarded. */
export interface Handle {
  store: Store;
  die(): void;
}

/** A store that outlives servers. It records every write, can fail one and can delay them. */
export class WatchedStore {
  readonly inner: Store;
  private readonly journal: Journal;
  private readonly faults: Write[] = [];
  private held: Promise<void> | null = null;
  private heldOnly: Write | null = null;
  private letGo: () => void = () => undefined;

  constructor(clock: ManualClock, journal: Journal) {
    this.inner = createMemoryStore({ now: () => clock.now() });
    this.journal = journal;
  }

  /** The next write of that kind fails, and changes nothing. */
  failOnce(method: Write): void {
    this.faults.push(method);
  }

  /** Whether a write that is still to come fails. */
  get isFailing(): boolean {
    return this.faults.length > 0;
  }

  /** Writes, or those of one kind, wait from now on, until they are released. */
  hold(only: Write | null = null): void {
    this.heldOnly = only;
    this.held ??= new Promise((resolve) => {
      this.letGo = resolve;
    });
  }

  get isHeld(): boolean {
    return this.held !== null;
  }

  release(): void {
    this.held = null;
    this.letGo();
  }

  /** Writes succeed again. */
  repair(): void {
    this.faults.length = 0;
    this.release();
  }

  /** Opens the store for one process. */
  open(): Handle {
    let isDead = false;
    let isClosed = false;
    const writes = new Map<string, (...args: unknown[]) => Promise<unknown>>();
    for (const method of WRITES) {
      writes.set(method, async (...args) => {
        // Copies the arguments at once, as a file would.
        const given = structuredClone(args);
        if (this.heldOnly === null || this.heldOnly === method) await this.held;
        if (isDead) return new Promise(() => undefined);
        if (isClosed) throw new Error('The store is closed.');
        const outcome = this.takeFault(method) ? 'failed' : 'stored';
        const calls = callsIn(method, given);
        if (outcome === 'failed') {
          this.journal.add({ kind: 'write', method, calls, outcome });
          throw new Error(FAULT);
        }
        const result = await (this.inner[method] as (...all: unknown[]) => Promise<unknown>)(...given);
        if (calls.length > 0) this.journal.add({ kind: 'write', method, calls, outcome });
        return result;
      });
    }
    const store = new Proxy(this.inner, {
      get: (inner, name, receiver) => {
        if (name === 'close') {
          return async () => {
            isClosed = true;
          };
        }
        return writes.get(String(name)) ?? Reflect.get(inner, name, receiver);
      },
    });
    return {
      store,
      die: () => {
        isDead = true;
      },
    };
  }

  private takeFault(method: Write): boolean {
    const index = this.faults.indexOf(method);
    if (index === -1) return false;
    this.faults.splice(index, 1);
    return true;
  }
}

/** The calls that a write is about: those it records, or those it answers. */
function callsIn(method: Write, args: unknown[]): string[] {
  if (method === 'issueCalls') return (args[1] as { id: string }[]).map(({ id }) => id);
  if (method === 'moveCall' || method === 'decideCall') return [(args[1] as { id: string }).id];
  if (method !== 'appendEvent') return [];
  const { content } = args[1] as { content?: { parts?: { functionResponse?: { id?: string } }[] } };
  return (content?.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.id ?? []);
}
