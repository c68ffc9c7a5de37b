import { describe, expect, it } from 'vitest';
import { BINARY, decodeBinary } from '../../src/protocol/index.ts';
import { parseSoundPlace, pcmOf, Utterances } from '../../src/server/output/utterances.ts';

const pcm = (...bytes: number[]) => Buffer.from(bytes).toString('base64');

describe('the sound of a session', () => {
  it('is a whole binary frame from the beginning, and what is no base64 is as much sound as it is', () => {
    const utterances = new Utterances();
    const frame = { kind: BINARY.audioDown, utterance: 1, sampleRate: 24_000 };
    const sounds = [pcm(1, 0, 2, 0), '=', 'AAA', '*A*A*A=='].map((data) => utterances.add('a', 24_000, data));
    expect(sounds.map((sound) => [...pcmOf(sound)])).toEqual([[1, 0, 2, 0], [], [0, 0], [0, 0]]);
    const [first] = sounds;
    expect(first && decodeBinary(first.frame)).toEqual({ ...frame, payload: Buffer.from([1, 0, 2, 0]) });
  });

  it('[B27] belongs to one utterance for each message and sample rate, numbered from 1 on', () => {
    const utterances = new Utterances();
    const places = [
      utterances.add('a', 24_000, pcm(1, 0, 2, 0)),
      utterances.add('a', 24_000, pcm(3, 0)),
      utterances.add('b', 24_000, pcm(4, 0)),
      utterances.add('b', 16_000, pcm(5, 0)),
    ].map(({ n, messageId, sampleRate, at }) => [n, messageId, sampleRate, at]);
    expect(places).toEqual([
      [1, 'a', 24_000, 0],
      [1, 'a', 24_000, 2],
      [2, 'b', 24_000, 0],
      [3, 'b', 16_000, 0],
    ]);
  });

  it('[B27c] is gone on with from any sample of the newest utterance, and of no other', () => {
    const utterances = new Utterances();
    utterances.add('a', 24_000, pcm(9, 0));
    utterances.add('b', 24_000, pcm(1, 0, 2, 0));
    utterances.add('b', 24_000, pcm(3, 0));
    const from = (n: number, at: number) =>
      utterances.from(n, at).map((sound) => [sound.at, [...pcmOf(sound)]]);
    expect(from(2, 0)).toEqual([
      [0, [1, 0, 2, 0]],
      [2, [3, 0]],
    ]);
    expect(from(2, 1)).toEqual([
      [1, [2, 0]],
      [2, [3, 0]],
    ]);
    expect(from(2, 3)).toEqual([]);
    expect(from(2, 999)).toEqual([]);
    expect(from(1, 0)).toEqual([]);
    utterances.flush();
    expect(from(2, 0)).toEqual([]);
    expect(utterances.add('b', 24_000, pcm(4, 0)).at).toBe(3);
  });

  it('[B27c] is kept up to 2 MB', () => {
    const utterances = new Utterances();
    const quarter = Buffer.alloc(1024 * 256).toString('base64');
    for (let count = 0; count < 12; count++) utterances.add('a', 24_000, quarter);
    const kept = utterances.from(1, 0);
    expect(kept).toHaveLength(8);
    expect(kept[0]?.at).toBe(4 * 1024 * 128);
  });

  it.each([
    ['3-4800', { n: 3, at: 4800 }],
    ['0-0', { n: 0, at: 0 }],
    ['', null],
    [null, null],
    ['3', null],
    ['-1-2', null],
    ['1-2-3', null],
    ['1e3-2', null],
    ['1-99999999999999999999', null],
  ])('[B27] the place %j is read as %j', (text, place) => {
    expect(parseSoundPlace(text)).toEqual(place);
  });
});
