import { readFileSync } from 'node:fs';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { Person } from './person.ts';

const CLIPS = ['weather', 'payment'] as const;
type Clip = (typeof CLIPS)[number];

interface Room {
  /** The requested media constraints, and the error that the fake browser shall reply with. */
  asked: MediaStreamConstraints[];
  refusal: string | null;
  /** The fake audio devices by kind. Each name is also the device id. */
  devices: { audioinput: string[]; audiooutput: string[] };
  /** The output devices set for the agent's audio, in order. */
  loudspeakers: string[];
  /** When the page acquired (`on`) and released (`off`) the screen wake lock. */
  awake: ('on' | 'off')[];
  /** Plays a clip into a microphone: the last requested one, unless `device` names another. */
  say(clip: string, device?: string): Promise<void>;
  /** The microphones that are on. */
  recording(): string[];
  /** Unplugs a device: the active microphone, unless `device` names another. */
  unplug(device?: string): void;
  /** The played audio: start and end of each piece within its utterance. */
  played: [from: number, to: number][];
  /** The gain of the page's music. */
  music(): number;
  /** Level and pitch of the last samples that the page played. */
  listen(): { level: number; pitch: number };
  /** The last sound that was as loud as speech, until a test takes it. */
  heard: { level: number; pitch: number } | null;
  /** The speakers that the page has shown, in order. */
  speakers: string[];
  /**
   * Milliseconds on the clock of the sound until the page was silent, beyond what the browser takes to turn a tone off; null unless the
   * player was muted in the same task in which it was to be. A busy machine makes page and tone late.
   */
  silentAfter(): number | null;
  /** The event after which the page must be silent: a button press, a key, or detected speech of the user. */
  markAt: 'press' | 'key' | 'speech';
}

declare global {
  interface Window {
    room: Room;
  }
}

/** Installs, before a page is loaded, a fake microphone that plays clips and a level meter at the audio output. */
export async function furnish(context: BrowserContext): Promise<void> {
  const clips = Object.fromEntries(
    CLIPS.map((name) => [
      name,
      readFileSync(new URL(`../../demo/voice/clips/${name}.wav`, import.meta.url)).toString('base64'),
    ]),
  );
  // esbuild wraps functions in `__name`, which the page does not define.
  await context.addInitScript('globalThis.__name ??= (one) => one;');
  await context.addInitScript((files: Record<string, string>) => {
    const air = new AudioContext();
    /** By device, the newest last. */
    const microphones = new Map<string, MediaStreamAudioDestinationNode>();
    let meter: AnalyserNode | null = null;
    /** A reference tone, not audible, that stops when the page must be silent. */
    let tone: { volume: GainNode; meter: AnalyserNode } | null = null;
    let silentAfter: number | null = null;
    let looking = 0;
    let music: GainNode | null = null;
    const used = (device?: string) =>
      device === undefined ? [...microphones.values()].at(-1) : microphones.get(device);
    const refuse = (name: string) => Promise.reject(new DOMException('no', name));
    const room: Room = {
      asked: [],
      refusal: null,
      devices: { audioinput: ['Desk', 'Headset'], audiooutput: ['Speakers', 'Headphones'] },
      loudspeakers: [],
      awake: [],
      played: [],
      heard: null,
      speakers: [],
      markAt: 'press',
      async say(clip, device) {
        const bytes = Uint8Array.from(atob(files[clip] ?? ''), (one) => one.charCodeAt(0));
        const source = new AudioBufferSourceNode(air, { buffer: await air.decodeAudioData(bytes.buffer) });
        const microphone = used(device);
        if (!microphone) throw new Error('The microphone was never on.');
        source.connect(microphone);
        source.start();
        await new Promise((done) => {
          source.onended = done;
        });
      },
      recording: () =>
        [...microphones].flatMap(([device, { stream }]) =>
          stream.getTracks().some((track) => track.readyState === 'live') ? [device] : [],
        ),
      unplug(device) {
        for (const kind of ['audioinput', 'audiooutput'] as const) {
          room.devices[kind] = room.devices[kind].filter((one) => one !== device);
        }
        const tracks =
          device === undefined || microphones.has(device) ? used(device)?.stream.getTracks() : [];
        for (const track of tracks ?? []) track.dispatchEvent(new Event('ended'));
        navigator.mediaDevices.dispatchEvent(new Event('devicechange'));
      },
      music: () => music?.gain.value ?? 0,
      listen() {
        if (tone) tone.volume.gain.value = 1;
        return sound();
      },
      silentAfter: () => silentAfter,
    };
    window.room = room;
    function sound(): { level: number; pitch: number } {
      if (!meter) return { level: 0, pitch: 0 };
      const samples = new Float32Array(2048);
      meter.getFloatTimeDomainData(samples);
      const bins = new Float32Array(meter.frequencyBinCount);
      meter.getFloatFrequencyData(bins);
      const pitch = (bins.indexOf(Math.max(...bins)) * meter.context.sampleRate) / meter.fftSize;
      return { level: Math.max(...samples.map(Math.abs)), pitch };
    }
    const { connect } = AudioNode.prototype;
    AudioNode.prototype.connect = function (this: AudioNode, ...to: never[]) {
      const [target] = to as unknown[];
      // The agent's audio has its own AudioContext, with its own clock.
      if (target instanceof AudioDestinationNode && target.context.sampleRate === 24_000) {
        meter = new AnalyserNode(target.context, { fftSize: 32_768, smoothingTimeConstant: 0 });
        connect.call(this, meter as unknown as AudioParam);
        const volume = new GainNode(target.context);
        tone = { volume, meter: new AnalyserNode(target.context, { fftSize: 32_768 }) };
        const source = new ConstantSourceNode(target.context);
        source.connect(volume).connect(tone.meter);
        source.start();
        window.setInterval(() => {
          const now = sound();
          if (now.level > 0.05) room.heard = now;
        }, 100);
      } else if (target instanceof AudioDestinationNode && this instanceof GainNode) music = this;
      return (connect as (...all: never[]) => never).apply(this, to);
    } as typeof connect;
    navigator.mediaDevices.getUserMedia = async (wanted = {}) => {
      room.asked.push(wanted);
      if (room.refusal !== null) throw new DOMException('no', room.refusal);
      if (wanted.video) return picture();
      const { deviceId } = wanted.audio as { deviceId?: { exact: string } };
      const [standard = ''] = room.devices.audioinput;
      const device = deviceId?.exact ?? standard;
      if (!room.devices.audioinput.includes(device)) return refuse('OverconstrainedError');
      await air.resume();
      const microphone = new MediaStreamAudioDestinationNode(air);
      microphones.delete(device);
      microphones.set(device, microphone);
      return microphone.stream;
    };
    navigator.mediaDevices.getDisplayMedia = async (wanted = {}) => {
      room.asked.push(wanted);
      return room.refusal === null ? picture() : refuse(room.refusal);
    };
    // A browser hides device names until the user has allowed the microphone.
    navigator.mediaDevices.enumerateDevices = async () =>
      Object.entries(room.devices).flatMap(([kind, names]) =>
        names.map((label) => {
          const shown = microphones.size > 0 ? { deviceId: label, label } : { deviceId: '', label: '' };
          return { kind, groupId: '', ...shown } as MediaDeviceInfo;
        }),
      );
    const sinks = AudioContext.prototype as AudioContext & { setSinkId(id: string): Promise<void> };
    sinks.setSinkId = async (id) => {
      if (room.refusal !== null) return refuse(room.refusal);
      if (id !== '' && !room.devices.audiooutput.includes(id)) return refuse('NotFoundError');
      room.loudspeakers.push(id);
    };
    Object.defineProperty(navigator, 'wakeLock', {
      value: {
        async request() {
          room.awake.push('on');
          return { release: async () => void room.awake.push('off') };
        },
      },
    });
    let speaker = '';
    new MutationObserver(() => {
      const before = speaker;
      speaker = document.querySelector<HTMLElement>('[data-speaker]')?.dataset.speaker ?? '';
      if (speaker !== before && speaker !== '') room.speakers.push(speaker);
    }).observe(document, { subtree: true, childList: true, attributeFilter: ['data-speaker'] });
    const samplesOfSilence = (one: AnalyserNode) => {
      const samples = new Float32Array(one.fftSize);
      one.getFloatTimeDomainData(samples);
      return samples.length - 1 - samples.findLastIndex((sample) => Math.abs(sample) > 1e-4);
    };
    /** The events in the current task of the page. */
    let task: { isMarked: boolean; isFlushed: boolean } | null = null;
    const note = (what: 'isMarked' | 'isFlushed') => {
      task ??= { isMarked: false, isFlushed: false };
      task[what] = true;
      window.setTimeout(() => {
        task = null;
      });
      if (!task.isMarked || !task.isFlushed || !tone) return;
      const { volume, meter: off } = tone;
      volume.gain.value = 0;
      silentAfter = null;
      window.clearInterval(looking);
      // Measured in the page: a call from the test may come late, and the meters keep little more than a second.
      looking = window.setInterval(() => {
        const [ofPage, ofTone] = [meter ? samplesOfSilence(meter) : 0, samplesOfSilence(off)];
        if (ofPage === 0 || ofTone === 0) return;
        window.clearInterval(looking);
        silentAfter = ((ofTone - ofPage) / off.context.sampleRate) * 1000;
      }, 20);
    };
    const mark = (why: Room['markAt']) => {
      if (room.markAt === why) note('isMarked');
    };
    window.addEventListener('pointerdown', () => mark('press'), true);
    window.addEventListener('keydown', () => mark('key'), true);
    const { postMessage } = MessagePort.prototype;
    MessagePort.prototype.postMessage = function (this: MessagePort, ...given: never[]) {
      const [order] = given as { type?: string; at: number; samples: Float32Array }[];
      if (order?.type === 'push' && order.samples.length > 0)
        room.played.push([order.at, order.at + order.samples.length]);
      if (order?.type === 'flush') note('isFlushed');
      return (postMessage as (...all: never[]) => void).apply(this, given);
    } as typeof postMessage;
    const { send } = WebSocket.prototype;
    WebSocket.prototype.send = function (data: Parameters<typeof send>[0]) {
      if (typeof data === 'string' && /"audio_control".*"start"/.test(data)) mark('speech');
      send.call(this, data);
    };
    /** The camera shows a red picture. */
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

/** A user who speaks through the fake microphone. */
export class Talker extends Person {
  /** For a page of a context on which `furnish` was called. */
  static at(page: Page): Talker {
    return new Talker(page);
  }

  get microphone(): Locator {
    return this.page.getByTestId('microphone');
  }

  get bar(): Locator {
    return this.page.getByTestId('voice-bar');
  }

  /** The voice bar while the given speaker is shown. */
  speaker(who: 'person' | 'agent' | ''): Locator {
    return this.page.locator(`[data-testid="voice-bar"][data-speaker="${who}"]`);
  }

  /** The microphone button in the given state. */
  status(status: string): Locator {
    return this.page.locator(`[data-testid="microphone"][data-status="${status}"]`);
  }

  /** Plays a clip to the microphone, or to the one with that name. */
  async utter(clip: Clip, device?: string): Promise<void> {
    await this.page.evaluate(([name, id]) => window.room.say(name, id), [clip, device] as const);
  }

  /** Chooses a device, or another entry of the menu of voice. */
  async choose(entry: string): Promise<void> {
    await this.bar.getByRole('button', { name: 'Voice settings' }).click();
    await this.page.getByRole('menuitemradio', { name: entry, exact: true }).click();
  }

  /** The error message of the voice bar. */
  error(words: RegExp): Locator {
    return this.page.getByTestId('voice-error').getByText(words);
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

  /** Presses the microphone button for a moment, however busy the machine is. */
  async tap(): Promise<void> {
    // Where it stays: a page that is still being drawn moves it.
    await this.microphone.hover();
    const box = await this.microphone.boundingBox();
    if (!box) throw new Error('There is no microphone button.');
    const hand = await this.page.context().newCDPSession(this.page);
    const at = {
      x: box.x + box.width / 2,
      y: box.y + box.height / 2,
      button: 'left',
      clickCount: 1,
    } as const;
    const timestamp = Date.now() / 1000;
    await hand.send('Input.dispatchMouseEvent', { type: 'mousePressed', ...at, timestamp });
    await hand.send('Input.dispatchMouseEvent', {
      type: 'mouseReleased',
      ...at,
      timestamp: timestamp + 0.05,
    });
    await hand.detach();
  }

  /** Presses a shortcut: another key in the same moment, however busy the machine is; then both are held longer than talking takes to begin. */
  async shortcut(other: string): Promise<void> {
    await this.page.evaluate(async (key) => {
      const strike = (type: 'keydown' | 'keyup', one: string) =>
        window.dispatchEvent(new KeyboardEvent(type, { key: one, ctrlKey: true }));
      strike('keydown', 'Control');
      strike('keydown', key);
      await new Promise((held) => setTimeout(held, 300));
      strike('keyup', key);
      strike('keyup', 'Control');
    }, other);
  }

  /** Plays a clip while the microphone button is held. */
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
    const heard = await this.page.waitForFunction(() => {
      const sound = window.room.listen();
      return sound.level > 0.05 && sound;
    });
    return (await heard.jsonValue()) as { level: number; pitch: number };
  }

  /** What came out of the loudspeaker, once it was as loud as speech: since the page was loaded, or since this was last asked. */
  async heard(): Promise<{ level: number; pitch: number }> {
    const sound = await this.page.waitForFunction(() => window.room.heard);
    await this.page.evaluate(() => {
      window.room.heard = null;
    });
    return (await sound.jsonValue()) as { level: number; pitch: number };
  }

  /** Waits until the bar has shown that the person speaks, for the first time since the page was loaded or a later one. */
  async isNoticed(time = 1): Promise<void> {
    await this.page.waitForFunction(
      (times) => window.room.speakers.filter((one) => one === 'person').length >= times,
      time,
    );
  }

  /** Milliseconds of sound from the moment that the page was to be silent, once it is. */
  async silentAfter(): Promise<number> {
    await this.page.waitForFunction(() => window.room.silentAfter() !== null);
    return (await this.page.evaluate(() => window.room.silentAfter())) ?? Number.POSITIVE_INFINITY;
  }
}
