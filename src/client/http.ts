import type { Message } from '../protocol/chunks.ts';
import { ProtocolError, type WireError } from '../protocol/errors.ts';
import type { Key } from './dial.ts';
import { toError } from './failure.ts';

/** Where the server is, and how to ask it. */
export interface HttpOptions {
  /** Where the server is mounted: an http(s) address, or a path of this page's host. */
  url: string;
  /** The server's key, for pages that may know it; others log in for a cookie. */
  key?: Key | undefined;
  headers?: Record<string, string> | undefined;
  credentials?: RequestCredentials | undefined;
  fetch?: typeof fetch | undefined;
  /** Whether tabs of one browser that watch the same session share one stream, unless a key or headers tell them apart; by default they do. */
  sharesStream?: boolean | undefined;
}

/** A session in the list of the user's sessions. */
export interface SessionEntry {
  id: string;
  title: string | null;
  createdAt: number;
  updatedAt: number;
  /** Whether an approval in it waits for the person. */
  isWaiting: boolean;
  /** Whether its last answer failed, or was cut off. */
  hasFailed: boolean;
}

/** A session with all its messages. One in which nothing was said yet has no entry in the list, and is told by its id alone. */
export interface StoredSession extends Partial<SessionEntry> {
  id: string;
  messages: Message[];
  /** Whether an answer is being given. */
  isRunning: boolean;
}

/** A page of a session: its newest messages, or those before one of them. */
export interface SessionPage extends StoredSession {
  /** The message before which there are more, else null. */
  older?: string | null;
}

/** What a page asks a Duologue server over HTTP. A refusal is thrown as the server's `ProtocolError`. */
export class DuologueHttp {
  readonly #options: HttpOptions;

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** Where a path of the server is. */
  addressOf(path: string): string {
    return this.#options.url.replace(/^ws/, 'http').replace(/\/$/, '') + path;
  }

  /** Asks for a path of the server, whatever it answers. */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const { key } = this.#options;
    if (typeof key !== 'function') return this.#request(path, init, key);
    const response = await this.#request(path, init, await key());
    // The key may have expired since it was read.
    return response.status === 401 ? this.#request(path, init, await key()) : response;
  }

  #request(path: string, init: RequestInit, key: string | undefined): Promise<Response> {
    const { headers, credentials } = this.#options;
    return (this.#options.fetch ?? fetch)(this.addressOf(path), {
      ...init,
      headers: {
        ...headers,
        ...(key && { authorization: `Bearer ${key}` }),
        ...(init.headers as Record<string, string> | undefined),
      },
      ...(credentials && { credentials }),
    });
  }

  /** What tabs of this browser call a stream that they may share: those of whoever is signed in here; else null. */
  sharedName(path: string): string | null {
    const { key, headers, sharesStream = true } = this.#options;
    const isPage = globalThis.document !== undefined && globalThis.navigator?.locks !== undefined;
    if (!isPage || !sharesStream || key !== undefined || headers !== undefined) return null;
    return `duologue ${new URL(this.addressOf(path), document.baseURI).href}`;
  }

  /** Asks for a path of the server, and throws what it refuses. */
  async ask(path: string, init?: RequestInit): Promise<Response> {
    return checked(await this.request(path, init));
  }

  /** Asks for something that may not be there: null when it is not. */
  async #find(path: string, init: RequestInit): Promise<Response | null> {
    const response = await this.request(path, init);
    return response.status === 404 ? null : checked(response);
  }

  /** Sends a body as JSON. */
  send(method: 'POST' | 'PATCH', path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
    const headers = { ...(init.headers as Record<string, string>), 'content-type': 'application/json' };
    return this.ask(path, { ...init, method, headers, body: JSON.stringify(body) });
  }

  /** The user's newest 100 sessions, or those before one, the one used last first. */
  async listSessions(signal?: AbortSignal, before?: SessionEntry): Promise<SessionEntry[]> {
    const query = queryOf(before ? `${before.updatedAt}.${before.id}` : null);
    const response = await this.ask(`/sessions${query}`, { signal: signal ?? null });
    return ((await response.json()) as { sessions: SessionEntry[] }).sessions;
  }

  /** A page of a session: the newest messages, or those before one; null when there is none. */
  async readPage(id: string, before: string | null, signal?: AbortSignal): Promise<SessionPage | null> {
    const response = await this.#find(pathOf(id) + queryOf(before), { signal: signal ?? null });
    return response && ((await response.json()) as SessionPage);
  }

  /** A session with all its messages, asked for page after page; null when there is none. */
  async readSession(id: string, signal?: AbortSignal): Promise<StoredSession | null> {
    const newest = await this.readPage(id, null, signal);
    const pages = [newest?.messages ?? []];
    for (let older = newest?.older ?? null; older !== null; ) {
      const page = await this.readPage(id, older, signal);
      // The conversation was taken back to before that page meanwhile, or removed.
      if (!page) return this.readSession(id, signal);
      pages.unshift(page.messages);
      older = page.older ?? null;
    }
    return newest && { ...newest, messages: pages.flat() };
  }

  /** Gives a session a title; null takes it away. */
  async renameSession(id: string, title: string | null): Promise<void> {
    await this.send('PATCH', pathOf(id), { title });
  }

  /** Removes a session; one that is gone already is fine. */
  async deleteSession(id: string): Promise<void> {
    await this.#find(pathOf(id), { method: 'DELETE' });
  }

  /** Stops the agent. Says whether there was anything to stop. */
  async stopSession(id: string): Promise<boolean> {
    const response = await this.#find(`${pathOf(id)}/stop`, { method: 'POST' });
    return response !== null && ((await response.json()) as { stopped: boolean }).stopped;
  }

  /** Gives the server its key; a cookie remembers it. */
  async login(key: string): Promise<void> {
    await this.send('POST', '/login', { key });
  }
}

/** The address of a session. */
export function pathOf(sessionId: string): string {
  return `/sessions/${encodeURIComponent(sessionId)}`;
}

/** The response, if it is an answer; what the server said in its place is thrown. */
async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  const { status } = response;
  // A proxy says that a server is silent: the request goes to another.
  const code = status === 504 ? 'shutting_down' : 'internal';
  throw (await refusalIn(response)) ?? new ProtocolError(code, `The server answered with status ${status}.`);
}

/** What a Duologue server, or a proxy that asks for a sign-in, refuses with this response; null when it is neither. */
export async function refusalIn(response: Response): Promise<ProtocolError | null> {
  const { status } = response;
  const body = (await response.json().catch(() => null)) as { error?: WireError } | null;
  if (typeof body?.error?.code === 'string') return toError(body.error);
  if (status === 401) return new ProtocolError('unauthorized', 'You are not signed in.');
  return status === 403 ? new ProtocolError('forbidden', 'You may not use this server.') : null;
}

function queryOf(before: string | null): string {
  return before === null ? '' : `?before=${encodeURIComponent(before)}`;
}
