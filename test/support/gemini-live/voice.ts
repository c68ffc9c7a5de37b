/** How a fake speaks where sound matters: it takes the time that speech takes. */
export interface FakeVoice {
  /** The tone that stands for its voice. */
  hertz: number;
  /** How long a piece of the transcript sounds. */
  pieceMs: number;
  /** How many times faster than it sounds the speech is sent. */
  haste: number;
}

export const VOICE: FakeVoice = { hertz: 440, pieceMs: 240, haste: 4 };

const RATE = 24_000;
const LOUD = 8000;
/** The ends of a piece fade, so that nothing clicks. */
const FADE = RATE / 200;

/** The sound of one piece of speech, as the service sends it. */
export function soundOf({ hertz, pieceMs }: FakeVoice): string {
  const length = Math.round((RATE * pieceMs) / 1000);
  const pcm = Buffer.alloc(length * 2);
  for (let i = 0; i < length; i++) {
    const fade = Math.min(1, i / FADE, (length - i) / FADE);
    pcm.writeInt16LE(Math.round(LOUD * fade * Math.sin((2 * Math.PI * hertz * i) / RATE)), i * 2);
  }
  return pcm.toString('base64');
}

/** Sound at 16 kHz is speech from this level on, when it lasts, and is over after a pause. */
const SPEECH_LEVEL = 500;
const ONSET_MS = 60;
const PAUSE_MS = 700;

/** Finds where speech begins and ends in sound, by its level alone. */
export class FakeSpeechDetector {
  private isSpeech = false;
  private loudMs = 0;
  private quietMs = 0;

  /** Whether the sound up to here is speech that has not ended. */
  get isHearing(): boolean {
    return this.isSpeech;
  }

  /** Takes sound of 16 bits at 16 kHz; says what it changed. */
  push(pcm: Buffer): 'began' | 'ended' | null {
    const ms = pcm.length / 32;
    const isLoud = level(pcm) >= SPEECH_LEVEL;
    this.loudMs = isLoud ? this.loudMs + ms : 0;
    this.quietMs = isLoud ? 0 : this.quietMs + ms;
    if (!this.isSpeech && this.loudMs >= ONSET_MS) {
      this.isSpeech = true;
      return 'began';
    }
    return this.isSpeech && this.quietMs >= PAUSE_MS && this.end() ? 'ended' : null;
  }

  /** Ends the speech. Returns whether there was any. */
  end(): boolean {
    const { isSpeech } = this;
    this.isSpeech = false;
    this.loudMs = 0;
    return isSpeech;
  }
}

function level(pcm: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 1 < pcm.length; at += 2) sum += pcm.readInt16LE(at) ** 2;
  return Math.sqrt((2 * sum) / Math.max(2, pcm.length));
}
