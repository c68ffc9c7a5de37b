import { Readable } from 'node:stream';
import { BlockDecoder, type Chunk, ProtocolError } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import { type Reply, ResponseReader } from '../http/reply.ts';

/** The pause before another attempt to get the rest of a response, while its session has no new owner yet. */
const RETRY_MS = 500;
/** The number of attempts to get the rest of a response. After the last one, the client has to reconnect. */
const RETRIES = 10;
/** The time between two checks whether a slow client has read. */
const BEHIND_MS = 20;
/** Chunks that are not sent to the AI SDK's transport: the frames of its own protocol (`start`, `end`) already answer its request. */
const PRIVATE: ReadonlySet<string> = new Set(['data-accepted', 'data-session']);

/** The objects and callbacks that a response uses. */
export interface ChatResponseContext {
  requestId: string;
  clock: Clock;
  /** Sends a frame. */
  send: (frame: string) => void;
  /** Whether so many bytes wait for the network that nothing more is written. */
  isBehind: () => boolean;
  /** Requests the rest of the response after a chunk, from the current owner of the session. */
  resume: (last: string) => Promise<Reply>;
}

/**
 * How the relay of a response ended. `lost`: it cannot be continued exactly, so the client has to reconnect and resume. `closed`: the connection no longer
 * wants it.
 */
export type ChatEnd = 'complete' | 'lost' | 'closed';

/**
 * Relays one response to a client of the AI SDK's own transport: it sends the blocks of an SSE reply as numbered frames. When the owner of the session
 * changes or dies, the response continues with the next owner, and the client does not notice, unless the response is `lost`.
 */
export class ChatResponse {
  private readonly context: ChatResponseContext;
  private readonly prefix: string;
  private sequence = 0;
  /** The id of the last chunk that was sent; before the first one, the id of the chunk before the response. Empty until the reply arrives. */
  private last = '';
  private hasFinished = false;
  private body: Reply['body'] = null;
  private isClosed = false;

  constructor(context: ChatResponseContext) {
    this.context = context;
    this.prefix = `{"type":"chunk","requestId":${JSON.stringify(context.requestId)},"sequence":`;
  }

  /** The id of the last chunk that the client was sent. */
  get lastId(): string {
    return this.last;
  }

  /** Sends the chunks of a reply. Resolves when the response is complete, lost or closed. */
  async relay(first: Reply): Promise<ChatEnd> {
    for (let reply: Reply | null = first; reply; reply = await this.next()) {
      const place = reply.headers['x-duologue-last'] ?? '';
      // The new owner has lost the log, so its reply begins with the first chunk of the message, which the client already has.
      if (reply !== first && reply.status === 200 && place !== this.last) break;
      this.last ||= place;
      // 204: no chunk is left. The response is complete if its `finish` was already sent.
      if (reply.status === 204) return this.hasFinished ? 'complete' : 'lost';
      if (await this.read(reply.body)) return 'complete';
      if (this.isClosed) return 'closed';
    }
    this.close();
    return 'lost';
  }

  /** Ends the relay, and closes the body of the reply. */
  close(): void {
    this.isClosed = true;
    const { body } = this;
    if (body instanceof ResponseReader) body.close();
    if (body instanceof Readable) body.destroy();
  }

  /** Requests the rest of the response from the owner of the session; null when no owner answers in time, or when no chunk id is known. */
  private async next(): Promise<Reply | null> {
    const { resume, clock } = this.context;
    if (this.last === '') return null;
    for (let tries = 0; tries < RETRIES && !this.isClosed; tries++) {
      try {
        return await resume(this.last);
      } catch (error) {
        if (!(error instanceof ProtocolError) || error.code !== 'moved') throw error;
      }
      await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve));
    }
    return null;
  }

  /** Sends the chunks of a body. Returns true when the response is complete, false when the body ended, or the relay was closed, before that. */
  private async read(body: Reply['body']): Promise<boolean> {
    const { clock, isBehind } = this.context;
    this.body = body;
    const decoder = new BlockDecoder();
    for await (const text of textsOf(body)) {
      for (const { id, data } of decoder.push(text)) {
        if (data === '[DONE]') return true;
        this.write(data);
        if (id !== undefined) this.last = id;
      }
      while (!this.isClosed && isBehind())
        await new Promise<void>((resolve) => clock.after(BEHIND_MS, resolve));
      if (this.isClosed) return false;
    }
    return false;
  }

  private write(data: string): void {
    // Most chunks are text deltas: they are passed on without parsing their JSON.
    if (!data.startsWith('{"type":"text-delta"') && !this.isForClient(JSON.parse(data) as Chunk)) return;
    this.context.send(`${this.prefix}${this.sequence++},"chunk":${data}}`);
  }

  private isForClient(chunk: Chunk): boolean {
    this.hasFinished = chunk.type === 'finish';
    // The client does not get the error `moved`: `next` continues the response with the new owner.
    if (chunk.type === 'data-error' && chunk.data.code === 'moved') return false;
    return !PRIVATE.has(chunk.type);
  }
}

/** The text of a body, piece by piece. When the node that sends a body dies, the text ends without an error. */
async function* textsOf(body: Reply['body']): AsyncGenerator<string> {
  if (typeof body === 'string') yield body;
  if (body instanceof ResponseReader) {
    for (let text = await body.next(); text !== null; text = await body.next()) yield text;
  }
  if (!(body instanceof Readable)) return;
  const utf8 = new TextDecoder();
  try {
    for await (const piece of body) yield utf8.decode(piece as Uint8Array, { stream: true });
  } catch {
    // The node died. The response continues after the last whole block.
  }
}
