const ESCAPED = '\u001b';

/**
 * A string as a database can keep it. Text there ends at a NUL, or takes none, and has no lone surrogates, so two different ids could become
 * one: such strings are written as JSON behind a mark. Different strings stay different.
 */
export function toText(value: string): string {
  const safe = !value.startsWith(ESCAPED) && !value.includes('\0') && !/\p{Surrogate}/u.test(value);
  return safe ? value : ESCAPED + JSON.stringify(value);
}

/** Reads what `toText` wrote. */
export function fromText(text: string): string {
  return text.startsWith(ESCAPED) ? (JSON.parse(text.slice(ESCAPED.length)) as string) : text;
}
