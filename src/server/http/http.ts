import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { ProtocolError, toProtocolError } from '../../protocol/index.ts';
import { type HeldBytes, rateLimited } from '../access/limits.ts';
import type { Identity } from '../access/sign-in.ts';
import type { Clock } from '../clock.ts';
import { LARGE_JSON, type LargeJson } from '../large-json.ts';
import { NotHere, ShuttingDown } from '../nodes/elsewhere.ts';
import { FORWARDED, TROUBLED } from '../nodes/forward.ts';
import { getArtifact, getFile } from './file-routes.ts';
import { errorReply, json, NO_SNIFFING, type Reply } from './reply.ts';
import { ARRIVING, type Arriving, type HttpContext, type Route, type RouteCall } from './route.ts';
import {
  deleteSession,
  getApprovals,
  getEvents,
  getSession,
  listSessions,
  releaseActiveConnection,
  renameSession,
  stopSession,
} from './session-routes.ts';
import { signInPage } from './sign-in-page.ts';
import { completeSignIn } from './sign-in-routes.ts';
import { confirmStream, postStream, resumeStream, settleSends, watchSession } from './stream-routes.ts';

const ROUTES: Route[] = [
  { method: 'GET', path: /^\/health$/, isPublic: true, isAnyHost: true, run: health },
  { method: 'POST', path: /^\/login$/, isPublic: true, run: login },
  { method: 'POST', path: /^\/cluster\/commands$/, isPublic: true, isAnyHost: true, run: runCommand },
  { method: 'POST', path: /^\/stream$/, limited: true, run: postStream },
  { method: 'GET', path: /^\/stream\/([^/]+)\/stream$/, run: resumeStream },
  { method: 'POST', path: /^\/stream\/([^/]+)\/received$/, run: confirmStream },
  { method: 'POST', path: /^\/stream\/([^/]+)\/settled$/, run: settleSends },
  { method: 'GET', path: /^\/live$/, run: notUpgraded },
  { method: 'GET', path: /^\/sessions$/, run: listSessions },
  { method: 'GET', path: /^\/sessions\/([^/]+)\/watch$/, run: watchSession },
  { method: 'POST', path: /^\/sessions\/([^/]+)\/watch$/, run: watchSession },
  { method: 'GET', path: /^\/sessions\/([^/]+)$/, run: getSession },
  { method: 'PATCH', path: /^\/sessions\/([^/]+)$/, run: renameSession },
  { method: 'DELETE', path: /^\/sessions\/([^/]+)$/, run: deleteSession },
  { method: 'POST', path: /^\/sessions\/([^/]+)\/stop$/, limited: true, run: stopSession },
  { method: 'POST', path: /^\/sessions\/([^/]+)\/floor$/, limited: true, run: releaseActiveConnection },
  { method: 'GET', path: /^\/sessions\/([^/]+)\/files\/([^/]+)$/, run: getFile },
  { method: 'GET', path: /^\/sessions\/([^/]+)\/artifacts$/, run: getArtifact },
  { method: 'GET', path: /^\/sessions\/([^/]+)\/events$/, inspection: true, run: getEvents },
  { method: 'GET', path: /^\/approvals\/([^/]+)$/, run: getApprovals },
  { method: 'GET', path: /^\/sign-in\/callback$/, isPublic: true, isLanding: true, run: signInPage },
  { method: 'POST', path: /^\/sign-in\/callback$/, limited: true, run: completeSignIn },
];

/** Answers a request; null when the path belongs to no route. Never rejects. */
export async function handle(request: Request, context: HttpContext): Promise<Reply | null> {
  const url = new URL(request.url);
  if (!url.pathname.startsWith(context.basePath)) return null;
  const path = url.pathname.slice(context.basePath.length);
  const matching = routesAt(path, context);
  if (matching.length === 0) return null;
  const requestId = requestIdOf(request);
  let cors: string | null = null;
  let reply: Reply;
  try {
    cors = context.access.checkOrigin(request, matching[0]);
    const route = matching.find(({ method }) => method === request.method);
    if (request.method === 'OPTIONS' && cors)
      reply = { status: 204, headers: preflight(matching), body: null };
    else if (!route) {
      const allow = matching.map(({ method }) => method).join(', ');
      reply = errorReply(new ProtocolError('method_not_allowed', `This path accepts only ${allow}.`));
      reply.headers.allow = allow;
    } else reply = await run(route, path, request, requestId, context);
  } catch (thrown) {
    const error = toProtocolError(thrown);
    const { code } = error;
    const { logger } = context.engine;
    if (code === 'internal')
      logger.error('a request failed because of a fault of the server: the client got the code "internal"', {
        path,
        request: requestId,
        error: describe(thrown),
      });
    if (code === 'unauthorized' || code === 'forbidden')
      context.access.logRefusal(request, 'a request was rejected: see code and why', {
        path,
        request: requestId,
        code,
        why: error.message,
      });
    reply = errorReply(error);
  }
  Object.assign(reply.headers, NO_SNIFFING, cors && corsHeaders(cors));
  return reply;
}

/** The routes at a path, one for each method. `ROUTES` lacks the sockets for the AI SDK's `WebSocketChatTransport`, because their path is an option. */
function routesAt(path: string, { inspect, chatSocket }: HttpContext): Route[] {
  if (path === chatSocket?.path) return [{ method: 'GET', path: /^/, run: notUpgraded }];
  return ROUTES.filter((route) => (inspect || !route.inspection) && route.path.test(path));
}

/** A request in a frame of a socket of the AI SDK's own transport. Its user is known, and its body has been read. */
export interface FramedRequest {
  method: 'GET' | 'POST';
  /** The path, relative to the server's `basePath`. */
  path: string;
  search?: string;
  body?: Record<string, unknown>;
  identity: Identity;
  /** The request that opened the socket. If another node answers, it identifies the user by these headers and query parameters. */
  handshake: Pick<Request, 'url' | 'headers'>;
  /** The id of the request in the log. */
  requestId: string;
}

/** Answers a request of a frame as if it had come over HTTP, here or at the owner of its session. Rejects when the request is refused. */
export async function answerFramed(framed: FramedRequest, context: HttpContext): Promise<Reply> {
  const { method, path, body = {}, identity, requestId } = framed;
  const route = routesAt(path, context).find((one) => one.method === method);
  if (!route) throw new ProtocolError('not_found', 'There is no such route.');
  return run(route, path, framedRequest(framed, context), requestId, context, { identity, body });
}

/** The HTTP request that a frame stands for. */
export function framedRequest(
  { method, path, search = '', handshake }: Omit<FramedRequest, 'identity' | 'requestId' | 'body'>,
  context: HttpContext,
): Request {
  const url = new URL(handshake.url);
  url.pathname = context.basePath + path;
  for (const name of ['last', 'replay']) url.searchParams.delete(name);
  for (const [name, value] of new URLSearchParams(search)) url.searchParams.set(name, value);
  const headers = new Headers(handshake.headers);
  headers.delete('last-event-id');
  if (method === 'POST') headers.set('content-type', 'application/json');
  return new Request(url.href.replace(/^ws/, 'http'), { method, headers });
}

async function run(
  route: Route,
  path: string,
  request: Request,
  requestId: string,
  context: HttpContext,
  known?: { identity: Identity; body: Record<string, unknown> },
): Promise<Reply> {
  if (context.isClosing() && !route.isPublic) {
    if (request.headers.has(FORWARDED)) throw new NotHere();
    throw new ShuttingDown();
  }
  const params = (route.path.exec(path) ?? []).slice(1).map(decode);
  const identity =
    known?.identity ?? (route.isPublic ? { user: '' } : await context.access.identify(request));
  const { user } = identity;
  const limiter = route.limited ? context.limiter : route.isPublic ? null : context.reads.limiter;
  const wait = limiter?.take(user) ?? 0;
  if (wait > 0) throw rateLimited('Too many requests', wait);
  const { budget, large, engine } = context;
  const { arrivalMs } = budget.limits;
  const held = budget.open(route.isPublic ? `at ${context.access.addressOf(request)}` : user);
  let read: Record<string, unknown> | null = known?.body ?? null;
  const body = async (maxBytes: number) => {
    read ??= await readJson(request, { maxBytes, arrivalMs, held, clock: engine.clock, large });
    return read;
  };
  const call = { context, request, requestId, user, identity, params, body };
  const here = async () => {
    if (route.method !== 'GET' || route.isPublic) return route.run(call);
    return context.reads.queue.run(user, () => route.run(call));
  };
  try {
    // Public routes concern this node and not a session, so they are never forwarded.
    if (!context.node || route.isPublic) return await here();
    const isRepeatable = () => route.run !== postStream || read?.requestId !== undefined;
    const handedOn = () => limiter?.giveBack(user);
    const asked = { request, body: () => read && JSON.stringify(read), isRepeatable, handedOn };
    return await context.node.answer(asked, here);
  } catch (thrown) {
    throw named(thrown, read, engine.options.limits.idLength);
  } finally {
    // The reply begins now, or the request was refused, so its body no longer counts against the budget.
    held.set(0);
  }
}

/** Adds the `requestId` of the body to an error, so that the client knows which request failed. */
function named(thrown: unknown, body: Record<string, unknown> | null, maxLength: number): unknown {
  const name = body?.requestId;
  const isNamed = typeof name === 'string' && name.length <= maxLength;
  return isNamed && thrown instanceof ProtocolError && !(thrown instanceof NotHere)
    ? thrown.about(name)
    : thrown;
}

function health({ context }: RouteCall): Reply {
  if (context.isLeaving()) return json(503, { status: 'closing' });
  const away = context.node?.away ?? [];
  if (away.length > 0) return json(503, { status: 'unavailable', away });
  const well = json(200, { status: 'ok' });
  if (context.node?.isTroubled) well.headers[TROUBLED] = 'yes';
  return well;
}

/**
 * Answers a request to the path of WebSockets that arrived without an upgrade. A client whose handshake failed sends this request to learn the reason, because
 * browsers hide the response to a handshake. So the request is first checked like a handshake: the user, the rate limit and the number of connections.
 */
function notUpgraded({ context, user }: RouteCall): Reply {
  context.checkRoom(user);
  const reply = errorReply(
    new ProtocolError(
      'upgrade_required',
      'Only WebSocket connections are accepted here, and this request did not arrive as one. Open sockets on the server ("serve" or "attachWebSocket"), and let every proxy pass on "Upgrade".',
    ),
  );
  reply.headers.upgrade = 'websocket';
  return reply;
}

async function login({ context, request, body }: RouteCall): Promise<Reply> {
  const { key } = await body(64 * 1024);
  const secure = new URL(request.url).protocol === 'https:';
  const cookie = context.access.login(request, key, secure);
  return { status: 204, headers: { 'set-cookie': cookie }, body: null };
}

/** Runs a command that another node wrote to the shared store. Only nodes know its id, so the id proves that a node sent the request. */
async function runCommand({ context, body }: RouteCall): Promise<Reply> {
  const { id } = await body(1024);
  return json(200, await context.commands.runStored(typeof id === 'string' ? id : ''));
}

/** The id of a request for the log: from the header `x-request-id` of a proxy, or a new one. */
export function requestIdOf({ headers }: Request): string {
  return headers.get('x-request-id')?.slice(0, 256) || randomUUID();
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ProtocolError(
      'bad_request',
      'The path of the request is not valid: encode it with "encodeURIComponent".',
    );
  }
}

function preflight(routes: Route[]): Record<string, string> {
  return {
    'access-control-allow-methods': routes.map(({ method }) => method).join(', '),
    'access-control-allow-headers': 'content-type, authorization, x-api-key, last-event-id, user-agent',
    'access-control-max-age': '600',
  };
}

function corsHeaders(origin: string): Record<string, string> {
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'x-duologue-session, x-duologue-last, x-duologue-older, retry-after',
    vary: 'origin',
  };
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
}

/** The limits and objects that `readJson` uses. */
export interface BodyLimits {
  maxBytes: number;
  /** How many milliseconds the body may take to arrive. */
  arrivalMs: number;
  /** Counts the bytes as they arrive. The caller that opened this counter sets it to 0. */
  held: HeldBytes;
  clock: Clock;
  large: LargeJson;
}

/** Reads a JSON object from the body. Throws a `ProtocolError` when the body is something else, is too large, or arrives too late. */
async function readJson(request: Request, limits: BodyLimits): Promise<Record<string, unknown>> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
    throw new ProtocolError('unsupported_media', 'Send the body as application/json.');
  }
  const bytes = await readBytes(request, limits);
  let value: unknown;
  try {
    value =
      bytes.byteLength > LARGE_JSON
        ? await limits.large.parse(bytes)
        : JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    throw new ProtocolError('bad_json', 'The body is not valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProtocolError('bad_request', 'The body must be a JSON object.');
  }
  return value as Record<string, unknown>;
}

async function readBytes(request: Request, limits: BodyLimits): Promise<Buffer> {
  const { maxBytes, arrivalMs, held, clock } = limits;
  const tooLarge = () => new ProtocolError('too_large', `The body may have at most ${maxBytes} bytes.`);
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge();
  const pieces: Uint8Array[] = [];
  let size = 0;
  const add = (piece: Uint8Array): void => {
    size += piece.byteLength;
    if (size > maxBytes) throw tooLarge();
    held.add(piece.byteLength);
    pieces.push(piece);
  };
  const arriving = (request as Partial<Arriving>)[ARRIVING];
  const reading = arriving ? readArriving(arriving, add) : readWeb(request, add);
  let isLate = false;
  const cancel = clock.after(arrivalMs, () => {
    isLate = true;
    reading.stop();
  });
  try {
    await reading.done;
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    if (!isLate)
      throw new ProtocolError('bad_request', 'The connection was closed before the whole body had arrived.');
  } finally {
    cancel();
  }
  const seconds = arrivalMs / 1000;
  if (isLate) throw new ProtocolError('idle', `The body did not arrive within ${seconds} s. Send it again.`);
  return Buffer.concat(pieces, size);
}

/**
 * A body that is being read, piece by piece. `done` resolves when the whole body was read or `stop` was called; it rejects when the connection broke, or when
 * `add` refused a piece.
 */
interface Reading {
  done: Promise<void>;
  stop(): void;
}

function readWeb({ body }: Request, add: (piece: Uint8Array) => void): Reading {
  const reader = body?.getReader();
  const read = async () => {
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) add(next.value);
  };
  return { done: read(), stop: () => void reader?.cancel().catch(() => undefined) };
}

function readArriving(source: Readable, add: (piece: Uint8Array) => void): Reading {
  let stop = (): void => undefined;
  const done = new Promise<void>((resolve, reject) => {
    const leave = () => {
      source.off('data', take).off('end', ended).off('close', broken).pause();
    };
    const take = (piece: Uint8Array) => {
      try {
        add(piece);
      } catch (error) {
        leave();
        reject(error);
      }
    };
    const ended = () => {
      leave();
      resolve();
    };
    const broken = () => {
      leave();
      reject(new Error('The connection was closed.'));
    };
    // `readableEnded`: other code has already read the body. `destroyed`: the client has disconnected.
    if (source.readableEnded) return ended();
    if (source.destroyed) return broken();
    // A middleware may have paused the stream.
    source.on('data', take).on('end', ended).on('close', broken).resume();
    stop = ended;
  });
  return { done, stop: () => stop() };
}
