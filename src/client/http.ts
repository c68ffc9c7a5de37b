import type { DataParts, Message } from '../protocol/chunks.ts';
import { ERRORS, type ErrorCode, ProtocolError, type WireError } from '../protocol/errors.ts';

/** A key, or a function that returns the newest one. The client calls the function for every connection and every request. */
export type Key = string | (() => string | Promise<string>);

/** Where the server is, and how to send requests to it. */
export interface HttpOptions {
  /** Where the server is mounted: an http(s) or ws(s) address, or a path of this page's host. */
  url: string;
  /** The API key of the server, for pages that may hold it. Other pages call `login`, which sets a cookie. */
  key?: Key | undefined;
  /** Headers that the client adds to every request. */
  headers?: Record<string, string> | undefined;
  /** Whether cookies are sent to another origin, as in `fetch`. */
  credentials?: RequestCredentials | undefined;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /**
   * Whether the tabs of a browser that watch the same session share one stream. Default: true. A tab with the option `key` or
   * `headers` never shares.
   */
  sharesStream?: boolean | undefined;
}

/** An entry in the list of the user's sessions. */
export interface SessionEntry {
  id: string;
  title: string | null;
  createdAt: number;
  updatedAt: number;
  /** Whether an approval request or a question of the session waits for the user and has not expired. */
  isWaiting: boolean;
  /** Whether the last message of the agent failed or was cut off. */
  hasFailed: boolean;
}

/** A session with all its messages. A session without messages is not in the list of sessions, so it has only an id. */
export interface StoredSession extends Partial<SessionEntry> {
  id: string;
  messages: Message[];
  /** Whether the agent is working on an answer. */
  isRunning: boolean;
}

/** A page of a session: its newest messages, or the messages before a given message. */
export interface SessionPage extends StoredSession {
  /** The id to pass as `before` for the page of older messages; null when there are no older messages. */
  older?: string | null;
}

/** The HTTP statuses besides 5xx after which a retry may succeed: 408 (the request timed out) and 429 (too many requests). */
const TEMPORARY = [408, 429];

/**
 * The HTTP routes of a Duologue server. When the server rejects a request, the method throws the server's `ProtocolError`, unless the
 * comment of the method says otherwise.
 *
 * @example
 * const http = new DuologueHttp({ url: '/duologue' });
 * const [newest] = await http.listSessions();
 */
export class DuologueHttp {
  readonly #options: HttpOptions;

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** Returns the URL of a route, relative to the page if the option `url` is. */
  addressOf(path: string): string {
    return this.#options.url.replace(/^ws/, 'http').replace(/\/$/, '') + path;
  }

  /** Sends a request and returns the response, also when the server rejects it. */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const { key } = this.#options;
    if (typeof key !== 'function') return this.#request(path, init, key);
    const response = await this.#request(path, init, await key());
    // The key may have expired after `key` returned it, so try once more with a new one.
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

  /** Returns the name under which tabs of this browser share the stream of a route; null when they may not share it. */
  sharedName(path: string): string | null {
    const { key, headers, sharesStream = true } = this.#options;
    const isPage = globalThis.document !== undefined && globalThis.navigator?.locks !== undefined;
    if (!isPage || !sharesStream || key !== undefined || headers !== undefined) return null;
    return `duologue chunks ${new URL(this.addressOf(path), document.baseURI).href}`;
  }

  /** Sends a request, and throws when the server rejects it. */
  async ask(path: string, init?: RequestInit): Promise<Response> {
    return accepted(await this.request(path, init));
  }

  /** Sends a JSON body, and throws when the server rejects it. */
  send(method: 'POST' | 'PATCH', path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
    const headers = { ...(init.headers as Record<string, string>), 'content-type': 'application/json' };
    return this.ask(path, { ...init, method, headers, body: JSON.stringify(body) });
  }

  /** Returns up to 100 sessions of the user, the most recently used first. With `before`, the list starts after that entry. */
  async listSessions(signal?: AbortSignal, before?: SessionEntry): Promise<SessionEntry[]> {
    const query = queryOf(before ? `${before.updatedAt}.${before.id}` : null);
    const response = await this.ask(`/sessions${query}`, { signal: signal ?? null });
    return ((await response.json()) as { sessions: SessionEntry[] }).sessions;
  }

  /** Returns a page of a session: the newest messages, or those before a message. Null when there is no such session or message. */
  async readPage(id: string, before: string | null, signal?: AbortSignal): Promise<SessionPage | null> {
    const response = await this.#find(pathOf(id) + queryOf(before), { signal: signal ?? null });
    return response && ((await response.json()) as SessionPage);
  }

  /** Reads a session with all its messages, page by page. Returns null when there is no such session. */
  async readSession(id: string, signal?: AbortSignal): Promise<StoredSession | null> {
    const newest = await this.readPage(id, null, signal);
    const pages = [newest?.messages ?? []];
    for (let older = newest?.older ?? null; older !== null; ) {
      const page = await this.readPage(id, older, signal);
      // The message `older` is gone: since the last request, the conversation was rewound to before it, or deleted. So start again.
      if (!page) return this.readSession(id, signal);
      pages.unshift(page.messages);
      older = page.older ?? null;
    }
    return newest && { ...newest, messages: pages.flat() };
  }

  /** Sets the title of a session; null removes it. */
  async renameSession(id: string, title: string | null): Promise<void> {
    await this.send('PATCH', pathOf(id), { title });
  }

  /** Deletes a session. Does nothing when there is no such session. */
  async deleteSession(id: string): Promise<void> {
    await this.#find(pathOf(id), { method: 'DELETE' });
  }

  /** Stops the agent. Returns whether the agent was running; false when there is no such session. */
  async stopSession(id: string): Promise<boolean> {
    const response = await this.#find(`${pathOf(id)}/stop`, { method: 'POST' });
    return response !== null && ((await response.json()) as { stopped: boolean }).stopped;
  }

  /** Signs in with a key. The server sets a cookie, which later requests use instead of the key. */
  async login(key: string): Promise<void> {
    await this.send('POST', '/login', { key });
  }

  /**
   * Asks the server why no connection to it opens, because a browser hides how a server answered a WebSocket handshake. Resolves with
   * null when a retry may succeed, and with an error when no retry can. The error `upgrade_required` means that the server works, but that
   * no WebSocket to it opens.
   */
  async findCause(): Promise<ProtocolError | null> {
    const response = await this.request('/live').catch(() => null);
    if (!response || response.status >= 500 || TEMPORARY.includes(response.status)) return null;
    const type = response.headers.get('content-type');
    const error = await rejectionIn(response);
    if (error && error.code !== 'not_found') return error;
    return new ProtocolError(
      'not_found',
      `There is no Duologue server at ${this.addressOf('') || '/'}: it answered ${response.status}${type ? ` (${type})` : ''}. Check the "url" of the transport and where the server is mounted.`,
    );
  }

  /** Sends a request for a resource that may not exist. Resolves with null when the server answers 404. */
  async #find(path: string, init: RequestInit): Promise<Response | null> {
    const response = await this.request(path, init);
    return response.status === 404 ? null : accepted(response);
  }
}

/** Returns the route of a session. */
export function pathOf(sessionId: string): string {
  return `/sessions/${encodeURIComponent(sessionId)}`;
}

/** Converts an error that the server sent to a `ProtocolError`. An unknown code becomes `internal`. */
export function toError({ code, message, retryAfterMs }: WireError | DataParts['error']): ProtocolError {
  const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'internal';
  return new ProtocolError(known, message, { retryAfterMs });
}

/** Returns a response with a 2xx status; throws the error of any other response. */
async function accepted(response: Response): Promise<Response> {
  if (response.ok) return response;
  const { status } = response;
  // With 504, a proxy says that it got no answer from its server. After `shutting_down` the client retries, and the proxy may then choose another server.
  const code = status === 504 ? 'shutting_down' : 'internal';
  throw (
    (await rejectionIn(response)) ?? new ProtocolError(code, `The server answered with status ${status}.`)
  );
}

/** Returns the error that a Duologue server sent, or an error for a 401 or 403 of a proxy. Null for any other response. */
async function rejectionIn(response: Response): Promise<ProtocolError | null> {
  const { status } = response;
  const body = (await response.json().catch(() => null)) as { error?: WireError } | null;
  if (typeof body?.error?.code === 'string') return toError(body.error);
  if (status === 401) return new ProtocolError('unauthorized', 'You are not signed in.');
  return status === 403
    ? new ProtocolError('forbidden', 'You may not use this server: it answered with status 403.')
    : null;
}

function queryOf(before: string | null): string {
  return before === null ? '' : `?before=${encodeURIComponent(before)}`;
}
