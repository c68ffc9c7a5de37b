import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../src/protocol/index.ts';
import { ChunkLog, MemoryLogs } from '../../src/server/log/log.ts';
import { BatchTimer } from '../../src/server/output/pace.ts';
import { Utterances } from '../../src/server/output/utterances.ts';
import { DEFAULT_SOCKET_LIMITS } from '../../src/server/socket/socket.ts';
import { SocketWriter } from '../../src/server/socket/socket-writer.ts';
import { fakeClock } from './support/clock.ts';

const word = (delta: string): Chunk => ({ type: 'text-delta', id: '0', delta });

/** A lease that a test ends and renews. */
function leaseOf() {
  const callbacks = new Set<() => void>();
  return {
    isSure: true,
    onSure(callback: () => void) {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    set(isSure: boolean) {
      this.isSure = isSure;
      if (isSure) for (const callback of callbacks) callback();
    },
    get followers() {
      return callbacks.size;
    },
  };
}

describe('what may be told of a log', () => {
  test('alone, everything at once: the log itself is read', async () => {
    const { chunks, shown, released } = await new MemoryLogs(randomUUID, null).open();
    expect(shown).toBe(chunks);
    chunks.append(word('a'));
    expect(released()).toBeUndefined();
  });

  test('what is said while the lease may have ended is told when it is renewed, once', async () => {
    const lease = leaseOf();
    const { chunks, shown, close } = await new MemoryLogs(randomUUID, lease).open();
    const seen: number[] = [];
    const leave = shown.subscribe(() => seen.push(shown.last));
    chunks.append(word('a'));
    lease.set(false);
    chunks.append(word('b'));
    chunks.append(word('c'));
    expect([shown.last, shown.at(2), shown.at(1)?.chunk]).toEqual([1, undefined, word('a')]);
    lease.set(true);
    expect([shown.last, shown.at(3)?.chunk]).toEqual([3, word('c')]);
    expect(seen).toEqual([1, 3]);
    expect([shown.readers, lease.followers]).toEqual([1, 1]);
    leave();
    close();
    expect([shown.readers, lease.followers]).toEqual([0, 0]);
  });
});

describe.each(['duologue.v2', ''])('sound over a socket of protocol "%s"', (protocol) => {
  /** A user to whom the agent speaks, from a process whose lease a test ends and renews. */
  async function spokenTo() {
    const lease = leaseOf();
    const clock = fakeClock();
    const sent: string[] = [];
    const writer = new SocketWriter({
      socket: {
        protocol,
        bufferedAmount: 0,
        send: (data) => void sent.push(typeof data === 'string' ? data : `sound ${data.at(-1)}`),
        ping: () => undefined,
        pong: () => undefined,
        close: () => undefined,
      },
      window: new BatchTimer(clock, 12),
      limits: DEFAULT_SOCKET_LIMITS,
      onTooSlow: () => undefined,
    });
    const { shown } = await new MemoryLogs(randomUUID, lease).open();
    writer.follow(shown, 0, []);
    const utterances = new Utterances();
    const play = (value: number) =>
      writer.play(utterances.add('m1', 1000, Buffer.from([0, value]).toString('base64')));
    /** The last byte of each piece that came. */
    const heard = () =>
      sent.flatMap((text) => {
        const [, base64] = /"chunk":"([^"]*)"/.exec(text) ?? [];
        if (base64) return [Buffer.from(base64, 'base64').at(-1)];
        return text.startsWith('sound ') ? [Number(text.slice('sound '.length))] : [];
      });
    const pass = async (ms: number) => {
      clock.pass(ms);
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { lease, writer, play, heard, pass };
  }

  test('is held back while the lease may have ended, and comes when it is renewed', async () => {
    const { lease, play, heard, pass } = await spokenTo();
    play(1);
    lease.set(false);
    play(2);
    play(3);
    await pass(1000);
    expect(heard()).toEqual([1]);
    lease.set(true);
    await pass(12);
    expect(heard()).toEqual([1, 2, 3]);
  });

  test('never comes when the session was lost meanwhile', async () => {
    const { lease, writer, play, heard, pass } = await spokenTo();
    play(1);
    lease.set(false);
    play(2);
    writer.close();
    lease.set(true);
    await pass(1000);
    expect(heard()).toEqual([1]);
  });
});

test('[R4] the log is bounded in size: long data of a tool counts, and the oldest chunks are discarded', () => {
  const log = new ChunkLog('e');
  const row = 'x'.repeat(32_000);
  // Data of the application have names of its own.
  const chunk = { type: 'data-rows', data: { row } } as unknown as Chunk;
  for (let n = 0; n < 1_000; n++) log.append(chunk);
  const left = log.last - log.first + 1;
  expect(left * row.length).toBeLessThan(16 * 1024 * 1024);
  expect(left).toBeGreaterThan(100);
});
