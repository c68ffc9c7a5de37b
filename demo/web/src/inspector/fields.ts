/** A value of JSON, as far as it has fields. */
export type Fields = Record<string, unknown>;

/** The fields in a text of JSON; none when it is something else. */
export function fieldsOf(text: string): Fields {
  try {
    return fieldsIn(JSON.parse(text));
  } catch {
    return {};
  }
}

/** The fields of a value; none when it has none. */
export function fieldsIn(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

/** The value if it is a text that is not empty. */
export function textIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
