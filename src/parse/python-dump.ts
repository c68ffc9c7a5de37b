import { isObject, type Obj } from './json.ts';

/** The fields by which a dump is told from what was sent. */
const DUMPED = [
  'usage_metadata',
  'model_version',
  'prompt_feedback',
  'server_content',
  'tool_call',
  'setup_complete',
  'total_token_count',
] as const;

/** What people wrote themselves: the arguments and results of functions. */
const THEIRS = /^(args|response)$/;

function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
      THEIRS.test(name) ? inner : inCamelCase(inner),
    ]),
  );
}

/** A value as Google sends it: their Python SDK stores everything in snake_case. */
export function fromPython(value: Obj): Obj {
  // Nearly every response has this field, as it was sent.
  if (value.usageMetadata !== undefined) return value;
  return DUMPED.some((name) => value[name] !== undefined) ? (inCamelCase(value) as Obj) : value;
}
