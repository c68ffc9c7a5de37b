/** A JSON object. */
export type Fields = Record<string, unknown>;

/** Parses a JSON object; returns an empty one for any other text. */
export function fieldsOf(text: string): Fields {
  try {
    return fieldsIn(JSON.parse(text));
  } catch {
    return {};
  }
}

/** The value if it is an object, otherwise an empty object. */
export function fieldsIn(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

/** The value if it is a text that is not empty, otherwise null. */
export function textIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
