import type { Event } from '@google/adk';
import { ProtocolError } from '../../protocol/index.ts';
import type { Engine } from '../engine.ts';
import { withAddresses } from '../files.ts';
import { PAGE } from '../registry/session.ts';
import type { ListRequest, SessionKey } from '../store/store.ts';
import { json, type Reply } from './reply.ts';
import type { RouteCall } from './route.ts';

/** The largest page of audit lines in one reply. */
const AUDIT_PAGE = { count: 1000, bytes: 256 * 1024 };

/** The largest number of sessions in a page of the list. */
const LISTED = 100;

/** A page of the sessions of the user. */
export async function listSessions({ context, request, user }: RouteCall): Promise<Reply> {
  const before = new URL(request.url).searchParams.get('before');
  const found = await context.sessions.list(user, { after: cursorIn(before), count: LISTED + 1 });
  const sessions = found.slice(0, LISTED);
  const last = sessions.at(-1);
  const isMore = found.length > LISTED && last !== undefined;
  return json(200, { sessions, ...(isMore && { older: `${last.updatedAt}.${last.id}` }) });
}

/** Reads a cursor of the list: the page begins after the session with this time and id. */
function cursorIn(before: string | null): ListRequest['after'] {
  if (before === null) return undefined;
  const [, time, id] = /^(\d{1,15})\.(.+)$/s.exec(before) ?? [];
  if (time === undefined || id === undefined) {
    throw new ProtocolError('bad_request', '"before" must be the "older" of another page of the list.');
  }
  return { updatedAt: Number(time), id };
}

/** The summary of a session, and a page of its messages. */
export async function getSession({ context, request, user, params: [id = ''] }: RouteCall): Promise<Reply> {
  const session = await context.sessions.get(user, id);
  const { origin, searchParams } = new URL(request.url);
  const before = searchParams.get('before') ?? undefined;
  const page = await session.page({ before, ...PAGE });
  if (!page)
    throw new ProtocolError(
      'not_found',
      'There is no message with the id "before". Read the newest page again.',
    );
  const { older, isRunning } = page;
  const messages = withAddresses(page.messages, origin + context.basePath);
  const summary = await context.sessions.summaryOf(user, id);
  return json(200, { ...(summary ?? { id }), messages, older, isRunning });
}

/** Sets or removes the title of a session. */
export async function renameSession({ context, user, params: [id = ''], body }: RouteCall): Promise<Reply> {
  const { title } = await body(64 * 1024);
  if (title !== null && (typeof title !== 'string' || title.trim() === '' || title.length > 200)) {
    throw new ProtocolError('bad_request', '"title" must be a text of at most 200 characters, or null.');
  }
  await context.sessions.rename(user, id, title);
  return json(200, { id, title });
}

/** Removes a session. */
export async function deleteSession({ context, user, params: [id = ''] }: RouteCall): Promise<Reply> {
  await context.sessions.remove(user, id);
  return { status: 204, headers: {}, body: null };
}

/** Stops the agent. */
export async function stopSession({ context, user, params: [id = ''] }: RouteCall): Promise<Reply> {
  const session = await context.sessions.get(user, id);
  return json(200, { stopped: await session.stop() });
}

/** Deactivates the active connection of the session, because a page sends over HTTP. A connection that cannot watch stays active. */
export async function releaseActiveConnection({
  context,
  user,
  params: [id = ''],
}: RouteCall): Promise<Reply> {
  const session = await context.sessions.get(user, id);
  session.claim(null);
  return { status: 204, headers: {}, body: null };
}

/** The ADK events of a session. */
export async function getEvents({ context, request, user, params: [id = ''] }: RouteCall): Promise<Reply> {
  const from = new URL(request.url).searchParams.get('from');
  return json(200, await inspectEvents(context.engine, { app: context.engine.appName, user, id }, from));
}

/** A page of the audit log of a session as JSON lines. The log of a deleted session can still be read. */
export async function getApprovals({ context, request, user, params: [id = ''] }: RouteCall): Promise<Reply> {
  const { store, appName: app } = context.engine;
  const { searchParams } = new URL(request.url);
  const before = wholeNumber(searchParams, 'before', Number.MAX_SAFE_INTEGER);
  const count = wholeNumber(searchParams, 'limit', AUDIT_PAGE.count) ?? AUDIT_PAGE.count;
  const { lines, older } = await store.loadAuditPage({ app, user, id }, { ...AUDIT_PAGE, before, count });
  return {
    status: 200,
    headers: {
      'content-type': 'application/x-ndjson; charset=utf-8',
      'cache-control': 'no-store',
      ...(older === null ? {} : { 'x-duologue-older': String(older) }),
    },
    body: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  };
}

/** A query parameter that is a number from 1 to `most`; undefined when it is not given. */
function wholeNumber(params: URLSearchParams, name: string, most: number): number | undefined {
  const text = params.get(name);
  if (text === null) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw new ProtocolError('bad_request', `"${name}" must be a whole number from 1 to ${most}.`);
}

/** The largest number of characters of a `data` field (base64) in an event. Longer values are replaced by their length. */
const MAX_DATA = 128;
/** The largest number of events in one reply. The reply has the index from which a client requests the next ones. */
const MAX_EVENTS = 500;
/** The largest number of bytes of events in one reply, unless a single event has more. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Consecutive ADK events of a session. `next` is the index after the last of them, `count` the number of all events. */
export interface InspectedEvents {
  events: Event[];
  next: number;
  count: number;
}

/** Reads the ADK events of a session, without the bytes of pictures and sound. For development. */
async function inspectEvents(engine: Engine, key: SessionKey, from: string | null): Promise<InspectedEvents> {
  const start = from === null ? 0 : Number(from);
  if (!Number.isSafeInteger(start) || start < 0) {
    throw new ProtocolError('bad_request', '"from" must be a whole number that is not negative.');
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
