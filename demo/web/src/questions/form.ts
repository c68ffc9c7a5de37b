import type { JsonValue } from './json.ts';

/** The JSON Schema of an answer. */
export type Schema = Readonly<Record<string, unknown>>;

/** A value that the user can choose, and its label. */
export interface Choice {
  value: JsonValue;
  words: string;
}

interface Common {
  /** The place of the value in the answer, as property names. Empty when the field is the whole answer. */
  path: readonly string[];
  title: string;
  description: string | null;
  isRequired: boolean;
  /** The initial text of the input. */
  first: string;
}

/**
 * A field of a form. The text of a `json` field is JSON, that of `yes-no` is `true` or `false`, and that of `choice`
 * is an index of `choices`.
 */
export type Field = Common &
  (
    | { kind: 'text'; type: 'text' | 'email' | 'url' | 'date'; maxLength: number | null }
    | { kind: 'number'; isInteger: boolean; minimum: number | null; maximum: number | null }
    | { kind: 'yes-no' }
    | { kind: 'choice'; choices: readonly Choice[] }
    | { kind: 'json' }
  );

/** The fields that the user fills in, in the order of the schema. */
export interface Form {
  fields: readonly Field[];
  /**
   * Whether the answer is an object with a property for each field. If not, the value of the only field is the
   * answer.
   */
  isObject: boolean;
}

/** What is wrong with the text of a field. */
export type Problem = 'required' | 'number' | 'integer' | 'json';

/** A schema with more fields is shown as one field for JSON, because users would not fill in so many inputs. */
const MAX_FIELDS = 12;
/** A schema with objects nested deeper than this is shown as one field for JSON. */
const MAX_DEPTH = 3;
const FORMATS: Readonly<Record<string, 'email' | 'url' | 'date'>> = {
  email: 'email',
  uri: 'url',
  date: 'date',
};

/**
 * The form for a schema: one text field without a schema, one field for JSON if the schema does not fit into inputs.
 * `first` is the initial value.
 */
export function formOf(schema: Schema | undefined, first?: JsonValue): Form {
  if (schema === undefined) return { fields: [textField()], isObject: false };
  const fields = fieldsOf(schema, [], true, first);
  const isTooMuch = fields === null || fields.length > MAX_FIELDS;
  if (isTooMuch) return { fields: [jsonField([], schema, true, first)], isObject: false };
  return { fields, isObject: isObjectSchema(schema) };
}

/** The form for a value that the user may change. The types of its fields are those of the value. */
export function formFor(value: JsonValue): Form {
  return formOf(schemaFor(value), value);
}

/** The initial texts of the inputs. */
export function firstValues({ fields }: Form): readonly string[] {
  return fields.map(({ first }) => first);
}

/** The answer that the texts of the inputs make; or, if one is wrong, the problem of each field (null for none). */
export function read(
  { fields, isObject }: Form,
  values: readonly string[],
): { answer: JsonValue } | { problems: readonly (Problem | null)[] } {
  const read = fields.map((field, index) => readField(field, values[index] ?? ''));
  if (read.some((one) => 'problem' in one))
    return { problems: read.map((one) => ('problem' in one ? one.problem : null)) };
  const all = read.map((one) => ('value' in one ? one.value : undefined));
  if (!isObject) return { answer: all[0] ?? null };
  const answer: { [key: string]: JsonValue } = {};
  fields.forEach(({ path }, index) => {
    const value = all[index];
    if (value !== undefined) put(answer, path, value);
  });
  return { answer };
}

/** The answers to a question that needs no form, only one button for each; null when it needs a form. */
export function choicesOf(form: Form, yes: string, no: string): readonly Choice[] | null {
  const [only] = form.fields;
  if (form.isObject || form.fields.length !== 1) return null;
  if (only?.kind === 'choice') return only.choices;
  if (only?.kind !== 'yes-no') return null;
  return [
    { value: true, words: yes },
    { value: false, words: no },
  ];
}

type Read = { value: JsonValue | undefined } | { problem: Problem };

function readField(field: Field, text: string): Read {
  const isEmpty = text.trim() === '';
  if (isEmpty && field.kind !== 'text')
    return field.isRequired ? { problem: 'required' } : { value: undefined };
  switch (field.kind) {
    case 'text':
      if (!isEmpty) return { value: text };
      return field.isRequired ? { problem: 'required' } : { value: undefined };
    case 'number': {
      const value = Number(text);
      if (!Number.isFinite(value)) return { problem: 'number' };
      return field.isInteger && !Number.isInteger(value) ? { problem: 'integer' } : { value };
    }
    case 'yes-no':
      return { value: text === 'true' };
    case 'choice':
      return { value: field.choices[Number(text)]?.value };
    case 'json':
      try {
        return { value: JSON.parse(text) as JsonValue };
      } catch {
        return { problem: 'json' };
      }
  }
}

/** The fields of a schema; null when a part of it fits into none of our inputs. */
function fieldsOf(
  schema: Schema,
  path: readonly string[],
  isRequired: boolean,
  first: JsonValue | undefined,
): Field[] | null {
  if (!isObjectSchema(schema)) {
    const field = fieldOf(schema, path, isRequired, first);
    return field && [field];
  }
  if (path.length >= MAX_DEPTH) return null;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const values = asObject(first ?? (schema.default as JsonValue | undefined));
  const found = Object.entries(asSchema(schema.properties)).map(([name, inner]) =>
    fieldsOf(
      asSchema(inner),
      [...path, name],
      isRequired && required.includes(name),
      Object.hasOwn(values, name) ? values[name] : undefined,
    ),
  );
  return found.some((fields) => fields === null) ? null : found.flatMap((fields) => fields ?? []);
}

function fieldOf(
  given: Schema,
  path: readonly string[],
  isWanted: boolean,
  first: JsonValue | undefined,
): Field | null {
  const { schema, isNullable } = withoutNull(given);
  const initial = first ?? (schema.default as JsonValue | undefined);
  const common = { ...commonOf(schema, path, isWanted && !isNullable), first: inWords(initial) };
  const choices = choicesIn(schema);
  if (choices) {
    const at = choices.findIndex(({ value }) => JSON.stringify(value) === JSON.stringify(initial));
    return { ...common, kind: 'choice', choices, first: at === -1 ? '' : String(at) };
  }
  switch (schema.type) {
    case 'string':
      return {
        ...common,
        kind: 'text',
        type: FORMATS[String(schema.format)] ?? 'text',
        maxLength: numberIn(schema.maxLength),
      };
    case 'number':
    case 'integer':
      return {
        ...common,
        kind: 'number',
        isInteger: schema.type === 'integer',
        minimum: numberIn(schema.minimum),
        maximum: numberIn(schema.maximum),
      };
    case 'boolean':
      return { ...common, kind: 'yes-no' };
    case 'array':
      return path.length === 0 ? null : jsonField(path, schema, common.isRequired, initial);
    default:
      return null;
  }
}

function jsonField(
  path: readonly string[],
  schema: Schema,
  isRequired: boolean,
  first: JsonValue | undefined,
): Field {
  const text = first === undefined ? '' : JSON.stringify(first, null, 2);
  return { ...commonOf(schema, path, isRequired), kind: 'json', first: text };
}

function textField(): Field {
  return { ...commonOf({}, [], true), kind: 'text', type: 'text', maxLength: null, first: '' };
}

function commonOf(
  { title, description }: Schema,
  path: readonly string[],
  isRequired: boolean,
): Omit<Common, 'first'> {
  return {
    path,
    title: typeof title === 'string' && title !== '' ? title : path.join(' / '),
    description: typeof description === 'string' && description !== '' ? description : null,
    isRequired,
  };
}

/**
 * The values that a schema allows, as `enum`, as `const` or as variants with `const`; null when it does not list
 * them.
 */
function choicesIn({ enum: listed, const: only, anyOf, oneOf }: Schema): readonly Choice[] | null {
  if (Array.isArray(listed) && listed.length > 0)
    return listed.map((value: JsonValue) => ({ value, words: inWords(value) }));
  if (only !== undefined) return [{ value: only as JsonValue, words: inWords(only as JsonValue) }];
  const variants = Array.isArray(oneOf) ? oneOf : anyOf;
  if (!Array.isArray(variants) || variants.length === 0) return null;
  const constants = variants.map(asSchema);
  if (constants.some((one) => one.const === undefined)) return null;
  return constants.map(({ const: value, title }) => ({
    value: value as JsonValue,
    words: typeof title === 'string' ? title : inWords(value as JsonValue),
  }));
}

/**
 * Splits a schema that allows null (`type: ['string', 'null']`, `anyOf` with a null variant, or `nullable`) into the
 * rest and `isNullable`.
 */
function withoutNull(schema: Schema): { schema: Schema; isNullable: boolean } {
  const { type, anyOf, ...rest } = schema;
  if (Array.isArray(type) && type.length === 2 && type.includes('null'))
    return { schema: { ...rest, type: type.find((one) => one !== 'null') }, isNullable: true };
  if (Array.isArray(anyOf) && anyOf.length === 2 && anyOf.some(isNull)) {
    const other = anyOf.find((one) => !isNull(one));
    return { schema: { ...rest, ...asSchema(other) }, isNullable: true };
  }
  return { schema, isNullable: schema.nullable === true };
}

/**
 * The schema that describes a value. It is empty for null, lists and empty objects: `formOf` then makes a field for
 * JSON.
 */
function schemaFor(value: JsonValue): Schema {
  if (typeof value !== 'object') return { type: typeof value };
  if (value === null || Array.isArray(value) || Object.keys(value).length === 0) return {};
  const properties = Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      Array.isArray(inner) ? { type: 'array' } : schemaFor(inner),
    ]),
  );
  return { type: 'object', properties, required: Object.keys(value).filter((name) => value[name] !== '') };
}

function put(object: { [key: string]: JsonValue }, path: readonly string[], value: JsonValue): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
    return;
  }
  if (!Object.hasOwn(object, name)) put(object, [name], {});
  put(object[name] as { [key: string]: JsonValue }, rest, value);
}

function isNull(schema: unknown): boolean {
  return asSchema(schema).type === 'null';
}

function isObjectSchema(schema: Schema): boolean {
  return schema.type === 'object' && Object.keys(asSchema(schema.properties)).length > 0;
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

function asObject(value: JsonValue | undefined): { readonly [key: string]: JsonValue } {
  return asSchema(value) as { [key: string]: JsonValue };
}

function numberIn(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function inWords(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
