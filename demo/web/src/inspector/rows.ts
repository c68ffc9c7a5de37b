import { BlockDecoder } from 'duologue/protocol';
import type { Direction, WireEvent } from '../wire/wire-event.ts';
import { type Fields, fieldsIn, fieldsOf, textIn } from './fields.ts';
import { clip, summaryOf, textsIn } from './summary.ts';

/** The kind of a row, for the filter. */
export type Kind = 'text' | 'tool' | 'data' | 'control' | 'connection';

/** All kinds, in the order of the filter. */
export const KINDS: readonly Kind[] = ['text', 'tool', 'data', 'control', 'connection'];

/**
 * What a latency measures: the time to the first chunk of a response, to a pong, or to the output of a call after its
 * decision.
 */
export type Wait = 'first' | 'pong' | 'answer';

/** One row of the inspector: a frame, a chunk, a request, or an event of a connection. */
export interface Row {
  number: number;
  at: number;
  channel: number;
  /** The transport of the row: a socket, a streamed response, or any other request. */
  wire: 'BIDI' | 'SSE' | 'HTTP';
  /** The number of the turn, which begins with a user message; 0 before the first. */
  turn: number;
  direction: Direction;
  kind: Kind;
  type: string;
  /** The chunk's id. */
  id: string | null;
  /** The message and the call that the row is about. */
  messageId: string | null;
  toolCallId: string | null;
  /** Whether the row is a user message. */
  isUserText: boolean;
  /** How the row was sent; null for a received row. Without a method it is a frame on the socket of that path. */
  sent: { method: string | null; path: string; body: string | null } | null;
  summary: string;
  /** The approximate size in bytes: a character outside ASCII counts as one. */
  size: number;
  latency: { ms: number; of: Wait } | null;
  /** The whole text, as it was on the wire. */
  body: string;
}

type Fact = Pick<Row, 'direction' | 'kind' | 'type' | 'summary' | 'body'> &
  Partial<Pick<Row, 'messageId' | 'toolCallId' | 'isUserText' | 'sent'>> & { id?: string | undefined };
/** Chunks about the whole conversation, which belong to no message. */
const OF_NO_MESSAGE: ReadonlySet<string> = new Set(['data-session', 'data-floor', 'data-reset']);

/** Converts events of the wire to rows: splits texts into blocks, and measures latencies. */
export class RowFold {
  private readonly decoders = new Map<number, BlockDecoder>();
  private readonly isStream = new Set<number>();
  /** When each request that has no response yet was sent, by channel. */
  private readonly asked = new Map<number, number>();
  private readonly pinged = new Map<unknown, number>();
  /** When the page sent the decision or output of a call, by call id. */
  private readonly answered = new Map<string, number>();
  /** The path of each socket, by channel. */
  private readonly sockets = new Map<number, string>();
  /** The streaming message of each channel (C6). */
  private readonly speaking = new Map<number, string>();
  /** The ids of user messages that began a turn. */
  private readonly texts = new Set<string>();
  private turn = 0;
  private count = 0;

  push(event: WireEvent): Row[] {
    const { at, channel } = event;
    switch (event.type) {
      case 'request':
        if (/^\/stream\b/.test(event.path)) this.isStream.add(channel);
        if (event.method === 'POST' && event.body !== null) this.noteAsked(channel, at, fieldsOf(event.body));
        return [this.row(event, request(event))];
      case 'response':
        if (/event-stream/.test(event.contentType)) this.isStream.add(channel);
        return [this.row(event, response(event))];
      case 'open':
        this.sockets.set(channel, event.path);
        return [this.row(event, connection('out', 'open', event.path))];
      case 'close': {
        this.decoders.delete(channel);
        this.asked.delete(channel);
        const { direction, code, reason } = event;
        return [this.row(event, connection(direction, 'close', [code ?? '', reason].join(' ').trim()))];
      }
      case 'binary':
        return [this.row(event, binary(event.direction, event.size), event.size)];
      case 'text':
        return event.direction === 'out' ? [this.sent(event)] : this.heard(event);
    }
  }

  private sent(event: Extract<WireEvent, { type: 'text' }>): Row {
    const frame = fieldsOf(event.text);
    const type = String(frame.type ?? '?');
    const data = fieldsIn(frame.data ?? frame);
    if (type === 'ping') this.pinged.set(data.timestamp, event.at);
    if (type === 'message') this.noteAsked(event.channel, event.at, data);
    if (type === 'tool_result') this.answered.set(String(data.toolCallId), event.at);
    const kind = type === 'tool_result' ? 'tool' : type === 'message' ? 'text' : 'control';
    const sent = { method: null, path: this.sockets.get(event.channel) ?? '/live', body: null };
    const about = type === 'message' ? aboutMessage(data) : { toolCallId: textIn(data.toolCallId) };
    const summary = textsIn(type, data);
    return this.row(event, { direction: 'out', kind, type, summary, body: event.text, sent, ...about });
  }

  private heard(event: Extract<WireEvent, { type: 'text' }>): Row[] {
    const { channel, at, text } = event;
    if (text.startsWith('{') && !this.isStream.has(channel)) return [this.heardJson(event)];
    const decoder = this.decoders.get(channel) ?? new BlockDecoder();
    this.decoders.set(channel, decoder);
    return decoder.push(text).map(({ id, data }) => {
      const chunk = data === '[DONE]' ? { type: '[DONE]' } : fieldsOf(data);
      const type = String(chunk.type ?? '?');
      if (type === 'start') this.speaking.set(channel, String(chunk.messageId ?? ''));
      const reported = fieldsIn(chunk.data);
      const spoken = textIn(fieldsIn(reported.message).id);
      const isElsewhere = type === 'data-message' && this.isNews(spoken);
      const messageId = OF_NO_MESSAGE.has(type) ? null : (this.speaking.get(channel) ?? null);
      const fact: Fact = {
        messageId: textIn(reported.messageId) ?? spoken ?? messageId,
        isUserText: isElsewhere,
        toolCallId: textIn(chunk.toolCallId) ?? textIn(reported.toolCallId),
        direction: 'in',
        kind: kindOf(type),
        type,
        summary: summaryOf(type, chunk),
        body: data,
        id,
      };
      const row = this.row(event, fact);
      row.latency = this.waited(channel, at, type, chunk);
      return row;
    });
  }

  /** Handles a JSON text: a bare pong, or the body of a response. */
  private heardJson(event: Extract<WireEvent, { type: 'text' }>): Row {
    const { at, text } = event;
    const fields = fieldsOf(text);
    const isPong = fields.type === 'pong';
    const kind = isPong ? 'control' : 'data';
    const type = isPong ? 'pong' : 'JSON';
    const row = this.row(event, {
      direction: 'in',
      kind,
      type,
      summary: isPong ? '' : clip(text),
      body: text,
    });
    const sent = this.pinged.get(fields.timestamp);
    if (isPong && sent !== undefined) {
      this.pinged.delete(fields.timestamp);
      row.latency = { ms: at - sent, of: 'pong' };
    }
    return row;
  }

  private waited(channel: number, at: number, type: string, chunk: Fields): Row['latency'] {
    const isOutput = type.startsWith('tool-output-');
    const answered = isOutput ? this.answered.get(String(chunk.toolCallId)) : undefined;
    if (answered !== undefined) {
      this.answered.delete(String(chunk.toolCallId));
      this.asked.delete(channel);
      return { ms: at - answered, of: 'answer' };
    }
    const asked = this.asked.get(channel);
    if (asked === undefined || type === 'data-session') return null;
    this.asked.delete(channel);
    return { ms: at - asked, of: 'first' };
  }

  /** Whether a user message was sent on another page. It begins a turn too. */
  private isNews(messageId: string | null): boolean {
    if (messageId === null || this.texts.has(messageId)) return false;
    this.texts.add(messageId);
    this.turn++;
    return true;
  }

  private noteAsked(channel: number, at: number, texts: Fields): void {
    this.asked.set(channel, at);
    const last = Array.isArray(texts.messages) ? fieldsIn(texts.messages.at(-1)) : {};
    if (isSaying(texts)) this.turn++;
    if (typeof last.id === 'string') this.texts.add(last.id);
    if (last.role === 'user' || !Array.isArray(last.parts)) return;
    for (const part of last.parts) {
      const { toolCallId } = fieldsIn(part);
      if (typeof toolCallId === 'string') this.answered.set(toolCallId, at);
    }
  }

  private row({ at, channel }: WireEvent, fact: Fact, size = fact.body.length): Row {
    return {
      number: ++this.count,
      at,
      channel,
      wire: this.sockets.has(channel) ? 'BIDI' : this.isStream.has(channel) ? 'SSE' : 'HTTP',
      turn: this.turn,
      messageId: null,
      toolCallId: null,
      isUserText: false,
      sent: null,
      latency: null,
      size,
      ...fact,
      id: fact.id ?? null,
    };
  }
}

function request({ method, path, body }: Extract<WireEvent, { type: 'request' }>): Fact {
  const texts = body === null ? {} : fieldsOf(body);
  const hasMessages = Array.isArray(texts.messages);
  return {
    ...aboutMessage(texts),
    sent: { method, path, body },
    direction: 'out',
    kind: hasMessages ? 'text' : 'connection',
    type: `${method} ${path.split('?')[0]?.replace(/^(\/\w+)\/.{12,}?(\/|$)/, '$1/…$2') ?? path}`,
    summary: hasMessages ? textsIn('message', texts) : '',
    body: body ?? path,
  };
}

function response({ status, contentType }: Extract<WireEvent, { type: 'response' }>): Fact {
  const summary = contentType.split(';')[0] ?? '';
  return {
    direction: 'in',
    kind: 'connection',
    type: String(status),
    summary,
    body: `${status} ${contentType}`,
  };
}

function connection(direction: Direction, type: string, summary: string): Fact {
  return { direction, kind: 'connection', type, summary, body: summary };
}

function binary(direction: Direction, size: number): Fact {
  return { direction, kind: 'data', type: 'binary', summary: `${size} B`, body: '' };
}

function kindOf(type: string): Kind {
  if (/^(text|reasoning)-/.test(type)) return 'text';
  if (type.startsWith('tool-')) return 'tool';
  return /^(data-|file$|source-)/.test(type) ? 'data' : 'control';
}

/** Whether a request sends a user message, or sends one again. */
function isSaying(texts: Fields): boolean {
  const last = Array.isArray(texts.messages) ? fieldsIn(texts.messages.at(-1)) : {};
  return last.role === 'user' || texts.trigger === 'regenerate-message';
}

/** The message or the call that a request of the page is about. */
function aboutMessage(texts: Fields): Pick<Row, 'messageId' | 'toolCallId' | 'isUserText'> {
  const last = Array.isArray(texts.messages) ? fieldsIn(texts.messages.at(-1)) : {};
  const parts = Array.isArray(last.parts) ? last.parts.map(fieldsIn) : [];
  const answered = last.role === 'user' ? [] : parts.filter(({ approval }) => approval !== undefined);
  return {
    messageId: textIn(last.id),
    toolCallId: answered.length === 1 ? textIn(answered[0]?.toolCallId) : null,
    isUserText: isSaying(texts),
  };
}
