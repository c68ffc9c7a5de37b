import type { ToolRequest } from '../adk/for-server.ts';
import { CLIENT_FRAMES } from '../protocol/wire/frames.ts';

/** The parts of a request that tools may see (`context.request`). They stay in memory, and are neither stored nor logged. */
export interface ToolRequestOptions {
  /** Names of headers, such as `accept-language`. Over a socket they are those of its handshake. */
  headers: readonly string[];
  /** Names of fields of the body that the page adds, such as `body` of `sendMessage` in `useChat`. Over a socket they are fields of the frame. */
  body: readonly string[];
}

/** The fields of bodies and frames that the protocol itself uses. */
const OF_PROTOCOL: ReadonlySet<string> = new Set([
  ...Object.keys(CLIENT_FRAMES.message.fields.shape),
  ...Object.keys(CLIENT_FRAMES.tool_result.fields.shape),
  ...['id', 'chatId', 'stock', 'watches', 'type', 'version', 'data'],
]);

/** Whether a value is a list of field names that the protocol does not use itself. */
export function areOwnFields(names: unknown): boolean {
  return Array.isArray(names) && names.every((name) => typeof name === 'string' && !OF_PROTOCOL.has(name));
}

/** Picks the headers and body fields of a request that tools may see. */
export function toolRequestOf(
  options: Partial<ToolRequestOptions>,
  headers: Headers,
  body: Readonly<Record<string, unknown>>,
): ToolRequest {
  const { headers: headerNames = [], body: fieldNames = [] } = options;
  const seen = headerNames.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name.toLowerCase(), value] as const];
  });
  const fields = fieldNames.filter((name) => Object.hasOwn(body, name)).map((name) => [name, body[name]]);
  return { headers: Object.fromEntries(seen), body: Object.fromEntries(fields) };
}

/** The fields of a parsed frame of `/live`: those of its `data` if it has one, or of the frame itself. */
export function frameFields(frame: unknown): Readonly<Record<string, unknown>> {
  const { data } = frame as { data?: unknown };
  return (typeof data === 'object' && data !== null ? data : frame) as Record<string, unknown>;
}
