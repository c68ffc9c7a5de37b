import { BINARY_HEADER, writeBinaryHeader } from '../../protocol/codec.ts';
import { BINARY, base64Bytes, encodeBinary } from '../../protocol/index.ts';

/** A piece of the agent's sound: the number of its utterance (`n`), and how many samples of the utterance come before it (`at`). */
export interface Sound {
  n: number;
  messageId: string;
  sampleRate: number;
  at: number;
  /** The binary frame for a socket. */
  frame: Uint8Array;
}

/** The samples of a piece: PCM, 16 bits, mono. */
export function pcmOf({ frame }: Sound): Uint8Array {
  return frame.subarray(BINARY_HEADER);
}

/** The number of PCM bytes in a piece. */
export function soundBytes({ frame }: Sound): number {
  return frame.byteLength - BINARY_HEADER;
}

/** How many bytes of the newest utterance are kept for a listener that reconnects. */
const MAX_KEPT_BYTES = 2 * 1024 * 1024;
/** The largest number of an utterance, which has three bytes in the binary frame. */
const MAX_NUMBER = 0xff_ff_ff;
/** The bytes of one sample of 16-bit PCM. */
export const SAMPLE_BYTES = 2;

/**
 * The sound of a session. Each spoken message is an utterance, and another sample rate within a message starts a new one. A listener that reconnects
 * can continue the newest utterance.
 */
export class Utterances {
  private n: number;
  private messageId: string | null = null;
  private sampleRate = 0;
  private samples = 0;
  private kept: Sound[] = [];
  /** The index of the oldest piece that is kept. */
  private oldest = 0;
  private keptBytes = 0;

  /** `before`: the highest number that earlier owners of the session may have used. */
  constructor(before = 0) {
    this.n = before % MAX_NUMBER;
  }

  /** Adds a piece of sound (base64) of a message, and returns it with its number and position. */
  add(messageId: string, sampleRate: number, data: string): Sound {
    if (messageId !== this.messageId || sampleRate !== this.sampleRate) {
      this.n = (this.n % MAX_NUMBER) + 1;
      this.messageId = messageId;
      this.sampleRate = sampleRate;
      this.samples = 0;
      this.flush();
    }
    // The base64 text is decoded directly into the binary frame, so that no sample is copied.
    const bytes = Buffer.allocUnsafe(BINARY_HEADER + Math.max(0, base64Bytes(data)));
    const length = bytes.write(data, BINARY_HEADER, 'base64');
    // Invalid base64 decodes to fewer bytes than expected, and then the frame is shortened.
    const whole = BINARY_HEADER + length;
    const frame = whole === bytes.byteLength ? bytes : bytes.subarray(0, whole);
    const { n } = this;
    writeBinaryHeader(frame, { kind: BINARY.audioDown, utterance: n, sampleRate });
    const sound: Sound = { n, messageId, sampleRate, at: this.samples, frame };
    this.samples += Math.floor(length / SAMPLE_BYTES);
    this.keep(sound);
    return sound;
  }

  private keep(sound: Sound): void {
    const { kept } = this;
    kept.push(sound);
    this.keptBytes += soundBytes(sound);
    for (let first = kept[this.oldest]; this.keptBytes > MAX_KEPT_BYTES; first = kept[this.oldest]) {
      if (!first || first === sound) break;
      this.keptBytes -= soundBytes(first);
      this.oldest += 1;
    }
    // Shorten the array only when more than half of its pieces were discarded. Moving all pieces for each new one would cost too much.
    if (this.oldest * 2 <= kept.length) return;
    this.kept = kept.slice(this.oldest);
    this.oldest = 0;
  }

  /** The kept pieces of an utterance from the sample `at` on; empty when the utterance is not the newest. */
  from(n: number, at: number): Sound[] {
    if (n !== this.n) return [];
    return this.kept.slice(this.oldest).flatMap((sound) => {
      const missing = Math.max(0, at - sound.at) * SAMPLE_BYTES;
      if (missing >= soundBytes(sound)) return [];
      if (missing === 0) return [sound];
      const { sampleRate } = sound;
      const payload = pcmOf(sound).subarray(missing);
      const frame = encodeBinary({ kind: BINARY.audioDown, utterance: n, sampleRate, payload });
      return [{ ...sound, at, frame }];
    });
  }

  /** Discards the kept sound, because the user interrupted it or a new utterance starts. */
  flush(): void {
    this.kept = [];
    this.oldest = 0;
    this.keptBytes = 0;
  }
}

/** Parses the sound position of a listener (`<n>-<at>`); null when the text has another form. */
export function parseSoundPlace(text: string | null): { n: number; at: number } | null {
  const [, n, at] = /^(\d{1,8})-(\d{1,15})$/.exec(text ?? '') ?? [];
  return n === undefined || at === undefined ? null : { n: Number(n), at: Number(at) };
}
