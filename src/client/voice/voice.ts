import { AudioError } from '../audio/audio-error.ts';
import type { ConnectionEvent, Played } from '../link/index.ts';
import { AgentSpeech } from './agent-speech.ts';
import { Devices, levelOf } from './devices.ts';
import { Line } from './line.ts';
import { PersonSpeech } from './person-speech.ts';
import { ShownState } from './shown-state.ts';
import type { DetectSpeech } from './speech-detector.ts';
import type { Speaking, VoiceOptions, VoiceState, VoiceTransport } from './voice-state.ts';

/** Speaks with the agent over a transport: a microphone up, a loudspeaker down, and who may speak now. */
export class Voice {
  readonly #shown = new ShownState(() =>
    this.#person.isHeard ? 'person' : this.#devices.player?.isPlaying ? 'agent' : null,
  );
  readonly #devices: Devices;
  readonly #line: Line;
  readonly #person: PersonSpeech;
  #agent: AgentSpeech | null = null;
  #isHeld = false;
  #isMuted = false;
  #loudness = 0;
  /** Counts starts and stops: what an older one still does is not wanted any more. */
  #attempt = 0;

  constructor(options: VoiceOptions = {}) {
    this.#devices = new Devices({
      options,
      onSound: (pcm) => this.#take(pcm),
      onLost: (error) => this.#fail(error),
      // Until it was tried, a loudspeaker that is not heard yet is no news.
      onPlayerChange: () =>
        this.#shown.tell({ isBlocked: this.#shown.state.isBlocked && this.#devices.isBlocked }),
    });
    this.#person = new PersonSpeech(
      options,
      (isSpeech) => {
        if (this.#isHeld || this.#isPaused) return;
        if (isSpeech) this.#talk();
        else this.#quiet();
      },
      () => this.#shown.tell(),
    );
    this.#line = new Line({
      soundEnd: {
        position: () => this.#agent?.place() ?? null,
        silence: () => {
          const heard = this.#agent?.silence() ?? [];
          // Whoever stops the agent means what is being said now, of whichever message.
          const last = heard.pop();
          this.#say(heard);
          return last && { playedMs: last.playedMs };
        },
      },
      hear: (event) => this.#hear(event),
      onConnection: (connection) => this.#person.connect(connection),
      onFloorLost: () => {
        this.#agent?.silence();
        if (this.#shown.how) this.#fail(new AudioError('elsewhere'));
      },
    });
  }

  get state(): VoiceState {
    return this.#shown.state;
  }

  /** Calls the listener whenever the state changes; the returned function ends that. */
  readonly subscribe = (listener: () => void): (() => void) => this.#shown.subscribe(listener);

  /** How loud whoever speaks is, from 0 to 1, for a meter. It changes all the time. */
  get level(): number {
    const isAgent = this.#devices.player?.isPlaying === true && !this.#person.isTalking;
    return isAgent ? this.#devices.level : this.#loudness;
  }

  /** Speaks over this transport from now on; null for none, which switches everything off. */
  attach(transport: VoiceTransport | null, chatId = ''): void {
    if (this.#line.attach(transport, chatId) && !transport) this.#fail(null);
  }

  /**
   * Switches the microphone on and listens until `stop`: the person is heard whenever they speak. While something is held, it was
   * a tap that asks for this: the microphone stays on, and nothing was said.
   */
  readonly start = async (): Promise<void> => {
    const microphone = this.#shown.microphone;
    if (microphone.status === 'off') return this.#open('hands-free');
    if (microphone.how === 'hands-free') return;
    this.#isHeld = false;
    this.#person.cancel();
    this.#shown.become({ ...microphone, how: 'hands-free' });
    if (microphone.status !== 'starting') this.#person.detect();
    this.#settle();
  };

  /** Switches the microphone off. What the agent is saying goes on. */
  readonly stop = (): Promise<void> => this.#close(null);

  /** The person holds the key or button: they are heard until `release`. */
  readonly press = async (): Promise<void> => {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#interrupt();
    const { status } = this.#shown.microphone;
    if (status === 'off') await this.#open('hold');
    else if (status === 'listening') this.#talk();
  };

  readonly release = async (): Promise<void> => {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    if (this.#shown.how === 'hold') await this.#close(null);
    else this.#quiet();
  };

  /** Stops listening without hanging up. */
  readonly mute = (isMuted: boolean): void => {
    this.#isMuted = isMuted;
    this.#settle();
  };

  /** Whether the agent is heard. What it says can be read in any case. */
  readonly silence = (isSilent: boolean): void => {
    const { player } = this.#devices;
    if (player) player.muted = isSilent;
    this.#shown.tell({ isSilent });
    if (!isSilent) void this.listen();
  };

  /** Makes the agent heard, also before the microphone was used; best called in a click. */
  readonly listen = async (): Promise<void> => {
    try {
      await this.#openAgent();
    } catch (cause) {
      this.#fail(AudioError.from(cause));
    }
    this.#shown.tell({ isBlocked: this.#devices.isBlocked });
  };

  /** The person has read what went wrong. */
  readonly dismiss = (): void => {
    if (this.#shown.microphone.status === 'off') this.#shown.become({ status: 'off', error: null });
  };

  /** Takes another microphone, now if one is on. Fails with an `AudioError`, and then the one before goes on. */
  readonly switchMicrophone = (deviceId: string): Promise<void> => this.#devices.switchMicrophone(deviceId);

  /** Takes another loudspeaker. Fails with an `AudioError`, and then the one before goes on. */
  readonly switchLoudspeaker = (deviceId: string): Promise<void> => this.#devices.switchLoudspeaker(deviceId);

  /** Finds speech in another way, now if somebody listens. */
  readonly detectWith = (detect: DetectSpeech): void => this.#person.detectWith(detect);

  /** Switches everything off and lets go of the loudspeaker. */
  readonly dispose = async (): Promise<void> => {
    await this.#close(null);
    this.#agent = null;
    await this.#devices.dispose();
  };

  async #open(how: Speaking): Promise<void> {
    if (this.#shown.microphone.status !== 'off') return;
    const attempt = ++this.#attempt;
    this.#shown.become({ status: 'starting', how });
    try {
      // In the click, since browsers let no page make noise before.
      const isAudible = this.#openAgent();
      // It fails with the rest, whichever is first.
      isAudible.catch(() => undefined);
      await this.#line.connected();
      if (attempt !== this.#attempt) return;
      await Promise.all([this.#devices.record(), isAudible]);
      if (attempt !== this.#attempt) return;
      // It may have been a tap, meanwhile.
      const now = this.#shown.how ?? how;
      if (now === 'hands-free') this.#person.detect();
      document.addEventListener('visibilitychange', this.#settle);
      this.#shown.become({ status: 'listening', how: now });
      this.#shown.tell({ isBlocked: this.#devices.isBlocked });
      if (this.#isHeld) this.#talk();
      this.#settle();
    } catch (cause) {
      // Whoever lets go to answer the browser's question wants to know what came of it.
      if (attempt === this.#attempt || this.#shown.microphone.status === 'off')
        this.#fail(AudioError.from(cause));
    }
  }

  /** Switches the microphone off; what was said until then is passed on first. */
  async #close(error: AudioError | null): Promise<void> {
    if (this.#shown.microphone.status === 'off') return;
    const attempt = ++this.#attempt;
    await this.#devices.stopRecording();
    if (attempt !== this.#attempt) return;
    this.#isMuted = false;
    this.#quiet();
    this.#person.close();
    this.#loudness = 0;
    document.removeEventListener('visibilitychange', this.#settle);
    this.#devices.stayAwake(false);
    this.#shown.become({ status: 'off', error });
    // Pressed again meanwhile.
    if (this.#isHeld) await this.#open('hold');
  }

  #fail(error: AudioError | null): void {
    this.#isHeld = false;
    if (this.#shown.microphone.status === 'off') this.#shown.become({ status: 'off', error });
    else void this.#close(error);
  }

  /** Has the agent heard. */
  #openAgent(): Promise<void> {
    const player = this.#devices.openPlayer();
    player.muted = this.#shown.state.isSilent;
    this.#agent ??= new AgentSpeech(player);
    return player.start();
  }

  #take(pcm: Int16Array): void {
    if (this.#isPaused) return;
    this.#loudness = levelOf(pcm);
    this.#person.push(pcm);
  }

  /** The person speaks: whoever else does falls silent. */
  #talk(): void {
    if (this.#person.isTalking) return;
    this.#interrupt();
    this.#person.begin(this.#shown.how === 'hold');
    this.#settle();
  }

  #quiet(): void {
    if (!this.#person.isTalking) return;
    this.#person.end();
    this.#settle();
  }

  /** The person speaks: silence, and the server is told how much was heard. */
  #interrupt(): void {
    this.#say(this.#agent?.silence() ?? []);
  }

  /** Says how much was heard, and stops nothing by it: calls that wait go on waiting, since only a card decides. */
  #say(heard: Played[]): void {
    for (const played of heard) {
      const requestId = crypto.randomUUID();
      const data = { ...played, reason: 'speech', requestId };
      this.#line.connection?.post({ requestId, frame: { type: 'interrupt', data } });
    }
  }

  #hear(event: ConnectionEvent): void {
    if (this.#agent?.hear(event)) this.#interrupt();
  }

  get #isPaused(): boolean {
    return this.#isMuted || document.hidden;
  }

  /** Brings the state in line with what is: muted, hidden, listening or hearing. */
  readonly #settle = (): void => {
    const microphone = this.#shown.microphone;
    if (microphone.status === 'off' || microphone.status === 'starting') return this.#shown.tell();
    const { how } = microphone;
    this.#devices.stayAwake(!this.#isPaused);
    if (this.#isPaused) {
      this.#person.forget();
      this.#loudness = 0;
      this.#shown.become({ status: 'paused', how, why: this.#isMuted ? 'muted' : 'hidden' });
      // What was said until then counts.
      this.#quiet();
    } else {
      this.#shown.become({ status: this.#person.isTalking ? 'hearing' : 'listening', how });
    }
  };
}
