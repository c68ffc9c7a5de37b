/**
 * Chooses among transcripts of the same recording: the one with the most expected words and the fewest other ones. Of equals, the first.
 * An empty transcript is chosen only if all are empty.
 */
export function bestTranscript(transcripts: readonly string[], expected: ReadonlySet<string>): string {
  let best = '';
  let most = Number.NEGATIVE_INFINITY;
  for (const transcript of transcripts) {
    const words = wordsOf(transcript);
    if (words.length === 0) continue;
    const known = words.filter((word) => expected.has(word) || /^\d+$/.test(word)).length;
    const score = known - (words.length - known);
    if (score > most) [best, most] = [transcript, score];
  }
  return best;
}

/** Whether two transcripts have the same words, however they are spelt and punctuated. */
export function sameWords(one: string, other: string): boolean {
  return wordsOf(one).join(' ') === wordsOf(other).join(' ');
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}' ]/gu, ' ')
    .split(' ')
    .filter(Boolean);
}
