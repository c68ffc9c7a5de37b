import { afterEach, describe, expect, it } from 'vitest';
import { BINARY, decodeBinary, encodeBinary, type Message } from '../../src/protocol/index.ts';
import { failOnUnhandled } from '../contract/support/unhandled.ts';
import { PICTURES } from '../models/embedded/pictures.ts';
import { fastTimer } from '../support/fast-timer.ts';
import { FakeGeminiLive } from '../support/gemini-live/fake-gemini-live.ts';
import { FAMILIES, provideTools } from '../support/gemini-live/provide.ts';
import { VOICE } from '../support/gemini-live/voice.ts';
import { decision } from '../support/live.ts';
import { TestSocket } from '../support/socket.ts';

failOnUnhandled();

const started: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of started.splice(0).reverse()) await stop();
});

/** 20 ms of a voice at 16 kHz, or of silence. */
const sound = (loud: number) => {
  const pcm = Buffer.alloc(640);
  for (let i = 0; i < 320; i++) pcm.writeInt16LE(Math.round(loud * Math.sin(i / 5)), i * 2);
  return encodeBinary({ kind: BINARY.audioUp, sampleRate: 16_000, payload: pcm });
};
const LOUD = sound(8000);
const QUIET = sound(0);

/** A conversation by voice with a model that hears and speaks, in the time that speech takes, thirty times as fast. */
async function talk(options: Omit<(typeof FAMILIES)[number], 'name'>) {
  const fake = await FakeGeminiLive.start({ ...options, voice: VOICE, timer: fastTimer(30) });
  const server = await provideTools(fake);
  const socket = new TestSocket(`${server.url.replace('http', 'ws')}/live?session=voice`);
  await socket.opened();
  started.push(
    () => fake.stop(),
    () => server.close(),
    async () => socket.close(),
  );
  socket.send('audio_control', { action: 'start' });
  return {
    fake,
    socket,
    ran: server.ran,
    /** The person says something: half a second of sound, and a pause. */
    speak(words: string) {
      fake.utterances.push(words);
      for (let i = 0; i < 25; i++) socket.socket.send(LOUD);
      for (let i = 0; i < 40; i++) socket.socket.send(QUIET);
    },
    async stored() {
      const { messages } = (await (await fetch(`${server.url}/sessions/voice`)).json()) as {
        messages: Message[];
      };
      return messages.map(({ role, parts }) => [role, textOf(parts)]);
    },
  };
}

const textOf = (parts: Message['parts']) =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** What was heard of each utterance, in milliseconds. */
function played(socket: TestSocket): Map<number, number> {
  const ms = new Map<number, number>();
  for (const one of socket.received) {
    const frame = one.kind === 'binary' ? decodeBinary(new Uint8Array(one.bytes)) : null;
    if (!frame) continue;
    const { utterance = 0, payload, sampleRate } = frame;
    ms.set(utterance, (ms.get(utterance) ?? 0) + payload.byteLength / 2 / (sampleRate / 1000));
  }
  return ms;
}

/** What the agent said, message by message. */
function lines(socket: TestSocket): string[] {
  const texts: string[] = [];
  for (const chunk of socket.chunks) {
    if (chunk.type === 'start') texts.push('');
    if (chunk.type === 'text-delta') texts[texts.length - 1] += chunk.delta;
  }
  return texts;
}

describe.each(FAMILIES)('a conversation by voice with the family $name', ({ name: _, ...options }) => {
  it('[B27] what is said is heard and answered, with words both ways beside the sound', async () => {
    const { fake, socket, speak, ran, stored } = await talk(options);
    speak('weather in Tokyo');
    await socket.done();
    const transcripts = socket.received.flatMap((one) =>
      one.kind === 'chunk' && one.chunk.type === 'data-transcript' ? [one.chunk.data] : [],
    );
    expect(transcripts.at(-1)).toEqual({ role: 'user', text: 'weather in Tokyo', finished: true });
    const [words = ''] = lines(socket);
    expect(words).toContain('Tokyo');
    const pieces = Math.ceil(words.length / 4);
    expect([...played(socket).values()]).toEqual([pieces * VOICE.pieceMs]);
    expect(await stored()).toEqual([
      ['user', 'weather in Tokyo'],
      ['assistant', words],
    ]);
    expect([ran, socket.dones, fake.refused]).toEqual([['weather Tokyo'], 1, []]);
  });

  it('[B16] who speaks while it speaks interrupts it: nothing more of that answer comes, and the next is whole', async () => {
    const { fake, socket, speak, ran, stored } = await talk(options);
    speak('tell me a story');
    await socket.chunk('text-delta', 5);
    speak('weather in Tokyo');
    await socket.done(2);
    const ends = socket.chunks.flatMap((chunk) =>
      chunk.type === 'finish' ? [chunk.messageMetadata?.interrupted ?? false] : [],
    );
    expect(ends).toEqual([true, false]);
    const [story = '', weather = ''] = lines(socket);
    expect(weather).toContain('Tokyo');
    // As much was heard as was said, and nothing behind it.
    const heard = [...played(socket).values()];
    expect(heard).toEqual([
      Math.ceil(story.length / 4) * VOICE.pieceMs,
      Math.ceil(weather.length / 4) * VOICE.pieceMs,
    ]);
    expect((await stored()).map(([role]) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect([ran, socket.dones, fake.refused]).toEqual([['weather Tokyo'], 2, []]);
  });

  it('[B16] [B28] stop silences it at once: what still comes is dropped, the words end where the hearing did, and the next message works', async () => {
    const { fake, socket, speak, ran, stored } = await talk(options);
    speak('tell me a story');
    await socket.chunk('text-delta', 10);
    const { messageId = '' } = await socket.chunk('start');
    // The sound is ahead of the hearing.
    socket.send('interrupt', { messageId, playedMs: 480, requestId: 'stop' });
    await socket.chunk('data-accepted');
    await socket.done();
    const before = played(socket).get(1);
    const [words = ''] = lines(socket);
    const { data } = await socket.chunk('data-heard');
    socket.say('weather in Tokyo');
    await socket.done(2);
    expect(played(socket).get(1)).toBe(before);
    expect(lines(socket)[0]).toBe(words);
    expect(lines(socket)[1]).toContain('Tokyo');
    const [, [, left = ''] = []] = await stored();
    expect(left.length).toBe(data.length);
    expect(words.startsWith(left) && left.length < words.length && left.length > 0).toBe(true);
    expect([ran, socket.dones, fake.refused]).toEqual([['weather Tokyo'], 2, []]);
  });

  it('[B14] a card opens while people talk, nothing stops, and a spoken yes decides nothing', async () => {
    const { fake, socket, speak, ran } = await talk(options);
    speak('send 30 dollars to Alice');
    const card = await socket.chunk('tool-approval-request');
    speak('yes');
    await socket.done();
    expect(ran).toEqual([]);
    socket.send('message', decision(card));
    await socket.done(2);
    expect(ran).toEqual(['pay Alice 30']);
    expect(lines(socket).join(' ')).toContain('Alice');
    expect([socket.dones, fake.refused]).toEqual([2, []]);
  });

  it('what is typed goes into the same conversation, and what the camera shows is seen', async () => {
    const { fake, socket, speak, stored } = await talk(options);
    speak('hello');
    await socket.done();
    socket.say('weather in Tokyo');
    await socket.done(2);
    const payload = new Uint8Array(Buffer.from(PICTURES.BASELINE, 'base64'));
    socket.socket.send(encodeBinary({ kind: BINARY.video, sampleRate: 0, payload }));
    await fake.until(() => fake.sent('realtimeInput').some((input) => 'video' in (input as object)));
    speak('what do you see');
    await socket.done(3);
    const all = await stored();
    expect(all.map(([role]) => role)).toEqual(Array(3).fill(['user', 'assistant']).flat());
    expect(all.at(-1)?.[1]).toMatch(/JPEG.*pixels/);
    expect([socket.dones, fake.refused]).toEqual([3, []]);
  });
});
