import { Readable } from 'node:stream';
import {
  type Chunk,
  DONE,
  encodeBlock,
  formatChunkId,
  isForWatchers,
  KEEP_ALIVE,
  type ProtocolError,
} from '../../protocol/index.ts';
import type { ApprovalResponse } from '../../protocol/wire/chat-frames.ts';
import { presented } from '../files.ts';
import { NotHere } from '../nodes/elsewhere.ts';
import { NOT_HERE } from '../nodes/forward.ts';
import { type BatchTimer, Departure, type Heartbeat } from '../output/pace.ts';
import type { Feed, Reader, SseResponse } from '../registry/session.ts';

/** The reply to a request. Its body may be a `ResponseReader`, which the adapter reads piece by piece, or the stream of another node's reply. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array | ResponseReader | Readable | null;
}

/** A header of every reply: the browser uses `content-type` as given, and does not guess the type. */
export const NO_SNIFFING = { 'x-content-type-options': 'nosniff' } as const;

/** A reply in JSON. */
export function json(status: number, value: unknown): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: JSON.stringify(value),
  };
}

/** The reply for an error. Its body is the error as JSON. */
export function errorReply(error: ProtocolError): Reply {
  const reply = json(error.status, { error: error.toWire() });
  if (error.retryAfterMs !== undefined) {
    reply.headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfterMs / 1000)));
  }
  if (error instanceof NotHere) reply.headers[NOT_HERE] = '1';
  return reply;
}

/** The headers of a UI message stream of a session. */
export function streamHeaders(sessionId: string): Record<string, string> {
  return {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-vercel-ai-ui-message-stream': 'v1',
    'x-accel-buffering': 'no',
    'x-duologue-session': encodeURIComponent(sessionId),
  };
}

/** The reply that streams a response to one client. */
export function streamReply(reader: ResponseReader, sessionId: string): Reply {
  return {
    status: 200,
    headers: {
      ...streamHeaders(sessionId),
      // A client that loses the response before its first chunk still knows where to resume.
      'x-duologue-last': reader.lastId,
    },
    body: reader,
  };
}

/** Converts a reply to a web `Response`. A `ResponseReader` is read only when the client reads. */
export function toResponse(reply: Reply): Response {
  const { status, headers, body } = reply;
  if (body instanceof Readable)
    return new Response(Readable.toWeb(body) as ReadableStream, { status, headers });
  if (!(body instanceof ResponseReader)) return new Response(body as BodyInit | null, { status, headers });
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        body.onDrop = () =>
          controller.error(new Error('The response was ended because the client read too slowly.'));
      },
      async pull(controller) {
        const text = await body.next();
        if (text === null) {
          if (!body.isDropped) controller.close();
          return;
        }
        controller.enqueue(encoder.encode(text));
      },
      cancel: () => body.close(),
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, { status, headers });
}

/** A reader is closed when its client has read nothing for this many heartbeats while chunks waited, because the agent may be waiting for this client. */
const MAX_STALLED_BEATS = 20;

/** Timers that all readers share. */
export interface Pacing {
  window: BatchTimer;
  keepAlive: Heartbeat;
}

/** Turns the log entries of one response into SSE text for one client. `Departure` decides when new entries are sent. */
export class ResponseReader implements Reader {
  readonly isActive: boolean;
  /** Called when the reader is closed before the end of the response, because the client reads too slowly. The client may resume. */
  onDrop: (() => void) | null = null;
  private dropped = false;
  private readonly feed: Feed;
  private readonly departure: Departure;
  private readonly endsAfter: number;
  private readonly omitted: ReadonlySet<string>;
  private readonly endsAtRest: boolean;
  private readonly hasDecisions: boolean;
  private readonly isWatched: boolean;
  private readonly hasOnlyReplies: boolean;
  private readonly present: SseResponse['present'];
  /** Chunks for this client alone. */
  private readonly privateReplies: SseResponse['privateReplies'];
  private readonly from: number;
  private seq: number;
  private seqAtBeat = -1;
  private stalledBeats = 0;
  /** The error that ends the response early; null when there is none. */
  private why: ProtocolError | null = null;
  /** Whether the chunks so far should be sent now. It is true at first, so that a client that resumes gets at once what it missed. */
  private isDue = true;
  private ended = false;
  /**
   * False while a watcher has private replies to send, such as `data-session`, which do not wait for a chunk of the log. Other clients get their private
   * replies with the next chunk.
   */
  private isGreeted: boolean;
  /** Whether a keep-alive comment is due. */
  private isBeating = false;
  /** Resolves the promise that `more` returned; null when no caller waits. */
  private wake: (() => void) | null = null;
  private leave: (() => void)[] = [];

  constructor(
    {
      feed,
      from,
      endsAfter,
      isActive = false,
      omitted,
      endsAtRest,
      hasDecisions = false,
      isWatched = false,
      hasOnlyReplies = false,
      present,
      privateReplies,
    }: SseResponse,
    pacing: Pacing,
  ) {
    this.feed = feed;
    this.isActive = isActive;
    this.present = present;
    this.privateReplies = privateReplies;
    this.departure = new Departure(pacing.window, () => this.depart());
    this.from = from;
    this.seq = from;
    this.endsAfter = endsAfter ?? from;
    this.omitted = new Set(omitted);
    this.endsAtRest = endsAtRest ?? false;
    this.hasDecisions = hasDecisions;
    this.isWatched = isWatched;
    this.hasOnlyReplies = hasOnlyReplies;
    this.isGreeted = !isWatched;
    this.leave = [
      feed.log.subscribe(() => this.arrived()),
      // The agent never waits for a watcher.
      ...(isWatched ? [] : [feed.attach(this)]),
      pacing.keepAlive.join(() => this.beat()),
      ...(endsAtRest ? [feed.onRest(() => this.rested())] : []),
    ];
  }

  /** Whether the reader was closed before the end of the response, because the client read too slowly. */
  get isDropped(): boolean {
    return this.dropped;
  }

  position(): number {
    return this.seq;
  }

  /** The id of the last chunk that was read, or of the chunk before the first one. */
  get lastId(): string {
    return formatChunkId({ epoch: this.feed.log.epoch, seq: this.seq });
  }

  /** Whether there are chunks, private replies, an error or an end to send now. */
  get isReady(): boolean {
    const hasOutput = this.feed.log.last > this.seq || this.isPaused || this.why !== null;
    return this.isDue && (hasOutput || !this.isGreeted);
  }

  /** Whether the response of a live turn ends now, because the agent does nothing or waits for the user or the browser. */
  private get isPaused(): boolean {
    return this.endsAtRest && this.feed.isAtRest;
  }

  /** Whether the response has ended or the reader was closed. */
  get isOver(): boolean {
    return this.ended;
  }

  /** The text that should be sent now; empty when there is none. */
  read(): string {
    if (this.ended) return '';
    if (this.isReady) return this.take();
    return this.isBeating ? this.takeBeat() : '';
  }

  /** Resolves when there may be something to read, or the response is over. It runs for every token, so it creates only one promise. */
  more(): Promise<void> {
    return new Promise((resolve) => {
      if (this.ended) resolve();
      else this.wake = resolve;
    });
  }

  /** The next text, or null after the end. */
  async next(): Promise<string | null> {
    while (!this.ended) {
      const text = this.read();
      if (text !== '') return text;
      await this.more();
    }
    return null;
  }

  /** Wakes the reader to send private replies, which are in no log. */
  note(): void {
    this.isGreeted = false;
    this.isDue = true;
    this.rouse();
  }

  cut(why: ProtocolError): void {
    this.why = why;
    this.isDue = true;
    this.rouse();
  }

  /** Calls `callback` once, when the reader is closed. */
  onClose(callback: () => void): void {
    this.leave.push(callback);
  }

  close(): void {
    this.ended = true;
    for (const leave of this.leave) leave();
    this.leave = [];
    this.rouse();
  }

  private takeBeat(): string {
    this.isBeating = false;
    return KEEP_ALIVE;
  }

  private take(): string {
    const { log } = this.feed;
    this.isBeating = false;
    const isFirst = !this.isGreeted;
    this.isGreeted = true;
    let text = '';
    for (const chunk of this.privateReplies?.() ?? []) {
      text += encodeBlock(chunk, chunk.type === 'data-session' ? this.lastId : undefined);
    }
    if (this.hasOnlyReplies) {
      this.close();
      return text + DONE;
    }
    for (let entry = log.at(this.seq + 1); entry; entry = log.at(this.seq + 1)) {
      this.seq = entry.seq;
      const { chunk } = entry;
      if (chunk) {
        if (chunk.type === 'tool-approval-request' && this.omitted.has(chunk.approvalId)) continue;
        const id = formatChunkId({ epoch: log.epoch, seq: entry.seq });
        const decision = this.hasDecisions ? this.decisionIn(chunk) : null;
        if (decision) text += encodeBlock(decision, id);
        if (!this.isWatched && (this.isStepOfRequest(chunk) || isForWatchers(chunk))) continue;
        text += encodeBlock(this.present ? presented(chunk, this.present) : chunk, id);
        continue;
      }
      if (!this.isWatched && entry.seq <= this.endsAfter) continue;
      text += DONE;
      if (this.isWatched) continue;
      this.close();
      break;
    }
    if (!this.ended && this.isPaused) {
      text += encodeBlock({ type: 'finish', finishReason: 'tool-calls' }) + DONE;
      this.close();
    }
    // This SSE comment tells a watcher that it has received every chunk so far.
    if (isFirst) text += KEEP_ALIVE;
    if (!this.ended && this.why) {
      // There is no [DONE] after the error, so the client knows that the response is not complete, and resumes.
      text += encodeBlock({ type: 'data-error', data: this.why.toWire(), transient: true });
      this.close();
    }
    // If the log has discarded the next chunk, end the response without [DONE], so that the client resumes instead of missing chunks unnoticed.
    if (this.seq < log.first - 1) this.drop();
    this.isDue = false;
    this.departure.left();
    this.feed.readerMoved();
    return text;
  }

  /**
   * Whether a chunk opens or ends the step around an approval request of a live turn. Only sockets and watchers get these steps. The log has
   * `finish-step` only at the end of such a step.
   */
  private isStepOfRequest({ type }: Chunk): boolean {
    if (type === 'finish-step') return true;
    return type === 'start-step' && this.feed.log.at(this.seq + 1)?.chunk?.type === 'tool-approval-request';
  }

  /** Converts `data-decided`, which watchers get, to the `tool-approval-response` of the AI SDK. Null for other chunks, or when the request is not in this response. */
  private decisionIn(chunk: Chunk): ApprovalResponse | null {
    if (chunk.type !== 'data-decided') return null;
    const { toolCallId, approved, reason } = chunk.data;
    for (let seq = this.seq - 1; seq > this.from; seq--) {
      const asked = this.feed.log.at(seq)?.chunk;
      if (asked?.type !== 'tool-approval-request' || asked.toolCallId !== toolCallId) continue;
      const { approvalId } = asked;
      return {
        type: 'tool-approval-response',
        approvalId,
        approved,
        ...(reason === undefined ? {} : { reason }),
      };
    }
    return null;
  }

  private arrived(): void {
    const { log } = this.feed;
    this.departure.arrived(log.isGathered ? undefined : log.at(log.last)?.chunk?.type);
  }

  private depart(): void {
    if (this.feed.log.last === this.seq) return;
    this.isDue = true;
    this.rouse();
  }

  /** Wakes the reader when the agent is idle or waits for the user or the browser, because no further chunk may come. */
  private rested(): void {
    this.isDue = true;
    this.rouse();
  }

  private rouse(): void {
    const { wake } = this;
    this.wake = null;
    wake?.();
  }

  private drop(): void {
    this.dropped = true;
    this.close();
    this.onDrop?.();
  }

  private beat(): void {
    const waits = this.feed.log.last > this.seq;
    this.stalledBeats = waits && this.seq === this.seqAtBeat ? this.stalledBeats + 1 : 0;
    this.seqAtBeat = this.seq;
    if (this.stalledBeats >= MAX_STALLED_BEATS) this.drop();
    if (waits || !this.wake) return;
    this.isBeating = true;
    this.rouse();
  }
}
