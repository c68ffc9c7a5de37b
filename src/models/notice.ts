import type { Content } from '@google/genai';

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

/** Reads a notice back; undefined when the text is none. A person can type one: see `noticeIn`. */
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

/** The notices that end a conversation, each borne out by the response that stands behind its call. */
export function noticesIn(contents: readonly Content[]): Notice[] {
  const last = contents.at(-1);
  if (last?.role !== 'user') return [];
  const responses = contents.flatMap((content) =>
    (content.parts ?? []).flatMap((part) => part.functionResponse ?? []),
  );
  return (last.parts ?? []).flatMap((part) => {
    const notice = part.text === undefined ? undefined : readNotice(part.text);
    if (!notice) return [];
    const said = JSON.stringify(notice.response);
    const isTrue = responses.some(
      (response) => response.name === notice.name && JSON.stringify(response.response) === said,
    );
    return isTrue ? [notice] : [];
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
