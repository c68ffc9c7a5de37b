import type { Chunk } from './chunks.ts';

/** The block that ends a turn on either transport. */
export const DONE = 'data: [DONE]\n\n';

/** The id of a server chunk: which log it stands in, and where. */
export interface ChunkId {
  epoch: string;
  seq: number;
}

/** A chunk id as it travels. */
export function formatChunkId(id: ChunkId): string {
  return `${id.epoch}-${id.seq}`;
}

/** Reads a chunk id; null when it is none. */
export function parseChunkId(text: string): ChunkId | null {
  const dash = text.lastIndexOf('-');
  if (dash <= 0) return null;
  const seq = Number(text.slice(dash + 1));
  return Number.isSafeInteger(seq) && seq >= 0 ? { epoch: text.slice(0, dash), seq } : null;
}

/** A chunk as an SSE block. Deltas, the bulk of a stream, are written by template. */
export function encodeBlock(chunk: Chunk, id?: string): string {
  const line = id === undefined ? '' : `id: ${id}\n`;
  if ((chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') && !chunk.providerMetadata) {
    return `${line}data: {"type":"${chunk.type}","id":${JSON.stringify(chunk.id)},"delta":${JSON.stringify(chunk.delta)}}\n\n`;
  }
  return `${line}data: ${JSON.stringify(chunk)}\n\n`;
}

/** A comment that keeps an idle connection open through proxies. */
export const KEEP_ALIVE = ': keep-alive\n\n';

/** One block of an SSE stream: its id, when it has one, and its data. */
export interface Block {
  id: string | undefined;
  data: string;
}

/** Splits SSE text, arriving in any pieces, into blocks; comments and other fields are passed over. */
export class BlockDecoder {
  private rest = '';

  push(text: string): Block[] {
    const blocks: Block[] = [];
    let buffer = this.rest + text;
    if (buffer.includes('\r')) {
      // A carriage return at the very end may be the first half of CRLF: keep it for the next piece.
      const held = buffer.endsWith('\r') ? '\r' : '';
      buffer = buffer.slice(0, buffer.length - held.length).replace(/\r\n?/g, '\n') + held;
    }
    let from = 0;
    for (let end = buffer.indexOf('\n\n', from); end !== -1; end = buffer.indexOf('\n\n', from)) {
      const block = readBlock(buffer.slice(from, end));
      if (block) blocks.push(block);
      from = end + 2;
    }
    this.rest = buffer.slice(from);
    return blocks;
  }

  end(): Block[] {
    const block = readBlock(this.rest.replace(/\r/g, '\n').trimEnd());
    this.rest = '';
    return block ? [block] : [];
  }
}

function readBlock(text: string): Block | null {
  let id: string | undefined;
  let data: string | undefined;
  for (const line of text.split('\n')) {
    if (line.startsWith('data:')) {
      const value = line.startsWith('data: ') ? line.slice(6) : line.slice(5);
      data = data === undefined ? value : `${data}\n${value}`;
    } else if (line.startsWith('id:')) {
      id = line.slice(3).trim();
    }
  }
  return data === undefined ? null : { id, data };
}

/** Kinds of binary frame. */
export const BINARY = { audioUp: 1, audioDown: 2, video: 3 } as const;

/** A binary frame: PCM with its sample rate, or a JPEG picture (rate 0). */
export interface BinaryFrame {
  kind: (typeof BINARY)[keyof typeof BINARY];
  sampleRate: number;
  payload: Uint8Array;
}

const HEADER = 8;

/** Writes a binary frame: kind, three reserved bytes, sample rate, payload. */
export function encodeBinary(frame: BinaryFrame): Uint8Array {
  const bytes = new Uint8Array(HEADER + frame.payload.byteLength);
  bytes[0] = frame.kind;
  new DataView(bytes.buffer).setUint32(4, frame.sampleRate, true);
  bytes.set(frame.payload, HEADER);
  return bytes;
}

/** Reads a binary frame without copying its payload; null when it is none. */
export function decodeBinary(bytes: Uint8Array): BinaryFrame | null {
  if (bytes.byteLength <= HEADER) return null;
  const kind = bytes[0];
  if (kind !== BINARY.audioUp && kind !== BINARY.audioDown && kind !== BINARY.video) return null;
  const sampleRate = new DataView(bytes.buffer, bytes.byteOffset, HEADER).getUint32(4, true);
  return { kind, sampleRate, payload: bytes.subarray(HEADER) };
}
