import { BINARY, encodeBinary } from '../../protocol/codec.ts';
import { type DetectSpeech, energyDetector, type SpeechDetector } from '../../protocol/speech-detector.ts';
import type { Connection } from '../link/index.ts';
import type { VoiceOptions } from './voice-state.ts';

const SAMPLE_RATE = 16_000;
/** How many samples of speech are kept while there is no connection: half a minute. */
const MAX_HELD = 30 * SAMPLE_RATE;
/** How many pieces of sound (20 ms each) from before the start of speech are sent, so that the first syllable is not lost: 500 ms. */
const PRE_ROLL = 25;
/** While the user holds the button, sound is sent only after this many pieces (300 ms), because a shorter hold may be a tap. */
const TAP = 15;

/** Sends the user's speech to the server. While there is no connection, it keeps the speech, and sends it when the connection is live again. */
export class SpeechSender {
  readonly #isText: boolean;
  #connection: Connection | null = null;
  /** Whether the user speaks. */
  #isOpen = false;
  /** Whether the start of this speech was sent to the server. */
  #isAnnounced = false;
  #held: Int16Array[] = [];
  #heldSamples = 0;

  constructor(isText: boolean) {
    this.#isText = isText;
  }

  /**
   * Uses another connection, or the same one after a reconnect. The start of the speech is sent again, because the server got it over a link that has
   * closed.
   */
  connect(connection: Connection | null): void {
    this.#connection = connection;
    this.#isAnnounced = false;
    this.#flush();
  }

  start(): void {
    this.#isOpen = true;
    this.#flush();
  }

  push(pcm: Int16Array): void {
    if (!this.#isOpen) return;
    this.#held.push(pcm);
    this.#heldSamples += pcm.length;
    while (this.#heldSamples > MAX_HELD) this.#heldSamples -= this.#held.shift()?.length ?? 0;
    this.#flush();
  }

  end(): void {
    this.#isOpen = false;
    this.#flush();
  }

  #flush(): void {
    const connection = this.#connection;
    if (connection?.state.status !== 'live') return;
    if (!this.#isAnnounced && (this.#isOpen || this.#held.length > 0)) {
      // `client`: this page detects the end of the speech, with its button or detector. The model does not.
      const data = { action: 'start', detection: 'client' } as const;
      this.#isAnnounced = connection.send({ type: 'audio_control', data });
    }
    for (const pcm of this.#held.splice(0)) this.#send(connection, pcm);
    this.#heldSamples = 0;
    if (this.#isOpen || !this.#isAnnounced) return;
    connection.send({ type: 'audio_control', data: { action: 'stop' } });
    this.#isAnnounced = false;
  }

  #send(connection: Connection, pcm: Int16Array): void {
    const payload = new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength);
    if (this.#isText) {
      const chunk = btoa(String.fromCharCode(...payload));
      const data = { chunk, sampleRate: SAMPLE_RATE, channels: 1, bitDepth: 16 };
      connection.send({ type: 'audio_chunk', data });
    } else {
      const frame = encodeBinary({ kind: BINARY.audioUp, sampleRate: SAMPLE_RATE, payload });
      connection.send(frame as Uint8Array<ArrayBuffer>);
    }
  }
}

/** Gets the sound of the microphone, detects speech in it, and decides which sound the `SpeechSender` sends. */
export class UserSpeech {
  readonly #options: VoiceOptions;
  readonly #onSpeech: (isSpeech: boolean) => void;
  readonly #onSending: () => void;
  readonly #sender: SpeechSender;
  #detector: SpeechDetector | null = null;
  /** The function that created the detector. */
  #detect: DetectSpeech | null = null;
  /** The newest sound that was not sent, at most `PRE_ROLL` pieces. It is sent when speech starts. */
  #before: Int16Array[] = [];
  #isTalking = false;
  /** Whether the sound is held back, because the user may only have tapped the button. */
  #isHeldBack = false;

  /** `onSpeech` is called when the detector found the start or end of speech, `onSending` when sending of the speech starts. */
  constructor(options: VoiceOptions, onSpeech: (isSpeech: boolean) => void, onSending: () => void) {
    this.#options = options;
    this.#onSpeech = onSpeech;
    this.#onSending = onSending;
    this.#sender = new SpeechSender(options.wire === 'text');
  }

  /** Whether the user speaks, or holds the button. */
  get isTalking(): boolean {
    return this.#isTalking;
  }

  /** Whether the user speaks and the sound is sent, not held back. */
  get isSending(): boolean {
    return this.#isTalking && !this.#isHeldBack;
  }

  connect(connection: Connection | null): void {
    this.#sender.connect(connection);
  }

  /** Starts to detect speech. */
  startDetector(): void {
    this.#detector?.close?.();
    this.#detect = this.#options.detect ?? energyDetector();
    this.#detector = this.#detect(this.#onSpeech);
  }

  /** Uses another detector, at once or after the current speech. */
  detectWith(detect: DetectSpeech): void {
    this.#options.detect = detect;
    this.#replaceDetector();
  }

  /** Receives sound of the microphone. */
  push(pcm: Int16Array): void {
    if (this.isSending) this.#sender.push(pcm);
    else {
      this.#before.push(pcm);
      if (this.#before.length > PRE_ROLL) this.#before.shift();
      if (this.#isTalking && this.#before.length >= TAP) this.#startSending();
    }
    this.#detector?.push(pcm);
  }

  /**
   * Call it when the user starts to speak, or presses the button. The sound just before that is sent, too. `mayBeTap`: hold the sound back until the
   * press is too long for a tap.
   */
  start(mayBeTap: boolean): void {
    this.#isTalking = true;
    this.#isHeldBack = true;
    if (!mayBeTap) this.#startSending();
  }

  /** Call it when the user stopped speaking. Sound that was held back is sent. */
  end(): void {
    if (this.#isHeldBack) this.#startSending();
    this.#isTalking = false;
    this.#sender.end();
    this.#replaceDetector();
  }

  /** Call it when the press was a tap: sound that was held back is not sent. */
  cancel(): void {
    if (this.isSending) this.#sender.end();
    this.#isTalking = false;
    this.#isHeldBack = false;
  }

  /** Drops the sound that was not sent. */
  forget(): void {
    this.#before = [];
  }

  /** Call it when the microphone is switched off. */
  close(): void {
    this.#detector?.close?.();
    this.#detector = null;
    this.forget();
  }

  #startSending(): void {
    this.#isHeldBack = false;
    this.#sender.start();
    for (const pcm of this.#before.splice(0)) this.#sender.push(pcm);
    this.#onSending();
  }

  /** Replaces the detector, but not while the user speaks, because a detector that missed the start of the speech would not find its end. */
  #replaceDetector(): void {
    const { detect } = this.#options;
    if (this.#detector && !this.#isTalking && detect && this.#detect !== detect) this.startDetector();
  }
}
