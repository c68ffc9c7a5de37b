import { expect, it } from 'vitest';
import { messageOf, textEvent } from '../../src/testing/store/setup.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();

it('[S28] a session in which nothing was said is gone when the store is opened a day later, unless its node lives', async () => {
  const day = 24 * 3600_000;
  const first = await schema.open(() => Date.now() - day - 1000);
  for (const id of ['silent', 'said', 'held', 'named']) {
    const key = { app: 'shop', user: 'ann', id, fence: 0 };
    await first.createSession(key, { mood: 'calm' });
    await first.appendEvent(key, textEvent('client_identifier', ''));
    if (id === 'said') await first.putMessage(key, messageOf('m', 'hi'));
    if (id === 'named') await first.renameSession(key, 'Tea');
  }
  await first.nodes.renew({ name: 'n1', address: 'http://localhost:1' }, 60_000);
  await first.nodes.acquire({ app: 'shop', user: 'ann', id: 'held' }, 'n1', null);
  await first.close();
  const later = await schema.open();
  const listed = await later.listSessions('shop', 'ann');
  expect(listed.map(({ id }) => id).sort()).toEqual(['held', 'named', 'said']);
  expect(await schema.sql(`select count(*)::integer as events from ${schema.name}.events`)).toEqual([
    { events: 3 },
  ]);
  await later.close();
});
