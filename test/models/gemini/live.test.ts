import { createEvent, Gemini } from '@google/adk';
import type { GenerateContentConfig } from '@google/genai';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { withLiveFacts } from '../../../src/adk/live-facts.ts';
import { adkSafe } from '../../../src/models/adk-safe.ts';
import { DuologueGemini } from '../../../src/models/gemini/index.ts';
import { connectGemini, type GeminiLiveOptions } from '../../../src/models/gemini/live-provider.ts';
import { noticeOf } from '../../../src/models/prompt-texts.ts';
import { failOnUnhandled } from '../../contract/support/unhandled.ts';
import { ManualClock } from '../../support/clock.ts';
import { FakeGemini, type OnLive } from '../../support/fake-gemini.ts';
import { fastTimer } from '../../support/fast-timer.ts';
import { partial, text } from '../../support/scripted-model.ts';
import { DeferredTool } from '../support/deferred-tool.ts';
import { TestRun } from '../support/runs.ts';

const MODEL = 'gemini-2.5-flash-native-audio-latest';

let fake: FakeGemini;
beforeEach(async () => {
  fake = await FakeGemini.start();
});
afterEach(() => fake.stop());

function gemini(live?: GeminiLiveOptions, model = MODEL): DuologueGemini {
  return new DuologueGemini({
    model,
    apiKey: 'k',
    baseUrl: fake.baseUrl,
    // What takes a second takes a hundredth of it.
    live: { timer: fastTimer(100), ping: null, setupTimeoutMs: 1_000_000, ...live },
  });
}

/** Answers the setup, and every other message as told. */
function script(onMessage: OnLive): void {
  fake.onLive = (message, connection) => {
    if ('setup' in message) connection.send({ setupComplete: {} });
    onMessage(message, connection);
  };
}

const UNREADABLE = 'The live model sent a frame that cannot be read. The connection was closed.';

const setup = (number = 1) => fake.connections[number - 1]?.received[0]?.setup as Record<string, unknown>;
const sent = (number = 1) => fake.connections[number - 1]?.received.slice(1);

describe('opening a live connection', () => {
  test('sends what the agent is set up with, and always asks to be resumable', async () => {
    const generateContentConfig: GenerateContentConfig = {
      temperature: 0.3,
      maxOutputTokens: 99,
      thinkingConfig: { thinkingBudget: 0 },
      stopSequences: ['not for live'],
    };
    const live = await new TestRun(gemini(), {
      instruction: 'Be brief.',
      tools: [new DeferredTool('pay')],
      generateContentConfig,
    }).live();
    await fake.until(() => fake.connections[0]?.received.length === 1);
    await live.close();
    await fake.until(() => fake.open === 0);
    expect(setup()).toEqual({
      model: `models/${MODEL}`,
      generationConfig: {
        temperature: 0.3,
        maxOutputTokens: 99,
        thinkingConfig: { thinkingBudget: 0 },
        responseModalities: ['AUDIO'],
      },
      systemInstruction: {
        role: 'system',
        parts: [{ text: expect.stringContaining('Be brief.') }],
      },
      tools: [{ functionDeclarations: [{ name: 'pay', description: 'pay' }] }],
      contextWindowCompression: { triggerTokens: '25000', slidingWindow: { targetTokens: '8000' } },
      sessionResumption: {},
    });
  });

  test('fails in words when the server refuses the setup', async () => {
    fake.onLive = (_, connection) => connection.close(1007, 'API key not valid');
    const live = await new TestRun(gemini()).live();
    await live.end();
    expect(live.error).toMatchObject({
      message: 'The live model refused the connection (1007): API key not valid',
      code: '401',
    });
  });

  test('fails when the upgrade is refused', async () => {
    fake.refuse = 403;
    const live = await new TestRun(gemini()).live();
    await live.end();
    expect(String(live.error)).toContain('Unexpected server response: 403');
  });

  test('fails when nobody listens', async () => {
    const model = gemini();
    await fake.stop();
    const live = await new TestRun(model).live();
    await live.end();
    expect(String(live.error)).toContain('ECONNREFUSED');
    fake = await FakeGemini.start();
  });

  test('fails when the setup is never answered, and leaves no socket behind', async () => {
    fake.onLive = () => {};
    const live = await new TestRun(gemini({ setupTimeoutMs: 30_000 })).live();
    await live.end();
    expect(live.error).toMatchObject({
      message: 'The live model did not answer the setup within 30000 ms.',
      code: 'SILENT',
    });
    await fake.until(() => fake.connections.length === 1 && fake.open === 0);
  });

  test("ADK's own Gemini gets the same connection when it is wrapped", async () => {
    class Local extends Gemini {
      protected override getLiveHttpOptions() {
        return { ...super.getLiveHttpOptions(), baseUrl: fake.baseUrl };
      }
    }
    fake.onLive = (_, connection) => connection.close(1008, 'no');
    const live = await new TestRun(adkSafe(new Local({ model: MODEL, apiKey: 'k' }))).live();
    await live.end();
    expect(live.error).toMatchObject({
      message: 'The live model refused the connection (1008): no',
      code: 'SETUP',
    });
  });
});

describe('a live model that sends what it should not', () => {
  failOnUnhandled();

  const unreadable: [string, string | Uint8Array][] = [
    ['no JSON', 'not json'],
    ['half a JSON value', '{"serverContent":'],
    ['an empty text', ''],
    ['bytes that are no text', new Uint8Array([0xff, 0xfe, 0x00])],
  ];

  test.each(unreadable)(
    '%s instead of the answer to the setup fails the connection in words',
    async (_, frame) => {
      fake.onLive = (_message, connection) => connection.sendRaw(frame);
      const live = await new TestRun(gemini()).live();
      await live.end();
      expect(live.error).toMatchObject({ message: UNREADABLE });
      await fake.until(() => fake.open === 0);
    },
  );

  test.each(unreadable)(
    '%s in a turn fails the connection in words, and what was said is kept',
    async (_, frame) => {
      script((message, connection) => {
        if (!('clientContent' in message)) return;
        connection.send({ serverContent: { modelTurn: { parts: [{ text: 'Hel' }] } } });
        connection.sendRaw(frame);
        connection.sendRaw(frame);
        connection.send({ serverContent: { modelTurn: { parts: [{ text: 'lo' }] } } });
      });
      const live = await new TestRun(gemini()).live();
      live.say('hi');
      await live.end();
      expect(live.seen).toEqual([partial('Hel'), text('Hel')]);
      expect(live.error).toMatchObject({ message: UNREADABLE });
      await fake.until(() => fake.open === 0);
    },
  );

  test.each([
    'null',
    '7',
    '"text"',
    '[]',
    '{"setupComplete":null}',
    '{"serverContent":7}',
    '{"serverContent":{"modelTurn":7}}',
    '{"serverContent":{"modelTurn":{"parts":7}}}',
    '{"serverContent":{"modelTurn":{"parts":[null,7]}}}',
    '{"serverContent":{"inputTranscription":7,"outputTranscription":[]}}',
    '{"toolCall":{"functionCalls":7}}',
    '{"toolCall":{"functionCalls":[null]}}',
    '{"toolCallCancellation":{"ids":7}}',
    '{"usageMetadata":7}',
    '{"sessionResumptionUpdate":7,"goAway":7}',
  ])('%s is passed over or fails the connection, and nothing is unheard', async (frame) => {
    script((message, connection) => {
      if (!('clientContent' in message)) return;
      connection.sendRaw(frame);
      connection.send({ serverContent: { modelTurn: { parts: [{ text: 'Hi.' }] }, turnComplete: true } });
    });
    const live = await new TestRun(gemini()).live();
    live.say('hi');
    await live.until((run) => run.turns === 1 || run.error !== undefined);
    await live.close();
    if (live.error === undefined) expect(live.seen).toContainEqual(text('Hi.'));
  });
});

describe('a live server without measure', () => {
  failOnUnhandled();

  test('whose arguments have no bottom fails the connection in words', async () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    script((message, connection) => {
      if ('clientContent' in message)
        connection.sendRaw(
          `{"toolCall":{"functionCalls":[{"id":"x","name":"pay","args":{"deep":${deep}}}]}}`,
        );
    });
    const live = await new TestRun(gemini()).live();
    live.say('hi');
    await live.end();
    expect(live.error).toMatchObject({ message: UNREADABLE });
  });

  test('that speaks faster than it is read waits, and nothing of it is lost', async () => {
    const data = Buffer.alloc(30_000).toString('base64');
    const COUNT = 1000;
    script((message, connection) => {
      if (!('clientContent' in message)) return;
      for (let at = 0; at < COUNT; at++) {
        const inlineData = { mimeType: 'audio/pcm;rate=24000', data: data.slice(at % 4 === 0 ? 4 : 0) };
        connection.send({ serverContent: { modelTurn: { parts: [{ inlineData }] } } });
      }
      connection.send({ serverContent: { turnComplete: true } });
    });
    const request = { contents: [], toolsDict: {}, liveConnectConfig: {} };
    const timer = new ManualClock();
    const connection = await connectGemini(gemini(), request, { timer });
    await connection.sendContent({ role: 'user', parts: [{ text: 'hi' }] });
    await fake.until(() => sent()?.length === 1);
    const server = fake.connections[0];
    let left = -1;
    // Once it is read no further, what waits at the server stays the same, however much time passes.
    for (let same = 0; same < 20; ) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      timer.advance(5000);
      same = server?.waiting === left ? same + 1 : 0;
      left = server?.waiting ?? 0;
    }
    expect(left).toBeGreaterThan(10_000_000);
    let count = 0;
    for await (const response of connection.receive()) {
      if (response.content) count += 1;
      if (response.turnComplete) break;
    }
    await connection.close();
    expect([count, fake.connections.length]).toEqual([COUNT, 1]);
  });

  test.each([
    ['words without end', 400, { serverContent: { modelTurn: { parts: [{ text: 'word '.repeat(1000) }] } } }],
    [
      'a frame without end',
      1,
      { serverContent: { modelTurn: { parts: [{ text: 'x'.repeat(17_000_000) }] } } },
    ],
    [
      'the transcript of speech without end',
      400,
      { serverContent: { outputTranscription: { text: 'word '.repeat(1000) } } },
    ],
  ])('that sends %s fails the connection in words', async (_what, count, frame) => {
    script((message, connection) => {
      if ('clientContent' in message) connection.send(...Array.from({ length: count }, () => frame));
    });
    const live = await new TestRun(gemini()).live();
    live.say('hi');
    await live.end();
    expect(live.error).toMatchObject({ message: UNREADABLE });
    await fake.until(() => fake.open === 0);
  });
});

describe('losing a live connection', () => {
  test('with something to resume from, the run goes on with it', async () => {
    script((message, connection) => {
      if ('setup' in message && connection.number === 1) {
        connection.send({ sessionResumptionUpdate: { newHandle: 'H-1', resumable: true } });
      }
      if ('clientContent' in message && connection.number === 1) connection.close(1011, 'internal');
      if ('setup' in message && connection.number === 2) {
        connection.send({ serverContent: { modelTurn: { parts: [{ text: 'Back.' }] }, turnComplete: true } });
      }
    });
    const live = await new TestRun(gemini()).live();
    await live.until((run) => run.events.length === 1);
    live.say('hi');
    await live.until((run) => run.turns === 1);
    await live.close();
    expect(setup(2).sessionResumption).toEqual({ handle: 'H-1' });
    expect(live.seen.slice(1)).toEqual([partial('Back.'), text('Back.'), { turnComplete: true }]);
  });

  test('with nothing to resume from, what was said is kept and the run fails', async () => {
    script((message, connection) => {
      if ('setup' in message) connection.send({ serverContent: { modelTurn: { parts: [{ text: 'Hel' }] } } });
      if ('clientContent' in message) connection.terminate();
    });
    const live = await new TestRun(gemini()).live();
    await live.until((run) => run.events.length === 1);
    live.say('hi');
    await live.end();
    expect(live.seen).toEqual([partial('Hel'), text('Hel')]);
    expect(live.error).toMatchObject({
      message: 'The live model ended the connection (1006)',
      code: 'INCOMPLETE',
    });
  });

  test('an orderly close by the server ends the run', async () => {
    script((_, connection) => connection.close(1000, 'bye'));
    const live = await new TestRun(gemini()).live();
    await live.end();
    expect(live.error).toBeUndefined();
  });

  test('a server that is there but says nothing is asked, and kept', async () => {
    let pings = 0;
    script((message, connection) => {
      if ('setup' in message)
        connection.send({ sessionResumptionUpdate: { newHandle: 'H-1', resumable: true } });
    });
    fake.onPing = () => {
      pings += 1;
    };
    const live = await new TestRun(gemini({ ping: { everyMs: 2000, lostMs: 1_000_000 } })).live();
    await fake.until(() => pings >= 3);
    await live.close();
    expect([fake.connections.length, live.error]).toEqual([1, undefined]);
  });

  test('one that does not answer to it is left for another socket', async () => {
    fake.isDeaf = true;
    script((message, connection) => {
      if ('setup' in message)
        connection.send({ sessionResumptionUpdate: { newHandle: 'H-1', resumable: true } });
    });
    const live = await new TestRun(gemini({ ping: { everyMs: 2000, lostMs: 6000 } })).live();
    await fake.until(() => fake.connections.length >= 2 && setup(2) !== undefined);
    await live.close();
    expect(setup(2).sessionResumption).toEqual({ handle: 'H-1' });
  });

  test('a server that is leaving is left between two turns, never in the middle of one', async () => {
    script((message, connection) => {
      if (connection.number === 2) return;
      if ('setup' in message) {
        connection.send(
          { sessionResumptionUpdate: { newHandle: 'H-2', resumable: true } },
          { serverContent: { modelTurn: { parts: [{ text: 'Half' }] } } },
          { goAway: { timeLeft: '50s' } },
          { serverContent: { modelTurn: { parts: [{ text: ' done' }] } } },
          { serverContent: { turnComplete: true } },
        );
      }
    });
    const live = await new TestRun(gemini()).live();
    await fake.until(() => fake.connections[1]?.received.length === 1);
    await live.close();
    expect(live.seen.slice(1)).toEqual([
      partial('Half'),
      partial(' done'),
      text('Half done'),
      { turnComplete: true },
    ]);
    expect(setup(2).sessionResumption).toEqual({ handle: 'H-2' });
  });

  test('a server that is leaving with nothing to resume from is listened to until it closes', async () => {
    script((_, connection) => {
      connection.send({ goAway: { timeLeft: '50s' } }, { serverContent: { turnComplete: true } });
      connection.close(1000);
    });
    const live = await new TestRun(gemini()).live();
    await live.end();
    expect([live.seen, live.error]).toEqual([[{ turnComplete: true }], undefined]);
  });
});

describe('what the live server says', () => {
  /** The events after these messages, up to the end of the turn or the given number. */
  async function hear(messages: Record<string, unknown>[], count: number) {
    script((message, connection) => {
      if ('setup' in message) connection.send(...messages);
    });
    const live = await new TestRun(gemini(), { tools: [new DeferredTool('pay')] }).live();
    await live.until((run) => run.events.length >= count);
    await live.close();
    expect(live.error).toBeUndefined();
    return live.seen;
  }

  const content = (serverContent: Record<string, unknown>) => ({ serverContent });
  const say = (...parts: Record<string, unknown>[]) => content({ modelTurn: { parts } });

  test('an interruption after text comes after that text', async () => {
    expect(
      await hear(
        [
          say({ text: 'Once ' }),
          say({ text: 'upon' }),
          content({ interrupted: true }),
          content({ turnComplete: true }),
        ],
        5,
      ),
    ).toEqual([
      partial('Once '),
      partial('upon'),
      text('Once upon'),
      { interrupted: true },
      { turnComplete: true },
    ]);
  });

  test('thoughts and text are told in their order, as one', async () => {
    expect(
      await hear([say({ text: 'hm', thought: true }, { text: 'Yes' }), content({ turnComplete: true })], 4),
    ).toEqual([
      partial('hm', true),
      partial('Yes'),
      { content: { role: 'model', parts: [{ text: 'hm', thought: true }, { text: 'Yes' }] }, partial: false },
      { turnComplete: true },
    ]);
  });

  test('speech, transcripts and usage', async () => {
    const audio = { inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AAAA' } };
    expect(
      await hear(
        [
          content({ inputTranscription: { text: 'what ' } }),
          content({ inputTranscription: { text: 'time?' } }),
          say(audio),
          content({ outputTranscription: { text: 'No' } }),
          content({ outputTranscription: { text: 'on.' } }),
          content({ generationComplete: true }),
          {
            ...content({ turnComplete: true }),
            usageMetadata: { promptTokenCount: 5, responseTokenCount: 7, totalTokenCount: 12 },
          },
        ],
        9,
      ),
    ).toEqual([
      { inputTranscription: { text: 'what ', finished: false }, partial: true },
      { inputTranscription: { text: 'time?', finished: false }, partial: true },
      { content: { role: 'model', parts: [audio] } },
      { inputTranscription: { text: 'what time?', finished: true }, partial: false },
      { outputTranscription: { text: 'No', finished: false }, partial: true },
      { outputTranscription: { text: 'on.', finished: false }, partial: true },
      {
        usageMetadata: {
          promptTokenCount: 5,
          responseTokenCount: 7,
          candidatesTokenCount: 7,
          totalTokenCount: 12,
        },
      },
      { outputTranscription: { text: 'Noon.', finished: true }, partial: false },
      { turnComplete: true },
    ]);
  });

  test('a call is made at once, without waiting for the end of the turn', async () => {
    expect(
      await hear(
        [
          say({ text: 'Let me.' }),
          { toolCall: { functionCalls: [{ id: 'function-call-9', name: 'pay', args: {} }] } },
        ],
        3,
      ),
    ).toEqual([
      partial('Let me.'),
      text('Let me.'),
      {
        content: {
          role: 'model',
          parts: [{ functionCall: { id: 'function-call-9', name: 'pay', args: {} } }],
        },
      },
    ]);
  });

  test('calls that the server takes back are named', async () => {
    const functionCall = { id: 'function-call-9', name: 'pay', args: {} };
    const ids = ['function-call-9', 'function-call-nobody-made'];
    expect(
      await hear([{ toolCall: { functionCalls: [functionCall] } }, { toolCallCancellation: { ids } }], 2),
    ).toEqual([
      { content: { role: 'model', parts: [{ functionCall }] } },
      { interrupted: true, ...withLiveFacts({ cancelledCalls: ['function-call-9'] }) },
    ]);
  });

  test('where it looked things up is told once', async () => {
    const groundingMetadata = { groundingChunks: [{ web: { uri: 'https://example.com' } }] };
    expect(
      await hear([say({ text: 'So.' }), content({ groundingMetadata }), content({ turnComplete: true })], 3),
    ).toEqual([partial('So.'), { ...text('So.'), groundingMetadata }, { turnComplete: true }]);
  });
});

describe('what the live server is told', () => {
  test('typed text, sound, pictures, and the end of sound', async () => {
    const live = await new TestRun(gemini()).live();
    live.say('hi');
    live.queue.sendRealtime({ mimeType: 'audio/pcm;rate=16000', data: 'AAAA' });
    live.queue.sendRealtime({ mimeType: 'image/jpeg', data: 'BBBB' });
    live.queue.sendActivityStart();
    live.queue.sendActivityEnd();
    await fake.until(() => sent()?.length === 5);
    await live.close();
    expect(sent()).toEqual([
      { clientContent: { turns: [{ role: 'user', parts: [{ text: 'hi' }] }], turnComplete: true } },
      { realtimeInput: { audio: { mimeType: 'audio/pcm;rate=16000', data: 'AAAA' } } },
      { realtimeInput: { video: { mimeType: 'image/jpeg', data: 'BBBB' } } },
      { clientContent: { turnComplete: false } },
      { realtimeInput: { audioStreamEnd: true } },
    ]);
  });

  test('with its own detection off, when the person begins and ends', async () => {
    const live = await new TestRun(gemini()).live({
      realtimeInputConfig: { automaticActivityDetection: { disabled: true } },
    });
    live.queue.sendActivityStart();
    live.queue.sendActivityEnd();
    await fake.until(() => sent()?.length === 2);
    await live.close();
    expect(sent()).toEqual([
      { realtimeInput: { activityStart: {} } },
      { realtimeInput: { activityEnd: {} } },
    ]);
  });

  describe('with a server that keeps its own detection', () => {
    const detection = { disabled: true, silenceDurationMs: 300 };
    const asked = { realtimeInputConfig: { automaticActivityDetection: detection } };
    const isAsked = (message: object) => JSON.stringify(message).includes('"disabled":true');
    const UNNAMED = 'Request contains an invalid argument.';

    const NAMED = `Unknown name "disabled" at 'setup.realtime_input_config.automatic_activity_detection'`;

    test.each([NAMED, UNNAMED])('it is left the rest, and told when the sound ends: %s', async (reason) => {
      fake.onLive = (message, connection) => {
        if (isAsked(message)) connection.close(1007, reason);
        else if ('setup' in message) connection.send({ setupComplete: {} });
      };
      const model = gemini();
      const live = await new TestRun(model).live(asked);
      live.queue.sendActivityStart();
      live.queue.sendRealtime({ mimeType: 'audio/pcm;rate=16000', data: 'AAAA' });
      live.queue.sendActivityEnd();
      await fake.until(() => sent(2)?.length === 2);
      await live.close();
      expect([setup(1), setup(2)]).toMatchObject([
        asked,
        { realtimeInputConfig: { automaticActivityDetection: { silenceDurationMs: 300 } } },
      ]);
      expect(sent(2)).toEqual([
        { realtimeInput: { audio: { mimeType: 'audio/pcm;rate=16000', data: 'AAAA' } } },
        { realtimeInput: { audioStreamEnd: true } },
      ]);
      // The next connection knows.
      const next = await new TestRun(model).live(asked);
      next.queue.sendActivityEnd();
      await fake.until(() => sent(3)?.length === 1);
      await next.close();
      expect([isAsked(setup(2)), isAsked(setup(3)), fake.connections.length]).toEqual([false, false, 3]);
    });

    test('what was said meanwhile is owed an answer by the second session', async () => {
      fake.onLive = (message, connection) => {
        if (isAsked(message)) connection.close(1007, NAMED);
        else if ('setup' in message) connection.send({ setupComplete: {} });
        else connection.close(1011, 'gone');
      };
      const live = await new TestRun(gemini()).live(asked);
      live.say('hi');
      await live.end();
      expect(live.error).toMatchObject({ code: 'INCOMPLETE' });
    });

    test.each([
      ['the key', asked, 'API key not valid', 1],
      ['another field', asked, `Unknown name "x" at 'setup': Cannot find field.`, 1],
      ['something unsaid, whatever is asked', asked, UNNAMED, 2],
      ['something unsaid, and nothing was asked', {}, UNNAMED, 1],
    ])('a setup refused for %s is told in words', async (_what, config, reason, times) => {
      fake.onLive = (_, connection) => connection.close(1007, reason);
      const live = await new TestRun(gemini()).live(config);
      await live.end();
      expect(live.error).toMatchObject({
        message: `The live model refused the connection (1007): ${reason}`,
      });
      expect(fake.connections.length).toBe(times);
    });

    test('a session that had begun is not begun anew', async () => {
      script((message, connection) => {
        if (!('setup' in message)) connection.close(1007, `setup: ${NAMED}`);
      });
      const live = await new TestRun(gemini()).live(asked);
      live.say('hi');
      await live.end();
      expect([live.error, fake.connections.length]).toEqual([expect.objectContaining({ code: 'SETUP' }), 1]);
    });
  });

  test('a 3.x live model gets typed text as realtime input, and declares nothing non-blocking', async () => {
    const model = gemini(undefined, 'gemini-3.1-flash-live-preview');
    const live = await new TestRun(model, { tools: [new DeferredTool('pay', { nonBlocking: true })] }).live();
    live.say('hi');
    await fake.until(() => sent()?.length === 1);
    await live.close();
    expect(sent()).toEqual([{ realtimeInput: { text: 'hi' } }]);
    expect(setup().tools).toEqual([{ functionDeclarations: [{ name: 'pay', description: 'pay' }] }]);
  });

  test('the history without thoughts, calls in words, and nobody is asked to speak', async () => {
    const run = new TestRun(gemini());
    const session = await run.session();
    const picture = { inlineData: { mimeType: 'image/png', data: 'CCCC' } };
    for (const [author, role, parts] of [
      ['user', 'user', [picture, { text: 'What is this?' }]],
      ['assistant', 'model', [{ text: 'hm', thought: true }, { text: 'A cat.' }]],
      ['assistant', 'model', [{ functionCall: { name: 'pay', args: {}, id: 'x' } }]],
      ['assistant', 'user', [{ functionResponse: { name: 'pay', id: 'x', response: {} } }]],
    ] as const) {
      await run.sessionService.appendEvent({
        session,
        event: createEvent({ author, content: { role, parts: [...parts] } }),
      });
    }
    const live = await run.live();
    await fake.until(() => sent()?.length === 1);
    await live.close();
    expect(sent()).toEqual([
      {
        clientContent: {
          turns: [
            { role: 'user', parts: [picture, { text: 'What is this?' }] },
            { role: 'model', parts: [{ text: 'A cat.' }] },
            { role: 'user', parts: [{ text: noticeOf('pay', {}, {}) }] },
          ],
          turnComplete: false,
        },
      },
    ]);
  });

  test('which tools not to wait for, and when to speak of their results', async () => {
    script((message, connection) => {
      if (!('setup' in message)) return;
      connection.send({
        toolCall: {
          functionCalls: ['ask', 'ask', 'look'].map((name, index) => ({ id: `f-${index}`, name, args: {} })),
        },
      });
    });
    const tools = [new DeferredTool('ask', { nonBlocking: true }), new DeferredTool('look')];
    const live = await new TestRun(gemini(), { tools }).live();
    await live.until((run) => run.calls.length === 3);
    live.answer('f-0', 'ask', { ok: true });
    live.answer('f-1', 'ask', { error: 'Interrupted', interrupted: true });
    live.answer('f-2', 'look', { ok: true });
    await fake.until(() => sent()?.length === 3);
    await live.close();
    expect(setup().tools).toEqual([
      {
        functionDeclarations: [
          { name: 'ask', description: 'ask', behavior: 'NON_BLOCKING' },
          { name: 'look', description: 'look' },
        ],
      },
    ]);
    expect(sent()).toEqual(
      [
        { id: 'f-0', name: 'ask', response: { ok: true }, scheduling: 'WHEN_IDLE' },
        {
          id: 'f-1',
          name: 'ask',
          response: { error: 'Interrupted', interrupted: true },
          scheduling: 'SILENT',
        },
        { id: 'f-2', name: 'look', response: { ok: true } },
      ].map((response) => ({ toolResponse: { functionResponses: [response] } })),
    );
  });

  test('an option says which tools are not waited for', async () => {
    const nonBlocking = (tool: { name: string }) => tool.name === 'look';
    const live = await new TestRun(gemini({ nonBlocking }), { tools: [new DeferredTool('look')] }).live();
    await fake.until(() => fake.connections[0]?.received.length === 1);
    await live.close();
    expect(setup().tools).toEqual([
      { functionDeclarations: [{ name: 'look', description: 'look', behavior: 'NON_BLOCKING' }] },
    ]);
  });

  test('the answer to a call of an earlier connection as a notice: the server does not know the call', async () => {
    const run = new TestRun(gemini());
    const session = await run.session();
    const made = { name: 'pay', args: { amount: 5 }, id: 'function-call-1' };
    const content = { role: 'model', parts: [{ functionCall: made }] };
    await run.sessionService.appendEvent({
      session,
      event: createEvent({ author: 'user', content: { role: 'user', parts: [{ text: 'pay' }] } }),
    });
    await run.sessionService.appendEvent({ session, event: createEvent({ author: 'assistant', content }) });
    const live = await run.live();
    live.answer('function-call-1', 'pay', { ok: true });
    await fake.until(() => sent()?.length === 2);
    await live.close();
    expect(sent()?.[1]).toEqual({
      clientContent: {
        turns: [{ role: 'user', parts: [{ text: noticeOf('pay', { amount: 5 }, { ok: true }) }] }],
        turnComplete: true,
      },
    });
  });

  test('that a tool does not exist', async () => {
    script((message, connection) => {
      if ('setup' in message)
        connection.send({ toolCall: { functionCalls: [{ id: 'f-1', name: 'nope', args: {} }] } });
    });
    const live = await new TestRun(gemini()).live();
    await fake.until(() => sent()?.length === 1);
    await live.close();
    expect(live.error).toBeUndefined();
    expect(sent()).toEqual([
      {
        toolResponse: {
          functionResponses: [
            {
              id: 'f-1',
              name: 'nope',
              response: { error: expect.stringContaining('There is no tool named "nope".') },
            },
          ],
        },
      },
    ]);
  });
});
