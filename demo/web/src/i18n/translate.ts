/** Texts by the pattern of what they stand for. `$1` in a text is the first group of its pattern. */
export type Translations = readonly (readonly [RegExp, string])[];

/** Returns the first text whose pattern fits, with its groups filled in; undefined if none does. */
export function translated(text: string, translations: Translations): string | undefined {
  for (const [pattern, template] of translations) {
    const groups = pattern.exec(text);
    if (groups) return template.replace(/\$(\d)/g, (_, index: string) => groups[Number(index)] ?? '');
  }
  return undefined;
}
