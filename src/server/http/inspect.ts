import type { Event } from '@google/adk';
import { ProtocolError } from '../../protocol/index.ts';
import type { Engine } from '../engine.ts';
import type { SessionKey } from '../store/store.ts';

/** Base64 that is longer says nothing to a reader. */
const MAX_DATA = 128;
/** Events in one answer; a reader asks again from where it was. */
const MAX_EVENTS = 500;
/** The same in bytes, unless one alone has more. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The ADK events of a session from a place in its history on, and the place after the last of them. */
export interface InspectedEvents {
  events: Event[];
  next: number;
  count: number;
}

/** Reads the ADK events behind a conversation, without the bytes of pictures and sound. For development. */
export async function inspectEvents(
  engine: Engine,
  key: SessionKey,
  from: string | null,
): Promise<InspectedEvents> {
  const start = from === null ? 0 : Number(from);
  if (!Number.isSafeInteger(start) || start < 0) {
    throw new ProtocolError('bad_request', '"from" must be a whole number from 0 on.');
  }
  const page = await engine.store.loadEvents(key, { from: start, events: MAX_EVENTS, bytes: MAX_BYTES });
  if (!page) throw new ProtocolError('not_found', 'There is no such session.');
  const { events, count } = page;
  return { events: events.map(withoutBytes), next: start + events.length, count };
}

function withoutBytes(event: Event): Event {
  return JSON.parse(JSON.stringify(event), (key, value: unknown) =>
    key === 'data' && typeof value === 'string' && value.length > MAX_DATA
      ? `(${value.length} characters)`
      : value,
  ) as Event;
}
