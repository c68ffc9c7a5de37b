import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { DuologueOptions, SharedStore } from '../../../src/server/index.ts';
import type { RowDatabase } from '../../adk/support/matrix.ts';
import type { TestSchema } from './schema.ts';

/** The path from a node to its database. */
class Gate {
  #open: Promise<void> | null = null;
  #mend: () => void = () => undefined;

  /** From now on calls wait until `mend`, and so do the results of calls in progress. */
  cut(): void {
    this.#open = new Promise((resolve) => {
      this.#mend = resolve;
    });
  }

  mend(): void {
    this.#open = null;
    this.#mend();
  }

  /** A store as it is reached through this gate, with the objects in it. */
  reach<T extends object>(target: T): T {
    const inside = new Map<unknown, unknown>();
    const call = async (work: () => unknown): Promise<unknown> => {
      if (this.#open) await this.#open;
      const result = await work();
      if (this.#open) await this.#open;
      return result;
    };
    return new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value === 'object' && value !== null) {
          if (!inside.has(value)) inside.set(value, this.reach(value));
          return inside.get(value);
        }
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          const work = (): unknown => Reflect.apply(value, target, args);
          if (this.#open) return call(work);
          const result = work();
          return result instanceof Promise ? call(() => result) : result;
        };
      },
    });
  }
}

/**
 * The nodes of a cluster, one after the other, each with an address and a lease of its own. A killed node does not say goodbye: it reaches the database no
 * more, and its lease runs out. So the next node must become the owner of the session.
 */
export class KilledNodes implements RowDatabase {
  readonly #schema: TestSchema;
  readonly #gates: Gate[] = [];

  constructor(schema: TestSchema) {
    this.#schema = schema;
  }

  async open(): Promise<SharedStore> {
    const gate = new Gate();
    this.#gates.push(gate);
    return gate.reach(await this.#schema.open());
  }

  /** The options of the node that was opened last. Nothing listens at its address: a request that was forwarded there would fail. */
  options(): Partial<DuologueOptions> {
    return {
      // Renewed every few minutes only: a lease that runs out is one that this class ended.
      node: { address: addressOf(this.#gates.length), leaseMs: 600_000, drainMs: 0 },
      // Nodes of a cluster never make the same id.
      newId: randomUUID,
    };
  }

  async kill(): Promise<void> {
    const schema = this.#schema;
    await this.#checkOwner();
    this.#gates.at(-1)?.cut();
    await schema.sql(`update ${schema.name}.nodes set until = clock_timestamp() - interval '1 second'`);
  }

  /** Checks that the newest node owns the session. Then the killed nodes reach the database again, so that they can be closed. */
  async end(): Promise<void> {
    await this.#checkOwner().finally(() => {
      for (const gate of this.#gates) gate.mend();
    });
  }

  /** Checks that the session, if the row has one, belongs to the newest node. */
  async #checkOwner(): Promise<void> {
    const schema = this.#schema;
    const sessions = await schema.sql(
      `select address from ${schema.name}.sessions s left join ${schema.name}.nodes n on n.name = s.node where s.app = 'duologue' and s.id = 'chat-1'`,
    );
    for (const { address } of sessions) expect(address).toBe(addressOf(this.#gates.length));
  }
}

const addressOf = (count: number): string => `http://127.0.0.1:1/node-${count}`;
