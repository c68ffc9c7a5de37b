import { isObject, type Obj } from './json.ts';

/** Top-level fields that only the Python SDK writes. Gemini itself sends them in camelCase. */
const DUMPED = [
  'usage_metadata',
  'model_version',
  'prompt_feedback',
  'server_content',
  'tool_call',
  'setup_complete',
  'total_token_count',
] as const;

/** Fields whose content is the caller's own: the arguments and results of functions. Their keys stay as they are. */
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

/**
 * Converts a Gemini value that Google's Python SDK stored with keys in snake_case to the camelCase that Gemini sends. Other values
 * are returned unchanged.
 */
export function fromPython(value: Obj): Obj {
  // Nearly every response that Gemini sends has this field in camelCase, so most calls return here.
  if (value.usageMetadata !== undefined) return value;
  return DUMPED.some((name) => value[name] !== undefined) ? (inCamelCase(value) as Obj) : value;
}
