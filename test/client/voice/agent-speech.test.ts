import { describe, expect, test } from 'vitest';
import type { Heard, Sound } from '../../../src/client/audio/player.ts';
import type { ConnectionEvent } from '../../../src/client/link/index.ts';
import { AgentSpeech } from '../../../src/client/voice/agent-speech.ts';
import { BINARY, type Chunk, type SessionInfo } from '../../../src/protocol/index.ts';

/** A loudspeaker that records its calls. */
function loudspeaker() {
  const reported: unknown[] = [];
  const player = {
    isPlaying: false,
    heard: null as Heard | null,
    play({ n, at, sampleRate, pcm }: Sound) {
      reported.push({ n, at, sampleRate, length: pcm.length });
    },
    end: (n: number) => void reported.push({ end: n }),
    interrupt() {
      reported.push('interrupt');
      player.isPlaying = false;
      return player.heard;
    },
  };
  return { player, reported, speech: new AgentSpeech(player) };
}

const session = (epoch: string) => ({ type: 'session', session: { epoch } as SessionInfo }) as const;
const chunk = (texts: Chunk): ConnectionEvent => ({ type: 'chunk', chunk: texts });
const start = (messageId: string) => chunk({ type: 'start', messageId });
const finish = (interrupted?: true) =>
  chunk({ type: 'finish', messageMetadata: interrupted ? { interrupted } : {} });
const announce = (n: number, messageId: string, at = 0) =>
  chunk({ type: 'data-sound', data: { n, messageId, sampleRate: 24_000, at }, transient: true });
const sound = (utterance: number, samples: number): ConnectionEvent => ({
  type: 'binary',
  frame: { kind: BINARY.audioDown, sampleRate: 24_000, utterance, payload: new Uint8Array(samples * 2) },
});

describe('what the agent says aloud', () => {
  test('[B27] is played at its place, and a new socket is told how much is here', () => {
    const { speech, reported } = loudspeaker();
    expect(speech.position).toBeNull();
    for (const event of [session('e'), start('m'), announce(3, 'm'), sound(3, 100), sound(3, 50)])
      speech.receive(event);
    expect(speech.position).toBe('3-150');
    // Sound was left out in between.
    for (const event of [announce(3, 'm', 400), sound(3, 10), finish()]) speech.receive(event);
    expect(reported).toEqual([
      { n: 3, at: 0, sampleRate: 24_000, length: 100 },
      { n: 3, at: 100, sampleRate: 24_000, length: 50 },
      { n: 3, at: 400, sampleRate: 24_000, length: 10 },
      { end: 3 },
    ]);
    expect(speech.position).toBe('3-410');
  });

  test('[B27] of another epoch is another utterance, although it has the same number', () => {
    const { speech, reported } = loudspeaker();
    for (const event of [session('e'), start('m'), announce(1, 'm'), sound(1, 8)]) speech.receive(event);
    for (const event of [session('f'), start('k'), announce(1, 'k'), sound(1, 8)]) speech.receive(event);
    expect(reported).toEqual([
      { n: 1, at: 0, sampleRate: 24_000, length: 8 },
      { n: 2 ** 24 + 1, at: 0, sampleRate: 24_000, length: 8 },
    ]);
  });

  test('[B9] is played without the subprotocol, too', () => {
    const { speech, reported } = loudspeaker();
    const pcm = (messageId: string) =>
      chunk({
        type: 'data-pcm',
        data: { chunk: btoa('\0'.repeat(20)), sampleRate: 24_000, channels: 1, bitDepth: 16, messageId },
        transient: true,
      });
    for (const event of [session('e'), pcm('m'), pcm('m'), pcm('k')]) speech.receive(event);
    expect(reported).toEqual([
      { n: 1, at: 0, sampleRate: 24_000, length: 10 },
      { n: 1, at: 10, sampleRate: 24_000, length: 10 },
      { end: 1 },
      { n: 2, at: 0, sampleRate: 24_000, length: 10 },
    ]);
  });

  test('[B28] falls silent at once, and says how much of it was heard', () => {
    const { speech, player } = loudspeaker();
    expect(speech.silence()).toEqual([]);
    for (const event of [session('e'), start('m'), announce(1, 'm'), sound(1, 9000)]) speech.receive(event);
    // Nothing has left the loudspeaker yet.
    expect(speech.silence()).toEqual([{ messageId: 'm', playedMs: 0 }]);
    expect(speech.silence()).toEqual([]);
    for (const event of [start('k'), announce(2, 'k'), sound(2, 9000), finish()]) speech.receive(event);
    Object.assign(player, { isPlaying: true, heard: { n: 2, ms: 120.4 } });
    expect(speech.silence()).toEqual([{ messageId: 'k', playedMs: 120 }]);
  });

  test('[B28] of two messages, the one that is still playing and the one behind it, is told of both', () => {
    const { speech, player } = loudspeaker();
    for (const event of [session('e'), start('m'), announce(1, 'm'), sound(1, 9000), finish()])
      speech.receive(event);
    for (const event of [start('k'), announce(2, 'k'), sound(2, 9000)]) speech.receive(event);
    Object.assign(player, { isPlaying: true, heard: { n: 1, ms: 200 } });
    expect(speech.silence()).toEqual([
      { messageId: 'm', playedMs: 200 },
      { messageId: 'k', playedMs: 0 },
    ]);
  });

  test('says when the model stopped it by itself, and is not over before', () => {
    const { speech } = loudspeaker();
    for (const event of [session('e'), start('m'), announce(1, 'm'), sound(1, 9000)]) speech.receive(event);
    expect(speech.isSpeaking).toBe(true);
    // The end of another message is none of its own.
    expect([start('k'), finish(true)].map((event) => speech.receive(event))).toEqual([false, false]);
    expect([start('m'), finish(true)].map((event) => speech.receive(event))).toEqual([false, true]);
    expect(speech.silence()).toEqual([{ messageId: 'm', playedMs: 0 }]);
    expect(speech.isSpeaking).toBe(false);
  });
});
