import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../src/protocol/index.ts';
import { MemoryLogs } from '../../src/server/logs.ts';

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
    const { chunks, shown, told } = await new MemoryLogs(randomUUID, null).open();
    expect(shown).toBe(chunks);
    chunks.append(word('a'));
    expect(told()).toBeUndefined();
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
