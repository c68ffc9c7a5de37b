/** English words that occur in most requests, whatever the person asks for. */
export const COMMON_WORDS: readonly string[] = (
  "hello hi thanks thank yes no please what what's who where when how much many is it i'm am are do does can could would you i me my " +
  'we the a an some to in on at of for from and or not need have tell show give help stop again today now one two three four five ' +
  'six seven eight nine ten twenty thirty forty fifty sixty seventy eighty ninety hundred'
).split(' ');

/**
 * Chooses among transcripts of the same recording: the one with the highest number of expected words minus other words. Of equals, the first.
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
