import { encodeFrame } from '../../protocol/encode-frame.ts';
import { AudioError } from '../audio/audio-error.ts';
import { AudioPlayer } from '../audio/player.ts';
import { AudioRecorder } from '../audio/recorder.ts';
import type { Connection, SoundEnd } from '../connection.ts';
import type { ConnectionEvent } from '../incoming.ts';
import type { Played } from '../played.ts';
import { AgentSpeech } from './agent-speech.ts';
import { OutgoingSpeech } from './outgoing-speech.ts';
import { type DetectSpeech, energyGate, type SpeechDetector } from './speech-detector.ts';

/** How a person speaks: while a key or button is held, or whenever they say something. */
export type Speaking = 'hold' | 'hands-free';

/** What the microphone is doing. */
export type Microphone =
  | { status: 'off'; error: AudioError | null }
  | { status: 'starting'; how: Speaking }
  /** It is on, and nobody says anything. */
  | { status: 'listening'; how: Speaking }
  /** The person is speaking, and is heard. */
  | { status: 'hearing'; how: Speaking }
  /** It is on, and nothing of it is listened to. */
  | { status: 'paused'; how: Speaking; why: 'muted' | 'hidden' };

/** All there is to know of a voice. */
export type VoiceState = Microphone & Hearing;

interface Hearing {
  /** Who speaks now. */
  speaker: 'person' | 'agent' | null;
  /** Whether the person wants to hear the agent; what it says can be read as well. */
  isSilent: boolean;
  /** Whether the browser waits for a click before it lets the agent be heard. */
  isBlocked: boolean;
}

/** What a voice needs of a transport. */
export interface VoiceTransport {
  readonly connection: Connection;
  connect(chatId: string): void;
}

/** What a voice may be told. */
export interface VoiceOptions {
  /** Finds out when the person speaks; by loudness unless told otherwise. */
  detect?: DetectSpeech;
  /** Wishes beyond mono sound without echo and noise. */
  constraints?: MediaTrackConstraints;
  /** Which microphone and which loudspeaker; else those that the browser prefers. */
  microphone?: string;
  loudspeaker?: string;
  /** How sound goes up: in binary, or as text to servers that know none of the subprotocols. */
  wire?: 'binary' | 'text';
  /** Where the worklets of this package are served. */
  workletUrls?: { recorder?: string | URL; player?: string | URL };
}

/** How long a connection may take to come. */
const PATIENCE_MS = 10_000;
/** Kept from before the beginning was noticed, so that the first syllable is not lost: 500 ms in pieces of 20. */
const PRE_ROLL = 25;
/** How loud a voice is that fills a meter, of 32,767. */
const LOUD = 8000;

/** Speaks with the agent over a transport: a microphone up, a loudspeaker down, and who may speak now. */
export class Voice {
  private readonly options: VoiceOptions;
  private readonly watchers = new Set<() => void>();
  private microphone: Microphone = { status: 'off', error: null };
  private hearing: Hearing = { speaker: null, isSilent: false, isBlocked: false };
  private current: VoiceState = { ...this.microphone, ...this.hearing };
  private transport: VoiceTransport | null = null;
  private chatId = '';
  private detach: () => void = () => undefined;
  private onAttached: () => void = () => undefined;
  private recorder: AudioRecorder | null = null;
  private player: AudioPlayer | null = null;
  private speech: AgentSpeech | null = null;
  private meter: AnalyserNode | null = null;
  private readonly outgoing: OutgoingSpeech;
  private detector: SpeechDetector | null = null;
  /** What made it. */
  private detected: DetectSpeech | null = null;
  private before: Int16Array[] = [];
  private isHeld = false;
  private isTalking = false;
  private isMuted = false;
  private loudness = 0;
  /** Counts starts and stops: what an older one still does is not wanted any more. */
  private attempt = 0;
  private wakeLock: Promise<WakeLockSentinel | null> | null = null;

  constructor(options: VoiceOptions = {}) {
    this.options = options;
    this.outgoing = new OutgoingSpeech(options.wire === 'text');
  }

  get state(): VoiceState {
    return this.current;
  }

  /** Calls the listener whenever the state changes; the returned function ends that. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.watchers.add(listener);
    return () => this.watchers.delete(listener);
  };

  /** How loud whoever speaks is, from 0 to 1, for a meter. It changes all the time. */
  get level(): number {
    if (!this.player?.isPlaying || this.isTalking) return this.loudness;
    if (!this.meter) return 0;
    const samples = new Float32Array(this.meter.fftSize);
    this.meter.getFloatTimeDomainData(samples);
    const power = samples.reduce((sum, one) => sum + one * one, 0) / samples.length;
    return Math.min(1, (Math.sqrt(power) * 32_767) / LOUD);
  }

  /** Speaks over this transport from now on; null for none, which switches everything off. */
  attach(transport: VoiceTransport | null, chatId = ''): void {
    this.chatId = chatId;
    if (transport === this.transport) return;
    this.detach();
    this.detach = () => undefined;
    this.transport = transport;
    if (!transport) {
      this.outgoing.connect(null);
      this.fail(null);
      return;
    }
    const { connection } = transport;
    const end: SoundEnd = {
      place: (query) => {
        const place = this.speech?.place();
        if (place) query.set('sound', place);
      },
      silence: () => {
        const heard = this.speech?.silence() ?? [];
        // Whoever stops the agent means what is being said now, of whichever message.
        const last = heard.pop();
        this.say(heard);
        return last && { playedMs: last.playedMs };
      },
    };
    connection.player = end;
    const stopListening = connection.listen((event) => this.hear(event));
    let wasLive = connection.state.status === 'live';
    const stopWatching = connection.subscribe(() => {
      const isLive = connection.state.status === 'live';
      if (isLive && !wasLive) this.outgoing.connect(connection);
      wasLive = isLive;
    });
    this.outgoing.connect(connection);
    this.onAttached();
    this.detach = () => {
      stopListening();
      stopWatching();
      if (connection.player === end) connection.player = undefined;
    };
  }

  /** Switches the microphone on and listens until `stop`: the person is heard whenever they speak. */
  readonly start = (): Promise<void> => this.open('hands-free');

  /** Switches the microphone off. What the agent is saying goes on. */
  readonly stop = (): Promise<void> => this.close(null);

  /** The person holds the key or button: they are heard until `release`. */
  readonly press = async (): Promise<void> => {
    if (this.isHeld) return;
    this.isHeld = true;
    this.interrupt();
    const { status } = this.microphone;
    if (status === 'off') await this.open('hold');
    else if (status === 'listening') this.talk();
  };

  readonly release = async (): Promise<void> => {
    if (!this.isHeld) return;
    this.isHeld = false;
    if (this.how === 'hold') await this.close(null);
    else this.quiet();
  };

  /** Stops listening without hanging up. */
  readonly mute = (isMuted: boolean): void => {
    this.isMuted = isMuted;
    this.settle();
  };

  /** Whether the agent is heard. What it says can be read in any case. */
  readonly silence = (isSilent: boolean): void => {
    if (this.player) this.player.muted = isSilent;
    this.tell({ isSilent });
    if (!isSilent) void this.listen();
  };

  /** Makes the agent heard, also before the microphone was used; best called in a click. */
  readonly listen = async (): Promise<void> => {
    try {
      await this.openPlayer().start();
    } catch (cause) {
      this.fail(AudioError.from(cause));
    }
    this.tell({ isBlocked: this.player?.isBlocked === true });
  };

  /** The person has read what went wrong. */
  readonly dismiss = (): void => {
    if (this.microphone.status === 'off') this.become({ status: 'off', error: null });
  };

  /** Takes another microphone, now if one is on. */
  readonly switchMicrophone = async (deviceId: string): Promise<void> => {
    this.options.microphone = deviceId;
    const { recorder } = this;
    if (!recorder?.isOn) return;
    const { attempt } = this;
    const next = this.newRecorder();
    try {
      await next.start();
    } catch (cause) {
      // The one before goes on.
      throw AudioError.from(cause);
    }
    if (attempt !== this.attempt) return next.stop();
    this.recorder = next;
    await recorder.stop();
  };

  /** Takes another loudspeaker. */
  readonly switchLoudspeaker = async (deviceId: string): Promise<void> => {
    this.options.loudspeaker = deviceId;
    await this.player?.setOutput(deviceId);
  };

  /** Finds speech in another way, now if somebody listens. */
  readonly detectWith = (detect: DetectSpeech): void => {
    this.options.detect = detect;
    // One that has not heard the beginning would not know the end: whoever speaks is heard out first.
    if (this.detector && !this.isTalking) this.renewDetector();
  };

  /** Switches everything off and lets go of the loudspeaker. */
  readonly dispose = async (): Promise<void> => {
    await this.close(null);
    const { player } = this;
    this.player = null;
    this.speech = null;
    this.meter = null;
    await player?.close();
  };

  private async open(how: Speaking): Promise<void> {
    if (this.microphone.status !== 'off') return;
    const attempt = ++this.attempt;
    this.become({ status: 'starting', how });
    try {
      const player = this.openPlayer();
      // In the click, since browsers let no page make noise before.
      const isAudible = player.start();
      await this.connected();
      if (this.transport?.connection.info?.model.hears === false) throw new AudioError('deaf');
      if (attempt !== this.attempt) return;
      const recorder = this.newRecorder();
      this.recorder = recorder;
      await Promise.all([recorder.start(), isAudible]);
      if (attempt !== this.attempt) return await recorder.stop();
      if (how === 'hands-free') this.renewDetector();
      document.addEventListener('visibilitychange', this.settle);
      this.become({ status: 'listening', how });
      this.tell({ isBlocked: player.isBlocked });
      if (this.isHeld) this.talk();
      this.settle();
    } catch (cause) {
      // Whoever lets go to answer the browser's question wants to know what came of it.
      if (attempt === this.attempt || this.microphone.status === 'off') this.fail(AudioError.from(cause));
    }
  }

  /** Switches the microphone off; what was said until then is passed on first. */
  private async close(error: AudioError | null): Promise<void> {
    if (this.microphone.status === 'off') return;
    const attempt = ++this.attempt;
    const { recorder } = this;
    this.recorder = null;
    await recorder?.stop();
    if (attempt !== this.attempt) return;
    this.isMuted = false;
    this.quiet();
    this.detector?.close?.();
    this.detector = null;
    this.before = [];
    this.loudness = 0;
    document.removeEventListener('visibilitychange', this.settle);
    this.sleep();
    this.become({ status: 'off', error });
    // Pressed again meanwhile.
    if (this.isHeld) await this.open('hold');
  }

  private fail(error: AudioError | null): void {
    this.isHeld = false;
    if (this.microphone.status === 'off') this.become({ status: 'off', error });
    else void this.close(error);
  }

  /** How the microphone was switched on; null while it is off. */
  private get how(): Speaking | null {
    return this.microphone.status === 'off' ? null : this.microphone.how;
  }

  private newRecorder(): AudioRecorder {
    const { microphone, constraints, workletUrls } = this.options;
    const recorder = new AudioRecorder({
      onChunk: (pcm) => {
        if (recorder === this.recorder || this.recorder === null) this.take(pcm);
      },
      onLost: (error) => {
        if (recorder === this.recorder) this.fail(error);
      },
      ...(microphone ? { deviceId: microphone } : {}),
      ...(constraints ? { constraints } : {}),
      ...(workletUrls?.recorder ? { workletUrl: workletUrls.recorder } : {}),
    });
    return recorder;
  }

  private openPlayer(): AudioPlayer {
    if (this.player) return this.player;
    const { loudspeaker, workletUrls } = this.options;
    const player = new AudioPlayer({
      onPlaying: () => this.tell(),
      ...(workletUrls?.player ? { workletUrl: workletUrls.player } : {}),
    });
    player.muted = this.hearing.isSilent;
    if (loudspeaker) void player.setOutput(loudspeaker).catch(() => undefined);
    this.meter = new AnalyserNode(player.output.context, { fftSize: 512 });
    player.output.connect(this.meter);
    this.player = player;
    this.speech = new AgentSpeech(player);
    return player;
  }

  private renewDetector(): void {
    this.detector?.close?.();
    const detect = this.options.detect ?? energyGate();
    this.detected = detect;
    this.detector = detect((isSpeech) => {
      if (this.isHeld || this.isPaused) return;
      if (isSpeech) this.talk();
      else this.quiet();
    });
  }

  private take(pcm: Int16Array): void {
    if (this.isPaused) return;
    let sum = 0;
    for (const sample of pcm) sum += sample * sample;
    this.loudness = Math.min(1, Math.sqrt(sum / pcm.length) / LOUD);
    if (this.isTalking) this.outgoing.push(pcm);
    else {
      this.before.push(pcm);
      if (this.before.length > PRE_ROLL) this.before.shift();
    }
    this.detector?.push(pcm);
  }

  /** The person speaks: whoever else does falls silent. */
  private talk(): void {
    if (this.isTalking) return;
    this.isTalking = true;
    this.interrupt();
    this.outgoing.begin();
    for (const pcm of this.before.splice(0)) this.outgoing.push(pcm);
    this.settle();
  }

  private quiet(): void {
    if (!this.isTalking) return;
    this.isTalking = false;
    this.outgoing.end();
    if (this.detector && this.options.detect && this.detected !== this.options.detect) this.renewDetector();
    this.settle();
  }

  /** The person speaks: silence, and the server is told how much was heard. */
  private interrupt(): void {
    this.say(this.speech?.silence() ?? []);
  }

  /** Says how much was heard, and stops nothing by it: calls that wait go on waiting, since only a card decides. */
  private say(heard: Played[]): void {
    for (const played of heard) {
      const requestId = crypto.randomUUID();
      const text = encodeFrame('interrupt', { ...played, reason: 'speech', requestId });
      this.transport?.connection.post({ requestId, text });
    }
  }

  private hear(event: ConnectionEvent): void {
    if (this.speech?.hear(event)) this.interrupt();
    const floor =
      event.type === 'session'
        ? event.session.floor
        : event.type === 'chunk' && event.chunk.type === 'data-floor'
          ? event.chunk.data.connectionId
          : null;
    const own = event.type === 'session' ? event.session.connectionId : this.connectionId;
    if (floor === null || floor === undefined || floor === own) return;
    this.speech?.silence();
    if (this.how) this.fail(new AudioError('elsewhere'));
  }

  private get connectionId(): string | null {
    const state = this.transport?.connection.state;
    return state?.status === 'live' ? state.connectionId : null;
  }

  /** Resolves when there is a connection; fails when there will be none. */
  private connected(): Promise<void> {
    return new Promise((resolve, reject) => {
      let stop: () => void = () => undefined;
      const end = (settle: () => void) => {
        clearTimeout(timer);
        this.onAttached = () => undefined;
        stop();
        settle();
      };
      const fail = () => end(() => reject(new AudioError('unreachable')));
      const timer = setTimeout(fail, PATIENCE_MS);
      const look = () => {
        const { transport } = this;
        if (!transport) return;
        const { connection } = transport;
        if (connection.state.status === 'idle') transport.connect(this.chatId);
        const { status } = connection.state;
        if (status === 'live') end(resolve);
        else if (status === 'closed' || status === 'taken-over') fail();
      };
      // A page that changes to the live mode only now has its transport in a moment.
      this.onAttached = () => {
        stop();
        stop = this.transport?.connection.subscribe(look) ?? stop;
        look();
      };
      this.onAttached();
    });
  }

  private get isPaused(): boolean {
    return this.isMuted || document.hidden;
  }

  /** Brings the state in line with what is: muted, hidden, listening or hearing. */
  private readonly settle = (): void => {
    const { microphone } = this;
    if (microphone.status === 'off' || microphone.status === 'starting') return this.tell();
    const { how } = microphone;
    if (this.isPaused) {
      this.sleep();
      this.before = [];
      this.loudness = 0;
      this.become({ status: 'paused', how, why: this.isMuted ? 'muted' : 'hidden' });
      // What was said until then counts.
      this.quiet();
    } else {
      this.wakeLock ??= stayAwake();
      this.become({ status: this.isTalking ? 'hearing' : 'listening', how });
    }
  };

  private sleep(): void {
    void this.wakeLock?.then((lock) => lock?.release());
    this.wakeLock = null;
  }

  private become(microphone: Microphone): void {
    this.microphone = microphone;
    this.tell();
  }

  private tell(change: Partial<Hearing> = {}): void {
    const speaker = this.isTalking ? 'person' : this.player?.isPlaying ? 'agent' : null;
    this.hearing = { ...this.hearing, ...change, speaker };
    this.current = { ...this.microphone, ...this.hearing };
    for (const watcher of [...this.watchers]) watcher();
  }
}

/** Keeps the screen on while somebody talks; a browser that cannot do that, or will not, is no reason not to. */
function stayAwake(): Promise<WakeLockSentinel | null> {
  return navigator.wakeLock?.request('screen').catch(() => null) ?? Promise.resolve(null);
}
