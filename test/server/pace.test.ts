import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../src/protocol/index.ts';
import { noEvents } from '../../src/server/events/event-hub.ts';
import { ResponseReader } from '../../src/server/http/reply.ts';
import { ChunkLog } from '../../src/server/log/log.ts';
import { Output } from '../../src/server/output/output.ts';
import { BatchTimer, DraftPace, Heartbeat } from '../../src/server/output/pace.ts';
import type { Feed } from '../../src/server/registry/session.ts';
import { DEFAULT_SOCKET_LIMITS } from '../../src/server/socket/socket.ts';
import { SocketWriter } from '../../src/server/socket/socket-writer.ts';
import { createMemoryStore } from '../../src/server/store/memory/memory-store.ts';
import { fakeClock } from './support/clock.ts';
import { latch } from './support/listen.ts';

const WINDOW = 12;
const word = (delta: string): Chunk => ({ type: 'text-delta', id: '0', delta });
const urgent: [string, Chunk][] = [
  ['a tool', { type: 'tool-input-start', toolCallId: 'c', toolName: 't' }],
  ['an output', { type: 'tool-output-available', toolCallId: 'c', output: {} }],
  ['a card', { type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a' }],
  ['an error', { type: 'error', errorText: 'no' }],
  ['a finish', { type: 'finish', finishReason: 'stop' }],
];

/** A log, and what has left of it over one transport: one entry for each write. */
interface Line {
  say: (chunk: Chunk | null) => Promise<void>;
  pass: (ms: number) => Promise<void>;
  left: string[];
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const wordsIn = (text: string): string =>
  [...text.matchAll(/"delta":"([^"]*)"|"type":"((?!text-delta)[^"]*)"|\[(DONE)\]/g)]
    .map(([, delta, type, done]) => delta ?? type ?? done)
    .join(' ');

function outputOn(
  clock: ReturnType<typeof fakeClock>,
  store = createMemoryStore(),
  keeps = () => false,
): Output {
  const key = { app: 'a', user: 'u', id: 's', fence: 0 };
  const drafts = new DraftPace(clock);
  const nothing = () => undefined;
  const chunks = new ChunkLog('e');
  const log = { chunks, shown: chunks, released: nothing, keeps, close: nothing, remove: nothing };
  return new Output({
    store,
    key,
    log,
    clock,
    drafts,
    events: noEvents,
    onFault: nothing,
    onWait: nothing,
    isOver: () => false,
  });
}

function overSse(): Line {
  const clock = fakeClock();
  const output = outputOn(clock);
  const pacing = { window: new BatchTimer(clock, WINDOW), keepAlive: new Heartbeat(clock, 15_000) };
  const feed: Feed = {
    log: output.log,
    isAtRest: false,
    onRest: (callback) => output.onRest(callback),
    attach: (other) => output.readers.attach(other),
    readerMoved: () => output.readers.moved(),
  };
  const reader = new ResponseReader({ feed, from: 0 }, pacing);
  const left: string[] = [];
  void (async () => {
    for (let text = await reader.next(); text !== null; text = await reader.next()) left.push(wordsIn(text));
  })();
  return lineOf(clock, (chunk) => output.log.append(chunk), left);
}

function overSocket(): Line {
  const clock = fakeClock();
  const { log } = outputOn(clock);
  const left: string[] = [];
  const writer = new SocketWriter({
    socket: {
      protocol: 'duologue.v1',
      bufferedAmount: 0,
      send: (data) => void left.push(wordsIn(String(data))),
      ping: () => undefined,
      pong: () => undefined,
      close: () => undefined,
    },
    window: new BatchTimer(clock, WINDOW),
    limits: DEFAULT_SOCKET_LIMITS,
    onTooSlow: () => undefined,
  });
  writer.follow(log, 0, []);
  return lineOf(clock, (chunk) => log.append(chunk), left);
}

function lineOf(
  clock: ReturnType<typeof fakeClock>,
  append: (chunk: Chunk | null) => void,
  left: string[],
): Line {
  return {
    left,
    async say(chunk) {
      append(chunk);
      await settled();
    },
    async pass(ms) {
      clock.pass(ms);
      await settled();
    },
  };
}

describe.each([
  ['SSE', overSse],
  ['BIDI', overSocket],
])('over %s', (_name, open) => {
  test('[S3] a word leaves at once when nothing left within the last window', async () => {
    const { say, pass, left } = open();
    for (const delta of ['one', 'two', 'three']) {
      await say(word(delta));
      expect(left.at(-1)).toBe(delta);
      await pass(WINDOW);
    }
    expect(left).toEqual(['one', 'two', 'three']);
  });

  test('[S3] words that come within the window leave together at its end', async () => {
    const { say, pass, left } = open();
    for (const delta of ['one', 'two', 'three']) await say(word(delta));
    expect(left).toEqual(['one']);
    await pass(WINDOW - 1);
    expect(left).toEqual(['one']);
    await pass(1);
    expect(left).toEqual(['one', 'two three']);
  });

  test('[S3] no word waits longer than the window, however many come', async () => {
    const { say, pass, left } = open();
    for (let ms = 0; ms < 5 * WINDOW; ms++) {
      await say(word(String(ms)));
      await pass(1);
      const newest = Number(left.at(-1)?.split(' ').at(-1));
      expect(ms - newest).toBeLessThan(WINDOW);
    }
    expect(left.length).toBeLessThanOrEqual(6);
    expect(left.join(' ').split(' ').map(Number)).toEqual(
      left
        .join(' ')
        .split(' ')
        .map((_, index) => index),
    );
  });

  test.each(urgent)('[S3b] %s never waits, and takes along the words before it', async (_what, chunk) => {
    const { say, left } = open();
    for (const delta of ['one', 'two']) await say(word(delta));
    await say(chunk);
    expect(left).toEqual(['one', `two ${chunk.type}`]);
  });

  test('[S3] chunks that are said in one go leave in one piece', async () => {
    const { say, left } = open();
    void say({ type: 'tool-input-start', toolCallId: 'c', toolName: 't' });
    void say({ type: 'tool-input-available', toolCallId: 'c', toolName: 't', input: {} });
    await say({ type: 'tool-approval-request', toolCallId: 'c', approvalId: 'a' });
    expect(left).toEqual(['tool-input-start tool-input-available tool-approval-request']);
  });

  test('[S3b] the end never waits', async () => {
    const { say, left } = open();
    for (const delta of ['one', 'two']) await say(word(delta));
    await say(null);
    expect(left).toEqual(['one', 'two DONE']);
  });

  test('[S3] a window that has nothing left to send does not let the next word pass early', async () => {
    const { say, pass, left } = open();
    for (const delta of ['one', 'two']) await say(word(delta));
    await pass(WINDOW - 1);
    await say({ type: 'tool-input-start', toolCallId: 'c', toolName: 't' });
    await pass(1);
    await say(word('three'));
    expect(left).toEqual(['one', 'two tool-input-start']);
    await pass(WINDOW);
    expect(left).toEqual(['one', 'two tool-input-start', 'three']);
  });
});

test('[S3] all readers share one timer', async () => {
  const clock = fakeClock();
  let timers = 0;
  const counting = {
    now: () => clock.now(),
    elapsed: () => clock.elapsed(),
    after: (ms: number, call: () => void) => {
      timers++;
      return clock.after(ms, call);
    },
  };
  const window = new BatchTimer(counting, WINDOW);
  const woken: number[] = [];
  for (const reader of [1, 2, 3]) window.wake(() => woken.push(reader));
  expect(timers).toBe(1);
  clock.pass(WINDOW);
  expect(woken).toEqual([1, 2, 3]);
});

test('drafts of sessions that begin together are written one after the other, and wait a second at most', async () => {
  const clock = fakeClock();
  const pace = new DraftPace(clock);
  await pace.spend(async () => clock.pass(1));
  clock.pass(1000);
  expect(Array.from({ length: 4 }, () => pace.book({ isFirst: true }))).toEqual([0, 200, 400, 600]);
  const later = Array.from({ length: 100 }, () => pace.book({ isFirst: true }));
  expect(Math.max(...later)).toBe(1000);
  clock.pass(2000);
  expect([pace.book({ isFirst: true }), pace.book({ isFirst: false })]).toEqual([0, 200]);
});

describe('drafts of what a log keeps that outlives the process', () => {
  async function spoken() {
    const clock = fakeClock();
    const store = createMemoryStore();
    await store.createSession({ app: 'a', user: 'u', id: 's' }, {});
    let keeps = true;
    const output = outputOn(clock, store, () => keeps);
    let drafts = 0;
    let mayWrite = Promise.resolve();
    const put = store.putMessage.bind(store);
    store.putMessage = async (...args) => {
      drafts++;
      await mayWrite;
      return put(...args);
    };
    /** From now on no write of a message ends, until the function that it returns is called. */
    const hold = () => {
      const { open, opened } = latch();
      mayWrite = opened;
      return open;
    };
    output.begin({ id: 'm', role: 'assistant', metadata: { createdAt: 1 }, parts: [] }, true);
    /** Drafts within a time in which something is said ten times a second. */
    const during = async (seconds: number) => {
      const before = drafts;
      for (let index = 0; index < seconds * 10; index++) {
        output.say(word('a '));
        clock.pass(100);
        await settled();
      }
      return drafts - before;
    };
    output.say({ type: 'text-start', id: '0' });
    const lose = () => {
      keeps = false;
    };
    const messages = async () =>
      (await store.loadMessages({ app: 'a', user: 'u', id: 's' })).map(({ id }) => id);
    const begin = (id: string) => {
      output.begin({ id, role: 'assistant', metadata: { createdAt: 1 }, parts: [] }, true);
      output.say({ type: 'text-start', id: '0' });
    };
    return { output, during, lose, messages, hold, begin, count: () => drafts };
  }

  test('are rare while nothing but words is said', async () => {
    const { during } = await spoken();
    expect([await during(1), await during(10), await during(30)]).toEqual([0, 0, 3]);
  });

  test('come soon for what is no words, and are rare again behind it', async () => {
    const { output, during } = await spoken();
    await during(1);
    await output.placed();
    output.say({ type: 'text-end', id: '0' });
    output.say({ type: 'file', mediaType: 'image/png', url: '/sessions/s/files/1' });
    output.say({ type: 'text-start', id: '0' });
    expect([await during(1), await during(9)]).toEqual([1, 0]);
  });

  test('come at once for what is no words, when nothing of the message is stored', async () => {
    const { output, during, messages } = await spoken();
    await during(1);
    output.say({ type: 'text-end', id: '0' });
    await settled();
    expect(await messages()).toEqual([]);
    output.say({ type: 'file', mediaType: 'image/png', url: '/sessions/s/files/1' });
    await settled();
    expect(await messages()).toEqual(['m']);
  });

  test('come before the next message, so that the store has the messages in the order of the log', async () => {
    const { output, during, messages } = await spoken();
    await during(1);
    expect(await messages()).toEqual([]);
    const placed = output.placed();
    await placed;
    expect(await messages()).toEqual(['m']);
    output.begin({ id: 'n', role: 'assistant', metadata: { createdAt: 1 }, parts: [] }, true);
    output.say({ type: 'text-start', id: '0' });
    await during(1);
    output.begin({ id: 'o', role: 'assistant', metadata: { createdAt: 1 }, parts: [] }, true);
    await output.save('o');
    expect(await messages()).toEqual(['m', 'n', 'o']);
  });

  test('come in the order of the log also while the store still writes the draft of an earlier message', async () => {
    const { output, messages, hold, begin } = await spoken();
    const release = hold();
    output.placed();
    begin('n');
    begin('o');
    const saved = output.save('o');
    release();
    await saved;
    await output.save('n');
    expect(await messages()).toEqual(['m', 'n', 'o']);
  });

  test('wait for the draft before only once, however much is added while the store is slow', async () => {
    const { output, messages, hold, begin, count } = await spoken();
    const release = hold();
    output.say(word('a '));
    output.placed();
    output.say(word('a '));
    output.placed();
    begin('n');
    const placed = Array.from({ length: 20 }, () => {
      output.say(word('a '));
      return output.placed();
    });
    release();
    await Promise.all(placed);
    expect([await messages(), count()]).toEqual([['m', 'n'], 2]);
  });

  test('come as ever when the log has the message no longer', async () => {
    const { during, lose } = await spoken();
    lose();
    await during(13);
    expect(await during(2)).toBeGreaterThan(10);
  });
});
