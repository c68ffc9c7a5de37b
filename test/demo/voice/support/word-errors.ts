const NUMBERS = 'zero one two three four five six seven eight nine ten'.split(' ');
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');

/** The words of a transcript: how a recogniser writes numbers and marks is no error. */
export function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .replace(/\$\s*([\d.,]+)/g, '$1 dollars')
    .replace(/[-–]/g, ' ')
    .replace(/[^a-z0-9' ]/g, '')
    .replace(/\b(?:one|a) hundred\b/g, '100')
    .split(/\s+/)
    .filter(Boolean)
    .map(inDigits);
}

function inDigits(word: string): string {
  const ten = TENS.indexOf(word);
  if (ten !== -1) return String((ten + 2) * 10);
  const one = NUMBERS.indexOf(word);
  return one === -1 ? word : String(one);
}

/** How many words must be put in, taken out or replaced to make one text of the other. */
export function wordErrors(texts: readonly string[], heard: readonly string[]): number {
  let row = Array.from({ length: heard.length + 1 }, (_, count) => count);
  texts.forEach((word, index) => {
    const next = [index + 1];
    heard.forEach((other, at) => {
      const replaced = (row[at] ?? 0) + (word === other ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    });
    row = next;
  });
  return row.at(-1) ?? 0;
}
