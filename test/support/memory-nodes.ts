import type { Clock } from '../../src/server/clock.ts';
import { createMemoryStore } from '../../src/server/index.ts';
import { nameOf, prefixes } from '../../src/server/store/rules.ts';
import type { NodeDirectory, NodePlace, OwnedKey, SharedStore, Store } from '../../src/server/store/store.ts';

/** The store as one node reaches it. */
export interface NodeStore extends SharedStore {
  /** From now on calls of this node wait until `mend`. Calls in progress are carried out, but their results wait too. */
  cut(): void;
  mend(): void;
  /** From now on calls of these methods reject with what `fail` returns, unless it returns null. */
  fail: ((method: string) => unknown) | null;
  /** Calls back after a method was done in the store. */
  onDone: (method: string, args: readonly unknown[]) => void;
}

/** A database in memory that several nodes of one test share: leases end by the clock of the test. */
export class MemoryDatabase {
  readonly store: Store = createMemoryStore();
  readonly #clock: Clock;
  readonly #owners = new Map<string, { node: string; fence: number }>();
  readonly #commands = new Map<string, string>();
  readonly #nodes = new Map<string, { place: NodePlace; until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The store for one node. */
  open(): NodeStore {
    let gate: Promise<void> | null = null;
    let mend = (): void => undefined;
    const reach = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (_, name) => {
          const value: unknown = Reflect.get(target, name);
          if (typeof value !== 'function') return value;
          return async (...args: unknown[]) => {
            if (gate) await gate;
            const failure: unknown = node.fail?.(String(name)) ?? null;
            if (failure !== null) throw failure;
            const result: unknown = await (Reflect.apply(value, target, args) as Promise<unknown>);
            node.onDone(String(name), args);
            if (gate) await gate;
            return result;
          };
        },
      });
    const sharedState = (key: OwnedKey) => this.#sharedState(key);
    const reached = reach({ ...this.store, sharedState, close: async () => undefined });
    const nodes = reach(this.#directory());
    const node: NodeStore = Object.assign(Object.create(reached) as SharedStore, {
      nodes,
      fail: null,
      onDone: () => undefined,
      cut() {
        gate = new Promise((resolve) => {
          mend = resolve;
        });
      },
      mend() {
        gate = null;
        mend();
      },
    });
    return node;
  }

  async #sharedState(key: OwnedKey): Promise<Record<string, unknown> | null> {
    if (this.#owners.get(nameOf(key))?.fence !== key.fence) return null;
    const { state } = (await this.store.loadSession(key)) ?? { state: {} };
    const isShared = (name: string) => name.startsWith(prefixes.app) || name.startsWith(prefixes.user);
    return Object.fromEntries(Object.entries(state).filter(([name]) => isShared(name)));
  }

  #isLiving(name: string): boolean {
    return (this.#nodes.get(name)?.until ?? 0) > this.#clock.elapsed();
  }

  #directory(): NodeDirectory {
    return {
      renew: async (place, leaseMs) => {
        const wasLiving = this.#isLiving(place.name);
        this.#nodes.set(place.name, { place, until: this.#clock.elapsed() + leaseMs });
        return wasLiving;
      },
      living: async () => ({
        nodes: [...this.#nodes.values()].map(({ place }) => place).filter(({ name }) => this.#isLiving(name)),
        now: this.#clock.now(),
      }),
      acquire: async (key, node, suspect) => {
        const owner = this.#owners.get(nameOf(key));
        const place = owner && this.#nodes.get(owner.node)?.place;
        const isOther = owner && owner.node !== node && owner.fence !== suspect;
        if (isOther && place && this.#isLiving(owner.node))
          return { kind: 'elsewhere', node: place, fence: owner.fence };
        const owned = await this.store.own(key);
        if (!owned) return null;
        this.#owners.set(nameOf(key), { node, fence: owned.fence });
        return { kind: 'mine', key: owned };
      },
      create: async (key, node, events) => {
        const session = await this.store.createSession(key, {}, events);
        const owned = await this.store.own(key);
        if (!owned) throw new Error(`The session ${key.id} was removed.`);
        this.#owners.set(nameOf(key), { node, fence: owned.fence });
        return { key: owned, session };
      },
      release: async (key) => {
        if (this.#owners.get(nameOf(key))?.fence === key.fence) this.#owners.delete(nameOf(key));
      },
      stillOwned: async (keys) => keys.filter((key) => this.#owners.get(nameOf(key))?.fence === key.fence),
      putCommand: async (id, data) => {
        this.#commands.set(id, data);
      },
      findCommand: async (id) => this.#commands.get(id) ?? null,
      removeCommand: async (id) => {
        this.#commands.delete(id);
      },
      leave: async (name) => {
        this.#nodes.delete(name);
        for (const [key, { node }] of this.#owners) if (node === name) this.#owners.delete(key);
      },
    };
  }
}
