import { describe, expect, test } from 'vitest';
import { ChunkDecoder } from '../../src/client/link/link.ts';
import { StreamPosition } from '../../src/client/link/position.ts';
import { type Chunk, DONE, encodeBlock } from '../../src/protocol/index.ts';

const session = (epoch: string, resumed: boolean): Chunk =>
  ({
    type: 'data-session',
    data: { sessionId: 's', connectionId: 'c', epoch, resumed, newest: `${epoch}-9` },
    transient: true,
  }) as Chunk;
const reset: Chunk = { type: 'data-reset', data: { messages: [] }, transient: true };
const word: Chunk = { type: 'text-delta', id: 't', delta: 'x' };

describe('the decoder of a link', () => {
  test('decodes blocks however they are cut, and ignores those that hold no chunk', () => {
    const text = `${encodeBlock(word, 'e1-1')}: comment\n\ndata: {}\n\ndata: {"type":1}\n\ndata: oops\n\ndata: null\n\n${DONE}${encodeBlock(word)}`;
    const decoded = [
      { chunk: word, id: 'e1-1' },
      { chunk: null, id: undefined },
      { chunk: word, id: undefined },
    ];
    for (const size of [1, 7, text.length]) {
      const decoder = new ChunkDecoder();
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
        text.slice(index * size, (index + 1) * size),
      );
      expect(pieces.flatMap((piece) => decoder.push(piece))).toEqual(decoded);
    }
  });
});

describe('where a connection continues', () => {
  test('is after the last chunk that it received', () => {
    const position = new StreamPosition();
    position.advance({ chunk: session('e1', false), id: 'e1-0' });
    expect(position.last).toBe('e1-0');
    position.advance({ chunk: word, id: 'e1-1' });
    position.advance({ chunk: word, id: undefined });
    expect(position.last).toBe('e1-1');
    position.advance({ chunk: session('e1', true), id: 'e1-1' });
    expect(position.last).toBe('e1-1');
  });

  test('[R5] is where it was, until it has the reset that it needs', () => {
    const position = new StreamPosition();
    position.advance({ chunk: session('e1', false), id: 'e1-4' });
    position.advance({ chunk: session('e2', false), id: 'e2-9' });
    // A link that breaks here has shown the page nothing of what it missed.
    expect(position.last).toBe('e1-4');
    position.advance({ chunk: session('e2', false), id: 'e2-9' });
    position.advance({ chunk: reset, id: undefined });
    expect(position.last).toBe('e2-9');
  });

  test('chunks that were sent before the connection started are marked, unless it continues where it was', () => {
    const replays = (resumed: boolean) => {
      const position = new StreamPosition();
      position.advance({ chunk: session('e1', resumed), id: undefined });
      return ['e1-9', 'e1-10'].map((id) => position.advance({ chunk: word, id }));
    };
    const event = { type: 'chunk', chunk: word };
    expect([replays(false), replays(true)]).toEqual([
      [{ ...event, isReplay: true }, event],
      [event, event],
    ]);
  });

  test('it has caught up when the newest chunk of the session info came, or the end of the turn at its place', () => {
    const position = new StreamPosition();
    const seen = [position.isCaughtUp];
    position.advance({ chunk: session('e1', false), id: 'e1-0' });
    seen.push(position.isCaughtUp);
    position.advance({ chunk: word, id: 'e1-8' });
    seen.push(position.isCaughtUp);
    expect(position.advance({ chunk: null, id: undefined })).toEqual({ type: 'done' });
    seen.push(position.isCaughtUp);
    expect(seen).toEqual([true, false, false, true]);
  });
});
