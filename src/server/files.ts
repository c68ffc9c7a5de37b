import { createHash } from 'node:crypto';
import { imageHeader } from '../models/embedded/image-header.ts';
import { isTextType } from '../models/text-files.ts';
import {
  type Chunk,
  type InputPart,
  type Limits,
  type Message,
  type PageMetadata,
  ProtocolError,
} from '../protocol/index.ts';
import { base64Bytes } from '../protocol/limits.ts';
import type { ApprovalResponse } from '../protocol/wire/chat-frames.ts';
import type { Engine, SessionOptions } from './engine.ts';
import { bareType, hasSignatureOf, isListed, isUtf8, PICTURE_TYPES, pictureTypeOf } from './file-types.ts';
import { fileIdOf } from './store/rules.ts';
import type { OwnedKey, SessionKey, Store } from './store/store.ts';

/** A part of a user message that `admit` has checked. A file has its bytes as base64. */
export type AdmittedPart = Exclude<InputPart, { type: 'stored-file' }>;

/**
 * Checks the files of a user message. Throws when the server does not accept the type of a file, when the bytes do not match that type, or when a picture has
 * too many pixels. A picture gets the type that its bytes show. A stored file is replaced by its bytes, which were checked before. The sizes of files were
 * checked when the request was read.
 */
export async function admit(
  parts: InputPart[],
  { store, options }: Pick<Engine, 'store' | 'options'>,
  key: SessionKey,
): Promise<AdmittedPart[]> {
  return Promise.all(parts.map((part) => admitPart(part, store, options, key)));
}

async function admitPart(
  part: InputPart,
  store: Store,
  { limits, attachments: accepted }: Pick<SessionOptions, 'limits' | 'attachments'>,
  key: SessionKey,
): Promise<AdmittedPart> {
  if (part.type === 'text') return part;
  const filename = part.filename === undefined ? {} : { filename: part.filename };
  if (part.type === 'stored-file') {
    const id = fileIdIn(part.url, key.id);
    const file = id === null ? null : await store.loadFile(key, id);
    if (!file)
      throw new ProtocolError(
        'unsupported_media',
        'The "url" of a file part names no file of this conversation: send the file as a base64 data URL.',
      );
    return {
      type: 'file',
      mediaType: file.mediaType,
      data: Buffer.from(file.bytes).toString('base64'),
      ...filename,
    };
  }
  const mediaType = bareType(part.mediaType);
  const isPicture =
    mediaType.startsWith('image/') && !(isTextType(mediaType) && isListed(mediaType, accepted));
  if (!isPicture && !isListed(mediaType, accepted))
    throw new ProtocolError(
      'unsupported_media',
      `Files of type ${JSON.stringify(part.mediaType.slice(0, 64))} are not accepted; send ${namesOf(accepted)}.`,
    );
  const bytes = Buffer.from(part.data, 'base64');
  // The decoder skips characters that are not base64, so invalid input gives fewer bytes than its length promises.
  if (bytes.length !== base64Bytes(part.data))
    throw isPicture
      ? new ProtocolError('bad_image', 'An image is not valid base64.')
      : new ProtocolError('bad_file', 'A file is not valid base64.');
  const type = isPicture ? checkedPicture(bytes, limits, accepted) : checkedFile(bytes, mediaType);
  return { type: 'file', mediaType: type, data: bytes.toString('base64'), ...filename };
}

/** Returns the type of a picture by its bytes. Throws when the type is not accepted, or when the picture has too many pixels. */
function checkedPicture(bytes: Uint8Array, limits: Limits, accepted: readonly string[]): string {
  const type = pictureTypeOf(bytes);
  if (!type || !isListed(type, accepted)) {
    const pictures = PICTURE_TYPES.filter((one) => isListed(one, accepted));
    if (pictures.length === 0)
      throw new ProtocolError('unsupported_media', `Images are not accepted; send ${namesOf(accepted)}.`);
    throw new ProtocolError('bad_image', `A file is not a ${namesOf(pictures)} image.`);
  }
  const { width, height } = imageHeader(bytes) ?? { width: 0, height: 0 };
  if (Math.max(width, height) > limits.imageSide || width * height > limits.imagePixels) {
    const most = `${limits.imageSide} pixels a side and ${limits.imagePixels} in all`;
    throw new ProtocolError(
      'too_large',
      `An image is too large: ${width} x ${height}. Send at most ${most}.`,
    );
  }
  return type;
}

/**
 * Returns the type of a file that is no picture. Throws when the file is empty, or when its bytes do not match the type: the bytes of text must be UTF-8, and
 * those of other types must have the type's signature, if it has one.
 */
function checkedFile(bytes: Uint8Array, mediaType: string): string {
  if (bytes.length === 0) throw new ProtocolError('bad_file', `A file of type ${mediaType} is empty.`);
  if (isTextType(mediaType)) {
    if (!isUtf8(bytes))
      throw new ProtocolError(
        'bad_file',
        `A file of type ${mediaType} is not text in UTF-8: save it as UTF-8.`,
      );
  } else if (!hasSignatureOf(mediaType, bytes))
    throw new ProtocolError(
      'bad_file',
      `The content of a file is not ${mediaType}, the type that it was sent with.`,
    );
  return mediaType;
}

/** Media types as a person reads them: "PNG, JPEG or WebP". */
function namesOf(types: readonly string[]): string {
  const names = types.map((type) => NAMES[type] ?? type);
  const last = names.pop() ?? 'no file';
  return names.length === 0 ? last : `${names.join(', ')} or ${last}`;
}

const NAMES: Readonly<Record<string, string>> = {
  'image/png': 'PNG',
  'image/jpeg': 'JPEG',
  'image/webp': 'WebP',
  'image/gif': 'GIF',
  'application/pdf': 'PDF',
};

/** Stores the files of a user message, and returns the message with the addresses of the files. The caller stores the message. */
export async function storeMessage(
  admitted: { id: string; parts: AdmittedPart[]; metadata: PageMetadata | undefined; createdAt: number },
  store: Store,
  key: OwnedKey,
): Promise<Message> {
  const { id, parts, metadata, createdAt } = admitted;
  const stored: Message = { id, role: 'user', metadata: { ...metadata, createdAt }, parts: [] };
  for (const part of parts) {
    if (part.type === 'text') {
      stored.parts.push({ type: 'text', text: part.text });
      continue;
    }
    const bytes = Buffer.from(part.data, 'base64');
    const fileId = fileIdOf(bytes);
    await store.putFile(key, fileId, { mediaType: part.mediaType, bytes });
    stored.parts.push({
      type: 'file',
      mediaType: part.mediaType,
      url: fileUrl(key.id, fileId),
      ...(part.filename === undefined ? {} : { filename: part.filename }),
    });
  }
  return stored;
}

/** The parts of a stored message with the bytes of their files; a file that no longer exists is left out. */
export async function partsOf(message: Message, store: Store, key: SessionKey): Promise<AdmittedPart[]> {
  const parts: AdmittedPart[] = [];
  for (const part of message.parts) {
    if (part.type === 'text') parts.push({ type: 'text', text: part.text });
    if (part.type !== 'file') continue;
    const id = fileIdIn(part.url, key.id);
    const file = id === null ? null : await store.loadFile(key, id);
    if (!file) continue;
    const { filename } = part;
    const data = Buffer.from(file.bytes).toString('base64');
    parts.push({
      type: 'file',
      mediaType: file.mediaType,
      data,
      ...(filename === undefined ? {} : { filename }),
    });
  }
  return parts;
}

/** The address of a stored file, relative to the path where the server is mounted. */
function fileUrl(sessionId: string, fileId: string): string {
  return `/sessions/${encodeURIComponent(sessionId)}/files/${fileId}`;
}

function fileIdIn(url: string, sessionId: string): string | null {
  const path = url.slice(url.indexOf(fileUrl(sessionId, '')));
  const prefix = fileUrl(sessionId, '');
  return path.startsWith(prefix) ? path.slice(prefix.length) : null;
}

/**
 * Stores the files of a message of the agent, and replaces their data URLs in the message by addresses. The browser already got the bytes while the message
 * was streamed.
 */
export async function externalise(message: Message, store: Store, key: OwnedKey): Promise<void> {
  for (const part of message.parts) {
    if (part.type !== 'file' || !part.url.startsWith('data:')) continue;
    const bytes = Buffer.from(part.url.slice(part.url.indexOf(',') + 1), 'base64');
    const fileId = fileIdOf(bytes);
    await store.putFile(key, fileId, { mediaType: part.mediaType, bytes });
    part.url = fileUrl(key.id, fileId);
  }
}

/**
 * The address of a version of an artifact, relative to the path where the server is mounted. The name is a query parameter, because in the path a name with
 * `..` would be another address.
 */
export function artifactUrl(sessionId: string, name: string, version: number): string {
  return `/sessions/${encodeURIComponent(sessionId)}/artifacts?${new URLSearchParams({ name, version: String(version) })}`;
}

/** Makes the addresses of files in a chunk absolute, because the page of the client may be on another host. */
export function presented<C extends Chunk | ApprovalResponse>(
  chunk: C,
  present: (messages: Message[]) => Message[],
): C {
  if (chunk.type === 'file') {
    const shown = present([{ id: '', role: 'assistant', parts: [{ ...chunk }] }])[0]?.parts[0];
    return shown?.type === 'file' ? { ...chunk, url: shown.url } : chunk;
  }
  if (chunk.type !== 'data-message') return chunk;
  const [message = chunk.data.message] = present([chunk.data.message]);
  return { ...chunk, data: { message } };
}

/** Returns the messages with the absolute address of each stored file. */
export function withAddresses(messages: Message[], base: string): Message[] {
  return messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) =>
      part.type === 'file' && part.url.startsWith('/sessions/') ? { ...part, url: base + part.url } : part,
    ),
  }));
}

/**
 * A hash of the content of a user message: of its texts, and of the bytes of its files. It is the same for the parts of a request and for the stored parts.
 * Keeping the content itself would double the memory of a long conversation.
 */
export function fingerprint(parts: readonly (AdmittedPart | Message['parts'][number])[]): string {
  return createHash('sha256')
    .update(JSON.stringify(parts.map(contentOf)))
    .digest('base64');
}

function contentOf(part: AdmittedPart | Message['parts'][number]): string | string[] {
  if (part.type === 'text') return part.text;
  if (part.type !== 'file') return [];
  // The address of a stored file ends with its id.
  const id = 'data' in part ? fileIdOf(Buffer.from(part.data, 'base64')) : part.url.split('/').at(-1);
  return ['file', id ?? ''];
}
