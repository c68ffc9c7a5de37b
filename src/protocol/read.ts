import { ProtocolError } from './errors.ts';
import { type Answer, answersIn } from './tool-call.ts';

/** A piece of what a person says: text, or a file as base64, or a file this server stored before. */
export type InputPart =
  | { type: 'text'; text: string }
  | { type: 'file'; mediaType: string; data: string; filename?: string }
  | { type: 'stored-file'; url: string; mediaType?: string; filename?: string };

/** What the last message of a post or frame says: something new, or answers to calls that wait. */
export type Input =
  | { kind: 'message'; id: string | undefined; parts: InputPart[] }
  | { kind: 'answers'; messageId: string | undefined; answers: Answer[] };

/**
 * Reads the last message of a list strictly and nothing before it. Messages come as `parts`, as `content` (a string or
 * parts) or as `experimental_attachments`; unknown parts are passed over.
 */
export function readInput(messages: unknown): Input {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new ProtocolError(
      'bad_request',
      'Expected "messages": a non-empty array whose last entry is read.',
    );
  }
  const last: unknown = messages[messages.length - 1];
  if (!isRecord(last)) throw new ProtocolError('bad_request', 'The last message must be an object.');
  const { role } = last;
  if (role !== 'user' && role !== 'assistant' && role !== 'tool') {
    throw new ProtocolError(
      'bad_request',
      `The last message has role ${JSON.stringify(role) ?? 'none'}; expected "user" or "assistant".`,
    );
  }
  if (last.id !== undefined && typeof last.id !== 'string') {
    throw new ProtocolError('bad_request', 'A message id must be a string.');
  }
  const parts = partsOf(last);
  const answers = answersIn(parts);
  if (role !== 'user') return { kind: 'answers', messageId: last.id, answers };
  const said = parts.flatMap(readPart);
  const speaks = said.some((part) => part.type !== 'text' || part.text.trim() !== '');
  if (!speaks && answers.length > 0) return { kind: 'answers', messageId: undefined, answers };
  if (!speaks) throw new ProtocolError('empty_message', 'The message has neither text nor a file.');
  return { kind: 'message', id: last.id, parts: said };
}

function partsOf(message: Record<string, unknown>): Record<string, unknown>[] {
  const lists = [message.parts, message.content, message.experimental_attachments].filter(
    (value) => value != null,
  );
  if (lists.length === 0)
    throw new ProtocolError('bad_request', 'The last message has no "parts" and no "content".');
  const parts: Record<string, unknown>[] = [];
  for (const list of lists) {
    if (typeof list === 'string') {
      // With parts present, a content string is the same text again.
      if (list !== message.content || message.parts == null) parts.push({ type: 'text', text: list });
      continue;
    }
    if (!Array.isArray(list)) throw new ProtocolError('bad_request', 'Message parts must be an array.');
    if (list === message.content && message.parts != null) continue;
    for (const part of list) {
      if (!isRecord(part)) throw new ProtocolError('bad_request', 'A message part must be an object.');
      if (typeof part.type === 'string') parts.push(part);
      else if (list === message.experimental_attachments && typeof part.url === 'string') {
        parts.push({ ...part, type: 'file', mediaType: part.contentType, filename: part.name });
      } else throw new ProtocolError('bad_request', 'A message part has no "type".');
    }
  }
  return parts;
}

function readPart(part: Record<string, unknown>): InputPart[] {
  if (part.type === 'text') {
    if (typeof part.text !== 'string')
      throw new ProtocolError('bad_request', 'A text part has no "text" string.');
    return [{ type: 'text', text: part.text }];
  }
  const filename = typeof part.filename === 'string' ? { filename: part.filename } : {};
  if (part.type === 'image' || (part.type === 'data-image' && isRecord(part.data))) {
    const image = part.type === 'image' ? part : (part.data as Record<string, unknown>);
    const mediaType = image.media_type ?? image.mediaType;
    if (typeof image.data !== 'string' || typeof mediaType !== 'string') {
      throw new ProtocolError('bad_request', 'An image part needs "data" (base64) and "media_type".');
    }
    return [{ type: 'file', mediaType, data: image.data, ...filename }];
  }
  if (part.type !== 'file') return [];
  if (typeof part.url !== 'string')
    throw new ProtocolError('bad_request', 'A file part has no "url" string.');
  const match = /^data:([^;,]*)((?:;[^;,]*)*),/.exec(part.url.slice(0, 256));
  if (!match) {
    const mediaType = typeof part.mediaType === 'string' ? { mediaType: part.mediaType } : {};
    return [{ type: 'stored-file', url: part.url, ...mediaType, ...filename }];
  }
  if (!match[2]?.includes(';base64'))
    throw new ProtocolError('bad_request', 'A file must be a base64 data URL.');
  const mediaType = typeof part.mediaType === 'string' ? part.mediaType : (match[1] ?? '');
  return [{ type: 'file', mediaType, data: part.url.slice(match[0].length), ...filename }];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
