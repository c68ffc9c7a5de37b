import { ProtocolError } from './errors.ts';
import { base64Bytes, cut, LIMITS, type Limits, nestsWithin } from './limits.ts';
import { type Answer, answersIn } from './tool-call.ts';
import { SERVER_METADATA } from './wire/values.ts';

/** A part of a user message: text, a file as base64, or a file that this server has stored. */
export type InputPart =
  | { type: 'text'; text: string }
  | { type: 'file'; mediaType: string; data: string; filename?: string }
  | { type: 'stored-file'; url: string; mediaType?: string; filename?: string };

/** The metadata that a page gives a user message: any JSON object, without the keys that the server writes. */
export type PageMetadata = Readonly<Record<string, unknown>>;

/**
 * What a `POST /stream` or a `message` frame requests: to answer a user message, to apply answers to open calls, or to continue a message that was
 * cut.
 */
export type Input =
  | { kind: 'message'; id: string | undefined; parts: InputPart[]; metadata?: PageMetadata }
  | { kind: 'answers'; messageId: string | undefined; answers: Answer[] }
  | { kind: 'continuation'; messageId: string };

/** Reads the body of `POST /stream` or a `message` frame. With the trigger `continue-message` it ignores the messages. Throws a `ProtocolError`. */
export function readRequest(
  { trigger, messageId, messages }: { trigger?: unknown; messageId?: unknown; messages?: unknown },
  limits: Limits = LIMITS,
): Input {
  if (trigger !== 'continue-message') return readInput(messages, limits);
  if (typeof messageId !== 'string' || messageId === '' || messageId.length > limits.idLength)
    throw refusal(`"continue-message" needs a "messageId" of 1 to ${limits.idLength} characters.`);
  return { kind: 'continuation', messageId };
}

type Fields = Record<string, unknown>;

const NAME_LENGTH = 256;
const URL_LENGTH = 2_048;

/**
 * Reads the last message of a list, and ignores the messages before it. The content of the message is in `parts`, or without parts in
 * `content` (text or parts), and in `experimental_attachments`. Parts of unknown types are ignored. Throws a `ProtocolError`.
 */
export function readInput(messages: unknown, limits: Limits = LIMITS): Input {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw refusal('Expected "messages": a non-empty array. The server reads its last entry.');
  }
  const last: unknown = messages[messages.length - 1];
  if (!isRecord(last)) throw refusal('The last message must be an object.');
  const { role } = last;
  if (role !== 'user' && role !== 'assistant' && role !== 'tool') {
    const came = typeof role === 'string' ? JSON.stringify(role.slice(0, 64)) : 'none';
    throw refusal(`The last message has role ${came}; expected "user" or "assistant".`);
  }
  const id = last.id === null || last.id === '' ? undefined : last.id;
  if (id !== undefined && (typeof id !== 'string' || id.length > limits.idLength)) {
    throw refusal(`A message id must be a string of at most ${limits.idLength} characters.`);
  }
  const parts = partsOf(last);
  if (role !== 'user') return { kind: 'answers', messageId: id, answers: readAnswers(parts, limits) };
  const content = parts.flatMap(readPart);
  const hasContent = content.some((part) => part.type !== 'text' || part.text.trim() !== '');
  if (hasContent) {
    measure(content, limits);
    const metadata = readMetadata(last.metadata, limits);
    return { kind: 'message', id, parts: content, ...(metadata && { metadata }) };
  }
  const answers = readAnswers(parts, limits);
  if (answers.length > 0) return { kind: 'answers', messageId: undefined, answers };
  throw new ProtocolError('empty_message', 'The message has neither text nor a file.');
}

function readAnswers(parts: Fields[], limits: Limits): Answer[] {
  if (parts.some((part) => part.type === 'dynamic-tool' && typeof part.toolName !== 'string'))
    throw refusal('A dynamic-tool part has no "toolName" string.');
  return answersIn(parts, limits);
}

/** Returns the metadata of a user message without the keys that only the server writes; null when no other key is left. */
function readMetadata(value: unknown, limits: Limits): PageMetadata | null {
  if (value == null) return null;
  if (!isRecord(value)) throw refusal('The "metadata" of a message must be an object.');
  if (!nestsWithin(value, limits.depth))
    throw new ProtocolError(
      'too_large',
      `The "metadata" of a message may have at most ${limits.depth} nested levels.`,
    );
  if (new TextEncoder().encode(JSON.stringify(value)).length > limits.metadataBytes)
    throw new ProtocolError(
      'too_large',
      `The "metadata" of a message may have at most ${limits.metadataBytes} bytes.`,
    );
  const own = Object.entries(value).filter(([key]) => !SERVER_METADATA.has(key));
  return own.length === 0 ? null : Object.fromEntries(own);
}

function partsOf(message: Fields): Fields[] {
  const { parts, content, experimental_attachments: attachments } = message;
  if (parts == null && content == null && attachments == null)
    throw refusal('The last message has no "parts" and no "content".');
  const own = list(parts, '"parts"');
  // Older clients also write the text of the parts into `content`. Reading both would give the text twice.
  const written =
    own.length > 0
      ? own
      : typeof content === 'string'
        ? [{ type: 'text', text: content }]
        : list(content, '"content"');
  const attached = list(attachments, '"experimental_attachments"').map((entry) =>
    isRecord(entry) && entry.type === undefined && typeof entry.url === 'string'
      ? { type: 'file', url: entry.url, mediaType: entry.contentType, filename: entry.name }
      : entry,
  );
  return [...written, ...attached].map((part) => {
    if (!isRecord(part)) throw refusal('A message part must be an object.');
    if (typeof part.type !== 'string') throw refusal('A message part has no "type".');
    return part;
  });
}

function list(value: unknown, name: string): unknown[] {
  if (value == null) return [];
  if (!Array.isArray(value)) throw refusal(`In the last message, ${name} must be an array.`);
  return value;
}

function readPart(part: Fields): InputPart[] {
  switch (part.type) {
    case 'text':
      if (typeof part.text !== 'string') throw refusal('A text part has no "text" string.');
      return part.text === '' ? [] : [{ type: 'text', text: part.text }];
    case 'file':
      return [readFile(part)];
    case 'image':
    case 'data-image':
      return [readImage(part)];
    default:
      return [];
  }
}

function readFile(part: Fields): InputPart {
  if (typeof part.url !== 'string') throw refusal('A file part has no "url" string.');
  const named = typeof part.mediaType === 'string' ? cut(part.mediaType, NAME_LENGTH) : undefined;
  if (!/^data:/i.test(part.url)) {
    if (part.url.length > URL_LENGTH)
      throw refusal(`The "url" of a file may have at most ${URL_LENGTH} characters.`);
    return {
      type: 'stored-file',
      url: part.url,
      ...(named === undefined ? {} : { mediaType: named }),
      ...filename(part),
    };
  }
  const match = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i.exec(part.url.slice(0, URL_LENGTH));
  if (!match) throw refusal('A file must be a base64 data URL.');
  return {
    type: 'file',
    mediaType: named ?? match[1] ?? '',
    data: part.url.slice(match[0].length),
    ...filename(part),
  };
}

function readImage(part: Fields): InputPart {
  const image = isRecord(part.data) ? part.data : part;
  const mediaType = image.media_type ?? image.mediaType;
  if (typeof image.data !== 'string' || typeof mediaType !== 'string')
    throw refusal('An image part needs "data" (base64) and "media_type".');
  return { type: 'file', mediaType: cut(mediaType, NAME_LENGTH), data: image.data, ...filename(part) };
}

function filename(part: Fields): { filename?: string } {
  return typeof part.filename === 'string' ? { filename: cut(part.filename, NAME_LENGTH) } : {};
}

function measure(parts: InputPart[], limits: Limits): void {
  const files = parts.filter((part) => part.type !== 'text');
  const textLength = parts.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0);
  if (textLength > limits.textLength)
    throw new ProtocolError(
      'too_large',
      `A message may have at most ${limits.textLength} characters of text.`,
    );
  if (files.length > limits.files)
    throw new ProtocolError('too_large', `A message may have at most ${limits.files} files.`);
  for (const file of files) {
    if (file.type !== 'file') continue;
    const isImage = /^image\//i.test(file.mediaType);
    const most = isImage ? limits.imageBytes : limits.fileBytes;
    if (base64Bytes(file.data) > most)
      throw new ProtocolError(
        'too_large',
        `${isImage ? 'An image' : 'A file'} may have at most ${most} bytes.`,
      );
  }
}

function refusal(message: string): ProtocolError {
  return new ProtocolError('bad_request', message);
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
