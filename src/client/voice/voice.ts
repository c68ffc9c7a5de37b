import type { DetectSpeech } from '../../protocol/speech-detector.ts';
import { AudioError } from '../audio/audio-error.ts';
import type { Played } from '../link/index.ts';
import { Listeners } from '../platform.ts';
import { AgentSpeech } from './agent-speech.ts';
import { Devices, levelOf } from './devices.ts';
import { UserSpeech } from './user-speech.ts';
import { VoiceConnection } from './voice-connection.ts';
import type {
  Microphone,
  Playback,
  Speaking,
  VoiceOptions,
  VoiceState,
  VoiceTransport,
} from './voice-state.ts';

/**
 * Talks with the agent over a transport: it records the user, plays the agent, and interrupts the agent when the user speaks.
 *
 * @example
 * const voice = new Voice();
 * voice.attach(transport, 'chat-1');
 * button.onclick = () => voice.start();
 */
export class Voice {
  readonly #listeners = new Listeners<[]>();
  readonly #devices: Devices;
  readonly #connection: VoiceConnection;
  readonly #user: UserSpeech;
  #agent: AgentSpeech | null = null;
  #microphone: Microphone = { status: 'off', error: null };
  #playback: Playback = { speaker: null, isSilent: false, isBlocked: false };
  #state: VoiceState = { ...this.#microphone, ...this.#playback };
  /** Whether the user holds the key or button. */
  #isHeld = false;
  #isMuted = false;
  #loudness = 0;
  /** The number of the newest start or stop. A pending start compares it, and has no effect when a later start or stop followed. */
  #attempt = 0;

  constructor(options: VoiceOptions = {}) {
    this.#devices = new Devices({
      options,
      onSound: (pcm) => this.#receiveSound(pcm),
      onLost: (error) => this.#fail(error),
      // The browser blocks every player until a click. Report that only after an attempt to play.
      onPlayerChange: () => this.#update({ isBlocked: this.#playback.isBlocked && this.#devices.isBlocked }),
    });
    this.#user = new UserSpeech(
      options,
      (isSpeech) => {
        if (this.#isHeld || this.#isPaused) return;
        if (isSpeech) this.#startTalking();
        else this.#stopTalking();
      },
      () => this.#update(),
    );
    this.#connection = new VoiceConnection({
      player: {
        position: () => this.#agent?.position ?? null,
        silence: () => {
          const played = this.#agent?.silence() ?? [];
          // The caller's `interrupt` names no message, because it is about the newest sound. How much was heard of an earlier message is reported
          // separately.
          const last = played.pop();
          this.#reportPlayed(played);
          return last && { playedMs: last.playedMs };
        },
      },
      receive: (event) => {
        if (this.#agent?.receive(event)) this.#interrupt();
      },
      onConnection: (connection) => this.#user.connect(connection),
      onInactive: () => {
        this.#agent?.silence();
        if (this.#how) this.#fail(new AudioError('elsewhere'));
      },
    });
  }

  get state(): VoiceState {
    return this.#state;
  }

  /** Calls the listener whenever the state changes. The returned function unsubscribes. */
  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  /** The loudness of the current speaker, from 0 to 1, for a meter. It changes all the time, without a call of the listeners. */
  get level(): number {
    const isAgent = this.#devices.player?.isPlaying === true && !this.#user.isTalking;
    return isAgent ? this.#devices.level : this.#loudness;
  }

  /** Uses a transport from now on. Null detaches the voice and switches everything off. */
  attach(transport: VoiceTransport | null, chatId = ''): void {
    if (this.#connection.attach(transport, chatId) && !transport) this.#fail(null);
  }

  /**
   * Switches the microphone on, hands-free, until `stop`. While the user holds the button, this means that the hold was a tap: the
   * microphone stays on, and nothing of the hold is sent.
   */
  readonly start = async (): Promise<void> => {
    const microphone = this.#microphone;
    if (microphone.status === 'off') return this.#open('hands-free');
    if (microphone.how === 'hands-free') return;
    this.#isHeld = false;
    this.#user.cancel();
    this.#setMicrophone({ ...microphone, how: 'hands-free' });
    if (microphone.status !== 'starting') this.#user.startDetector();
    this.#settle();
  };

  /** Switches the microphone off. The agent's sound continues to play. */
  readonly stop = (): Promise<void> => this.#close(null);

  /** The user holds the key or button: their sound is sent until `release`. */
  readonly press = async (): Promise<void> => {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#interrupt();
    const { status } = this.#microphone;
    if (status === 'off') await this.#open('hold');
    else if (status === 'listening') this.#startTalking();
  };

  readonly release = async (): Promise<void> => {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    if (this.#how === 'hold') await this.#close(null);
    else this.#stopTalking();
  };

  /** Ignores the microphone without switching it off. */
  readonly mute = (isMuted: boolean): void => {
    this.#isMuted = isMuted;
    this.#settle();
  };

  /** Turns the agent's sound off or on. */
  readonly silence = (isSilent: boolean): void => {
    const { player } = this.#devices;
    if (player) player.muted = isSilent;
    this.#update({ isSilent });
    if (!isSilent) void this.listen();
  };

  /** Plays the agent's sound, even if the microphone was never used. Call it in the handler of a click. */
  readonly listen = async (): Promise<void> => {
    try {
      await this.#openAgent();
    } catch (cause) {
      this.#fail(AudioError.from(cause));
    }
    this.#update({ isBlocked: this.#devices.isBlocked });
  };

  /** Removes the error from the state. */
  readonly dismiss = (): void => {
    if (this.#microphone.status === 'off') this.#setMicrophone({ status: 'off', error: null });
  };

  /** Uses another microphone: at once if a microphone is on. Throws an `AudioError` when that fails; then the previous one stays on. */
  readonly switchMicrophone = (deviceId: string): Promise<void> => this.#devices.switchMicrophone(deviceId);

  /** Uses another loudspeaker. Throws an `AudioError` when that fails; then the previous one is used. */
  readonly switchLoudspeaker = (deviceId: string): Promise<void> => this.#devices.switchLoudspeaker(deviceId);

  /** Uses another speech detector; at once, unless the user is speaking. */
  readonly detectWith = (detect: DetectSpeech): void => this.#user.detectWith(detect);

  /** Switches everything off and releases the devices. */
  readonly dispose = async (): Promise<void> => {
    await this.#close(null);
    this.#agent = null;
    await this.#devices.dispose();
  };

  async #open(how: Speaking): Promise<void> {
    if (this.#microphone.status !== 'off') return;
    const attempt = ++this.#attempt;
    this.#setMicrophone({ status: 'starting', how });
    try {
      // Called before the first `await`, so that it runs within the user's click: browsers allow sound only after a click.
      const isAudible = this.#openAgent();
      // The promise is awaited below. If it rejects before that, this handler prevents an unhandled rejection.
      isAudible.catch(() => undefined);
      await this.#connection.connected();
      if (attempt !== this.#attempt) return;
      await Promise.all([this.#devices.record(), isAudible]);
      if (attempt !== this.#attempt) return;
      // Meanwhile `start()` may have changed the microphone from `hold` to `hands-free`, because the hold was only a tap.
      const now = this.#how ?? how;
      if (now === 'hands-free') this.#user.startDetector();
      document.addEventListener('visibilitychange', this.#settle);
      this.#setMicrophone({ status: 'listening', how: now });
      this.#update({ isBlocked: this.#devices.isBlocked });
      if (this.#isHeld) this.#startTalking();
      this.#settle();
    } catch (cause) {
      // Report the error even if the button was released meanwhile: the user may have released it to answer the browser's permission question.
      if (attempt === this.#attempt || !this.#how) this.#fail(AudioError.from(cause));
    }
  }

  /** Switches the microphone off, after the last sound has been sent. */
  async #close(error: AudioError | null): Promise<void> {
    if (this.#microphone.status === 'off') return;
    const attempt = ++this.#attempt;
    await this.#devices.stopRecording();
    if (attempt !== this.#attempt) return;
    this.#isMuted = false;
    this.#stopTalking();
    this.#user.close();
    this.#loudness = 0;
    document.removeEventListener('visibilitychange', this.#settle);
    this.#devices.stayAwake(false);
    this.#setMicrophone({ status: 'off', error });
    // The user pressed the button again while the microphone was being switched off.
    if (this.#isHeld) await this.#open('hold');
  }

  #fail(error: AudioError | null): void {
    this.#isHeld = false;
    if (this.#microphone.status === 'off') this.#setMicrophone({ status: 'off', error });
    else void this.#close(error);
  }

  #openAgent(): Promise<void> {
    const player = this.#devices.openPlayer();
    player.muted = this.#playback.isSilent;
    this.#agent ??= new AgentSpeech(player);
    return player.start();
  }

  #receiveSound(pcm: Int16Array): void {
    if (this.#isPaused) return;
    this.#loudness = levelOf(pcm);
    this.#user.push(pcm);
  }

  #startTalking(): void {
    if (this.#user.isTalking) return;
    this.#interrupt();
    this.#user.start(this.#how === 'hold');
    this.#settle();
  }

  #stopTalking(): void {
    if (!this.#user.isTalking) return;
    this.#user.end();
    this.#settle();
  }

  /** Silences the agent, and reports how much of it was heard. */
  #interrupt(): void {
    this.#reportPlayed(this.#agent?.silence() ?? []);
  }

  /** Reports how much of messages was heard. This stops neither the agent nor its calls: only a decision answers an approval request. */
  #reportPlayed(heard: Played[]): void {
    for (const played of heard) {
      const requestId = crypto.randomUUID();
      const data = { ...played, reason: 'speech', requestId };
      this.#connection.connection?.post({ requestId, frame: { type: 'interrupt', data } });
    }
  }

  /** How the microphone was switched on; null while it is off. */
  get #how(): Speaking | null {
    return this.#microphone.status === 'off' ? null : this.#microphone.how;
  }

  get #isPaused(): boolean {
    return this.#isMuted || document.hidden;
  }

  /** Sets the state of a microphone that is on: muted, hidden, listening or hearing. */
  readonly #settle = (): void => {
    const microphone = this.#microphone;
    if (microphone.status === 'off' || microphone.status === 'starting') return this.#update();
    const { how } = microphone;
    this.#devices.stayAwake(!this.#isPaused);
    if (this.#isPaused) {
      this.#user.forget();
      this.#loudness = 0;
      this.#setMicrophone({ status: 'paused', how, why: this.#isMuted ? 'muted' : 'hidden' });
      // This ends the current speech: the sound before the pause is still sent.
      this.#stopTalking();
    } else {
      this.#setMicrophone({ status: this.#user.isTalking ? 'hearing' : 'listening', how });
    }
  };

  #setMicrophone(microphone: Microphone): void {
    this.#microphone = microphone;
    this.#update();
  }

  #update(change: Partial<Playback> = {}): void {
    const speaker = this.#user.isSending ? 'person' : this.#devices.player?.isPlaying ? 'agent' : null;
    this.#playback = { ...this.#playback, ...change, speaker };
    this.#state = { ...this.#microphone, ...this.#playback };
    this.#listeners.notify();
  }
}
