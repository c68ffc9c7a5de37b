/** Speech begins when `SPEECH_FRAMES` of the last `WITHIN` frames (32 ms each) sound like speech. */
const SPEECH_FRAMES = 2;
const WITHIN = 3;
/** At this likelihood one frame is enough for speech to begin: noise does not reach it, and a delay would cut off the first sound. */
const CERTAIN = 0.9;
/** During speech, a frame counts as a pause when its likelihood of speech is this much below the threshold. */
const SLACK = 0.15;
/** The number of frames in a pause that ends the speech: 500 ms. */
const PAUSE_FRAMES = 16;

/** Finds where speech begins and ends, from the likelihood of speech in each frame of sound. */
export class SpeechFrames {
  private readonly threshold: number;
  private recent: boolean[] = [];
  private isOpen = false;
  private pause = 0;

  /** `sensitivity` from 0 to 1. */
  constructor(sensitivity: number) {
    this.threshold = 0.8 - 0.6 * sensitivity;
  }

  /** Takes the next frame; says whether speech has begun or ended with it. */
  push(likelihood: number): 'begins' | 'ends' | null {
    if (this.isOpen) {
      this.pause = likelihood < this.threshold - SLACK ? this.pause + 1 : 0;
      if (this.pause < PAUSE_FRAMES) return null;
      this.isOpen = false;
      this.recent = [];
      return 'ends';
    }
    this.recent = [...this.recent, likelihood >= this.threshold].slice(-WITHIN);
    if (likelihood < CERTAIN && this.recent.filter(Boolean).length < SPEECH_FRAMES) return null;
    this.isOpen = true;
    this.pause = 0;
    return 'begins';
  }
}
