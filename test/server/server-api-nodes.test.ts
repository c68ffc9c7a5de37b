import { describe, expect, it, onTestFinished } from 'vitest';
import type { Duologue } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { harness } from '../support/harness.ts';
import { MemoryDatabase } from '../support/memory-nodes.ts';
import { apiNodesSuite } from './support/api-nodes.ts';

describe('the server API on two nodes', () => {
  apiNodesSuite(() => {
    const clock = new ManualClock();
    const database = new MemoryDatabase(clock);
    return { clock, open: async () => database.open() };
  });
});

/** Posts the id of a command to a node, as another node does. */
async function post(duologue: Duologue, id: string): Promise<{ status: number; body: unknown }> {
  const headers = { 'content-type': 'application/json', 'x-duologue-forwarded': 'http://127.0.0.1:2' };
  const body = JSON.stringify({ id });
  const url = 'http://10.0.0.7/cluster/commands';
  const response = await duologue.fetch(new Request(url, { method: 'POST', headers, body }));
  return { status: response.status, body: await response.json() };
}

describe('a command of another node', () => {
  const id = 'ab'.repeat(32);
  const key = { app: 'duologue', user: 'live_user', id: 'chat-1' };
  const command = JSON.stringify({ do: 'speak', key, text: 'Hello.', requestId: 'application_1' });

  function startNode() {
    const clock = new ManualClock();
    const store = new MemoryDatabase(clock).open();
    const node = { address: 'http://127.0.0.1:1' };
    const { duologue } = harness([], [], { store, clock, node, apiKey: 'a key that no node sends' });
    onTestFinished(() => duologue.close());
    return { store, duologue };
  }

  it('is done once, however often the node sends its id', async () => {
    const { store, duologue } = startNode();
    await store.nodes.putCommand(id, command);
    const first = await post(duologue, id);
    expect(first).toEqual({ status: 200, body: { result: expect.stringMatching(/^msg_/) } });
    expect(await post(duologue, id)).toEqual(first);
    expect((await store.loadMessages(key)).map(({ role }) => role)).toEqual(['assistant']);
  });

  it('is refused when the store does not have it, whatever else the client knows', async () => {
    const { store, duologue } = startNode();
    const refusal = { status: 404, body: { error: expect.objectContaining({ code: 'not_found' }) } };
    expect(await post(duologue, id)).toEqual(refusal);
    expect(await post(duologue, command)).toEqual(refusal);
    await store.nodes.putCommand(id, command);
    await store.nodes.removeCommand(id);
    expect(await post(duologue, id)).toEqual(refusal);
    expect(await store.findSession(key)).toBeNull();
  });
});
