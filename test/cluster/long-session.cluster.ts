import { expect, it } from 'vitest';
import { seed, useLongSessions } from '../attacks/support/long-session.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();

it('[S25] every route works on sessions of 300 MB with a heap of 256 MB, in PostgreSQL', async () => {
  const store = await schema.open();
  await seed(store);
  await store.close();
  expect.hasAssertions();
  await useLongSessions(schema.url, schema.name);
});
