import type { Chunk } from '../protocol/chunks.ts';
import { BlockDecoder, parseChunkId } from '../protocol/codec.ts';
import { networkError } from './failure.ts';
import { type DuologueHttp, errorOf } from './http.ts';
import type { Timers } from './timers.ts';

/** Where a response stands: enough to ask for the rest of it. */
export interface Place {
  chatId: string;
  /** The last chunk that was read. */
  last: string | null;
  /** The message that is being read. */
  messageId: string | null;
}

const GONE = 'came back, but the rest of the response is gone';
const RETRIES = 6;
const FIRST_DELAY_MS = 500;

/** The HTTP responses that one response of the chat is made of, chunk after chunk; one that breaks off is taken up again. */
export class SseExchange {
  readonly controller = new AbortController();
  /** Where it stands. */
  readonly place: Place;
  /** Whether the message has its end. */
  hasFinished = false;
  private readonly http: DuologueHttp;
  private readonly timers: Timers;
  private readonly onChunk: (chunk: Chunk) => void;
  /** Whether the first chunk must follow the last one that was read. */
  private isResumed = false;

  constructor(http: DuologueHttp, timers: Timers, chatId: string, onChunk: (chunk: Chunk) => void) {
    this.http = http;
    this.timers = timers;
    this.onChunk = onChunk;
    this.place = { chatId, last: null, messageId: null };
  }

  /** Goes on where another one broke off. */
  takeUp(broken: Place): void {
    Object.assign(this.place, broken);
    this.isResumed = true;
  }

  /** Posts what the page says. */
  async post(body: object, headers: HeadersInit | undefined): Promise<Response> {
    this.hasFinished = false;
    const response = await this.http.send('POST', '/stream', body, {
      headers: Object.fromEntries(new Headers(headers)),
      signal: this.controller.signal,
    });
    this.place.last = response.headers.get('x-duologue-last') ?? this.place.last;
    return response;
  }

  /** Asks for the response in progress, from the last chunk that was read on. */
  get(): Promise<Response> {
    const { chatId, last } = this.place;
    const query = last === null ? '' : `?last=${encodeURIComponent(last)}`;
    return this.http.request(`/stream/${encodeURIComponent(chatId)}/stream${query}`, {
      signal: this.controller.signal,
    });
  }

  /** Reads one HTTP response; false when it broke off. */
  async read(response: Response): Promise<boolean> {
    const decoder = new BlockDecoder();
    const text = new TextDecoder();
    const body = response.body?.getReader();
    if (!body) return false;
    for (;;) {
      const piece = await body.read().catch(() => null);
      if (!piece?.value) return false;
      for (const { id, data } of decoder.push(text.decode(piece.value, { stream: true }))) {
        if (data === '[DONE]') {
          await body.cancel();
          return true;
        }
        if (id) this.follow(id);
        this.take(JSON.parse(data) as Chunk);
      }
    }
  }

  /** Asks for the rest of a response that broke off; null when there is no rest. */
  async resume(): Promise<Response | null> {
    for (let attempt = 0; attempt < RETRIES; attempt++) {
      const delay = FIRST_DELAY_MS * 2 ** attempt * (0.5 + this.timers.random() / 2);
      if (attempt > 0) await new Promise<void>((resolve) => this.timers.after(delay, resolve));
      this.controller.signal.throwIfAborted();
      const response = await this.get().catch(() => null);
      if (!response || response.status >= 500) continue;
      if (response.status === 204) {
        if (this.hasFinished) return null;
        throw networkError(GONE);
      }
      if (!response.ok) throw await errorOf(response);
      this.isResumed = true;
      return response;
    }
    throw networkError('was lost');
  }

  private take(chunk: Chunk): void {
    if (chunk.type === 'start' && chunk.messageId !== undefined) this.place.messageId = chunk.messageId;
    if (chunk.type === 'finish') this.hasFinished = true;
    this.onChunk(chunk);
  }

  /** A response that is taken up again must go on where it broke off; another one would be shown twice. */
  private follow(id: string): void {
    const { place } = this;
    const before = this.isResumed && place.last !== null ? parseChunkId(place.last) : null;
    const next = parseChunkId(id);
    this.isResumed = false;
    place.last = id;
    if (before && (before.epoch !== next?.epoch || before.seq >= next.seq)) {
      place.last = null;
      throw networkError(GONE);
    }
  }
}
