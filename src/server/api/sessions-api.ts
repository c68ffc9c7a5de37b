import { type Message, ProtocolError } from '../../protocol/index.ts';
import type { Engine } from '../engine.ts';
import { PAGE } from '../registry/session.ts';
import type { AuditLine, SessionKey, SessionSummary, UserSession } from '../store/store.ts';
import { badRequest, ServerApiError, toApiError } from './api-error.ts';
import type { Commands } from './commands.ts';
import { toMarkdown } from './markdown.ts';

/** A session of a user. */
export interface SessionRef {
  user: string;
  /** The id of the session, which is the chat id of `useChat` in the page. */
  id: string;
}

/** A request for a page of the list of sessions. */
export interface SessionListRequest {
  /** The user whose sessions are listed; the sessions of all users unless given. */
  user?: string;
  /** The `next` of the previous page. */
  cursor?: string;
  /** The largest number of sessions in the page, from 1 to 1000; 100 unless given. */
  limit?: number;
}

/** A page of sessions that have a title or a message, last used first. */
export interface SessionPage {
  sessions: UserSession[];
  /** The cursor of the next page; null when this page is the last. */
  next: string | null;
}

/** A request for a page of the messages of a session. */
export interface SessionReadRequest {
  /** `older` of the page that was read before; without it, the newest messages are read. */
  before?: string;
  /** The largest number of messages in the page, from 1 to 100; 100 unless given. */
  limit?: number;
}

/** A session with a page of its messages. */
export interface SessionContent extends SessionSummary {
  user: string;
  messages: Message[];
  /** Pass it as `before` to read the page of older messages; null when this page begins with the first message. */
  older: string | null;
}

/** A session with all its messages and its lines of the audit log. */
export interface SessionExport extends SessionSummary {
  user: string;
  messages: Message[];
  /** The audit lines of the session, oldest first: about approvals, questions, sign-ins and refused answers. */
  approvals: AuditLine[];
}

/**
 * The methods with which an application lists, reads and changes the sessions of all users. Every node reads sessions from the store, even while another node
 * uses them. Of a message that is being streamed, the store has the newest draft.
 */
export interface SessionsApi {
  /** Lists the sessions of a user, or of all users, last used first. */
  list(request?: SessionListRequest): Promise<SessionPage>;
  /** Reads a page of messages. The address of a file in a message is a path below the path where the server is mounted. */
  read(session: SessionRef, request?: SessionReadRequest): Promise<SessionContent>;
  /** Exports a whole session with its approvals, as an object or as Markdown for people. */
  export(session: SessionRef, format: 'json'): Promise<SessionExport>;
  export(session: SessionRef, format: 'markdown'): Promise<string>;
  /** Sets the title; null removes it. */
  rename(session: SessionRef, title: string | null): Promise<void>;
  /** Stops the agent, disconnects the clients, and removes the session. Its audit log stays, but `args` and `reason` of its lines become null. */
  delete(session: SessionRef): Promise<void>;
}

const MAX_LISTED = 1000;
const LISTED = 100;
const AUDIT_PAGE = { count: 1000, bytes: 1024 * 1024 };
const MAX_TITLE = 200;

/** Creates the part of the server API that manages sessions. */
export function sessionsApi(engine: Engine, commands: Commands): SessionsApi {
  const { store, appName } = engine;
  const keyOf = (session: SessionRef) => checkedKey(session, appName);
  const summaryOf = async (key: SessionKey) => (await store.findSession(key)) ?? notFound();

  const all = async (key: SessionKey): Promise<SessionExport> => {
    const { user } = key;
    const [summary, messages] = await Promise.all([summaryOf(key), store.loadMessages(key)]);
    const approvals: AuditLine[] = [];
    let before: number | undefined;
    do {
      const page = await store.loadAuditPage(key, { before, ...AUDIT_PAGE });
      approvals.unshift(...page.lines);
      before = page.older ?? undefined;
    } while (before !== undefined);
    return { user, ...summary, messages, approvals };
  };

  async function exported(session: SessionRef, format: 'json'): Promise<SessionExport>;
  async function exported(session: SessionRef, format: 'markdown'): Promise<string>;
  async function exported(session: SessionRef, format: unknown): Promise<SessionExport | string> {
    if (format !== 'json' && format !== 'markdown')
      throw badRequest('sessions.export: the format must be "json" or "markdown".');
    const content = await inApiErrors(() => all(keyOf(session)));
    return format === 'json' ? content : toMarkdown(content, content.messages);
  }

  return {
    list: ({ user, cursor, limit = LISTED } = {}) =>
      inApiErrors(async () => {
        const count = wholeNumber('limit', limit, MAX_LISTED);
        if (user === undefined) return store.listAllSessions(appName, { cursor, count });
        const found = await store.listSessions(appName, user, { after: placeIn(cursor), count: count + 1 });
        const sessions = found.slice(0, count).map((session) => ({ user, ...session }));
        const last = found.length > count ? sessions.at(-1) : undefined;
        return { sessions, next: last ? `${last.updatedAt}.${last.id}` : null };
      }),

    read: (session, { before, limit = PAGE.count } = {}) =>
      inApiErrors(async () => {
        const key = keyOf(session);
        const count = wholeNumber('limit', limit, PAGE.count);
        const summary = await summaryOf(key);
        const page = await store.loadPage(key, { before, count, bytes: PAGE.bytes });
        if (!page)
          throw new ServerApiError(
            'not_found',
            'There is no message with the id "before": pass the "older" of another page.',
          );
        const older = page.hasOlder ? (page.messages[0]?.id ?? null) : null;
        return { user: key.user, ...summary, messages: page.messages, older };
      }),

    export: exported,

    rename: (session, title) =>
      inApiErrors(async () => {
        if (title !== null && (typeof title !== 'string' || title.trim() === '' || title.length > MAX_TITLE))
          throw badRequest(`"title" must be a text of at most ${MAX_TITLE} characters, or null.`);
        if (!(await store.renameSession(keyOf(session), title))) notFound();
      }),

    delete: (session) =>
      inApiErrors(() => commands.run({ do: 'delete', key: keyOf(session) })).then(() => undefined),
  };
}

/** Runs work of the server API. Rejects with a `ServerApiError` in place of an error of the protocol or an unavailable store (`toApiError`). */
export async function inApiErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toApiError(error);
  }
}

/** Checks the reference that the application gave, and returns the key of the session. */
export function checkedKey(session: SessionRef, app: string): SessionKey {
  const { user, id }: { user?: unknown; id?: unknown } = session ?? {};
  if (typeof user !== 'string' || user === '' || typeof id !== 'string' || id === '')
    throw badRequest('A session needs its user and its id, both as texts: { user, id }.');
  return { app, user, id };
}

function wholeNumber(name: string, value: number, most: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw badRequest(`"${name}" must be a whole number from 1 to ${most}.`);
}

function placeIn(cursor: string | undefined): { updatedAt: number; id: string } | undefined {
  if (cursor === undefined) return undefined;
  const [, time, id] = /^(\d{1,15})\.(.+)$/s.exec(cursor) ?? [];
  if (time === undefined || id === undefined)
    throw badRequest('The "cursor" is not valid: pass the "next" of an earlier page.');
  return { updatedAt: Number(time), id };
}

function notFound(): never {
  throw new ProtocolError('not_found', 'There is no such session.');
}
