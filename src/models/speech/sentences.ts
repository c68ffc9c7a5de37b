/** The largest number of characters of a sentence. A longer sentence is spoken in pieces. */
const LONGEST = 240;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'sentence' });

/** Cuts a text that comes in pieces into sentences that can be spoken, as soon as each is complete. */
export class Sentences {
  private text = '';

  push(delta: string): string[] {
    this.text += delta;
    // Most deltas contain no end of a sentence: skip the costly segmentation for them.
    if (!/[.!?。！？\n]/.test(delta) && this.text.length < LONGEST) return [];
    const segments = [...segmenter.segment(this.text)].map(({ segment }) => segment);
    const last = segments.pop() ?? '';
    this.text = last;
    if (last.length >= LONGEST) {
      const cut = pausePosition(last);
      segments.push(last.slice(0, cut));
      this.text = last.slice(cut);
    }
    return segments.map(spoken).filter(isSpeakable);
  }

  /** Ends the text. Returns the last sentence. */
  end(): string[] {
    const rest = spoken(this.text);
    this.text = '';
    return isSpeakable(rest) ? [rest] : [];
  }
}

function pausePosition(text: string): number {
  for (const mark of [/[,;:、，]\s*(?=[^,;:、，]*$)/, /\s(?=\S*$)/]) {
    const found = mark.exec(text.slice(0, LONGEST));
    if (found && found.index > LONGEST / 4) return found.index + found[0].length;
  }
  return LONGEST;
}

/** Removes Markdown that cannot be spoken. */
function spoken(text: string): string {
  return text
    .replace(/```[^\n]*|`/g, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*(?:#{1,6}|[-*+]|>|\d+\.)\s+/gm, '')
    .replace(/^\s*\|?[\s:|-]+\|?\s*$/gm, '')
    .replace(/\|/g, ', ')
    .replace(/\*\*|__|~~|(?<=^|\s)[*_](?=\S)|(?<=\S)[*_](?=\s|$|[.,;:!?])/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

function isSpeakable(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}
