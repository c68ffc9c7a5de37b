import type { Content, ContentUnion, Part } from '@google/genai';

/** Asks a model to continue an answer that was cut off. The user does not see this text. */
export const CONTINUE =
  'Your last answer was cut off. Continue it exactly where it stopped. Do not repeat what you wrote, and do not comment on the interruption.';

/** The result of a call to which the model no longer accepts a response, e.g. because the user has sent a new message since the call. */
export interface Notice {
  name: string;
  args: Record<string, unknown>;
  response: Record<string, unknown>;
}

const PREFIX = 'The result of an earlier tool call has arrived: ';

/** The text that gives a model the result of an earlier call, in place of a response to the call. */
export function noticeOf(
  name: string,
  args: Record<string, unknown>,
  response: Record<string, unknown>,
): string {
  return PREFIX + JSON.stringify({ name, args, response });
}

/**
 * Reads a text of `noticeOf`; undefined for any other text. A user can type such a text too, so trust it only if the call in the history has the same
 * response.
 */
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

/** The parts of an instruction. ADK sets a string; the `generateContentConfig` of an agent may have any other form of content. */
export function instructionParts(instruction: ContentUnion): Part[] {
  const given: (Content | Part | string)[] = Array.isArray(instruction) ? instruction : [instruction];
  return given.flatMap((item) => {
    if (typeof item === 'string') return [{ text: item }];
    return isContent(item) ? (item.parts ?? []) : [item];
  });
}

function isContent(value: Content | Part): value is Content {
  return 'parts' in value;
}
