import type { Blob, Content } from '@google/genai';

/** Something for the model: a content, sound or a picture, or when the person speaks. */
export type Given = { content: Content } | { blob: Blob } | { activity: 'start' | 'end' };

/** Sound that waits while there is no socket: two seconds of it, the newest. */
const MAX_HELD = 100;

/** What waits for a socket, in order. */
export class GeminiHeld {
  private all: Given[] = [];

  /** Whether something is said there that the model has to react to. */
  get hasContent(): boolean {
    return this.all.some((given) => 'content' in given);
  }

  add(given: Given): void {
    this.all.push(given);
    const media = this.all.filter((one) => 'blob' in one);
    if (media.length > MAX_HELD) this.all = this.all.filter((one) => one !== media[0]);
  }

  /** All of it, once. */
  take(): Given[] {
    return this.all.splice(0);
  }
}
