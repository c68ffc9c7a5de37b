import { describe, expect, test } from 'vitest';
import { Incoming } from '../../src/client/incoming.ts';
import { type Chunk, encodeBlock } from '../../src/protocol/index.ts';

const session = (epoch: string, resumed: boolean): Chunk =>
  ({
    type: 'data-session',
    data: { sessionId: 's', connectionId: 'c', epoch, resumed, newest: `${epoch}-9` },
    transient: true,
  }) as Chunk;
const reset: Chunk = { type: 'data-reset', data: { messages: [] }, transient: true };
const word: Chunk = { type: 'text-delta', id: 't', delta: 'x' };

describe('where a connection goes on', () => {
  test('is behind the last chunk that it saw', () => {
    const incoming = new Incoming();
    incoming.push(encodeBlock(session('e1', false), 'e1-0'));
    expect(incoming.last).toBe('e1-0');
    incoming.push(encodeBlock(word, 'e1-1') + encodeBlock(word));
    expect(incoming.last).toBe('e1-1');
    incoming.begin();
    incoming.push(encodeBlock(session('e1', true), 'e1-1'));
    expect(incoming.last).toBe('e1-1');
  });

  test('[R5] is where it was, until it has the reset that it needs', () => {
    const incoming = new Incoming();
    incoming.push(encodeBlock(session('e1', false), 'e1-4'));
    incoming.begin();
    incoming.push(encodeBlock(session('e2', false), 'e2-9'));
    // A socket that breaks here has shown the page nothing of what it missed.
    expect(incoming.last).toBe('e1-4');
    incoming.begin();
    incoming.push(encodeBlock(session('e2', false), 'e2-9') + encodeBlock(reset));
    expect(incoming.last).toBe('e2-9');
  });

  test('what was said before the connection began is marked, unless it goes on where it was', () => {
    const replays = (resumed: boolean) => {
      const incoming = new Incoming();
      const frame =
        encodeBlock(session('e1', resumed)) + encodeBlock(word, 'e1-9') + encodeBlock(word, 'e1-10');
      return incoming.push(frame).flatMap((event) => (event.type === 'chunk' ? [event.isReplay] : []));
    };
    expect([replays(false), replays(true)]).toEqual([
      [true, undefined],
      [undefined, undefined],
    ]);
  });
});
