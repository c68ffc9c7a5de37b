import type { Message } from '../protocol/chunks.ts';
import { ERRORS, type ErrorCode, ProtocolError, type WireError } from '../protocol/errors.ts';

/** A session as the server keeps it. */
export interface StoredSession {
  id: string;
  title: string | null;
  messages: Message[];
  isRunning: boolean;
}

/** Where and how to ask for a session. */
export interface SessionSource {
  url: string;
  key?: string | undefined;
  headers?: Record<string, string> | undefined;
  credentials?: RequestCredentials | undefined;
  fetch?: typeof fetch | undefined;
}

/** Asks the server for a session, page after page; null when there is none. */
export async function readSession(
  source: SessionSource,
  id: string,
  signal: AbortSignal,
): Promise<StoredSession | null> {
  const newest = await readPage(source, id, null, signal);
  const pages = [newest?.messages ?? []];
  for (let older = newest?.older ?? null; older !== null; ) {
    const page = await readPage(source, id, older, signal);
    // The conversation was taken back to before that page meanwhile, or removed.
    if (!page) return readSession(source, id, signal);
    pages.unshift(page.messages);
    older = page.older ?? null;
  }
  return newest && { ...newest, messages: pages.flat() };
}

/** A part of a session: its newest messages, or those before one. */
interface SessionPage extends StoredSession {
  /** The message before which there are more. */
  older?: string | null;
}

async function readPage(
  source: SessionSource,
  id: string,
  before: string | null,
  signal: AbortSignal,
): Promise<SessionPage | null> {
  const { url, key, headers, credentials } = source;
  const query = before === null ? '' : `?before=${encodeURIComponent(before)}`;
  const response = await (source.fetch ?? fetch)(
    `${url.replace(/\/$/, '')}/sessions/${encodeURIComponent(id)}${query}`,
    {
      headers: { ...headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      ...(credentials === undefined ? {} : { credentials }),
      signal,
    },
  );
  if (response.status === 404) return null;
  if (response.ok) return (await response.json()) as SessionPage;
  const body = (await response.json().catch(() => null)) as { error?: WireError } | null;
  const code = body?.error?.code;
  throw new ProtocolError(
    code !== undefined && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'internal',
    body?.error?.message ?? `The server answered with status ${response.status}.`,
  );
}
