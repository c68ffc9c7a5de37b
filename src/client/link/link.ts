import type { Chunk } from '../../protocol/chunks.ts';
import { type BinaryFrame, type Block, BlockDecoder } from '../../protocol/codec.ts';
import type { ProtocolError } from '../../protocol/errors.ts';
import type { FrameData } from '../../protocol/wire/frames.ts';

/**
 * Headers and body fields that the caller of `sendMessage` adds to one request. Over a socket, the body fields become fields of the frame, and the
 * headers are not sent.
 */
export interface RequestExtras {
  headers?: Record<string, string> | Headers | undefined;
  body?: object | undefined;
}

/** A frame of the client before a link encodes it: the frame types of PROTOCOL.md with their data. */
export type OutgoingFrame = {
  [T in keyof FrameData]: { type: T; data: FrameData[T]; extras?: RequestExtras | undefined };
}[keyof FrameData];

/** A decoded block of the server's stream. */
export interface ReceivedChunk {
  /** The chunk; null for `[DONE]`, the end of a turn. */
  chunk: Chunk | null;
  /** The id of the chunk, which is its position in the log of the server. `[DONE]` and private replies have no id. */
  id: string | undefined;
}

/** Where a link starts to read. */
export interface LinkTarget {
  /** The id of the session. Null opens a new session, whose id the server or the link creates. */
  sessionId: string | null;
  /**
   * The id of the last chunk that the page has; the server continues after that chunk. With null the server begins with the message in progress,
   * from its first chunk on (R3).
   */
  last: string | null;
  /**
   * The position after which the sound continues: the number of the utterance, `-`, and how many of its samples the page has. Null when the page has
   * no sound.
   */
  sound: string | null;
}

/**
 * What a link reports to its connection. A link must not call these functions before `LinkKind.open()` has returned the link, nor after
 * `onClose` or a call of its `close()`.
 */
export interface LinkEvents {
  /** The chunks of one frame, or of one piece of a stream, in order. An empty list only shows that the server is alive. */
  onChunks(chunks: ReceivedChunk[]): void;
  /** A binary frame: the sound of the agent. */
  onBinary(frame: BinaryFrame): void;
  /** The link ended without a call of its `close()`. `code` is a WebSocket close code. Links without a socket use the codes of `ERRORS`, or `LOST`. */
  onClose(code: number, reason: string): void;
}

/**
 * One channel to a session: it sends frames and receives decoded chunks until it closes. It neither reconnects nor keeps requests; the `Connection`
 * that opened it does both.
 */
export interface Link {
  /** Sends a frame. Returns its size in characters, because a large frame delays the next ping and its answer. */
  send(frame: OutgoingFrame): number;
  /** Sends sound or a picture. Returns false when the link cannot send it, or when so much waits to be sent that it would arrive too late to be of use. */
  sendBinary(bytes: Uint8Array<ArrayBuffer>): boolean;
  /** Checks whether the server still answers. If it does, the link calls `onChunks([])`, now or when the answer arrives. */
  ping(): void;
  /** Ends the link. */
  close(code: number): void;
}

/**
 * A kind of link. To add one, implement this interface in a new file of this folder and export a function that returns it from
 * `client/index.ts`; callers pass that function as the `link` option of `DuologueTransport`.
 */
export interface LinkKind {
  /**
   * Whether the link can be the active connection, whose page runs the browser tools. When false, each page runs the calls that the user approved on it,
   * and the calls without approval in the messages that it requested.
   */
  readonly canBeActive: boolean;
  /**
   * Whether the outputs of browser tools are sent in one request when the turn has ended, and the approval of a browser tool together with its output. When
   * false, each answer is sent at once.
   */
  readonly batchesAnswers: boolean;
  /** Whether the connection closes the link while the page is hidden and expects nothing, because browsers allow only six HTTP/1.1 connections to a server. */
  readonly pausesWhenHidden: boolean;
  /** Opens a link. The link stays open until the connection closes it, or the link reports `onClose`. */
  open(target: LinkTarget, events: LinkEvents): Link;
  /** Asks the server why no link opens. Resolves with null when a retry may succeed, else with the error. */
  findCause?(): Promise<ProtocolError | null>;
}

/** The close code of a link that broke off, as WebSocket reports it. */
export const LOST = 1006;

/** Decodes SSE text into chunks. A block may be split over several pieces of text. A block without a chunk is ignored. */
export class ChunkDecoder {
  readonly #blocks = new BlockDecoder();

  push(text: string): ReceivedChunk[] {
    return this.#blocks.push(text).flatMap((block) => decodeBlock(block) ?? []);
  }
}

function decodeBlock({ id, data }: Block): ReceivedChunk | null {
  if (data === '[DONE]') return { chunk: null, id };
  try {
    const chunk = JSON.parse(data) as Chunk | null;
    return typeof chunk?.type === 'string' ? { chunk, id } : null;
  } catch {
    return null;
  }
}
