import type { WireEvent } from '../wire/wire-event.ts';

/** A request that the recorded page sent over a socket. */
export interface Asked {
  event: WireEvent;
  type: string;
  requestId: string | undefined;
  /** The id of the message that answered the request, if the recording has one. */
  answer: string | undefined;
  /** Whether the page of the replay has sent this request too. */
  isTaken?: true;
}

const ASKING = ['message', 'tool_result', 'interrupt'];

/** The requests over the sockets of a recording, in order. */
export function askedIn(events: readonly WireEvent[]): Asked[] {
  return events.flatMap((event, at): Asked[] => {
    if (event.type !== 'text' || event.direction !== 'out') return [];
    const { type, data } = frameOf(event.text);
    if (typeof type !== 'string' || !ASKING.includes(type)) return [];
    const { requestId } = data as { requestId?: unknown };
    const answer = type === 'message' ? startAfter(events, at, event.channel) : undefined;
    return [{ event, type, requestId: typeof requestId === 'string' ? requestId : undefined, answer }];
  });
}

/** The type and the fields of a client frame. Its fields are in `data` or beside `type` (B1). */
export function frameOf(text: string): { type: unknown; data: unknown } {
  const frame = parsed(text);
  return { type: frame.type, data: typeof frame.data === 'object' ? frame.data : frame };
}

/** The id of the first message that starts on a channel after the event with index `at`. */
export function startAfter(events: readonly WireEvent[], at: number, channel: number): string | undefined {
  for (const event of events.slice(at + 1)) {
    if (event.type !== 'text' || event.direction !== 'in' || event.channel !== channel) continue;
    for (const line of event.text.split('\n')) {
      const { type, messageId } = line.startsWith('data: {') ? parsed(line.slice(6)) : {};
      if (type === 'start' && typeof messageId === 'string') return messageId;
    }
  }
  return undefined;
}

function parsed(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) as Record<string, unknown> | null) ?? {};
  } catch {
    return {};
  }
}
