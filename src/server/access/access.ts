import { createHmac, timingSafeEqual } from 'node:crypto';
import { KEY_SUBPROTOCOL, ProtocolError } from '../../protocol/index.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { addressOf, type TrustedProxies } from './client-address.ts';
import { type RateLimit, type RateLimiter, rateLimited } from './limits.ts';
import type { Identity } from './sign-in.ts';

type Authenticated = string | Identity | null;

/** The options of `Access`: which keys, users and origins may use the server. */
export interface AccessOptions {
  /**
   * The key that every request of a user must send, or else the cookie that `POST /login` gave for it. With neither a key nor `authenticate`, `serve` listens
   * only on this machine.
   */
  apiKey?: string | undefined;
  /** Origins of pages that may use the server. The host names in them are also accepted as names of the server itself. */
  origins: readonly string[];
  /** Further host names under which the server is reached. */
  hosts: readonly string[];
  /** Returns the user of a request, alone or with a token that `stillSignedIn` gets later; null refuses the request. */
  authenticate?: ((request: Request) => Authenticated | Promise<Authenticated>) | undefined;
  /** The user of requests when there is no `authenticate`. */
  defaultUser: string;
  /** The proxies whose `X-Forwarded-For` is trusted; none unless given. */
  trustedProxies?: TrustedProxies | undefined;
  refusals: RefusedRequests;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
const COOKIE = 'duologue';

/** Checks the origin of a request, and finds its user. */
export class Access {
  private readonly options: AccessOptions;
  private readonly origins: Set<string>;
  private readonly hosts: Set<string>;

  constructor(options: AccessOptions) {
    this.options = options;
    const origins = options.origins.map(originOf);
    this.origins = new Set(origins.map((url) => url.origin));
    this.hosts = new Set([...options.hosts.map(hostOf), ...origins.map((url) => url.hostname)]);
  }

  /**
   * Throws unless the origin and the host of a request are allowed. With `isAnyHost` every host is allowed. With `isLanding` another site may open the address
   * as a page. Returns the origin for the CORS headers; null when the reply needs no CORS headers.
   */
  checkOrigin(
    request: Request,
    { isAnyHost = false, isLanding = false }: { isAnyHost?: boolean; isLanding?: boolean } = {},
  ): string | null {
    const url = new URL(request.url);
    const host = request.headers.get('host') ?? url.host;
    const hostname = hostnameOf(host);
    if (!isAnyHost && !LOOPBACK.has(hostname) && !this.hosts.has(hostname)) {
      throw new ProtocolError(
        'forbidden',
        `Host ${JSON.stringify(hostname)} is not allowed. Add it to the option "hosts" of the server.`,
      );
    }
    const sent = request.headers.get('origin');
    const origin = sent ?? (isLanding && opensPage(request) ? null : embedderOf(request));
    if (origin === null) return null;
    if (this.origins.has(origin)) return sent;
    if (origin === `http://${host}` || origin === `https://${host}`) return null;
    throw new ProtocolError(
      'forbidden',
      `Origin ${JSON.stringify(origin.slice(0, 256))} is not allowed. Add it to the option "origins" of the server.`,
    );
  }

  /** Finds the user of a request. Throws when a key is required and the request has neither the key nor the login cookie, or when `authenticate` refuses it. */
  async identify(request: Request): Promise<Identity> {
    const { apiKey, authenticate, defaultUser } = this.options;
    if (apiKey !== undefined && !this.showsKey(request, apiKey)) {
      throw this.notSignedIn(
        request,
        'The key is missing or wrong: send it as "Authorization: Bearer …", or log in.',
      );
    }
    if (!authenticate) return { user: defaultUser };
    // An application in JavaScript may return a value of any type. Only a text that is not empty is a user.
    const given = await authenticate(request);
    const { user, token }: { user?: unknown; token?: unknown } =
      typeof given === 'object' && given !== null ? given : { user: given };
    if (typeof user !== 'string' || user === '') throw this.notSignedIn(request, 'You are not signed in.');
    return { user, token };
  }

  /** The address of the client that sent a request, as the trusted proxies report it. */
  addressOf(request: Request): string {
    return addressOf(request, this.options.trustedProxies);
  }

  /** Logs a refused request. Many equal refusals from one address are only counted (`RefusedRequests.log`). */
  logRefusal(request: Request, message: string, fields: Record<string, unknown> & { code: string }): void {
    this.options.refusals.log(this.addressOf(request), message, fields);
  }

  /** Returns the cookie that a browser sends from now on instead of the key. Throws when the key is wrong. */
  login(request: Request, key: unknown, secure: boolean): string {
    const { apiKey, refusals } = this.options;
    if (apiKey === undefined || typeof key !== 'string' || !equal(key, apiKey)) {
      throw refusals.wrongKey(this.addressOf(request), 'The key is wrong.');
    }
    return `${COOKIE}=${tokenFor(apiKey)}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000${secure ? '; Secure' : ''}`;
  }

  /** Whether every request for a route that is not public must identify a user. */
  get isGuarded(): boolean {
    return this.options.apiKey !== undefined || this.options.authenticate !== undefined;
  }

  /**
   * The error for a request without a user. The number of wrong keys from one address is limited; a right key from that address is still accepted. Wrong
   * cookies are not limited: they cannot be guessed, and a client with an old cookie must get 401, so that it logs in again.
   */
  private notSignedIn(request: Request, message: string): ProtocolError {
    if (keysOf(request).length === 0) return new ProtocolError('unauthorized', message);
    return this.options.refusals.wrongKey(this.addressOf(request), message);
  }

  private showsKey(request: Request, apiKey: string): boolean {
    const cookies = cookiesOf(request.headers.get('cookie') ?? '');
    return (
      keysOf(request).some((key) => equal(key, apiKey)) ||
      // A page on another subdomain can set a cookie of the same name, which may come first, so every cookie is compared.
      cookies.some((cookie) => equal(cookie, tokenFor(apiKey)))
    );
  }
}

/** Whether a server that listens on this host name or address can only be reached from this machine. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host) || host === '::1' || host.startsWith('127.');
}

/** Parses an origin of the options; throws an error that says how to write one. */
function originOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  // An address with another scheme has the origin "null". Sandboxed pages of any site send the same origin, so it must not be allowed.
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  const host = /^[a-z0-9.-]+(:\d+)?$/i.test(text) ? text : 'chat.example.com';
  throw new TypeError(
    `createDuologue: the option "origins" has ${JSON.stringify(text)}, which is not an origin. Write the scheme as well, such as "https://${host}".`,
  );
}

/** Parses a host name of the options; throws an error that says how to write one. */
function hostOf(text: string): string {
  const host = text.toLowerCase();
  if (host !== '' && !/[/@\s]/.test(host) && hostnameOf(host) === host) return host;
  throw new TypeError(
    `createDuologue: the option "hosts" has ${JSON.stringify(text)}, which is not a host name. Write it without scheme, port and path, such as "chat.example.com".`,
  );
}

/**
 * The origin of the page that causes a request without `Origin` header, such as a request for an image. Null for programs, the server's own page, and
 * addresses that a user typed. A page that hides its address has the origin `unknown`, which is never allowed.
 */
function embedderOf({ headers }: Request): string | null {
  const site = headers.get('sec-fetch-site');
  if (site !== 'cross-site' && site !== 'same-site') return null;
  const referer = headers.get('referer') ?? '';
  return URL.canParse(referer) ? new URL(referer).origin : 'unknown';
}

/** Whether a browser loads the address as a whole page, and not as a frame or a resource of another page: for example after a redirect of another site. */
function opensPage({ method, headers }: Request): boolean {
  return (
    method === 'GET' &&
    headers.get('sec-fetch-mode') === 'navigate' &&
    headers.get('sec-fetch-dest') === 'document'
  );
}

function hostnameOf(host: string): string {
  return host.startsWith('[')
    ? host.slice(0, host.indexOf(']') + 1)
    : (host.split(':')[0] ?? '').toLowerCase();
}

function tokenFor(apiKey: string): string {
  return createHmac('sha256', apiKey).update('duologue login').digest('base64url');
}

function equal(a: string, b: string): boolean {
  const digest = (text: string) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

/** The keys in a request, without cookies. */
function keysOf({ headers }: Request): string[] {
  const bearer = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  const offered = (headers.get('sec-websocket-protocol') ?? '').split(',').map((name) => name.trim());
  const inProtocol = offered.find((name) => name.startsWith(KEY_SUBPROTOCOL));
  const keys = [
    bearer,
    headers.get('x-api-key'),
    inProtocol && fromBase64Url(inProtocol.slice(KEY_SUBPROTOCOL.length)),
  ];
  return keys.filter((key) => typeof key === 'string');
}

/** The values of all cookies with the name of the login cookie. */
function cookiesOf(header: string): string[] {
  return header.split(';').flatMap((pair) => {
    const [name, value] = pair.trim().split('=');
    return name === COOKIE && value ? [value] : [];
  });
}

function fromBase64Url(text: string): string {
  return Buffer.from(text, 'base64url').toString('utf8');
}

/** How many wrong keys an address may send before further ones are `rate_limited`. */
export const WRONG_KEYS: RateLimit = { burst: 20, perMinute: 20 };

/** How long equal log lines of one address are counted before their number is logged. */
const WINDOW_MS = 60_000;
/** How many combinations of message, code and address are counted separately. Further addresses share one counter for each message and code. */
const MAX_KINDS = 1000;

/** Limits wrong keys by address, and keeps refused requests from filling the log. */
export class RefusedRequests {
  private readonly limiter: RateLimiter | null;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly counts = new Map<string, { count: number }>();

  constructor(limiter: RateLimiter | null, clock: Clock, logger: Logger) {
    this.limiter = limiter;
    this.clock = clock;
    this.logger = logger;
  }

  /** The error for a wrong key: `unauthorized`, or `rate_limited` when the address has sent too many. */
  wrongKey(address: string, message: string): ProtocolError {
    const wait = this.limiter?.take(address) ?? 0;
    if (wait === 0) return new ProtocolError('unauthorized', message);
    this.log(
      address,
      'an address sends too many wrong keys: further ones get the code rate_limited; a right key still works',
      {
        code: 'rate_limited',
      },
    );
    return rateLimited('Too many wrong keys', wait);
  }

  /**
   * Logs a refused request. For the next minute, requests with the same message, code and address are only counted; then one line reports their number.
   */
  log(address: string, message: string, fields: Record<string, unknown> & { code: string }): void {
    const { code } = fields;
    const isRoomLeft = this.counts.size < MAX_KINDS;
    const kind = JSON.stringify([message, code, isRoomLeft ? address : null]);
    const known = this.counts.get(JSON.stringify([message, code, address])) ?? this.counts.get(kind);
    if (known) {
      known.count++;
      return;
    }
    const counted = { count: 0 };
    this.counts.set(kind, counted);
    this.logger.warn(message, { ...fields, address });
    this.clock.after(WINDOW_MS, () => {
      this.counts.delete(kind);
      const { count } = counted;
      if (count > 0)
        this.logger.warn(`${message} (repeated within a minute: see count)`, { code, count, address });
    });
  }
}
