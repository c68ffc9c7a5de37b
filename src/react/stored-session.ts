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

/** Asks the server for a session; null when there is none. */
export async function readSession(
  source: SessionSource,
  id: string,
  signal: AbortSignal,
): Promise<StoredSession | null> {
  const { url, key, headers, credentials } = source;
  const response = await (source.fetch ?? fetch)(
    `${url.replace(/\/$/, '')}/sessions/${encodeURIComponent(id)}`,
    {
      headers: { ...headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      ...(credentials === undefined ? {} : { credentials }),
      signal,
    },
  );
  if (response.status === 404) return null;
  if (response.ok) return (await response.json()) as StoredSession;
  const body = (await response.json().catch(() => null)) as { error?: WireError } | null;
  const code = body?.error?.code;
  throw new ProtocolError(
    code !== undefined && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'internal',
    body?.error?.message ?? `The server answered with status ${response.status}.`,
  );
}
