import { describe, expect, test } from 'vitest';
import type { Connection, OutgoingFrame } from '../../../src/client/link/index.ts';
import { SpeechSender } from '../../../src/client/voice/user-speech.ts';

/** The end of a wire that writes down what is sent: control by name, sound by its first sample. */
function wire() {
  const sent: unknown[] = [];
  const state = { status: 'live' };
  const connection = {
    state,
    send(frame: OutgoingFrame | Uint8Array<ArrayBuffer>) {
      if (frame instanceof Uint8Array) {
        const view = new DataView(frame.buffer);
        sent.push([view.getUint8(0), view.getUint32(4, true), view.getInt16(8, true)]);
        return true;
      }
      sent.push([frame.type, ...Object.values(frame.data)]);
      return true;
    },
  } as unknown as Connection;
  return { connection, sent, state };
}
const piece = (value: number) => Int16Array.of(value, 0);
const START = ['audio_control', 'start', 'client'];
const STOP = ['audio_control', 'stop'];
const sound = (value: number) => [1, 16_000, value];

describe('what the person says aloud', () => {
  test('[B4b] [B29] goes up between its two ends, and nothing does outside of them', () => {
    const { connection, sent } = wire();
    const speech = new SpeechSender(false);
    speech.connect(connection);
    speech.push(piece(1));
    speech.start();
    speech.push(piece(2));
    speech.push(piece(3));
    speech.end();
    speech.push(piece(4));
    expect(sent).toEqual([START, sound(2), sound(3), STOP]);
  });

  test('[B9] is text without the subprotocol', () => {
    const { connection, sent } = wire();
    const speech = new SpeechSender(true);
    speech.connect(connection);
    speech.start();
    speech.push(Int16Array.of(1, -1));
    expect(sent).toEqual([START, ['audio_chunk', btoa('\x01\x00\xff\xff'), 16_000, 1, 16]]);
  });

  test('waits while there is no connection, and goes on where it was when it is back', () => {
    const { connection, sent, state } = wire();
    const speech = new SpeechSender(false);
    speech.connect(connection);
    speech.start();
    speech.push(piece(1));
    state.status = 'reconnecting';
    speech.push(piece(2));
    speech.push(piece(3));
    state.status = 'live';
    speech.connect(connection);
    speech.push(piece(4));
    speech.end();
    expect(sent).toEqual([START, sound(1), START, sound(2), sound(3), sound(4), STOP]);
  });

  test('that ended while there was no connection is said when it is back, and half a minute of it at most', () => {
    const { connection, sent, state } = wire();
    const speech = new SpeechSender(false);
    state.status = 'offline';
    speech.connect(connection);
    speech.start();
    const second = (value: number) => new Int16Array(16_000).fill(value);
    for (let i = 1; i <= 40; i++) speech.push(second(i));
    speech.end();
    state.status = 'live';
    speech.connect(connection);
    expect(sent).toEqual([START, ...Array.from({ length: 30 }, (_, i) => sound(i + 11)), STOP]);
    speech.connect(connection);
    expect(sent).toHaveLength(32);
  });
});
