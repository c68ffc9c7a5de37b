import { readFileSync } from 'node:fs';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { Person } from './person.ts';

const CLIPS = ['weather', 'payment'] as const;
type Clip = (typeof CLIPS)[number];

interface Room {
  /** What is asked of the browser, and what it shall answer. */
  asked: MediaStreamConstraints[];
  refusal: string | null;
  say(clip: string): Promise<void>;
  unplug(): void;
  /** The sound of the page: loudness and pitch of the last samples, and how far behind a moment the last loud one is. */
  listen(): { level: number; pitch: number };
  /** Milliseconds on the clock of the sound, from the moment that the page was to be silent until it was. */
  silentAfter(): number | null;
  /** When the person last pressed something, or was noticed to speak, on that clock. */
  moment: number;
  markAt: 'press' | 'speech';
}

declare global {
  interface Window {
    room: Room;
  }
}

/** Before a page is loaded: a room in which clips are played to the microphone, and a meter at the loudspeaker. */
export async function furnish(context: BrowserContext): Promise<void> {
  const clips = Object.fromEntries(
    CLIPS.map((name) => [
      name,
      readFileSync(new URL(`../../demo/voice/clips/${name}.wav`, import.meta.url)).toString('base64'),
    ]),
  );
  // Functions of scripts that are run without a build name themselves with it.
  await context.addInitScript('globalThis.__name ??= (one) => one;');
  await context.addInitScript((files: Record<string, string>) => {
    const air = new AudioContext();
    let microphone: MediaStreamAudioDestinationNode | null = null;
    let meter: AnalyserNode | null = null;
    const clock = () => meter?.context.currentTime ?? 0;
    const room: Room = {
      asked: [],
      refusal: null,
      moment: 0,
      markAt: 'press',
      async say(clip) {
        const bytes = Uint8Array.from(atob(files[clip] ?? ''), (one) => one.charCodeAt(0));
        const source = new AudioBufferSourceNode(air, { buffer: await air.decodeAudioData(bytes.buffer) });
        if (!microphone) throw new Error('The microphone is off.');
        source.connect(microphone);
        source.start();
        await new Promise((done) => {
          source.onended = done;
        });
      },
      unplug() {
        for (const track of microphone?.stream.getTracks() ?? []) track.dispatchEvent(new Event('ended'));
      },
      listen() {
        if (!meter) return { level: 0, pitch: 0 };
        const samples = new Float32Array(2048);
        meter.getFloatTimeDomainData(samples);
        const bins = new Float32Array(meter.frequencyBinCount);
        meter.getFloatFrequencyData(bins);
        const pitch = (bins.indexOf(Math.max(...bins)) * meter.context.sampleRate) / meter.fftSize;
        return { level: Math.max(...samples.map(Math.abs)), pitch };
      },
      silentAfter() {
        if (!meter) return null;
        const samples = new Float32Array(meter.fftSize);
        const now = meter.context.currentTime;
        meter.getFloatTimeDomainData(samples);
        const last = samples.findLastIndex((sample) => Math.abs(sample) > 1e-4);
        if (last === samples.length - 1) return null;
        return (now - (samples.length - 1 - last) / meter.context.sampleRate - room.moment) * 1000;
      },
    };
    window.room = room;
    const { connect } = AudioNode.prototype;
    AudioNode.prototype.connect = function (this: AudioNode, ...to: never[]) {
      const [target] = to as unknown[];
      // The voice of the agent has a clock of its own.
      if (target instanceof AudioDestinationNode && target.context.sampleRate === 24_000) {
        meter = new AnalyserNode(target.context, { fftSize: 32_768, smoothingTimeConstant: 0 });
        connect.call(this, meter as unknown as AudioParam);
      }
      return (connect as (...all: never[]) => never).apply(this, to);
    } as typeof connect;
    navigator.mediaDevices.getUserMedia = async (wanted = {}) => {
      room.asked.push(wanted);
      if (room.refusal !== null) throw new DOMException('no', room.refusal);
      if (wanted.video) return picture();
      await air.resume();
      microphone = new MediaStreamAudioDestinationNode(air);
      return microphone.stream;
    };
    const mark = (why: Room['markAt']) => {
      if (room.markAt === why) room.moment = clock();
    };
    window.addEventListener('pointerdown', () => mark('press'), true);
    const { send } = WebSocket.prototype;
    WebSocket.prototype.send = function (data: Parameters<typeof send>[0]) {
      if (typeof data === 'string' && /"audio_control".*"start"/.test(data)) mark('speech');
      send.call(this, data);
    };
    /** What is before the camera: something red. */
    function picture(): MediaStream {
      const canvas = document.createElement('canvas');
      Object.assign(canvas, { width: 1280, height: 960 });
      const paint = () => {
        const brush = canvas.getContext('2d');
        if (!brush) return;
        brush.fillStyle = '#d01010';
        brush.fillRect(0, 0, 1280, 960);
      };
      paint();
      setInterval(paint, 100);
      return canvas.captureStream(10);
    }
  }, clips);
}

/** A person who talks. */
export class Talker extends Person {
  /** On a page of a context that was furnished. */
  static at(page: Page): Talker {
    return new Talker(page);
  }

  get microphone(): Locator {
    return this.page.getByTestId('microphone');
  }

  get bar(): Locator {
    return this.page.getByTestId('voice-bar');
  }

  /** The bar while that one speaks. */
  speaker(who: 'person' | 'agent' | ''): Locator {
    return this.page.locator(`[data-testid="voice-bar"][data-speaker="${who}"]`);
  }

  /** The microphone in that state. */
  status(status: string): Locator {
    return this.page.locator(`[data-testid="microphone"][data-status="${status}"]`);
  }

  /** Plays a clip to the microphone. */
  async utter(clip: Clip): Promise<void> {
    await this.page.evaluate((name) => window.room.say(name), clip);
  }

  /** Presses the microphone button until `letGo`. */
  async hold(): Promise<void> {
    await this.microphone.hover();
    await this.page.mouse.down();
    await this.status('hearing').waitFor();
  }

  async letGo(): Promise<void> {
    await this.page.mouse.up();
    await this.status('off').waitFor();
  }

  /** Says a clip while the button is held. */
  async talk(clip: Clip): Promise<void> {
    await this.hold();
    await this.utter(clip);
    await this.letGo();
  }

  /** Switches hands-free on, by the keyboard. */
  async handsFree(): Promise<void> {
    await this.microphone.focus();
    await this.page.keyboard.press('Enter');
    await this.status('listening').waitFor();
  }

  /** What comes out of the loudspeaker, once it is as loud as speech. */
  async hears(): Promise<{ level: number; pitch: number }> {
    await this.page.waitForFunction(() => window.room.listen().level > 0.05);
    return this.page.evaluate(() => window.room.listen());
  }

  /** Milliseconds of sound from the moment that the page was to be silent, once it is. */
  async silentAfter(): Promise<number> {
    await this.page.waitForFunction(() => (window.room.silentAfter() ?? 1e9) < 900);
    return (await this.page.evaluate(() => window.room.silentAfter())) ?? Number.POSITIVE_INFINITY;
  }
}
