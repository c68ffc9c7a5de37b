/** A piece of sound for the person: which utterance it belongs to, and how many samples of that come before it. */
export interface Sound {
  n: number;
  messageId: string;
  sampleRate: number;
  at: number;
  /** PCM, 16 bits, mono. */
  pcm: Uint8Array;
}

/** What of the newest utterance is kept for a listener that comes back. */
const MAX_KEPT_BYTES = 2 * 1024 * 1024;
/** The number of an utterance has three bytes. */
const MAX_NUMBER = 0xff_ff_ff;
/** PCM has 16 bits. */
export const SAMPLE_BYTES = 2;

/** The sound of a session: each message speaks in an utterance of its own, and the newest can be gone on with. */
export class Utterances {
  private n = 0;
  private messageId: string | null = null;
  private sampleRate = 0;
  private samples = 0;
  private kept: Sound[] = [];
  private keptBytes = 0;

  /** Numbers a piece of sound of a message, base64. */
  add(messageId: string, sampleRate: number, data: string): Sound {
    if (messageId !== this.messageId || sampleRate !== this.sampleRate) {
      this.n = (this.n % MAX_NUMBER) + 1;
      this.messageId = messageId;
      this.sampleRate = sampleRate;
      this.samples = 0;
      this.flush();
    }
    const pcm = Buffer.from(data, 'base64');
    const sound: Sound = { n: this.n, messageId, sampleRate, at: this.samples, pcm };
    this.samples += Math.floor(pcm.byteLength / SAMPLE_BYTES);
    this.kept.push(sound);
    this.keptBytes += pcm.byteLength;
    while (this.keptBytes > MAX_KEPT_BYTES && this.kept.length > 1) {
      this.keptBytes -= this.kept.shift()?.pcm.byteLength ?? 0;
    }
    return sound;
  }

  /** What is kept of an utterance from a sample on; nothing when it is not the newest. */
  from(n: number, at: number): Sound[] {
    if (n !== this.n) return [];
    return this.kept.flatMap((sound) => {
      const missing = Math.max(0, at - sound.at) * SAMPLE_BYTES;
      if (missing >= sound.pcm.byteLength) return [];
      return missing === 0 ? [sound] : [{ ...sound, at, pcm: sound.pcm.subarray(missing) }];
    });
  }

  /** Nobody wants to hear what was said so far. */
  flush(): void {
    this.kept = [];
    this.keptBytes = 0;
  }
}

/** Reads where a listener was: `<n>-<at>`; null when it says nothing of the kind. */
export function parseSoundPlace(text: string | null): { n: number; at: number } | null {
  const [, n, at] = /^(\d{1,8})-(\d{1,15})$/.exec(text ?? '') ?? [];
  return n === undefined || at === undefined ? null : { n: Number(n), at: Number(at) };
}
