import { BlockDecoder } from 'duologue/protocol';
import type { Recording } from '../wire/recording.ts';
import type { WireEvent } from '../wire/wire-event.ts';

/** A picture of one grey pixel, which replaces every picture. */
const GREY =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';

/** Fields whose values are no content of the conversation, so they stay. */
const KEPT = new Set([
  ...[
    'type',
    'id',
    'messageId',
    'toolCallId',
    'approvalId',
    'requestId',
    'sessionId',
    'connectionId',
    'sourceId',
  ],
  ...[
    'epoch',
    'newest',
    'older',
    'role',
    'state',
    'trigger',
    'version',
    'toolName',
    'name',
    'status',
    'action',
  ],
  ...['finishReason', 'rawFinishReason', 'modelVersion', 'mediaType', 'language'],
  ...['outcome', 'runsOn', 'running', 'waitsFor', 'by', 'license'],
]);
/** Fields with the code or reason of an error, which stay if their value is one word. */
const CODES = new Set(['code', 'reason']);
/** Fields whose whole value is private, whatever its keys are. */
const PRIVATE = new Set(['input', 'output', 'args', 'result', 'response', 'rawInput']);
/** Error texts with which calls end (T4, T5). They stay, because a card chooses its state by them. */
const ENDS =
  /^(User denied the tool call|Approval request timed out|Superseded by a newer message|Interrupted by the user|Cancelled by the agent|.*The outcome is unknown\.?)/;

/**
 * Returns the recording without the content of the conversation: each letter and digit of texts and arguments is
 * replaced. Lengths, order and structure stay, so a replay can still verify the recording.
 */
export function redacted(recording: Recording): Recording {
  return {
    ...recording,
    events: redactedEvents(recording.events),
    messages: redactedValue(recording.messages, false) as Recording['messages'],
  };
}

function redactedEvents(events: readonly WireEvent[]): WireEvent[] {
  const streams = new Map<number, BlockDecoder>();
  const bodies = new Map<number, string>();
  const lastTexts = new Map<number, WireEvent>();
  for (const event of events) {
    if (event.type === 'open') streams.set(event.channel, new BlockDecoder());
    if (event.type === 'response' && /event-stream/.test(event.contentType)) {
      streams.set(event.channel, new BlockDecoder());
    }
    if (event.type === 'text' && event.direction === 'in') lastTexts.set(event.channel, event);
  }
  return events.flatMap((event): WireEvent[] => {
    if (event.type === 'request') return [{ ...event, body: event.body && redactedJson(event.body) }];
    if (event.type !== 'text') return [event];
    if (event.direction === 'out') return [{ ...event, text: redactedJson(event.text) }];
    const stream = streams.get(event.channel);
    // On a socket, a text that begins with a brace is a bare server frame, such as a pong.
    if (stream && event.text.startsWith('{')) return [event];
    if (stream) {
      const text = stream.push(event.text).map(redactedBlock).join('');
      return text === '' ? [] : [{ ...event, text }];
    }
    // A response body may arrive in pieces. It is masked as a whole.
    const body = (bodies.get(event.channel) ?? '') + event.text;
    bodies.set(event.channel, body);
    return lastTexts.get(event.channel) === event ? [{ ...event, text: redactedJson(body) }] : [];
  });
}

function redactedBlock({ id, data }: { id?: string | undefined; data: string }): string {
  const text = data === '[DONE]' ? data : redactedJson(data);
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${text}\n\n`;
}

function redactedJson(text: string): string {
  try {
    return JSON.stringify(redactedValue(JSON.parse(text), false));
  } catch {
    return masked(text);
  }
}

/** Masks a value. With `isPrivate` every text and number in it is content, whatever the names of its fields. */
function redactedValue(value: unknown, isPrivate: boolean, name = ''): unknown {
  if (typeof value === 'string') return redactedText(value, isPrivate, name);
  if (typeof value === 'number') return isPrivate ? Number(masked(String(value))) || 0 : value;
  if (Array.isArray(value)) return value.map((one) => redactedValue(one, isPrivate, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      redactedValue(inner, isPrivate || PRIVATE.has(key), key),
    ]),
  );
}

function redactedText(text: string, isPrivate: boolean, name: string): string {
  if (!isPrivate && (KEPT.has(name) || (CODES.has(name) && /^[a-z_]{1,40}$/.test(text)))) return text;
  if (name === 'url' && text.startsWith('data:')) return GREY;
  if (name === 'url' && text.startsWith('/')) return text;
  const [end = ''] = name === 'errorText' ? (ENDS.exec(text) ?? []) : [];
  return end + masked(text.slice(end.length));
}

/** The text with each letter and digit replaced one by one, so that masked pieces still join to the masked whole. */
function masked(text: string): string {
  return text.replace(/[0-9]/g, '0').replace(/[^\s0!-/:-@[-`{-~]/g, 'x');
}
