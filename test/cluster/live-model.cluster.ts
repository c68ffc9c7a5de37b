import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { FakeGeminiLive } from '../support/gemini-live/fake-gemini-live.ts';
import { decision } from '../support/live.ts';
import type { TestSocket } from '../support/socket.ts';
import { Group, messagesOf } from './support/group.ts';
import type { NodeProcess } from './support/nodes.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();
let fake: FakeGeminiLive;
let group: Group;
let id: string;
let owner: NodeProcess;
let page: TestSocket;
/** The model's session of the conversation. */
let handle: string;

beforeAll(async () => {
  await schema.open().then((store) => store.close());
  fake = await FakeGeminiLive.start({ model: 'gemini-3.8-live' });
  const settings = { database: schema.url, redis: inject('redis'), schema: schema.name, leaseMs: 5000 };
  group = new Group({ ...settings, liveModel: fake.environment }, 2);
  await group.open();
});
beforeEach(async () => {
  fake.received.length = 0;
  id = `s-${randomUUID()}`;
  owner = group.one(0);
  page = await group.connect(owner.url, id);
  page.say('hello');
  await page.done();
  ({ handle } = fake.session);
});
afterEach(() => group.refill());
afterAll(async () => {
  await group.close();
  await fake.stop();
});

/** The sessions of the model that its sockets asked for. */
const asked = () =>
  fake.received.map(([first]) => {
    const { setup } = first as { setup: { sessionResumption?: { handle?: string } } };
    return setup.sessionResumption?.handle ?? null;
  });
/** How many of the inputs of the model contain these words. */
const times = (words: string) =>
  fake.received.flat().filter((message) => JSON.stringify(message).includes(words)).length;

test.each([
  ['is killed', 'SIGKILL'],
  ['ends in order', 'SIGTERM'],
] as const)(
  'an owner with a live run %s: the next one goes on with the same session of the model, beside an open card',
  async (_, signal) => {
    page.say('send 30 dollars to Alice');
    const card = await page.chunk('tool-approval-request');
    const before = group.paid;
    await group.end(owner, signal);
    await page.closed();
    const back = await group.comeBack(id, page.lastId);
    back.say('hello again');
    await back.chunk('finish');
    back.send('message', decision(card));
    await back.chunk('finish', 2);
    expect([asked(), fake.refused]).toEqual([[null, handle], []]);
    // The model gets nothing that it has already, and the outcome of the call once.
    expect([times('"hello"'), times('hello again'), times('"paid":30')]).toEqual([1, 1, 1]);
    expect([group.paid - before, fake.session.pending.size]).toEqual([1, 0]);
  },
);

test('an owner that is frozen keeps its socket to the model: the next one begins a session that is told the history', async () => {
  owner.process.kill('SIGSTOP');
  const back = await group.connect(group.one(1).url, id, page.lastId);
  back.say('hello again');
  await back.chunk('finish');
  owner.process.kill('SIGCONT');
  expect(await page.closed()).toBe(4004);
  const { messages } = await messagesOf(owner.url, id);
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(asked()).toEqual([null, handle, handle, null]);
  expect([times('"hello"'), times('hello again'), fake.refused]).toEqual([2, 1, []]);
});
