import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BaseTool, GOOGLE_SEARCH, URL_CONTEXT } from '@google/adk';
import { afterEach, describe, expect, it } from 'vitest';
import { SCENARIOS } from '../../scripts/fixtures/scenarios.ts';
import { modelErrorText } from '../../src/server/conversation/state/errors.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { FakeGeminiLive, type FakeLiveOptions } from '../support/gemini-live/fake-gemini-live.ts';
import { FAMILIES, provideLive, provideTools } from '../support/gemini-live/provide.ts';
import { NO_SIGNALS } from '../support/gemini-live/strict.ts';
import { decision } from '../support/live.ts';
import { expectedGist, gist, play } from '../support/providers/play.ts';
import { TestSocket } from '../support/socket.ts';

failOnUnhandled();

const started: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of started.splice(0).reverse()) await (one.close?.() ?? one.stop?.());
});

/** A folder that is removed when the servers of the test have closed. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'duologue-live-'));
  started.unshift({ stop: async () => rmSync(folder, { recursive: true, force: true }) });
  return folder;
}

/** A server with two tools on a fake that behaves so. */
async function serveTools(
  options: Partial<FakeLiveOptions> = {},
  server: Parameters<typeof provideTools>[1] = {},
  more: BaseTool[] = [],
) {
  const fake = await FakeGeminiLive.start({ model: 'gemini-3.8-live', ...options });
  const provided = await provideTools(fake, server, more);
  started.push(fake, provided);
  const connect = async (query = '') => {
    const socket = new TestSocket(`${provided.url.replace('http', 'ws')}/live${query}`);
    await socket.opened();
    return socket;
  };
  return { fake, connect, ...provided };
}

/** The error texts that the user got. */
const words = (socket: TestSocket) =>
  socket.chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : [])).join('');

/** Until the model of a fake has said what it says. */
async function silence({ session }: FakeGeminiLive): Promise<void> {
  while (session.isSpeaking) await new Promise((resolve) => setImmediate(resolve));
}

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

  it('the same wish in a later turn is another call, also while a card is open', async () => {
    const { fake, connect, ran } = await serveTools();
    const socket = await connect();
    socket.say('send 30 dollars to Alice');
    const card = await socket.chunk('tool-approval-request');
    socket.say('weather in Tokyo', 'first');
    await socket.done();
    socket.say('weather in Tokyo', 'second');
    await socket.done(2);
    expect(ran).toEqual(['weather Tokyo', 'weather Tokyo']);
    socket.send('message', decision(card));
    await socket.done(3);
    expect([ran.at(-1), socket.dones, fake.refused]).toEqual(['pay Alice 30', 3, []]);
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

  it.each(FAMILIES)(
    '[B14] [B13a] a message typed beside a card is answered, and each turn has one end: $name',
    async ({ name, ...options }) => {
      const { fake, connect, ran } = await serveTools(options);
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
      expect(response).toMatchObject({ response: { success: true } });
      expect(response?.scheduling).toBe(name === '3.8' ? 'WHEN_IDLE' : undefined);
    },
  );
});

describe('a live session', () => {
  it.each([
    ['gemini-3.8-live', false],
    ['gemini-3.1-flash-live-preview', true],
  ])(
    'that begins with a history makes nobody speak, and the next answer knows it: %s',
    async (model, isAnnounced) => {
      const { fake, url, connect } = await serveTools({ model });
      await post(url, 'mode', 'weather in Tokyo');
      const socket = await connect('?session=mode');
      socket.send('audio_control', { action: 'start' });
      socket.send('audio_chunk', { chunk: Buffer.from('SAY hello!').toString('base64') });
      await fake.until(() => fake.sent('realtimeInput').length === 1);
      expect(fake.sent('clientContent')).toEqual([
        {
          turns: [
            {
              role: 'user',
              parts: [{ text: 'weather in Tokyo' }, { text: expect.stringContaining('"temperature":20') }],
            },
            { role: 'model', parts: [{ text: expect.stringContaining('Tokyo') }] },
          ],
          turnComplete: isAnnounced,
        },
      ]);
      expect(JSON.stringify(fake.sent('setup')[0]).includes('initialHistoryInClientContent')).toBe(
        isAnnounced,
      );
      expect(fake.session.generated).toBe(0);
      socket.send('audio_control', { action: 'stop' });
      await socket.done();
      expect([fake.session.generated, socket.dones, fake.refused]).toEqual([1, 1, []]);
    },
  );

  it.each(FAMILIES)(
    '[B14] that thinks and speaks: its words stand once in the message, $name',
    async (family) => {
      const { fake, connect, url } = await serveTools({ ...family, quirks: { thinksAloud: true } });
      fake.http.think = async () => ({
        thought: 'Let me see. ',
        text: 'It is noon.',
        calls: [],
        finish: 'stop',
      });
      const socket = await connect('?session=thinks');
      socket.say('what time is it?');
      await socket.done();
      expect(words(socket)).toBe('It is noon.');
      const stored = (await (await fetch(`${url}/sessions/thinks`)).json()) as {
        messages: { role: string; parts: { type: string; text?: string }[] }[];
      };
      const parts = stored.messages.find(({ role }) => role === 'assistant')?.parts ?? [];
      expect(parts.flatMap(({ type, text }) => (text ? [[type, text]] : []))).toEqual([
        ['reasoning', 'Let me see. '],
        ['text', 'It is noon.'],
      ]);
    },
  );

  it('goes on over SSE and live again: calls are signed, and what was only heard is there as text', async () => {
    const { fake, url, connect, ran } = await serveTools({ quirks: { thinksAloud: true } });
    const socket = await connect('?session=modes');
    socket.say('send 30 dollars to Alice');
    socket.send('message', decision(await socket.chunk('tool-approval-request')));
    await socket.done();
    fake.session.hear('weather in Tokyo');
    await socket.done(2);
    const reported = await post(url, 'modes', 'weather in Osaka');
    expect(reported).toContain('Osaka');
    const texts = fake.http.asked
      .at(0)
      ?.contents.flatMap(({ parts = [] }) => parts.map(({ text }) => text ?? ''));
    expect(texts).toEqual(expect.arrayContaining(['weather in Tokyo', expect.stringContaining('Alice')]));
    socket.say('weather in Kyoto');
    // A connected client gets the messages of SSE, too.
    await socket.done(4);
    expect(words(socket)).toContain('Kyoto');
    expect(ran).toEqual(['pay Alice 30', 'weather Tokyo', 'weather Osaka', 'weather Kyoto']);
    expect([fake.refused, fake.http.refused]).toEqual([[], []]);
    // The messages of SSE are in no session of the live model: it began a new one.
    expect(fake.sessions.size).toBe(2);
    const reasoning = socket.chunks.flatMap((chunk) =>
      chunk.type === 'reasoning-delta' ? [chunk.delta] : [],
    );
    expect(new Set(reasoning).size).toBe(reasoning.length);
  });

  it('that another model signed goes on over SSE: its signatures are not insisted on', async () => {
    const folder = temporaryFolder();
    const first = await serveTools({}, { store: await openSqliteStore(folder) });
    expect(await post(first.url, 'signed', 'weather in Tokyo')).toContain('Tokyo');
    await first.close();
    const second = await serveTools({}, { store: await openSqliteStore(folder) });
    const reported = await post(second.url, 'signed', 'weather in Osaka');
    expect(reported).toContain('Osaka');
    expect(reported).not.toContain('"error"');
    expect([second.ran, second.fake.http.refused.length]).toEqual([['weather Osaka'], 2]);
    expect(new Set(second.fake.http.refused)).toEqual(
      new Set([expect.stringContaining('Thought signature is not valid')]),
    );
  });

  it('[T4] is taken up again after a restart: the card is answered there, and paid once', async () => {
    const folder = temporaryFolder();
    const first = await serveTools({}, { store: await openSqliteStore(folder) });
    const { fake } = first;
    const before = await first.connect('?session=again');
    before.say('send 30 dollars to Alice');
    const card = await before.chunk('tool-approval-request');
    await first.close();
    await fake.until(() => fake.open.size === 0);
    const second = await provideTools(fake, { store: await openSqliteStore(folder) });
    started.push(second);
    const after = new TestSocket(`${second.url.replace('http', 'ws')}/live?session=again`);
    await after.opened();
    after.send('message', decision(card));
    await after.done();
    expect([first.ran, second.ran]).toEqual([[], ['pay Alice 30']]);
    expect(fake.received[1]?.[0]).toMatchObject({ setup: { sessionResumption: { handle: 'handle-1' } } });
    expect([fake.sent('clientContent'), fake.sessions.size, fake.refused]).toEqual([[], 1, []]);
    expect(words(after)).toContain('Alice');
  });

  it('[T5] hears nothing of a call that it took back before a restart', async () => {
    const folder = temporaryFolder();
    const first = await serveTools({}, { store: await openSqliteStore(folder) });
    const { fake } = first;
    const before = await first.connect('?session=again');
    before.say('send 30 dollars to Alice');
    await before.chunk('tool-approval-request');
    fake.session.cancel([...fake.session.pending.keys()]);
    await before.done();
    await first.close();
    await fake.until(() => fake.open.size === 0);
    const second = await provideTools(fake, { store: await openSqliteStore(folder) });
    started.push(second);
    const after = new TestSocket(`${second.url.replace('http', 'ws')}/live?session=again`);
    await after.opened();
    after.say('weather in Tokyo', 'more');
    await after.done();
    const ids = fake
      .sent('toolResponse')
      .flatMap((sent) => (sent as Responses).functionResponses.map(({ id }) => id));
    expect([first.ran, second.ran, ids]).toEqual([[], ['weather Tokyo'], ['function-call-2']]);
    expect([words(after), fake.sessions.size, fake.refused]).toEqual([
      expect.stringContaining('Tokyo'),
      1,
      [],
    ]);
  });
});

describe('a tool of the service that a live model does not have', () => {
  it.each(FAMILIES)('is told in words, and no connection is made: $name', async ({ name: _, ...options }) => {
    const { fake, connect, logged } = await serveTools(options, {}, [URL_CONTEXT]);
    const socket = await connect();
    socket.say('hello');
    await socket.done();
    expect(socket.chunks).toContainEqual({
      type: 'error',
      errorText: modelErrorText('SETUP', ''),
    });
    expect(JSON.stringify(logged)).toContain(
      `The live model ${options.model} does not have the tool urlContext.`,
    );
    expect(fake.received).toEqual([]);
  });

  it('is left alone when it has it', async () => {
    const { fake, connect } = await serveTools({}, {}, [GOOGLE_SEARCH]);
    const socket = await connect();
    socket.say('hello');
    await socket.done();
    expect(fake.received[0]?.[0]).toMatchObject({
      setup: { tools: [{}, { googleSearch: {} }] },
    });
    expect(fake.refused).toEqual([]);
  });
});

describe('a live connection that is lost', () => {
  it('while nobody speaks is not noticed, and sound goes on', async () => {
    const { fake, connect, ran, logged } = await serveTools();
    const socket = await connect();
    socket.say('hello');
    await socket.done();
    fake.lose('cut');
    await fake.until(() => fake.received.length === 2);
    socket.say('weather in Tokyo');
    await socket.done(2);
    expect(fake.received[1]?.[0]).toMatchObject({ setup: { sessionResumption: { handle: 'handle-1' } } });
    expect([ran, socket.dones, fake.sessions.size, fake.refused]).toEqual([['weather Tokyo'], 2, 1, []]);
    expect(logged.filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it('with a card open and nothing to resume from: the result is told to a new session in words, once', async () => {
    const { fake, connect, ran } = await serveTools({ quirks: { handles: 'never' } });
    const socket = await connect();
    socket.say('send 30 dollars to Alice');
    const card = await socket.chunk('tool-approval-request');
    fake.lose({ close: 1000 });
    await fake.until(() => fake.open.size === 0);
    socket.send('message', decision(card));
    await socket.done();
    expect([ran, socket.dones, fake.sessions.size]).toEqual([['pay Alice 30'], 1, 2]);
    const [history, notice] = fake.sent('clientContent') as { turns: object[]; turnComplete: boolean }[];
    expect(history).toMatchObject({ turnComplete: false });
    expect(notice).toMatchObject({ turnComplete: true });
    expect(JSON.stringify(notice)).toContain('The result of an earlier tool call has arrived');
    expect([words(socket), fake.refused]).toEqual([expect.stringContaining('Alice'), []]);
  });

  it('[B16] an interruption, typed, is heard at once, and the next message is answered', async () => {
    for (const { name: _, ...options } of FAMILIES) {
      const { fake, connect, ran } = await serveTools(options);
      const socket = await connect();
      socket.say('hello');
      await socket.chunk('text-delta');
      socket.send('interrupt', {});
      await socket.done();
      expect(socket.chunks.at(-1)).toMatchObject({ type: 'finish', messageMetadata: { interrupted: true } });
      socket.say('weather in Tokyo');
      await socket.done(2);
      expect(words(socket)).toContain('Tokyo');
      expect([ran, socket.dones, fake.refused]).toEqual([['weather Tokyo'], 2, []]);
    }
  });

  it('[S7] with the microphone on and a wrong key is told once, and not tried for every sound', async () => {
    const { fake, connect } = await serveTools();
    fake.setupFaults.push(...Array.from({ length: 200 }, () => ({ status: 401 })));
    const socket = await connect();
    socket.send('audio_control', { action: 'start' });
    for (let i = 0; i < 50; i++) socket.send('audio_chunk', { chunk: 'AAECAw==' });
    const { data } = await socket.chunk('data-error');
    expect(data).toMatchObject({ code: 'model_not_configured', message: modelErrorText('401', '') });
    for (let i = 0; i < 50; i++) socket.send('audio_chunk', { chunk: 'AAECAw==' });
    fake.setupFaults.length = 0;
    socket.say('weather in Tokyo');
    await socket.done();
    const errors = socket.received.filter((one) => one.kind === 'chunk' && one.chunk.type === 'data-error');
    expect([errors.length, fake.received.length]).toEqual([1, 1]);
  });
});

describe('a microphone that is on while the model takes every session and leaves it at once', () => {
  it.each([
    ['in silence', { code: 1007, reason: 'Request contains an invalid argument.' }, 'cannot be reached'],
    ['without quota', { code: 1011, reason: 'You exceeded your current quota.' }, 'quota of this server'],
  ])('[S7] %s: it opens few, and the person is told', async (_what, { code, reason }, reported) => {
    const { fake, connect } = await serveTools();
    fake.leavesAtOnce = { close: code, reason };
    const socket = await connect();
    socket.send('audio_control', { action: 'start' });
    // Fewer than a socket may send at once, so that none is dropped.
    for (let i = 0; i < 60; i++) {
      socket.send('audio_chunk', { chunk: 'AAECAw==' });
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    const { data } = await socket.chunk('data-error');
    expect(data.message).toContain(reported);
    expect(fake.received.length).toBeLessThan(5);
    fake.leavesAtOnce = null;
    socket.say('weather in Tokyo');
    await socket.done();
    expect(words(socket)).toContain('Tokyo');
  });
});

describe.each(FAMILIES)('speech with the family $name', ({ name: _, ...options }) => {
  const speak = (socket: TestSocket, text: string) => {
    const chunk = Buffer.from(`SAY ${text}`.padEnd(5 + text.length + ((text.length + 5) % 2)));
    socket.send('audio_chunk', { chunk: chunk.toString('base64') });
  };

  it('[B29b] the end of the microphone ends what is said, where the model listens for it', async () => {
    const { fake, connect, ran } = await serveTools(options);
    const socket = await connect();
    socket.send('audio_control', { action: 'start' });
    speak(socket, 'weather in Tokyo');
    socket.send('audio_control', { action: 'stop' });
    await socket.done();
    const signals = fake.sent('realtimeInput').flatMap((input) => Object.keys(input as object));
    expect(signals).toEqual(['audio', 'audioStreamEnd']);
    expect([ran, socket.dones, fake.refused]).toEqual([['weather Tokyo'], 1, []]);
  });

  it('[B29a] push-to-talk tells the model both ends of what is said', async () => {
    const { fake, connect, ran } = await serveTools(options);
    const socket = await connect();
    socket.send('audio_control', { action: 'start', detection: 'client' });
    speak(socket, 'weather in Tokyo');
    socket.send('audio_control', { action: 'stop', detection: 'client' });
    await socket.done();
    const signals = fake.sent('realtimeInput').flatMap((input) => Object.keys(input as object));
    expect(signals).toEqual(['activityStart', 'audio', 'activityEnd']);
    expect([ran, socket.dones, fake.refused]).toEqual([['weather Tokyo'], 1, []]);
  });

  it('[B29] push-to-talk is answered also where the model takes no word about when the person speaks', async () => {
    const { fake, connect, ran, logged } = await serveTools({
      ...options,
      quirks: { activitySignals: 'refused' },
    });
    const socket = await connect();
    for (const times of [1, 2]) {
      socket.send('audio_control', { action: 'start', detection: 'client' });
      speak(socket, 'weather in Tokyo');
      socket.send('audio_control', { action: 'stop', detection: 'client' });
      await socket.done(times);
      // It is taken up again as it was begun.
      if (times === 1) fake.lose('cut');
      await fake.until(() => fake.received.length > 2);
    }
    const signals = fake.sent('realtimeInput').flatMap((input) => Object.keys(input as object));
    expect(signals).toEqual(['audio', 'audioStreamEnd', 'audio', 'audioStreamEnd']);
    expect([ran, socket.dones]).toEqual([['weather Tokyo', 'weather Tokyo'], 2]);
    expect([fake.refused, fake.sessions.size]).toEqual([[NO_SIGNALS], 1]);
    expect(logged.filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it('[B29] an interruption beside push-to-talk leaves nothing open', async () => {
    const { fake, connect, ran } = await serveTools(options);
    const socket = await connect();
    socket.send('audio_control', { action: 'start', detection: 'client' });
    speak(socket, 'hello');
    socket.send('audio_control', { action: 'stop', detection: 'client' });
    await socket.chunk('text-delta');
    socket.send('interrupt', {});
    await socket.done();
    socket.send('audio_control', { action: 'start', detection: 'client' });
    speak(socket, 'weather in Tokyo');
    socket.send('audio_control', { action: 'stop', detection: 'client' });
    await socket.done(2);
    const signals = fake.sent('realtimeInput').flatMap((input) => Object.keys(input as object));
    const talk = ['activityStart', 'audio', 'activityEnd'];
    expect(signals).toEqual([...talk, 'activityStart', 'activityEnd', ...talk]);
    expect([ran, socket.dones, fake.refused]).toEqual([['weather Tokyo'], 2, []]);
  });

  it('[B16] speech interrupts in the middle of a sound: what was said is kept, and the next turn is whole', async () => {
    const { fake, connect, url, ran } = await serveTools(options);
    const socket = await connect('?session=cut');
    fake.turnFaults.push('interrupted');
    socket.say('hello');
    await socket.done();
    expect(socket.chunks.at(-1)).toMatchObject({ type: 'finish', messageMetadata: { interrupted: true } });
    const heard = words(socket);
    fake.session.hear('weather in Tokyo');
    await socket.done(2);
    expect(socket.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
    const { messages } = (await (await fetch(`${url}/sessions/cut`)).json()) as {
      messages: { role: string; parts: { text?: string }[] }[];
    };
    const lines = messages.map(({ role, parts }) => [role, parts.map(({ text = '' }) => text).join('')]);
    expect(lines).toEqual([
      ['user', 'hello'],
      ['assistant', heard],
      ['user', 'weather in Tokyo'],
      ['assistant', expect.stringContaining('Tokyo')],
    ]);
    expect([ran, socket.dones, fake.refused]).toEqual([['weather Tokyo'], 2, []]);
  });

  it('[B6] [B16] what is spoken after an interruption is answered, though the model never ends what it had begun', async () => {
    const { fake, connect, ran } = await serveTools(options);
    const socket = await connect();
    fake.turnFaults.push('silence');
    socket.say('hello');
    await socket.chunk('text-delta');
    socket.send('interrupt', {});
    await socket.done();
    await silence(fake);
    fake.session.send?.({ serverContent: { interrupted: true } });
    fake.session.hear('weather in Tokyo');
    await socket.done(2);
    expect(words(socket)).toContain('Tokyo');
    expect([ran, socket.dones, fake.refused]).toEqual([['weather Tokyo'], 2, []]);
  });

  it('[B13] one that stops for a noise and says no more keeps nobody waiting, also beside a card', async () => {
    const { fake, connect, ran } = await serveTools(options);
    const socket = await connect();
    fake.turnFaults.push('silence');
    socket.say('hello');
    await socket.chunk('text-delta');
    await silence(fake);
    fake.session.send?.({ serverContent: { interrupted: true } });
    await socket.done();
    socket.say('send 30 dollars to Alice');
    const card = await socket.chunk('tool-approval-request');
    await silence(fake);
    const says = (serverContent: object) => fake.session.send?.({ serverContent });
    says({ outputTranscription: { text: 'Please look.' } });
    says({ interrupted: true });
    socket.say('weather in Tokyo');
    await socket.done(2);
    socket.send('message', decision(card));
    await socket.done(3);
    expect([ran, socket.dones, fake.refused]).toEqual([['weather Tokyo', 'pay Alice 30'], 3, []]);
    const ends = socket.chunks.flatMap((chunk) => (chunk.type === 'finish' ? [chunk.finishReason] : []));
    expect(ends).toEqual(['other', 'stop', 'stop']);
  });

  it('[C12] counts the tokens of every turn, those of sound beside them, wherever the model tells them', async () => {
    for (const usage of ['with the end', 'alone', 'late'] as const) {
      const { connect } = await serveTools({ ...options, quirks: { usage } });
      const socket = await connect();
      socket.say('hello');
      await socket.done();
      expect(socket.chunks.at(-1)).toMatchObject({
        type: 'finish',
        messageMetadata: {
          usage: {
            input: 20,
            output: 5,
            total: 25,
            audio: { input: 12, output: 4, cacheRead: null },
          },
        },
      });
    }
  });
});

/** Says something over SSE; gives the text of the response. */
async function post(url: string, id: string, text: string): Promise<string> {
  const body = { id, messages: [{ role: 'user', content: text }], trigger: 'submit-message' };
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/stream`, { method: 'POST', headers, body: JSON.stringify(body) });
  const deltas = (await response.text()).matchAll(/"delta":("(?:[^"\\\\]|\\\\.)*")/g);
  return [...deltas].map(([, delta]) => JSON.parse(delta ?? '""') as string).join('');
}

interface Responses {
  functionResponses: { id: string; scheduling?: string; response: object }[];
}
