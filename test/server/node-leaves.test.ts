import { afterEach, describe, expect, it } from 'vitest';
import { Elsewhere } from '../../src/server/nodes/elsewhere.ts';
import { ClusterNode } from '../../src/server/nodes/node.ts';
import { ManualClock } from '../support/clock.ts';
import type { NodeStore } from '../support/memory-nodes.ts';
import { MemoryDatabase } from '../support/memory-nodes.ts';
import { settled } from '../support/settled.ts';

const key = { app: 'duologue', user: 'live_user', id: 'chat-1' };
const quiet = () => undefined;
const opened: ClusterNode[] = [];

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

/** Nodes on one store, which know of each other. Nothing listens at their addresses. */
async function group(count: number): Promise<{ store: NodeStore; nodes: ClusterNode[] }> {
  const clock = new ManualClock();
  const store = new MemoryDatabase(clock).open();
  await store.createSession(key, {});
  const nodes = Array.from(
    { length: count },
    (_, index) =>
      new ClusterNode({
        ...{ directory: store.nodes, clock, owned: () => [], onLost: quiet, onUnfit: quiet, basePath: '' },
        logger: { info: quiet, warn: quiet, error: quiet },
        hubFault: () => null,
        address: `http://127.0.0.1:${index + 1}`,
        leaseMs: 5000,
      }),
  );
  opened.push(...nodes);
  for (const node of nodes) await node.join();
  // Each hears of those that joined after it with its next renewal.
  clock.advance(1000);
  await settled();
  return { store, nodes };
}

const elsewhere = (node: ClusterNode) => expect.objectContaining({ name: 'Elsewhere', node: node.place });

describe('a node that leaves, asked for a session', () => {
  it('[E6] that another has does not take it from there', async () => {
    const { store, nodes } = await group(2);
    const [leaving, owner] = nodes as [ClusterNode, ClusterNode];
    const owned = await owner.take(key);
    leaving.leave();
    await expect(leaving.take(key)).rejects.toEqual(elsewhere(owner));
    expect(owned && (await store.nodes.stillOwned([owned]))).toEqual([owned]);
  });

  it('[E6] that nobody has gives it to another, which can take it', async () => {
    const { nodes } = await group(2);
    const [leaving, heir] = nodes as [ClusterNode, ClusterNode];
    leaving.leave();
    await expect(leaving.take(key)).rejects.toEqual(elsewhere(heir));
    expect(await heir.take(key)).toMatchObject(key);
  });

  it('[E6] that it has itself gives it to another', async () => {
    const { nodes } = await group(3);
    const [leaving] = nodes as [ClusterNode];
    await leaving.take(key);
    leaving.leave();
    const thrown = await leaving.take(key).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Elsewhere);
    const { node } = thrown as Elsewhere;
    expect(node).not.toEqual(leaving.place);
    const heir = nodes.find(({ place }) => place.name === node.name);
    expect(await heir?.take(key)).toMatchObject(key);
  });

  it('[E6] that nobody has created yet creates it for another, once, and says so', async () => {
    const { store, nodes } = await group(2);
    const [leaving, heir] = nodes as [ClusterNode, ClusterNode];
    const created = { ...key, id: 'chat-2' };
    let events = 0;
    const event = { outbox: undefined, happened: () => events++ };
    leaving.leave();
    await expect(leaving.create(created, event)).rejects.toEqual(elsewhere(heir));
    expect(events).toBe(1);
    expect(await store.findSession(created)).toMatchObject({ id: 'chat-2' });
    expect(await heir.take(created)).toMatchObject(created);
  });
});
