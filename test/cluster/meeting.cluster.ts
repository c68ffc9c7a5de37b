import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { freePort } from '../../scripts/cluster/free-port.ts';
import type { Clock } from '../../src/server/clock.ts';
import { ClusterNode } from '../../src/server/nodes/node.ts';
import { keyOf } from '../../src/testing/store/setup.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();

/** Time as it is, and everything that waits for it twenty times as soon. */
const clock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, done) {
    const timer = setTimeout(done, ms / 20);
    return () => clearTimeout(timer);
  },
};

test('a node that said that it lives before it listened is known to be dead when it is, and not only after its lease', async () => {
  const store = await schema.open();
  const key = keyOf('s1');
  await store.createSession(key, {});
  const port = await freePort();
  const late = { name: 'late', address: `http://127.0.0.1:${port}` };
  await store.nodes.renew(late, 600_000);
  await store.nodes.acquire(key, late.name, null);
  const warnings: string[] = [];
  const dead: string[] = [];
  let warned: () => void = () => undefined;
  const wasWarned = new Promise<void>((resolve) => {
    warned = resolve;
  });
  const node = new ClusterNode({
    address: 'http://127.0.0.1:1',
    leaseMs: 20_000,
    directory: store.nodes,
    clock,
    logger: {
      info: () => undefined,
      warn: (text: string) => {
        warnings.push(text);
        warned();
      },
      error: () => undefined,
    },
    owned: () => [],
    onLost: () => undefined,
    onDead: ({ name }) => dead.push(name),
    basePath: '',
    hubFault: () => null,
    onUnfit: () => undefined,
  });
  await node.join();
  // The warning is logged once, and the attempt is repeated.
  await wasWarned;
  const server = createServer();
  const wasMet = new Promise<void>((resolve) => {
    server.on('request', (_, response) => response.end(resolve));
  });
  server.listen(port, '127.0.0.1');
  await wasMet;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  const taken = await node.answer(
    {
      request: new Request('http://127.0.0.1/sessions/s1'),
      body: () => null,
      isRepeatable: () => true,
      handedOn: () => undefined,
    },
    async () => ({ status: 200, headers: {}, body: JSON.stringify(await node.take(key)) }),
  );
  expect(JSON.parse(String(taken.body))).toMatchObject({ id: 's1' });
  expect(warnings).toEqual([
    'another node cannot be reached: check its address; each node must be able to reach all others',
    'another node died: its sessions get a new owner when they are used',
  ]);
  expect(dead).toEqual(['late']);
  await node.close();
  await store.close();
});
