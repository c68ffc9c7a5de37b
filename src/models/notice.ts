/** The result of a call that arrived after the conversation had gone on. */
export interface Notice {
  name: string;
  args: Record<string, unknown>;
  response: Record<string, unknown>;
}

const PREFIX = 'The result of an earlier tool call has arrived: ';

/** Tells a model that a call it knew as pending has its result: one line of text. */
export function noticeOf(
  name: string,
  args: Record<string, unknown>,
  response: Record<string, unknown>,
): string {
  return PREFIX + JSON.stringify({ name, args, response });
}

/** Reads a notice back; undefined when the text is none. A person can type one too: believe it only if the response behind the call says the same. */
export function readNotice(text: string): Notice | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  try {
    const { name, args, response } = JSON.parse(text.slice(PREFIX.length)) as Record<string, unknown>;
    if (typeof name !== 'string' || !isRecord(args) || !isRecord(response)) return undefined;
    return { name, args, response };
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
