import { describe, expect, test } from 'vitest';
import { bestTranscript, sameWords } from '../../../demo/server/voice/best-transcript.ts';
import { cutToSpeech } from '../../../demo/server/voice/speech-cut.ts';
import { pinkNoise, silence } from '../../support/noises.ts';
import { type Clip, clips } from './support/clips.ts';
import { inARoom, speechOf } from './support/quiet.ts';

const MS = 16;
const margins = { beforeMs: 100, afterMs: 500 };
/** What the cut may keep beside the speech and its margins: the steps in which loudness is measured, and breath. */
const TOLERANCE_MS = 140;

const [clip] = clips() as [Clip];
const spokenMs = clip.toMs - clip.fromMs;

describe('quiet around speech is cut before the recogniser gets it', () => {
  const cases = [null, -50, -40].flatMap((room) =>
    [0, 300, 1000, 3000].flatMap((before) => [0, 300, 3000].map((after) => ({ room, before, after }))),
  );
  test.each(cases)('room $room dB, $before ms before, $after ms after', ({ room, before, after }) => {
    const cut = cutToSpeech(inARoom(speechOf(clip), { room, before, after }), margins);
    const kept = Math.min(before, margins.beforeMs) + spokenMs + Math.min(after, margins.afterMs);
    expect(Math.abs(cut.length / MS - kept)).toBeLessThan(TOLERANCE_MS);
  });

  test('a pause inside speech keeps 400 ms', () => {
    const speech = speechOf(clip);
    const pause = silence(2000);
    const both = Int16Array.from([...speech, ...pause, ...speech]);
    const cut = cutToSpeech(both, margins);
    expect(Math.abs(cut.length / MS - (2 * spokenMs + 400))).toBeLessThan(TOLERANCE_MS);
  });

  test.each([
    ['silence', silence(2000)],
    ['nothing', silence(0)],
    ['less than one step', silence(10)],
  ])('%s is returned unchanged', (_, sound) => {
    expect(cutToSpeech(sound, margins)).toEqual(sound);
  });

  test('a room without speech is not cut to nothing', () => {
    expect(cutToSpeech(pinkNoise(2, 300), margins).length).toBeGreaterThan(0);
  });
});

describe('of several transcripts', () => {
  const expected = new Set('send fifty dollars to alice what is the weather like in london today'.split(' '));
  test.each([
    [['Ten fifty dollars.', 'Send fifty dollars to Alice.', ''], 'Send fifty dollars to Alice.'],
    [['', '', 'Below.'], 'Below.'],
    [['Send $50 to Alice', 'Sent $50 to a list'], 'Send $50 to Alice'],
    [
      ['Whatsoever like in London', 'What is the weather like in London?'],
      'What is the weather like in London?',
    ],
    [['One.', 'Two.'], 'One.'],
    [['', ''], ''],
  ])('%j the best is %j', (transcripts, best) => {
    expect(bestTranscript(transcripts, expected)).toBe(best);
  });

  test.each([
    ['Switch to track one, please.', 'switch to track one please', true],
    ['Hello.', 'Below.', false],
    ['', '', true],
  ])('%j and %j have the same words: %j', (one, other, same) => {
    expect(sameWords(one, other)).toBe(same);
  });
});
