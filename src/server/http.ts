import { randomUUID } from 'node:crypto';
import {
  DONE,
  encodeBlock,
  type Limits,
  type Message,
  ProtocolError,
  readInput,
  toProtocolError,
} from '../protocol/index.ts';
import type { Access } from './access.ts';
import { readJson } from './body.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { Engine } from './engine.ts';
import { admit, withAddresses } from './files.ts';
import type { Response } from './home.ts';
import { inspectEvents } from './inspect.ts';
import type { LargeJson } from './large-json.ts';
import { type RateLimiter, rateLimited } from './rate-limit.ts';
import { errorReply, json, NO_SNIFFING, type Reply, streamReply } from './reply.ts';
import { type Pacing, ResponseReader } from './response-reader.ts';
import { checkSessionId, newSessionId } from './session-id.ts';
import type { Sessions } from './sessions.ts';
import { type Identity, NO_LONGER_SIGNED_IN } from './sign-in.ts';
import type { Turnstile } from './turnstile.ts';
import { Watcher } from './watcher.ts';

/** What the routes need. */
export interface HttpContext {
  engine: Engine;
  sessions: Sessions;
  access: Access;
  limiter: RateLimiter | null;
  /** What reads, renames or removes is limited apart, and the reads of one user follow one after the other. */
  reads: { limiter: RateLimiter | null; turnstile: Turnstile };
  budget: ByteBudget;
  large: LargeJson;
  pacing: Pacing;
  /** Where the server is mounted, without a trailing slash. */
  basePath: string;
  isClosing: () => boolean;
  /** Whether the ADK events of sessions are told. */
  inspect: boolean;
}

interface Call {
  context: HttpContext;
  request: Request;
  user: string;
  identity: Identity;
  params: string[];
  /** Names the request in the log: as a proxy named it, or anew. */
  requestId: string;
  /** Reads the body, of at most so many bytes. */
  body: (maxBytes: number) => Promise<Record<string, unknown>>;
}

type Route = {
  method: string;
  path: RegExp;
  isPublic?: true;
  limited?: true;
  /** Only there when the server is set to `inspect`. */
  inspection?: true;
  run: (call: Call) => Reply | Promise<Reply>;
};

/** What is told of a session at once: parsing and writing more would hold up everyone. */
const PAGE = { count: 100, bytes: 256 * 1024 };

const ROUTES: Route[] = [
  { method: 'GET', path: /^\/health$/, isPublic: true, run: health },
  { method: 'POST', path: /^\/login$/, isPublic: true, limited: true, run: login },
  { method: 'POST', path: /^\/stream$/, limited: true, run: postStream },
  { method: 'GET', path: /^\/stream\/([^/]+)\/stream$/, run: resumeStream },
  { method: 'GET', path: /^\/sessions$/, run: listSessions },
  { method: 'GET', path: /^\/sessions\/([^/]+)\/watch$/, run: watchSession },
  { method: 'GET', path: /^\/sessions\/([^/]+)$/, run: getSession },
  { method: 'PATCH', path: /^\/sessions\/([^/]+)$/, run: renameSession },
  { method: 'DELETE', path: /^\/sessions\/([^/]+)$/, run: deleteSession },
  { method: 'POST', path: /^\/sessions\/([^/]+)\/stop$/, limited: true, run: stopSession },
  { method: 'GET', path: /^\/sessions\/([^/]+)\/files\/([^/]+)$/, run: getFile },
  { method: 'GET', path: /^\/sessions\/([^/]+)\/events$/, inspection: true, run: getEvents },
  { method: 'GET', path: /^\/approvals\/([^/]+)$/, run: getApprovals },
];

/** Answers a request, or gives null when the path is none of ours. Never throws. */
export async function handle(request: Request, context: HttpContext): Promise<Reply | null> {
  const url = new URL(request.url);
  if (!url.pathname.startsWith(context.basePath)) return null;
  const path = url.pathname.slice(context.basePath.length);
  const matching = ROUTES.filter((route) => (context.inspect || !route.inspection) && route.path.test(path));
  if (matching.length === 0) return null;
  const requestId = requestIdOf(request);
  let cors: string | null = null;
  let reply: Reply;
  try {
    cors = context.access.checkOrigin(request);
    const route = matching.find(({ method }) => method === request.method);
    if (request.method === 'OPTIONS' && cors)
      reply = { status: 204, headers: preflight(matching), body: null };
    else if (!route) {
      const allow = matching.map(({ method }) => method).join(', ');
      reply = errorReply(new ProtocolError('method_not_allowed', `Use ${allow} here.`));
      reply.headers.allow = allow;
    } else reply = await run(route, path, request, requestId, context);
  } catch (thrown) {
    const error = toProtocolError(thrown);
    const { code } = error;
    const { logger } = context.engine;
    if (code === 'internal')
      logger.error('a request failed', { path, request: requestId, error: describe(thrown) });
    if (code === 'unauthorized' || code === 'forbidden')
      logger.warn('a request was refused', { path, request: requestId, code, why: error.message });
    reply = errorReply(error);
  }
  Object.assign(reply.headers, NO_SNIFFING, cors && corsHeaders(cors));
  return reply;
}

async function run(
  route: Route,
  path: string,
  request: Request,
  requestId: string,
  context: HttpContext,
): Promise<Reply> {
  if (context.isClosing() && !route.isPublic) {
    throw new ProtocolError('shutting_down', 'The server is restarting. Try again in a moment.', {
      retryAfterMs: 2000,
    });
  }
  const params = (route.path.exec(path) ?? []).slice(1).map(decode);
  const identity = route.isPublic ? { user: '' } : await context.access.identify(request);
  const { user } = identity;
  const limiter = route.limited ? context.limiter : route.isPublic ? null : context.reads.limiter;
  const wait = limiter?.take(user) ?? 0;
  if (wait > 0) throw rateLimited('Too many requests', wait);
  const { budget, large, engine } = context;
  const { arrivalMs } = budget.limits;
  const held = budget.open(user);
  const body = (maxBytes: number) =>
    readJson(request, { maxBytes, arrivalMs, held, clock: engine.clock, large });
  const call = { context, request, requestId, user, identity, params, body };
  try {
    if (route.method !== 'GET' || route.isPublic) return await route.run(call);
    return await context.reads.turnstile.pass(user, () => route.run(call));
  } finally {
    // What was said has begun its turn by now, or was refused.
    held.set(0);
  }
}

async function postStream({ context, requestId: logged, user, identity, body: read }: Call): Promise<Reply> {
  const { limits } = context.engine.options;
  const body = await read(limits.bodyBytes);
  const { trigger = 'submit-message' } = body;
  if (trigger !== 'submit-message' && trigger !== 'regenerate-message') {
    throw new ProtocolError('bad_request', '"trigger" must be "submit-message" or "regenerate-message".');
  }
  const requestId = requestNameIn(body, limits);
  const input = readInput(body.messages, limits);
  const asked = input.kind === 'answers' && !hasSessionId(body) ? input.answers : [];
  const id = (await context.sessions.askedIn(user, asked)) ?? sessionIdIn(body, user, context);
  if (input.kind === 'answers') {
    const session = await context.sessions.get(user, id).catch((error: unknown) => {
      throw error instanceof ProtocolError && error.code === 'not_found'
        ? new ProtocolError('nothing_to_answer', 'The last message answers no call that is open.')
        : error;
    });
    const { messageId } = input;
    const from = { messageId, by: identity, requestId, logged };
    return responseReply(await session.postAnswers(input.answers, from), id, context);
  }
  const { engine } = context;
  // What is refused leaves no session behind.
  const parts = await admit(input.parts, engine, { app: engine.appName, user, id });
  const session = await context.sessions.getOrCreate(user, id);
  return responseReply(await session.post({ id: input.id, parts, requestId, logged }), id, context);
}

/** A response as it is given, or as it was. */
function responseReply(response: Response, id: string, { pacing }: HttpContext): Reply {
  const reader = new ResponseReader(response, pacing);
  const reply = streamReply(reader, id);
  if (!response.told) return reply;
  reader.close();
  const chunks = [...(response.aside?.() ?? []), ...response.told];
  return { ...reply, body: chunks.map((chunk) => encodeBlock(chunk)).join('') + DONE };
}

/** The name of a posted request, if it has one. */
function requestNameIn({ requestId }: Record<string, unknown>, { idLength }: Limits): string | undefined {
  if (requestId === undefined) return undefined;
  if (typeof requestId === 'string' && requestId !== '' && requestId.length <= idLength) return requestId;
  throw new ProtocolError('bad_request', `"requestId" must be a text of 1 to ${idLength} characters.`);
}

/** Gives the rest of a response: from the last chunk the client names, or from the first of its message. */
async function resumeStream({ context, request, user, params: [id = ''] }: Call): Promise<Reply> {
  const session = await context.sessions.find(user, id);
  const last = new URL(request.url).searchParams.get('last') ?? request.headers.get('last-event-id');
  const response = await session?.resume(last);
  if (!response) return { status: 204, headers: { 'cache-control': 'no-store' }, body: null };
  return streamReply(new ResponseReader(response, context.pacing), id);
}

/** What is said in a session, and what other pages do in it, for as long as the client reads. */
async function watchSession({ context, request, user, identity, params: [id = ''] }: Call): Promise<Reply> {
  const { engine, pacing, basePath } = context;
  const session = await context.sessions.get(user, id);
  const { origin, searchParams } = new URL(request.url);
  const present = (messages: Message[]) => withAddresses(messages, origin + basePath);
  const last = searchParams.get('last') ?? request.headers.get('last-event-id');
  const watcher = new Watcher(engine.newId());
  const joined = await session.join(watcher, { last, sound: null });
  const reader = new ResponseReader(watcher.response(id, joined, present), pacing);
  const unwatch = engine.signIn.watch(identity, () => watcher.end('unauthorized', NO_LONGER_SIGNED_IN));
  reader.onClose(() => {
    unwatch();
    session.leave(watcher);
  });
  watcher.follow(reader);
  return streamReply(reader, id);
}

async function listSessions({ context, user }: Call): Promise<Reply> {
  return json(200, { sessions: await context.sessions.list(user) });
}

async function getSession({ context, request, user, params: [id = ''] }: Call): Promise<Reply> {
  const session = await context.sessions.get(user, id);
  const { origin, searchParams } = new URL(request.url);
  const before = searchParams.get('before') ?? undefined;
  const page = await session.page({ before, ...PAGE });
  if (!page) throw new ProtocolError('not_found', 'There is no such message. Read from the newest again.');
  const { older, isRunning } = page;
  const messages = withAddresses(page.messages, origin + context.basePath);
  const summary = await context.sessions.summaryOf(user, id);
  return json(200, { ...(summary ?? { id }), messages, older, isRunning });
}

async function renameSession({ context, user, params: [id = ''], body }: Call): Promise<Reply> {
  const { title } = await body(64 * 1024);
  if (title !== null && (typeof title !== 'string' || title.trim() === '' || title.length > 200)) {
    throw new ProtocolError('bad_request', '"title" must be a text of at most 200 characters, or null.');
  }
  await context.sessions.rename(user, id, title);
  return json(200, { id, title });
}

async function deleteSession({ context, user, params: [id = ''] }: Call): Promise<Reply> {
  await context.sessions.remove(user, id);
  return { status: 204, headers: {}, body: null };
}

async function stopSession({ context, user, params: [id = ''] }: Call): Promise<Reply> {
  const session = await context.sessions.get(user, id);
  return json(200, { stopped: await session.stop() });
}

async function getFile({ context, user, params: [id = '', fileId = ''] }: Call): Promise<Reply> {
  const { store, appName: app } = context.engine;
  const file = await store.loadFile({ app, user, id }, fileId);
  if (!file) throw new ProtocolError('not_found', 'There is no such file.');
  return {
    status: 200,
    headers: {
      'content-type': file.mediaType,
      'cache-control': 'private, max-age=31536000, immutable',
      'content-security-policy': "default-src 'none'; sandbox",
    },
    body: file.bytes,
  };
}

async function getEvents({ context, request, user, params: [id = ''] }: Call): Promise<Reply> {
  const from = new URL(request.url).searchParams.get('from');
  return json(200, await inspectEvents(context.engine, { app: context.engine.appName, user, id }, from));
}

/** The audit log of a session as JSON lines; it outlives the session. */
async function getApprovals({ context, user, params: [id = ''] }: Call): Promise<Reply> {
  const lines = await context.engine.store.auditLog({ app: context.engine.appName, user, id });
  return {
    status: 200,
    headers: { 'content-type': 'application/x-ndjson; charset=utf-8', 'cache-control': 'no-store' },
    body: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  };
}

function health({ context }: Call): Reply {
  return context.isClosing() ? json(503, { status: 'closing' }) : json(200, { status: 'ok' });
}

async function login({ context, request, body }: Call): Promise<Reply> {
  const { key } = await body(64 * 1024);
  const secure = new URL(request.url).protocol === 'https:';
  const cookie = context.access.login(key, secure);
  return { status: 204, headers: { 'set-cookie': cookie }, body: null };
}

function hasSessionId({ id, chatId }: Record<string, unknown>): boolean {
  return id !== undefined || chatId !== undefined;
}

function sessionIdIn(body: Record<string, unknown>, user: string, context: HttpContext): string {
  const id = body.id ?? body.chatId;
  const { newId, options } = context.engine;
  const { idLength } = options.limits;
  return id === undefined ? newSessionId(user, newId(), idLength) : checkSessionId(id, 'id', idLength);
}

/** The name that a proxy gave a request, or a new one. */
export function requestIdOf({ headers }: Request): string {
  return headers.get('x-request-id')?.slice(0, 256) || randomUUID();
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ProtocolError('bad_request', 'The address is not valid.');
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
    'access-control-expose-headers': 'x-duologue-session, x-duologue-last, retry-after',
    vary: 'origin',
  };
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
}
