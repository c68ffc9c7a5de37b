import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { joinDeltas, ResponseStream } from '../../src/client/responses/response-stream.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import { FakeTimers } from './support/time.ts';

const delta = (text: string, id = 't'): Chunk => ({ type: 'text-delta', id, delta: text });
const thought = (text: string): Chunk => ({ type: 'reasoning-delta', id: 't', delta: text });

describe('merging', () => {
  test('only deltas of one block that stand next to each other are joined', () => {
    const marked: Chunk = { ...delta('m'), providerMetadata: { x: {} } } as Chunk;
    const chunks = [delta('a'), delta('b'), delta('c', 'u'), thought('d'), thought('e'), marked, delta('f')];
    const joined: Chunk[] = [];
    for (const chunk of chunks)
      joined.push(joinDeltas(joined.at(-1), chunk) ? (joinDeltas(joined.pop(), chunk) ?? chunk) : chunk);
    expect(joined).toEqual([delta('ab'), delta('c', 'u'), thought('de'), marked, delta('f')]);
  });

  test('changes no text, whatever is joined', async () => {
    const chunk = fc.oneof(
      fc.record({ text: fc.string(), id: fc.constantFrom('a', 'b') }).map(({ text, id }) => delta(text, id)),
      fc.constant<Chunk>({ type: 'start-step' }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(chunk, fc.nat(20))), async (steps) => {
        const timers = new FakeTimers();
        const stream = new ResponseStream(timers, 16, () => undefined);
        for (const [one, ms] of steps) {
          stream.write(one);
          timers.advance(ms);
        }
        stream.end();
        const read: Chunk[] = [];
        for await (const one of stream.readable as unknown as AsyncIterable<Chunk>) read.push(one);
        expect(spell(read)).toBe(spell(steps.map(([one]) => one)));
        expect(read.length).toBeLessThanOrEqual(steps.length);
      }),
    );
  });

  const spell = (chunks: Chunk[]) =>
    chunks
      .flatMap((chunk) => (chunk.type === 'text-delta' ? [...chunk.delta].map((c) => chunk.id + c) : ['|']))
      .join();
});

describe('a response stream', () => {
  async function reader(stream: ResponseStream): Promise<Chunk[]> {
    const read: Chunk[] = [];
    void (async () => {
      for await (const chunk of stream.readable as unknown as AsyncIterable<Chunk>) read.push(chunk);
    })().catch((error: Error) => read.push({ type: 'error', errorText: error.message }));
    return read;
  }

  test('ends once it was read: when its reader asks for more, or leaves', async () => {
    const stream = new ResponseStream(new FakeTimers(), 16, () => undefined);
    const left = new ResponseStream(new FakeTimers(), 16, () => undefined);
    const texts: string[] = [];
    const slow = stream.readable.getReader();
    stream.write(delta('One '));
    left.write(delta('One '));
    stream.whenFinished(() => texts.push('read'));
    left.whenFinished(() => texts.push('left'));
    stream.end();
    left.end();
    expect([await slow.read(), texts]).toEqual([{ value: delta('One '), done: false }, []]);
    expect([await slow.read(), texts]).toEqual([{ value: undefined, done: true }, ['read']]);
    await left.readable.cancel();
    expect(texts).toEqual(['read', 'left']);
  });

  test('gives a long text less often, and never loses a word of it', async () => {
    const timers = new FakeTimers();
    const stream = new ResponseStream(timers, 16, () => undefined);
    const read = await reader(stream);
    const words = 'x'.repeat(100);
    const counts: number[] = [];
    for (let time = 0; time < 120; time++) {
      stream.write(delta(words));
      await timers.settle(16);
      counts.push(read.length);
    }
    stream.end();
    await timers.settle(0);
    // The last windows are four times as long as the first.
    expect(counts.slice(0, 4)).toEqual([1, 2, 3, 4]);
    expect((counts.at(-1) ?? 0) - (counts.at(-9) ?? 0)).toBe(2);
    expect(textOf(read)).toBe(words.repeat(120));
  });

  test('gives a flood in larger pieces, until it is over', async () => {
    const timers = new FakeTimers();
    const stream = new ResponseStream(timers, 16, () => undefined);
    const read = await reader(stream);
    const counts: number[] = [];
    for (let time = 0; time < 33; time++) {
      stream.write(delta(time < 16 ? 'x'.repeat(150) : 'y'));
      await timers.settle(8);
      counts.push(read.length);
    }
    stream.end();
    await timers.settle(0);
    expect(counts).toEqual([...[1, 2, 2], ...Array(12).fill(3), ...Array(12).fill(4), ...[5, 5, 6, 6, 7, 7]]);
    expect(textOf(read)).toBe('x'.repeat(2_400) + 'y'.repeat(17));
  });

  const textOf = (chunks: Chunk[]) =>
    chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');

  test('gives the first delta at once and the others once a window', async () => {
    const timers = new FakeTimers();
    const stream = new ResponseStream(timers, 16, () => undefined);
    const read = await reader(stream);
    for (const word of ['a', 'b', 'c']) stream.write(delta(word));
    await timers.settle(0);
    expect(read).toEqual([delta('a')]);
    await timers.settle(16);
    expect(read).toEqual([delta('a'), delta('bc')]);
    stream.write(delta('d'));
    await timers.settle(15);
    expect(read).toHaveLength(2);
    await timers.settle(1);
    expect(read.at(-1)).toEqual(delta('d'));
    await timers.settle(16);
    expect(timers.pending).toBe(0);
    stream.write(delta('e'));
    await timers.settle(0);
    expect(read.at(-1)).toEqual(delta('e'));
  });

  test('gives anything else at once, and never out of order', async () => {
    const timers = new FakeTimers();
    const stream = new ResponseStream(timers, 16, () => undefined);
    const read = await reader(stream);
    const end: Chunk = { type: 'text-end', id: 't' };
    for (const chunk of [delta('a'), delta('b'), end]) stream.write(chunk);
    await timers.settle(0);
    expect(read).toEqual([delta('a'), delta('b'), end]);
  });

  test('gives what it holds before it ends or fails', async () => {
    const timers = new FakeTimers();
    const ended = new ResponseStream(timers, 16, () => undefined);
    const first = await reader(ended);
    ended.write(delta('a'));
    ended.write(delta('b'));
    ended.end();
    ended.end();
    const failed = new ResponseStream(timers, 16, () => undefined);
    const second = await reader(failed);
    failed.write(delta('a'));
    failed.write(delta('b'));
    failed.fail(new Error('lost'));
    await timers.settle(0);
    const read = [
      [delta('a'), delta('b')],
      [delta('a'), delta('b'), { type: 'error', errorText: 'lost' }],
    ];
    expect([[first, second], timers.pending]).toEqual([read, 0]);
    for (const stream of [ended, failed]) stream.write(delta('c'));
    await timers.settle(100);
    expect([first, second]).toEqual(read);
  });

  test('tells when its reader goes away, and takes nothing more', async () => {
    const timers = new FakeTimers();
    let cancels = 0;
    const stream = new ResponseStream(timers, 16, () => cancels++);
    stream.write(delta('a'));
    await stream.readable.cancel();
    stream.write(delta('b'));
    stream.end();
    expect([cancels, timers.pending <= 1]).toEqual([1, true]);
  });
});
