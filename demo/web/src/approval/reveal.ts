/**
 * Replaces characters that could make a text look like another one by visible signs: control characters, direction
 * marks, unusual spaces.
 */
export function reveal(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\u2800]/gu, (character) => {
    if (character === '\n' || character === '\t') return character;
    const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${code}⟩`;
  });
}
