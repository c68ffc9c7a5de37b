import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Chunk } from '../../src/protocol/index.ts';
import { systemClock } from '../../src/server/clock.ts';
import type { Addition, Hub } from '../../src/server/log/hub.ts';
import type { SessionLog } from '../../src/server/log/log.ts';
import { ReplicatedLogs } from '../../src/server/log/replicated-logs.ts';
import { type OwnedKey, type SessionKey, StaleFence } from '../../src/server/store/store.ts';

/** One kind of hub, for the tests that each passes. */
export interface HubSubject {
  name: string;
  /** A hub of one node; all that are opened share what they keep. */
  open: () => Promise<Hub>;
  /** Makes the log of a session vanish. */
  lose: (key: SessionKey) => Promise<void>;
}

const word = (delta: string): Chunk => ({ type: 'text-delta', id: '0', delta });
const quiet = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  debug: () => undefined,
};

/** What every hub does. */
export function hubContract({ name, open, lose }: HubSubject): void {
  describe(`a hub: ${name}`, () => {
    let hub: Hub;
    let session: SessionKey;

    beforeEach(async () => {
      hub = await open();
      session = { app: 'app', user: 'a user: 日本', id: randomUUID() };
      return () => hub.close();
    });

    const owner = (fence: number): OwnedKey => ({ ...session, fence });
    const adding = (fence: number, last: number, chunks: unknown[], more: Partial<Addition> = {}) => ({
      key: owner(fence),
      epoch: 'first',
      last,
      text: JSON.stringify(chunks),
      isWhole: false,
      oldest: null,
      ...more,
    });
    /** The logs of a node. */
    const logsOf = (of: Hub, lost: OwnedKey[] = []) =>
      new ReplicatedLogs({
        hub: of,
        clock: systemClock,
        logger: quiet,
        newId: randomUUID,
        lease: null,
        isOwner: async () => true,
        onLost: (key) => lost.push(key),
      });
    const say = async (log: SessionLog, ...chunks: (Chunk | null)[]) => {
      for (const chunk of chunks) log.chunks.append(chunk);
      await log.released();
    };
    const wordsFrom = (log: SessionLog, seq: number) => {
      const words: string[] = [];
      for (let entry = log.shown.at(seq); entry; entry = log.shown.at(entry.seq + 1)) {
        words.push(entry.chunk?.type === 'text-delta' ? entry.chunk.delta : '');
      }
      return words;
    };

    test('what an owner keeps, the next one takes up under the same name', async () => {
      expect(await hub.take(owner(1), 'first')).toEqual({ epoch: 'first', windows: [] });
      expect(await hub.append([adding(1, 2, ['a', 'b']), adding(1, 3, ['c'])])).toEqual(['kept', 'kept']);
      expect(await hub.take(owner(5), 'second')).toEqual({
        epoch: 'first',
        windows: [
          { fence: 1, last: 2, text: '["a","b"]' },
          { fence: 1, last: 3, text: '["c"]' },
        ],
      });
      expect(await hub.append([adding(5, 4, ['d'])])).toEqual(['kept']);
      expect((await hub.take(owner(6), 'third')).windows.map(({ fence, last }) => [fence, last])).toEqual([
        [1, 2],
        [1, 3],
        [5, 4],
      ]);
    });

    test('once a log is taken up, an earlier owner adds nothing to it', async () => {
      await hub.take(owner(1), 'first');
      await hub.append([adding(1, 1, ['a'])]);
      const taken = await hub.take(owner(2), 'second');
      expect(await hub.append([adding(1, 2, ['late'])])).toEqual(['refused']);
      expect(await hub.append([adding(1, 2, ['late'], { isWhole: true })])).toEqual(['refused']);
      await expect(hub.take(owner(1), 'again')).rejects.toThrow(StaleFence);
      expect(await hub.take(owner(2), 'again')).toEqual(taken);
    });

    test('what is added again because the answer was lost is kept once', async () => {
      await hub.take(owner(1), 'first');
      await hub.append([adding(1, 2, ['a', 'b'].map(word))]);
      expect(await hub.append([adding(1, 2, ['a', 'b'].map(word))])).toEqual(['kept']);
      expect((await hub.take(owner(1), 'first')).windows).toHaveLength(1);
      // A longer one than the one that was lost: a chunk in both counts once.
      await hub.append([adding(1, 4, ['b', 'c', 'd'].map(word))]);
      const { shown } = await logsOf(hub).open(owner(2));
      expect([shown.first, shown.last]).toEqual([1, 4]);
    });

    test('a log that is gone is not begun by adding to it, but it can be written again', async () => {
      await hub.take(owner(3), 'first');
      await hub.append([adding(3, 2, ['a', 'b'])]);
      await lose(session);
      expect(await hub.append([adding(3, 3, ['c'])])).toEqual(['gone']);
      expect(await hub.append([adding(3, 3, ['a', 'b', 'c'], { isWhole: true })])).toEqual(['kept']);
      expect(await hub.append([adding(3, 4, ['d'])])).toEqual(['kept']);
      const { epoch, windows } = await hub.take(owner(4), 'second');
      expect([epoch, ...windows.map(({ text }) => text)]).toEqual(['first', '["a","b","c"]', '["d"]']);
    });

    test('a log that was lost is begun anew by the next owner, and not written again by the one before', async () => {
      await hub.take(owner(1), 'first');
      await lose(session);
      expect((await hub.take(owner(2), 'second')).epoch).toBe('second');
      expect(await hub.append([adding(1, 1, ['late'], { isWhole: true })])).toEqual(['refused']);
    });

    test('one call adds to many logs, each as it stands', async () => {
      const [gone, lost, whole] = [randomUUID(), randomUUID(), randomUUID()];
      const of = (id: string, fence: number): OwnedKey => ({ ...session, id, fence });
      await hub.take(owner(1), 'first');
      await hub.take(of(lost, 9), 'first');
      const results = await hub.append([
        adding(1, 1, ['a'], { key: of(gone, 1) }),
        adding(1, 1, ['a'], { key: of(lost, 1) }),
        adding(1, 1, ['a']),
        adding(1, 1, ['a'], { key: of(whole, 1), isWhole: true }),
      ]);
      expect(results).toEqual(['gone', 'refused', 'kept', 'kept']);
    });

    test('what was removed is gone', async () => {
      await hub.take(owner(1), 'first');
      await hub.remove(owner(1));
      expect(await hub.append([adding(1, 1, ['a'])])).toEqual(['gone']);
    });

    test('from every id a client gets every later chunk once, across owners', async () => {
      const one = logsOf(hub);
      const first = await one.open(owner(1));
      await say(first, word('a'), word('b'));
      await say(first, word('c'), null);
      const other = await open();
      const second = await logsOf(other).open(owner(2));
      await say(second, word('e'));
      await say(second, word('f\0\ud800😀'));
      const third = await logsOf(hub).open(owner(3));
      const texts = ['a', 'b', 'c', '', 'e', 'f\0\ud800😀'];
      expect(wordsFrom(third, 1)).toEqual(texts);
      const { epoch } = first.chunks;
      for (let seq = 0; seq <= 6; seq++) {
        const place = third.chunks.placeOf(`${epoch}-${seq}`);
        expect(place).toBe(seq);
        expect(wordsFrom(third, seq + 1)).toEqual(texts.slice(seq));
      }
      expect(third.chunks.placeOf(`${epoch}-7`)).toBeNull();
      await other.close();
    });

    test('what an owner says after it lost its session is told to nobody', async () => {
      const lost: OwnedKey[] = [];
      const first = await logsOf(hub, lost).open(owner(1));
      await say(first, word('a'));
      const second = await logsOf(hub).open(owner(2));
      await say(first, word('late'));
      expect(lost).toEqual([owner(1)]);
      expect(wordsFrom(first, 1)).toEqual(['a']);
      expect(wordsFrom(second, 1)).toEqual(['a']);
    });

    test('a log is bounded: its oldest windows go, and what is left has no gap', async () => {
      const logs = logsOf(hub);
      const log = await logs.open(owner(1));
      const long = 'x'.repeat(50_000);
      for (let count = 0; count < 60; count++) await say(log, word(long));
      const { windows } = await hub.take(owner(2), 'second');
      const kept = windows.reduce((sum, { text }) => sum + text.length, 0);
      expect(kept).toBeLessThan(1.2 * 1024 * 1024);
      expect(kept).toBeGreaterThan(0.8 * 1024 * 1024);
      const { shown, chunks } = await logsOf(hub).open(owner(2));
      expect(shown.last).toBe(60);
      expect(chunks.placeOf(`${chunks.epoch}-${shown.first - 1}`)).toBe(shown.first - 1);
      expect(chunks.placeOf(`${chunks.epoch}-${shown.first - 2}`)).toBeNull();
      expect([log.keeps(shown.first - 1), log.keeps(shown.first)]).toEqual([false, true]);
    });

    test('a chunk that is too long is not kept, nor what was said before it', async () => {
      const log = await logsOf(hub).open(owner(1));
      const picture: Chunk = { type: 'file', mediaType: 'image/png', url: `data:,${'x'.repeat(200_000)}` };
      await say(log, word('a'), picture, word('b'));
      const next = await logsOf(hub).open(owner(2));
      expect([next.shown.first, next.shown.last]).toEqual([3, 3]);
      expect(wordsFrom(next, 3)).toEqual(['b']);
      expect([log.keeps(2), log.keeps(3)]).toEqual([false, true]);
    });

    test('what cannot be read is begun anew', async () => {
      await hub.take(owner(1), 'first');
      await hub.append([{ ...adding(1, 1, []), text: 'no JSON' }]);
      const logs = logsOf(hub);
      const log = await logs.open(owner(2));
      expect(log.chunks.epoch).not.toBe('first');
      await say(log, word('a'));
      const { epoch, windows } = await hub.take(owner(3), 'third');
      expect(epoch).toBe(log.chunks.epoch);
      expect(windows.at(-1)?.last).toBe(1);
    });

    test('nodes share what a user may still spend, and what is given back', async () => {
      const other = await open();
      const spending = { limit: 'posts', user: session.id, burst: 3, perMinute: 0.001, count: 1 };
      const left = [await hub.spend(spending), await other.spend(spending), await hub.spend(spending)];
      expect(left.map(Math.floor)).toEqual([2, 1, 0]);
      expect(Math.floor(await other.spend(spending))).toBe(0);
      expect(Math.floor(await hub.spend({ ...spending, count: -1 }))).toBe(1);
      expect(Math.floor(await hub.spend({ ...spending, user: `another${session.id}` }))).toBe(2);
      await other.close();
    });

    test('nodes count the connections of a user together; those of a node that left count no more', async () => {
      const other = await open();
      const user = session.id;
      expect(await hub.connections(user, 2)).toBe(2);
      expect(await other.connections(user, 3)).toBe(5);
      expect(await hub.connections(user, 1)).toBe(4);
      await other.close();
      expect(await hub.connections(user, 1)).toBe(1);
    });
  });
}
