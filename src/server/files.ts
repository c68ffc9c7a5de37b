import { imageHeader } from '../models/embedded/image-header.ts';
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
import type { Engine } from './engine.ts';
import { fileIdOf } from './store/rules.ts';
import type { OwnedKey, SessionKey, Store } from './store/store.ts';

/** A part of a message that was checked, with its bytes. */
export type AdmittedPart = Exclude<InputPart, { type: 'stored-file' }>;

/** The type of an image by its first bytes; null when it is not PNG, JPEG or WebP. */
function sniffImage(bytes: Uint8Array): 'image/png' | 'image/jpeg' | 'image/webp' | null {
  const starts = (at: number, ...values: number[]) =>
    values.every((value, index) => bytes[at + index] === value);
  if (starts(0, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'image/png';
  if (starts(0, 0xff, 0xd8, 0xff)) return 'image/jpeg';
  if (starts(0, 0x52, 0x49, 0x46, 0x46) && starts(8, 0x57, 0x45, 0x42, 0x50)) return 'image/webp';
  return null;
}

/** Checks the parts of a user message: images must be what they claim to be, by their bytes. Their sizes were checked when the request was read. */
export async function admit(
  parts: InputPart[],
  { store, options }: Pick<Engine, 'store' | 'options'>,
  key: SessionKey,
): Promise<AdmittedPart[]> {
  return Promise.all(parts.map((part) => admitPart(part, store, options.limits, key)));
}

async function admitPart(
  part: InputPart,
  store: Store,
  limits: Limits,
  key: SessionKey,
): Promise<AdmittedPart> {
  if (part.type === 'text') return part;
  const filename = part.filename === undefined ? {} : { filename: part.filename };
  if (part.type === 'stored-file') {
    const id = fileIdIn(part.url, key.id);
    const file = id === null ? null : await store.loadFile(key, id);
    if (!file) throw new ProtocolError('unsupported_media', 'A file must be a base64 data URL.');
    return {
      type: 'file',
      mediaType: file.mediaType,
      data: Buffer.from(file.bytes).toString('base64'),
      ...filename,
    };
  }
  if (!part.mediaType.startsWith('image/')) {
    throw new ProtocolError(
      'unsupported_media',
      `Files of type ${JSON.stringify(part.mediaType.slice(0, 64))} are not accepted; send PNG, JPEG or WebP.`,
    );
  }
  const bytes = Buffer.from(part.data, 'base64');
  // The decoder skips characters that are not base64, so invalid input gives fewer bytes than its length promises.
  if (bytes.length !== base64Bytes(part.data))
    throw new ProtocolError('bad_image', 'An image is not valid base64.');
  const mediaType = sniffImage(bytes);
  if (!mediaType) throw new ProtocolError('bad_image', 'A file is not a PNG, JPEG or WebP image.');
  const { width, height } = imageHeader(bytes) ?? { width: 0, height: 0 };
  if (Math.max(width, height) > limits.imageSide || width * height > limits.imagePixels) {
    const most = `${limits.imageSide} pixels a side and ${limits.imagePixels} in all`;
    throw new ProtocolError(
      'too_large',
      `An image is too large: ${width} x ${height}. Send at most ${most}.`,
    );
  }
  return { type: 'file', mediaType, data: bytes.toString('base64'), ...filename };
}

/** Stores the files of a message, and returns the message with their addresses. */
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

/** The address of a stored file, relative to where the server is mounted. */
function fileUrl(sessionId: string, fileId: string): string {
  return `/sessions/${encodeURIComponent(sessionId)}/files/${fileId}`;
}

function fileIdIn(url: string, sessionId: string): string | null {
  const path = url.slice(url.indexOf(fileUrl(sessionId, '')));
  const prefix = fileUrl(sessionId, '');
  return path.startsWith(prefix) ? path.slice(prefix.length) : null;
}

/**
 * Stores the images of a message as files, and replaces their bytes by addresses. The browser already got the bytes while the message was streamed.
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

/** The address of a version of an artifact, relative to where the server is mounted. The name is a parameter: as a part of the path, `..` would lead elsewhere. */
export function artifactUrl(sessionId: string, name: string, version: number): string {
  return `/sessions/${encodeURIComponent(sessionId)}/artifacts?${new URLSearchParams({ name, version: String(version) })}`;
}

/** Prepares a chunk for one client. Its page may be on another host, so the addresses of files must be absolute. */
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
