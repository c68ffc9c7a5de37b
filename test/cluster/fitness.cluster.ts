import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { openWire, type Wire } from '../../scripts/cluster/wire.ts';
import { say } from '../support/harness.ts';
import { ask, counted, deltas, Group, messagesOf, post, textOf } from './support/group.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();
const portOf = (url: string) => Number(new URL(url).port);
const over = (url: string, wire: Wire) => url.replace(String(portOf(url)), String(wire.port));

describe('a node that loses one engine, while another node has both', () => {
  let wires: Record<'PostgreSQL' | 'Redis', Wire>;
  let group: Group;

  beforeAll(async () => {
    await schema.open().then((store) => store.close());
  });
  beforeEach(async () => {
    wires = {
      PostgreSQL: await openWire(portOf(schema.url)),
      Redis: await openWire(portOf(inject('redis'))),
    };
    const settings = { database: schema.url, schema: schema.name, redis: inject('redis'), leaseMs: 3000 };
    group = new Group({ ...settings, retryForMs: 1000 }, 1);
    // First: a node knows those that it found when it joined them.
    await group.start();
    await group.start({
      database: over(schema.url, wires.PostgreSQL),
      redis: over(inject('redis'), wires.Redis),
    });
  });
  afterEach(async () => {
    await group.close();
    for (const wire of Object.values(wires)) await wire.close();
  });

  test.each([
    ['PostgreSQL', 'store'],
    ['Redis', 'hub'],
  ] as const)(
    '%s: its health says so, its people come back elsewhere, and what is still asked of it is answered there',
    async (engine, away) => {
      const [well, sick] = [group.one(0), group.one(1)];
      const id = `s-${randomUUID()}`;
      expect(deltas(await post(sick.url, say('count 3', id)))).toBe(counted(3));
      const socket = await group.connect(sick.url, id);
      await socket.chunk('data-session');
      wires[engine].cut();
      const code = await socket.closed();
      expect(code).toBe(4004);
      const health = await ask(sick.url, '/health');
      expect([health.status, await health.json()]).toEqual([503, { status: 'unavailable', away: [away] }]);
      expect((await ask(well.url, '/health')).status).toBe(200);
      expect(deltas(await post(well.url, say('count 4', id, 'second')))).toBe(counted(4));
      expect(deltas(await post(sick.url, say('count 5', `new-${id}`)))).toBe(counted(5));
      wires[engine].mend();
      await expect.poll(async () => (await ask(sick.url, '/health')).status, { timeout: 30_000 }).toBe(200);
      expect(deltas(await post(sick.url, say('count 6', id, 'third')))).toBe(counted(6));
      const { messages } = await messagesOf(sick.url, id);
      expect(messages.map(textOf)).toEqual([3, 4, 6].flatMap((to) => [`count ${to}`, counted(to)]));
    },
  );
});
