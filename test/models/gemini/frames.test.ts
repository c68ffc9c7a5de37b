import { expect, test } from 'vitest';
import { liveFamilyOf } from '../../../src/models/gemini/families.ts';
import { FrameEncoder } from '../../../src/models/gemini/frames.ts';

function encoder(detectsSpeech: boolean, model = 'gemini-3.8-live') {
  return new FrameEncoder({
    family: liveFamilyOf(model),
    hasIds: true,
    nonBlocking: new Set(),
    detectsSpeech: () => detectsSpeech,
  });
}

const start = { type: 'activity', activity: 'start', isBusy: true } as const;
const end = { type: 'activity', activity: 'end', isBusy: false } as const;

test('a person who signals their speech and interrupts while they speak is announced once', () => {
  const one = encoder(false);
  expect([start, start, end, end, start].map((input) => one.encode(input))).toEqual([
    { realtimeInput: { activityStart: {} } },
    null,
    { realtimeInput: { activityEnd: {} } },
    null,
    { realtimeInput: { activityStart: {} } },
  ]);
});

test('a service that detects speech gets no signal for an interruption, an older model empty content', () => {
  expect(encoder(true).encode(start)).toBeNull();
  const older = encoder(true, 'gemini-2.5-flash-native-audio-latest');
  expect([older.encode(start), older.encode({ ...start, isBusy: false })]).toEqual([
    { clientContent: { turnComplete: false } },
    null,
  ]);
  expect(encoder(true).encode(end)).toEqual({ realtimeInput: { audioStreamEnd: true } });
});

test('media that is neither sound nor a picture is not sent', () => {
  const types = ['audio/pcm;rate=16000', 'image/jpeg', 'video/mp4', 'text/plain'];
  const frames = types.map((mimeType) =>
    encoder(true).encode({ type: 'media', blob: { mimeType, data: '' } }),
  );
  expect(frames.map((frame) => frame && Object.keys(Object.values(frame)[0] ?? {}))).toEqual([
    ['audio'],
    ['video'],
    null,
    null,
  ]);
});
