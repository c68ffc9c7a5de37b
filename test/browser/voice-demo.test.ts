import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { BINARY, decodeBinary, encodeBinary } from '../../src/protocol/index.ts';
import { TestSocket } from '../support/socket.ts';
import { root } from './support/built.ts';
import { startVoiceDemo } from './support/voice-demo.ts';

/** The sound of a recording, without its header. */
const clip = (name: string) => readFileSync(resolve(root, `test/demo/voice/clips/${name}.wav`)).subarray(44);

it('[B27] the demo, started as `npm start` does, hears recorded speech and answers with sound and words', async () => {
  const demo = await startVoiceDemo({ voice: { hertz: 440, pieceMs: 40, haste: 4 } });
  const socket = new TestSocket(`${demo.url.replace('http', 'ws')}/live`);
  try {
    await socket.opened();
    demo.fake.utterances.push('weather in Tokyo');
    socket.send('audio_control', { action: 'start' });
    const sound = Buffer.concat([clip('weather'), Buffer.alloc(32_000)]);
    for (let at = 0; at < sound.length; at += 640) {
      const payload = sound.subarray(at, at + 640);
      socket.socket.send(encodeBinary({ kind: BINARY.audioUp, sampleRate: 16_000, payload }));
    }
    await socket.done();
    const { data } = await socket.chunk('data-transcript');
    const texts = socket.chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');
    expect([data, texts]).toEqual([
      { role: 'user', text: 'weather in Tokyo', finished: true },
      expect.stringContaining('Tokyo'),
    ]);
    const loudest = socket.received.reduce((most, one) => {
      const frame = one.kind === 'binary' ? decodeBinary(new Uint8Array(one.bytes)) : null;
      if (!frame) return most;
      const pcm = Buffer.from(frame.payload);
      for (let i = 0; i + 1 < pcm.length; i += 2) most = Math.max(most, pcm.readInt16LE(i));
      return most;
    }, 0);
    expect(loudest).toBeGreaterThan(7000);
    expect(demo.fake.refused).toEqual([]);
  } finally {
    socket.close();
    await demo.dispose();
  }
});
