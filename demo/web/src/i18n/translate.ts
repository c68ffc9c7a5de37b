/** Patterns, each with the text that replaces a text that matches it. `$1` is the first group of the pattern. */
export type Translations = readonly (readonly [RegExp, string])[];

/** Returns the text of the first pattern that matches, with its groups filled in; undefined when none matches. */
export function translated(text: string, translations: Translations): string | undefined {
  for (const [pattern, template] of translations) {
    const groups = pattern.exec(text);
    if (groups) return template.replace(/\$(\d)/g, (_, index: string) => groups[Number(index)] ?? '');
  }
  return undefined;
}
