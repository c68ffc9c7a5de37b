import type { Chunk } from './chunks.ts';
import type { ApprovalResponse } from './wire/chat-frames.ts';
import type { FrameData } from './wire/frames.ts';

/** The value of `version` in client frames. */
export const FRAME_VERSION = '1.0';

/** The WebSocket subprotocol of a client that reads chunk ids, several blocks in one frame, and sound in binary frames. */
export const SUBPROTOCOL = 'duologue.v1';

/** The WebSocket subprotocol of a client that reads all that a client of `SUBPROTOCOL` reads, and stays connected while another connection is active. */
export const WATCHING_SUBPROTOCOL = 'duologue.v2';

/** The prefix of the subprotocol in which a client sends its key for the server. The key follows in base64url. */
export const KEY_SUBPROTOCOL = 'duologue.key.';

/** The block that ends a response over SSE and a turn over BIDI. */
export const DONE = 'data: [DONE]\n\n';

/** The id of a chunk: `epoch` names the log that holds the chunk, `seq` is the position of the chunk in that log. */
export interface ChunkId {
  epoch: string;
  seq: number;
}

/** A chunk id as text, `<epoch>-<seq>`. */
export function formatChunkId(id: ChunkId): string {
  return `${id.epoch}-${id.seq}`;
}

/** Parses a chunk id; null when the text is no chunk id. */
export function parseChunkId(text: string): ChunkId | null {
  const match = /^(.{1,200})-(0|[1-9]\d{0,15})$/.exec(text);
  const seq = Number(match?.[2]);
  return match?.[1] !== undefined && Number.isSafeInteger(seq) ? { epoch: match[1], seq } : null;
}

/** Encodes a chunk as an SSE block. Most chunks are deltas, and a template string encodes a delta faster than `JSON.stringify` would. */
export function encodeBlock(chunk: Chunk | ApprovalResponse, id?: string): string {
  const line = id === undefined ? '' : `id: ${id}\n`;
  if ((chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') && !chunk.providerMetadata) {
    return `${line}data: {"type":"${chunk.type}","id":${JSON.stringify(chunk.id)},"delta":${JSON.stringify(chunk.delta)}}\n\n`;
  }
  return `${line}data: ${JSON.stringify(chunk)}\n\n`;
}

/** Encodes a client frame as text, in its envelope `{type, version, data}`. */
export function encodeFrame<T extends keyof FrameData>(type: T, data: FrameData[T]): string {
  return JSON.stringify({ type, version: FRAME_VERSION, data });
}

/**
 * An SSE comment that keeps an idle connection open through proxies. In a watch stream it also marks that the server has sent every chunk
 * that it has so far.
 */
export const KEEP_ALIVE = ': keep-alive\n\n';

/** One block of an SSE stream: its id, when it has one, and its data. */
export interface Block {
  id: string | undefined;
  data: string;
}

/**
 * Splits SSE text into blocks. A piece of text may end anywhere in a block. The decoder ignores comments and unknown fields. It scans
 * each piece of text once, even when a large block arrives in many pieces.
 */
export class BlockDecoder {
  #line = '';
  #id: string | undefined;
  #data: string | undefined;
  #afterReturn = false;

  push(text: string): Block[] {
    if (text === '') return [];
    const blocks: Block[] = [];
    // If the previous piece ended with a carriage return, a line feed at the start of this piece belongs to the same line end.
    let from = this.#afterReturn && text.startsWith('\n') ? 1 : 0;
    this.#afterReturn = text.endsWith('\r');
    let feed = text.indexOf('\n', from);
    let back = text.indexOf('\r', from);
    while (feed !== -1 || back !== -1) {
      const end = back === -1 || (feed !== -1 && feed < back) ? feed : back;
      this.#take(text.slice(from, end), blocks);
      from = end === back && feed === end + 1 ? end + 2 : end + 1;
      if (feed !== -1 && feed < from) feed = text.indexOf('\n', from);
      if (back !== -1 && back < from) back = text.indexOf('\r', from);
    }
    this.#line += text.slice(from);
    return blocks;
  }

  /** Ends the stream. It returns no blocks: a last block without an empty line after it may be incomplete, so it is discarded. */
  end(): Block[] {
    this.#line = '';
    this.#id = undefined;
    this.#data = undefined;
    this.#afterReturn = false;
    return [];
  }

  #take(lineEnd: string, blocks: Block[]): void {
    const line = this.#line + lineEnd;
    this.#line = '';
    if (line === '') {
      if (this.#data !== undefined) blocks.push({ id: this.#id, data: this.#data });
      this.#id = undefined;
      this.#data = undefined;
    } else if (line.startsWith('data:')) {
      const value = fieldValue(line, 'data:'.length);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    } else if (line.startsWith('id:')) {
      this.#id = fieldValue(line, 'id:'.length);
    }
  }
}

function fieldValue(line: string, at: number): string {
  return line.slice(line[at] === ' ' ? at + 1 : at);
}

/** The values of the first byte of a binary frame. */
export const BINARY = { audioUp: 1, audioDown: 2, video: 3 } as const;

/** The number of bytes in a binary frame before its payload. */
export const BINARY_HEADER = 8;

/** A binary frame: PCM with its sample rate, or a JPEG picture (rate 0). */
export interface BinaryFrame {
  kind: (typeof BINARY)[keyof typeof BINARY];
  sampleRate: number;
  /** The number of the utterance that the server's sound belongs to. Frames of clients have no utterance: its three bytes in the header are then 0. */
  utterance?: number;
  payload: Uint8Array;
}

/** Encodes a binary frame: one byte kind, three bytes utterance, four bytes sample rate (little-endian), payload. */
export function encodeBinary(frame: BinaryFrame): Uint8Array {
  const bytes = new Uint8Array(BINARY_HEADER + frame.payload.byteLength);
  writeBinaryHeader(bytes, frame);
  bytes.set(frame.payload, BINARY_HEADER);
  return bytes;
}

/** Writes the header of a binary frame. It writes byte by byte, because creating a `DataView` would take longer. */
export function writeBinaryHeader(
  bytes: Uint8Array,
  { kind, utterance = 0, sampleRate }: { kind: number; utterance?: number; sampleRate: number },
): void {
  bytes[0] = kind;
  bytes[1] = utterance;
  bytes[2] = utterance >>> 8;
  bytes[3] = utterance >>> 16;
  bytes[4] = sampleRate;
  bytes[5] = sampleRate >>> 8;
  bytes[6] = sampleRate >>> 16;
  bytes[7] = sampleRate >>> 24;
}

/** Decodes a binary frame without copying its payload; null when the bytes are no binary frame. */
export function decodeBinary(bytes: Uint8Array): BinaryFrame | null {
  if (bytes.byteLength <= BINARY_HEADER) return null;
  const kind = bytes[0];
  if (kind !== BINARY.audioUp && kind !== BINARY.audioDown && kind !== BINARY.video) return null;
  const sampleRate = numberAt(bytes, 4);
  const payload = bytes.subarray(BINARY_HEADER);
  if (kind !== BINARY.audioDown) return { kind, sampleRate, payload };
  return { kind, sampleRate, utterance: numberAt(bytes, 0) >>> 8, payload };
}

function numberAt(bytes: Uint8Array, at: number): number {
  const byte = (index: number) => bytes[at + index] ?? 0;
  return (byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24)) >>> 0;
}
