import { describe, expect, test } from 'vitest';
import type { Connection, OutgoingFrame } from '../../../src/client/link/index.ts';
import { UserSpeech } from '../../../src/client/voice/user-speech.ts';
import type { DetectSpeech } from '../../../src/protocol/speech-detector.ts';

/** A user before a microphone, and what the server gets of it: `start`, `stop`, and sound by its first sample. */
function person(options: { detect?: DetectSpeech } = {}) {
  const sent: (string | number)[] = [];
  const connection = {
    state: { status: 'live' },
    send(frame: OutgoingFrame | Uint8Array<ArrayBuffer>) {
      const isSound = frame instanceof Uint8Array;
      sent.push(
        isSound ? new DataView(frame.buffer).getInt16(8, true) : String(Object.values(frame.data)[0]),
      );
      return true;
    },
  } as unknown as Connection;
  const reported: (boolean | 'heard')[] = [];
  const speech = new UserSpeech(
    options,
    (isSpeech) => reported.push(isSpeech),
    () => reported.push('heard'),
  );
  speech.connect(connection);
  /** Pieces of 20 ms with these numbers. */
  const push = (from: number, to: number) => {
    for (let value = from; value <= to; value++) speech.push(Int16Array.of(value, 0));
  };
  return { speech, sent, reported, push };
}
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe('what the person says aloud', () => {
  test('[B29] goes along with half a second from before its beginning was noticed', () => {
    const { speech, sent, push } = person();
    push(1, 40);
    speech.start(false);
    push(41, 42);
    speech.end();
    push(43, 50);
    expect(sent).toEqual(['start', ...numbers(16, 42), 'stop']);
  });

  test('[B29] leaves after 300 ms while something is held, and a word that is shorter leaves when that is let go', () => {
    const { speech, sent, reported, push } = person();
    speech.start(true);
    push(1, 14);
    expect([sent, speech.isTalking, speech.isSending]).toEqual([[], true, false]);
    push(15, 16);
    expect([sent, reported, speech.isSending]).toEqual([['start', ...numbers(1, 16)], ['heard'], true]);
    speech.end();
    speech.start(true);
    push(17, 18);
    speech.end();
    expect(sent.slice(17)).toEqual(['stop', 'start', 17, 18, 'stop']);
  });

  test('[B29] is nothing when it was a tap; what was heard during it belongs to what is said next', () => {
    const { speech, sent, reported, push } = person();
    speech.start(true);
    push(1, 3);
    speech.cancel();
    push(4, 5);
    expect([sent, reported, speech.isTalking]).toEqual([[], [], false]);
    speech.start(false);
    speech.end();
    expect(sent).toEqual(['start', ...numbers(1, 5), 'stop']);
  });

  test('is found by another detector only once whoever speaks was heard out', () => {
    const made: string[] = [];
    const detector = (name: string): DetectSpeech => {
      return () => {
        made.push(name);
        return { push: () => undefined, close: () => made.push(`${name} closed`) };
      };
    };
    const { speech } = person({ detect: detector('first') });
    speech.startDetector();
    speech.start(false);
    speech.detectWith(detector('second'));
    expect(made).toEqual(['first']);
    speech.end();
    speech.close();
    expect(made).toEqual(['first', 'first closed', 'second', 'second closed']);
  });
});
