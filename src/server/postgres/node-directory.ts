import { randomUUID } from 'node:crypto';
import { fromText, toText } from '../store/rules.ts';
import type { Acquired, NodeDirectory, SessionKey } from '../store/store.ts';
import { keptIn, type SchemaCalls } from './schema-calls.ts';
import { appIn, nameIn, ownerIn, stateOf } from './values.ts';

interface CreatedRow {
  fence: number;
  at: number;
  user: string | null;
  app: string | null;
}

/** The directory of nodes in the database: which nodes live, and which of them owns a session. `now`: the time for new sessions; null is that of the database. */
export function nodeDirectory(calls: SchemaCalls, now: () => number | null): NodeDirectory {
  return {
    renew: ({ name, address }, leaseMs) => calls.value(null, 'renew_node', [name, address, leaseMs]),
    living: async () => {
      const rows = await calls.read<{ name: string | null; address: string; now: number }>('living', []);
      const nodes = rows.flatMap(({ name, address }) => (name === null ? [] : { name, address }));
      return { nodes, now: rows[0]?.now ?? Number.NaN };
    },
    acquire: (key, node, suspect) => acquire(calls, key, node, suspect),
    async create(key, node, events) {
      const { app, user, id } = key;
      const names = [nameIn(key), ownerIn(key), appIn(key)];
      const values = [...names, toText(app), toText(user), toText(id), now(), randomUUID(), node];
      const { rows } = await calls.run<CreatedRow>(key, 'create_owned', values, keptIn(key, now(), events));
      const [{ fence, at, ...shared }] = rows as [CreatedRow];
      const summary = { id, title: null, createdAt: at, updatedAt: at };
      return {
        key: { app, user, id, fence },
        session: { ...summary, state: stateOf({ session: null, ...shared }), events: [] },
      };
    },
    release: (key) => calls.call(key, 'release', [nameIn(key), key.fence]),
    stillOwned: async (keys) => {
      const rows = await calls.read<{ fence: number }>('fences', [keys.map(nameIn)]);
      // A fence identifies its session, because no two sessions ever get the same fence.
      const fences = new Set(rows.map(({ fence }) => fence));
      return keys.filter(({ fence }) => fences.has(fence));
    },
    putCommand: async (id, data) => {
      await calls.read('putCommand', [id, toText(data)]);
    },
    findCommand: async (id) => {
      const [row] = await calls.read<{ data: string }>('findCommand', [id]);
      return row ? fromText(row.data) : null;
    },
    removeCommand: async (id) => {
      await calls.read('removeCommand', [id]);
    },
    leave: (name) => calls.value(null, 'leave_node', [name]),
  };
}

async function acquire(
  calls: SchemaCalls,
  key: SessionKey,
  node: string,
  suspect: number | null,
): Promise<Acquired | null> {
  const { rows } = await calls.run<{ fence: number; node: string; address: string | null }>(key, 'acquire', [
    nameIn(key),
    node,
    suspect,
  ]);
  const [row] = rows;
  if (!row) return null;
  const { fence, address } = row;
  if (address !== null) return { kind: 'elsewhere', node: { name: row.node, address }, fence };
  return { kind: 'mine', key: { app: key.app, user: key.user, id: key.id, fence } };
}
