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
 * Lets the user talk with the agent over a transport. It records the user, plays the agent's sound, and silences the agent when the user speaks.
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
  /** Counts the starts and stops of the microphone. A start that is not complete has no effect once this number has changed. */
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
          // The caller sends an `interrupt` without a message id for the newest message. So report here how much the user heard of an earlier
          // message.
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

  /** The loudness of the current speaker, from 0 to 1, for a level meter. It changes all the time; listeners are not called for it. */
  get level(): number {
    const isAgent = this.#devices.player?.isPlaying === true && !this.#user.isTalking;
    return isAgent ? this.#devices.level : this.#loudness;
  }

  /** Uses a transport from now on. Null detaches the voice and switches everything off. */
  attach(transport: VoiceTransport | null, chatId = ''): void {
    if (this.#connection.attach(transport, chatId) && !transport) this.#fail(null);
  }

  /**
   * Switches the microphone on, hands-free, until `stop`. Call it also when the user only tapped the button instead of holding it: the
   * microphone then stays on, and the sound of the tap is not sent.
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

  /** Call it when the user starts to hold the key or button. The user's sound is sent until `release`. */
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

  /** With true, ignores the sound of the microphone without switching it off; with false, uses it again. */
  readonly mute = (isMuted: boolean): void => {
    this.#isMuted = isMuted;
    this.#settle();
  };

  /** With true, turns the agent's sound off; with false, on again. */
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

  /** Uses another microphone, at once if a microphone is on. When that fails, it throws an `AudioError`, and the previous microphone stays on. */
  readonly switchMicrophone = (deviceId: string): Promise<void> => this.#devices.switchMicrophone(deviceId);

  /** Uses another loudspeaker. When that fails, it throws an `AudioError`, and the previous loudspeaker stays in use. */
  readonly switchLoudspeaker = (deviceId: string): Promise<void> => this.#devices.switchLoudspeaker(deviceId);

  /** Uses another speech detector, at once or after the current speech. */
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
      // Call this before the first `await`, so that it runs within the handler of the user's click: browsers allow sound only after a click.
      const isAudible = this.#openAgent();
      // The promise is awaited below. If it rejects before that, this handler prevents an unhandled rejection.
      isAudible.catch(() => undefined);
      await this.#connection.connected();
      if (attempt !== this.#attempt) return;
      await Promise.all([this.#devices.record(), isAudible]);
      if (attempt !== this.#attempt) return;
      // While the microphone started, a call of `start()` may have changed it from `hold` to `hands-free`, because the hold was only a tap.
      const now = this.#how ?? how;
      if (now === 'hands-free') this.#user.startDetector();
      document.addEventListener('visibilitychange', this.#settle);
      this.#setMicrophone({ status: 'listening', how: now });
      this.#update({ isBlocked: this.#devices.isBlocked });
      if (this.#isHeld) this.#startTalking();
      this.#settle();
    } catch (cause) {
      // Report the error even if the user has released the button by now: the user may have done so to answer the browser's permission question.
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

  /** Silences the agent, and reports how much of its sound was heard. */
  #interrupt(): void {
    this.#reportPlayed(this.#agent?.silence() ?? []);
  }

  /** Reports how much of each message was heard. These reports stop neither the agent nor its calls, so open approval requests stay open. */
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

  /** Sets the state of a microphone that is on: `paused`, `listening` or `hearing`. */
  readonly #settle = (): void => {
    const microphone = this.#microphone;
    if (microphone.status === 'off' || microphone.status === 'starting') return this.#update();
    const { how } = microphone;
    this.#devices.stayAwake(!this.#isPaused);
    if (this.#isPaused) {
      this.#user.forget();
      this.#loudness = 0;
      this.#setMicrophone({ status: 'paused', how, why: this.#isMuted ? 'muted' : 'hidden' });
      // End the current speech. The sound from before the pause is still sent.
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
