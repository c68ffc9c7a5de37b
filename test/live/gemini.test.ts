import { afterEach, describe, expect, it } from 'vitest';
import { SCENARIOS } from '../../scripts/fixtures/scenarios.ts';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { FakeGeminiLive, type FakeLiveOptions } from '../support/gemini-live/fake-gemini-live.ts';
import { FAMILIES, provideLive, provideTools } from '../support/gemini-live/provide.ts';
import { decision } from '../support/live.ts';
import { expectedGist, gist, play } from '../support/providers/play.ts';
import { TestSocket } from '../support/socket.ts';

failOnUnhandled();

const started: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of started.splice(0).reverse()) await (one.close?.() ?? one.stop?.());
});

/** A server with two tools on a fake that behaves so. */
async function serveTools(
  options: Partial<FakeLiveOptions> = {},
  server: Parameters<typeof provideTools>[1] = {},
) {
  const fake = await FakeGeminiLive.start({ model: 'gemini-3.8-live', ...options });
  const provided = await provideTools(fake, server);
  started.push(fake, provided);
  const connect = async (query = '') => {
    const socket = new TestSocket(`${provided.url.replace('http', 'ws')}/live${query}`);
    await socket.opened();
    return socket;
  };
  return { fake, connect, ...provided };
}

/** What the person was told, in words. */
const words = (socket: TestSocket) =>
  socket.chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : [])).join('');

const SOME = SCENARIOS.filter(({ file }) =>
  ['multiple-payments-approve-deny-bidi', 'get_weather-bidi-baseline'].includes(file),
);

describe.each(FAMILIES)('a live model of the family $name', ({ name: _, ...options }) => {
  it.each(SOME)('[B13] has the conversation of the embedded model, with one end: $file', async (scenario) => {
    const fake = await FakeGeminiLive.start(options);
    const server = await provideLive(fake);
    started.push(fake, server);
    expect(gist(await play(server.url, scenario))).toEqual(expectedGist(scenario));
    expect(fake.refused).toEqual([]);
    expect(server.logged.filter(({ level }) => level !== 'info')).toEqual([]);
  });
});

describe('calls of a live model', () => {
  const CANCELLED = 'Cancelled by the agent';

  it.each(FAMILIES)(
    '[T4] an approval that a leaving server interrupts pays once: $name',
    async ({ name: _, ...options }) => {
      const { fake, connect, ran } = await serveTools(options);
      const socket = await connect();
      socket.say('send 30 dollars to Alice');
      const card = await socket.chunk('tool-approval-request');
      fake.goAway(60);
      await fake.until(() => fake.received.length === 2);
      socket.send('message', decision(card));
      await socket.done();
      expect(ran).toEqual(['pay Alice 30']);
      expect(fake.received[1]?.[0]).toMatchObject({ setup: { sessionResumption: { handle: 'handle-1' } } });
      expect([words(socket), socket.dones, fake.refused]).toEqual([expect.stringContaining('Alice'), 1, []]);
    },
  );

  it('[T5] a call that the model takes back while nobody speaks is withdrawn, and approving it runs nothing', async () => {
    const { fake, connect, ran } = await serveTools();
    const socket = await connect();
    socket.say('send 30 dollars to Alice');
    const card = await socket.chunk('tool-approval-request');
    fake.session.cancel([...fake.session.pending.keys()]);
    expect(await socket.chunk('tool-output-error')).toMatchObject({ errorText: CANCELLED });
    await socket.done();
    socket.send('message', decision(card));
    expect((await socket.chunk('data-error')).data.code).toMatch(/nothing_to_answer|answer_refused/);
    socket.say('weather in Tokyo');
    await socket.done(2);
    expect([ran, socket.dones, fake.refused]).toEqual([['weather Tokyo'], 2, []]);
  });

  it('[T5] so is one that it takes back while it speaks, and what it says goes on', async () => {
    const { fake, connect, ran } = await serveTools();
    const socket = await connect();
    socket.say('send 30 dollars to Alice');
    await socket.chunk('tool-approval-request');
    const ids = [...fake.session.pending.keys()];
    socket.say('hello');
    await socket.chunk('text-delta');
    fake.session.cancel(ids);
    await socket.chunk('tool-output-error');
    await socket.done(2);
    socket.say('weather in Tokyo');
    await socket.done(3);
    expect([ran, socket.dones, fake.refused]).toEqual([['weather Tokyo'], 3, []]);
  });

  it('the same call made again opens no second card, and both get the one result', async () => {
    const { fake, connect, ran } = await serveTools();
    const socket = await connect();
    socket.say('send 30 dollars to Alice');
    const card = await socket.chunk('tool-approval-request');
    fake.session.again();
    socket.send('message', decision(card));
    await socket.done();
    expect(ran).toEqual(['pay Alice 30']);
    expect(socket.chunks.filter(({ type }) => type === 'tool-approval-request')).toHaveLength(1);
    const ids = fake
      .sent('toolResponse')
      .flatMap((sent) => (sent as Responses).functionResponses.map(({ id }) => id));
    expect([ids, socket.dones, fake.refused]).toEqual([['function-call-1', 'function-call-2'], 1, []]);
  });

  it('[B14] a message typed beside a card is answered, and each turn has one end', async () => {
    const { fake, connect, ran } = await serveTools();
    const socket = await connect();
    socket.say('send 30 dollars to Alice');
    const card = await socket.chunk('tool-approval-request');
    socket.say('hello');
    await socket.done();
    expect(ran).toEqual([]);
    socket.send('message', decision(card));
    await socket.done(2);
    expect([ran, socket.dones, fake.refused]).toEqual([['pay Alice 30'], 2, []]);
    const response = (fake.sent('toolResponse')[0] as Responses).functionResponses[0];
    expect(response).toMatchObject({ scheduling: 'WHEN_IDLE', response: { success: true } });
  });
});

interface Responses {
  functionResponses: { id: string; scheduling?: string; response: object }[];
}
