const LENGTHS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties']);

/** JSON Schema keywords whose values are plain values, not schemas. */
const VALUES = new Set(['enum', 'required', 'default', 'example', 'const']);

/** Converts a schema in Google's form to JSON Schema: types in lower case, lengths as numbers, and `nullable` as the additional type `null`. */
export function toJsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toJsonSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'nullable') continue;
    if (key === 'type' && typeof value === 'string') out.type = value.toLowerCase();
    else if (key === 'properties' && typeof value === 'object' && value !== null) {
      // A property may be called `type` or `nullable`: its name is not a keyword.
      out.properties = Object.fromEntries(
        Object.entries(value).map(([name, one]) => [name, toJsonSchema(one)]),
      );
    } else if (LENGTHS.has(key) && typeof value === 'string') out[key] = Number(value);
    else if (VALUES.has(key)) out[key] = value;
    else out[key] = toJsonSchema(value);
  }
  if ('nullable' in schema && schema.nullable === true && typeof out.type === 'string')
    out.type = [out.type, 'null'];
  return out;
}
