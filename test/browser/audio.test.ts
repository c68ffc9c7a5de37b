import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { root } from './support/built.ts';
import { TIMEOUT_MS } from './support/launch.ts';

/** What a strict page allows: its own files, and nothing inline. */
const POLICY = "default-src 'self'; script-src 'self'";
const HTML = '<!doctype html><title>Sound</title><script type="module" src="/page.js"></script>';

async function scriptOf(file: string): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    resolve: { alias: { 'duologue/client/audio': resolve(root, 'src/client/audio/index.ts') } },
    build: {
      write: false,
      rolldownOptions: { input: resolve(root, file), preserveEntrySignatures: 'strict' },
    },
  });
  const { output } = (Array.isArray(built) ? built[0] : built) as Rolldown.RolldownOutput;
  return output[0].code;
}

let server: Server;
let browser: Browser;
let page: Page;
let url = '';

beforeAll(async () => {
  const scripts: Record<string, string> = {
    '/page.js': await scriptOf('test/browser/plain/audio-page.ts'),
    '/pcm-recorder-processor.js': await scriptOf('src/client/audio/pcm-recorder-processor.ts'),
    '/pcm-player-processor.js': await scriptOf('src/client/audio/pcm-player-processor.ts'),
  };
  server = createServer((request, response) => {
    const script = scripts[request.url ?? ''];
    response.setHeader('content-security-policy', POLICY);
    response.setHeader('content-type', `text/${script === undefined ? 'html' : 'javascript'}; charset=utf-8`);
    response.end(script ?? HTML);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  browser = await chromium.connect(inject('browser'));
});
afterAll(async () => {
  await browser.close();
  server.close();
});
beforeEach(async () => {
  page = await browser.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  await page.goto(url);
  await page.waitForFunction(() => 'audio' in window);
});

describe('sound in a real browser, under a strict policy', () => {
  test('the player plays pieces as they come, knows what was heard, and is silent when it is interrupted', async () => {
    const found = await page.evaluate(async () => {
      const { AudioPlayer } = window.audio;
      const player = new AudioPlayer({ workletUrl: '/pcm-player-processor.js' });
      await player.start();
      const meter = new AnalyserNode(player.output.context, { fftSize: 2048, smoothingTimeConstant: 0 });
      player.output.connect(meter);
      const level = () => {
        const samples = new Float32Array(meter.fftSize);
        meter.getFloatTimeDomainData(samples);
        return Math.max(...samples.map(Math.abs));
      };
      const pitch = () => {
        const bins = new Float32Array(meter.frequencyBinCount);
        meter.getFloatFrequencyData(bins);
        return (bins.indexOf(Math.max(...bins)) * player.output.context.sampleRate) / meter.fftSize;
      };
      const until = async (isTrue: () => boolean) => {
        while (!isTrue()) await new Promise((done) => setTimeout(done, 10));
      };
      const tone = (hertz: number, at: number, length: number, rate: number) =>
        Int16Array.from({ length }, (_, i) => 16_000 * Math.sin((2 * Math.PI * hertz * (at + i)) / rate));
      const say = (n: number, hertz: number, rate: number, pieces: number, first = 0) => {
        const length = rate / 10;
        for (let i = first; i < first + pieces; i++)
          player.play({ n, at: i * length, sampleRate: rate, pcm: tone(hertz, i * length, length, rate) });
      };

      // Longer than anyone is late to listen.
      say(1, 440, 24_000, 200);
      await until(() => level() > 0.4 && (player.heard?.ms ?? 0) > 300);
      const first = { level: level(), pitch: pitch(), rate: player.output.context.sampleRate };
      const cut = player.interrupt();
      await until(() => !player.isPlaying && level() === 0);
      const wav = await player.wav(1)?.arrayBuffer();

      // What still comes of the first one is dropped; the second, at another rate, is heard to its end.
      say(1, 440, 24_000, 40);
      // It goes on until it was heard, however late that is.
      let pieces = 0;
      await until(() => {
        if ((player.heard?.n === 2 ? player.heard.ms : 0) > pieces * 100 - 500) {
          say(2, 1000, 16_000, 10, pieces);
          pieces += 10;
        }
        return pieces > 10 && Math.abs(pitch() - 1000) < 15;
      });
      player.end(2);
      const texts = pieces * 100;
      await until(() => !player.isPlaying && (player.heard?.ms ?? 0) >= texts);
      const whole = { heard: player.heard, texts };

      player.muted = true;
      say(3, 440, 24_000, 10);
      await until(() => (player.heard?.n ?? 0) === 3 && (player.heard?.ms ?? 0) > 300);
      const muted = level();
      await player.close();
      return { first, cut, bytes: wav?.byteLength, whole, muted };
    });
    expect(found.first.rate).toBe(24_000);
    expect(found.first.level).toBeCloseTo(16_000 / 32_768, 1);
    expect(Math.abs(found.first.pitch - 440)).toBeLessThan(15);
    expect(found.cut).toEqual({ n: 1, ms: expect.toSatisfy((ms: number) => ms > 300 && ms < 20_000) });
    expect(found.bytes).toBe(44 + 2 * 20 * 24_000);
    expect(found.whole.heard).toEqual({ n: 2, ms: found.whole.texts });
    expect(found.muted).toBeLessThan(0.01);
  });

  test('the recorder gives the sound of a microphone at 16 kHz, whatever the rate of the browser', async () => {
    const found = await page.evaluate(async () => {
      const { AudioRecorder } = window.audio;
      const room = new AudioContext();
      const voice = new OscillatorNode(room, { frequency: 1000 });
      const microphone = new MediaStreamAudioDestinationNode(room);
      voice.connect(microphone);
      voice.start();
      let asked: MediaStreamConstraints | undefined;
      navigator.mediaDevices.getUserMedia = async (constraints) => {
        asked = constraints;
        return microphone.stream;
      };
      const pieces: Int16Array[] = [];
      const { promise: enough, resolve: isEnough } = (() => {
        let resolve = () => {};
        const promise = new Promise<void>((done) => {
          resolve = done;
        });
        return { promise, resolve };
      })();
      const recorder = new AudioRecorder({
        workletUrl: '/pcm-recorder-processor.js',
        onChunk: (pcm) => {
          if (pieces.push(pcm) === 60) isEnough();
        },
      });
      await recorder.start();
      await enough;
      const wasOn = recorder.isOn;
      await recorder.stop();
      const count = pieces.length;
      await room.close();
      // The first pieces may have the beginning of the tone in them.
      const samples = pieces.slice(10, 60).flatMap((piece) => [...piece]);
      const wavesIn = (some: readonly number[]) =>
        some.filter((sample, i) => sample >= 0 && (some[i - 1] ?? 0) < 0).length;
      return {
        asked,
        wasOn,
        isOn: recorder.isOn,
        stopped: microphone.stream.getTracks().every((track) => track.readyState === 'ended'),
        lengths: [...new Set(pieces.slice(0, 60).map((piece) => piece.length))],
        waves: Array.from({ length: 5 }, (_, i) => wavesIn(samples.slice(i * 3200, (i + 1) * 3200))),
        loudest: Math.max(...samples.map(Math.abs)),
        count,
        after: pieces.length,
        rate: room.sampleRate,
      };
    });
    expect(found.asked?.audio).toMatchObject({
      channelCount: 1,
      sampleRate: 16_000,
      echoCancellation: true,
      noiseSuppression: true,
      autoGainControl: true,
    });
    expect(found).toMatchObject({ wasOn: true, isOn: false, stopped: true, lengths: [320] });
    expect(found.after).toBe(found.count);
    // Fifths of a second of 1 kHz. A busy browser leaves gaps in the sound of its own microphone, but not everywhere.
    expect(found.waves).toContainEqual(expect.toSatisfy((waves: number) => Math.abs(waves - 200) <= 1));
    expect(found.loudest).toBeGreaterThan(30_000);
  });

  test('an unplugged microphone hands over the sound that it still has before `stop` resolves', async () => {
    const found = await page.evaluate(async () => {
      const { AudioRecorder } = window.audio;
      const room = new AudioContext();
      const microphone = new MediaStreamAudioDestinationNode(room);
      navigator.mediaDevices.getUserMedia = async () => microphone.stream;
      let pieces = 0;
      let isRecording = () => {};
      const recording = new Promise<void>((resolve) => {
        isRecording = resolve;
      });
      let isStopped = (_pieces: number) => {};
      const stopped = new Promise<number>((resolve) => {
        isStopped = resolve;
      });
      const recorder = new AudioRecorder({
        workletUrl: '/pcm-recorder-processor.js',
        onChunk: () => {
          if (++pieces === 10) isRecording();
        },
        onLost: () => void recorder.stop().then(() => isStopped(pieces)),
      });
      await recorder.start();
      await recording;
      // While the page is busy, sound piles up between the recorder's thread and the page.
      const busyUntil = performance.now() + 300;
      while (performance.now() < busyUntil);
      for (const track of microphone.stream.getTracks()) track.dispatchEvent(new Event('ended'));
      const count = await stopped;
      await room.close();
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { count, after: pieces };
    });
    expect(found.after).toBe(found.count);
  });

  test('what goes wrong is told in words', async () => {
    const causes = await page.evaluate(async () => {
      const { AudioError, AudioPlayer, AudioRecorder } = window.audio;
      const causeOf = (promise: Promise<unknown>) =>
        promise.then(
          () => 'none',
          (error) =>
            error instanceof AudioError && error.message !== '' ? [error.code, error.device] : String(error),
        );
      const recorder = () => new AudioRecorder({ onChunk: () => {}, workletUrl: '/nowhere.js' });
      const refuse = (name: string) => {
        navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', name));
        return causeOf(recorder().start());
      };
      const refused = await refuse('NotAllowedError');
      const none = await refuse('NotFoundError');
      const busy = await refuse('NotReadableError');
      const silence = new MediaStreamAudioDestinationNode(new AudioContext());
      navigator.mediaDevices.getUserMedia = async () => silence.stream;
      const worklet = await causeOf(recorder().start());
      const player = await causeOf(new AudioPlayer({ workletUrl: 'data:text/javascript,' }).start());
      return { refused, none, busy, worklet, player, left: silence.stream.getTracks()[0]?.readyState };
    });
    expect(causes).toEqual({
      refused: ['refused', 'microphone'],
      none: ['none', 'microphone'],
      busy: ['busy', 'microphone'],
      worklet: ['worklet', null],
      player: ['worklet', null],
      left: 'ended',
    });
  });
});
