import type { Added, Addition, Hub, LogWindow, Spending } from '../../src/server/log/hub.ts';
import { nameOf } from '../../src/server/store/rules.ts';
import { type OwnedKey, type SessionKey, StaleFence } from '../../src/server/store/store.ts';

/** The data that the hubs of a group share. A test can lose it, and make it unavailable. */
export class SharedMemory {
  readonly logs = new Map<string, { epoch: string; fence: number; windows: LogWindow[] }>();
  readonly buckets = new Map<string, number>();
  readonly connections = new Map<string, Map<object, number>>();
  readonly hubs = new Set<MemoryHub>();
  isAway = false;
  /** Whether `append` is carried out but rejects, as when its reply is lost. */
  losesAnswers = false;

  lose(key: SessionKey): void {
    this.logs.delete(nameOf(key));
  }

  /** Makes the hub available again. Its data is the same, unless the test has removed it. */
  back(): void {
    this.isAway = false;
    for (const hub of this.hubs) hub.back();
  }
}

/** A hub in memory, for nodes in one process: the shortest implementation of the contract. */
export class MemoryHub implements Hub {
  /** How often `append` was called. */
  calls = 0;
  readonly #shared: SharedMemory;
  readonly #onBack = new Set<() => void>();

  constructor(shared: SharedMemory) {
    this.#shared = shared;
    shared.hubs.add(this);
  }

  async take(key: OwnedKey, epoch: string): Promise<{ epoch: string; windows: LogWindow[] }> {
    this.#reach();
    const { logs } = this.#shared;
    const log = logs.get(nameOf(key)) ?? { epoch, fence: key.fence, windows: [] };
    if (log.fence > key.fence) throw new StaleFence(key);
    log.fence = key.fence;
    logs.set(nameOf(key), log);
    return { epoch: log.epoch, windows: [...log.windows] };
  }

  async append(additions: readonly Addition[]): Promise<Added[]> {
    this.#reach();
    this.calls++;
    const results = additions.map((addition) => this.#add(addition));
    if (this.#shared.losesAnswers) throw new Error('The answer was lost.');
    return results;
  }

  async remove(key: OwnedKey): Promise<void> {
    this.#reach();
    this.#shared.lose(key);
  }

  async spend({ limit, user, burst, count }: Spending): Promise<number> {
    this.#reach();
    const name = `${limit} ${user}`;
    const left = Math.max(0, Math.min(burst, (this.#shared.buckets.get(name) ?? burst) - count));
    this.#shared.buckets.set(name, left);
    return left;
  }

  async connections(user: string, count: number): Promise<number> {
    this.#reach();
    const counts = this.#shared.connections.get(user) ?? new Map<object, number>();
    this.#shared.connections.set(user, counts.set(this, count));
    return [...counts.values()].reduce((sum, one) => sum + one, 0);
  }

  onBack(callback: () => void): () => void {
    this.#onBack.add(callback);
    return () => this.#onBack.delete(callback);
  }

  back(): void {
    for (const callback of this.#onBack) callback();
  }

  async close(): Promise<void> {
    for (const counts of this.#shared.connections.values()) counts.delete(this);
  }

  #reach(): void {
    if (this.#shared.isAway) throw new Error('The hub is away.');
  }

  #add({ key, epoch, last, text, isWhole, oldest }: Addition): Added {
    const { logs } = this.#shared;
    const { fence } = key;
    const log = logs.get(nameOf(key));
    if (log && log.fence > fence) return 'refused';
    const window = { fence, last, text };
    if (isWhole) logs.set(nameOf(key), { epoch, fence, windows: [window] });
    else if (!log) return 'gone';
    else if (!log.windows.some((one) => one.fence === fence && one.last >= last)) {
      log.windows.push(window);
      const first = log.windows.findIndex((one) => one.fence === oldest?.fence && one.last === oldest.last);
      log.windows.splice(0, Math.max(first, 0));
    }
    return 'kept';
  }
}
