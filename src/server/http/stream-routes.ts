import {
  type Answer,
  type Chunk,
  DONE,
  type ErrorCode,
  encodeBlock,
  type Limits,
  type Message,
  ProtocolError,
  readRequest,
  type SessionInfo,
  TRIGGERS,
} from '../../protocol/index.ts';
import { NO_LONGER_SIGNED_IN } from '../access/sign-in.ts';
import { nothingToContinue } from '../conversation/state/errors.ts';
import { admit, presented, withAddresses } from '../files.ts';
import { NothingOpen } from '../ledger/approvals.ts';
import type { Joined, Listener, SseResponse } from '../registry/session.ts';
import { checkSessionId, newSessionId } from '../registry/session-registry.ts';
import { toolRequestOf } from '../tool-request.ts';
import { type Reply, ResponseReader, streamHeaders, streamReply } from './reply.ts';
import { type HttpContext, nodesOf, type RouteCall } from './route.ts';

/** Handles `POST /stream` (a message, answers to calls, or a continuation), and streams the response. */
export async function postStream({
  context,
  requestId: logged,
  user,
  identity,
  request,
  body: read,
}: RouteCall): Promise<Reply> {
  const { limits, confirmations, toolRequest } = context.engine.options;
  const body = await read(limits.bodyBytes);
  const forTools = toolRequest ? toolRequestOf(toolRequest, request.headers, body) : undefined;
  const { trigger = 'submit-message', messageId: named } = body;
  if (!TRIGGERS.some((known) => known === trigger))
    throw new ProtocolError('bad_request', `"trigger" must be one of ${TRIGGERS.join(', ')}.`);
  const requestId = requestNameIn(body, limits);
  const input = readRequest(body, limits);
  const hasOnlyReplies = body.watches === true;
  const asked = input.kind === 'answers' && !hasSessionId(body) ? input.answers : [];
  const id = (await context.sessions.askedIn(user, asked)) ?? sessionIdIn(body, user, context);
  if (input.kind === 'answers') {
    const session = await context.sessions.get(user, id).catch((error: unknown) => {
      throw error instanceof ProtocolError && error.code === 'not_found'
        ? new ProtocolError('nothing_to_answer', 'The last message answers no call that is open.')
        : error;
    });
    const { messageId } = input;
    const from = { messageId, by: identity, requestId, logged, forTools };
    try {
      const response = await session.postAnswers(input.answers, from);
      return responseReply({ hasOnlyReplies, ...response }, id, { context, request });
    } catch (error) {
      // With `confirmations: 'tool'` an output is a decision, so an output for a call that is not open stays an error.
      const isStock = requestId === undefined || body.stock === true;
      const isRepeated = isStock && confirmations === 'approval' && areFinished(input.answers);
      if (!(error instanceof NothingOpen) || !isRepeated || messageId === undefined) throw error;
      return nothingToSay(messageId, id);
    }
  }
  if (input.kind === 'continuation') {
    const { messageId } = input;
    const session = await context.sessions.get(user, id).catch((error: unknown) => {
      throw error instanceof ProtocolError && error.code === 'not_found' ? nothingToContinue() : error;
    });
    const response = await session.postContinuation({ messageId, requestId, logged, forTools });
    return responseReply({ hasOnlyReplies, ...response }, id, { context, request });
  }
  const { engine } = context;
  // Checks the parts first, so that a refused request creates no session.
  const parts = await admit(input.parts, engine, { app: engine.appName, user, id });
  const session = await context.sessions.getOrCreate(user, id);
  const { metadata } = input;
  // A stock client sets `messageId` when its user edits that message, or when it submits its newest message again. Without `messageId`, a message that the
  // session already has is a request that the client sent twice, for example after a network error.
  const which = named === undefined ? 'any' : 'newest';
  const repeats = body.stock === true && trigger === 'submit-message' ? which : undefined;
  const names = { requestId, logged, forTools };
  const response = await session.post({ id: input.id, parts, metadata, repeats, ...names });
  return responseReply({ hasOnlyReplies, ...response }, id, { context, request });
}

/**
 * The reply to a client of the AI SDK whose `sendAutomaticallyWhen` helper sends settled calls again: an empty step, after which the calls
 * are no longer in the last step and the helper sends nothing more. The SDK keeps the step only when metadata comes with it.
 */
function nothingToSay(messageId: string, sessionId: string): Reply {
  const chunks: Chunk[] = [
    { type: 'start', messageId },
    { type: 'start-step' },
    { type: 'finish', finishReason: 'stop', messageMetadata: {} },
  ];
  const headers = streamHeaders(sessionId);
  return { status: 200, headers, body: chunks.map((chunk) => encodeBlock(chunk)).join('') + DONE };
}

/** Whether the answers of a message contain an output or a failure for each of their calls. */
function areFinished(answers: readonly Answer[]): boolean {
  const ended = new Set(answers.flatMap(({ kind, toolCallId }) => (kind === 'decision' ? [] : [toolCallId])));
  return answers.length > 0 && answers.every(({ toolCallId }) => ended.has(toolCallId));
}

/** The reply that streams a response. If the log no longer has the response, its stored chunks are sent at once. */
function responseReply(response: SseResponse, id: string, call: Placed): Reply {
  const present = presenter(call);
  const reader = new ResponseReader({ present, ...response }, call.context.pacing);
  const reply = streamReply(reader, id);
  if (!response.storedChunks) return reply;
  reader.close();
  const chunks = [
    ...(response.privateReplies?.() ?? []),
    ...(response.hasOnlyReplies ? [] : response.storedChunks),
  ];
  return { ...reply, body: chunks.map((chunk) => encodeBlock(presented(chunk, present))).join('') + DONE };
}

/** A request, and the context of the server that received it. */
type Placed = Pick<RouteCall, 'context' | 'request'>;

/** Returns messages with an absolute address for each stored file, for the client of a request. */
function presenter({ context, request }: Placed): (messages: Message[]) => Message[] {
  const base = new URL(request.url).origin + context.basePath;
  return (messages) => withAddresses(messages, base);
}

/** The `requestId` in the body of a POST, if there is one. */
function requestNameIn({ requestId }: Record<string, unknown>, { idLength }: Limits): string | undefined {
  if (requestId === undefined) return undefined;
  if (typeof requestId === 'string' && requestId !== '' && requestId.length <= idLength) return requestId;
  throw new ProtocolError('bad_request', `"requestId" must be a text of 1 to ${idLength} characters.`);
}

/**
 * Sends the rest of a response after the chunk that the client names. If the client names no chunk, sends the whole response that the agent is writing, or
 * with `replay` the newest response, which may have ended already.
 */
export async function resumeStream({ context, request, user, params: [id = ''] }: RouteCall): Promise<Reply> {
  const session = await context.sessions.find(user, id);
  const { searchParams } = new URL(request.url);
  const last = searchParams.get('last') ?? request.headers.get('last-event-id');
  const isReplay = last === null && searchParams.has('replay');
  const response = await (isReplay ? session?.replay() : session?.resume(last));
  if (!response) return { status: 204, headers: { 'cache-control': 'no-store' }, body: null };
  return responseReply(response, id, { context, request });
}

/** Records up to which chunk a client has received a response, so that a later `replay` does not send that response again. */
export async function confirmStream({ context, user, body, params: [id = ''] }: RouteCall): Promise<Reply> {
  const { last } = await body(context.engine.options.limits.metadataBytes);
  if (typeof last !== 'string') throw new ProtocolError('bad_request', '"last" must be a chunk id.');
  const session = await context.sessions.find(user, id);
  session?.confirm(last);
  return { status: 204, headers: { 'cache-control': 'no-store' }, body: null };
}

/**
 * Answers when this node has answered every request to a session that arrived over its sockets of the AI SDK's own transport. Another node waits for this reply
 * before it tells a client that the session has no response to resume.
 */
export async function settleSends({ context, user, params: [id = ''] }: RouteCall): Promise<Reply> {
  await context.sends.settled(user, id);
  return { status: 204, headers: { 'cache-control': 'no-store' }, body: null };
}

/** Streams every chunk of a session, whichever page caused it, for as long as the client reads. */
export async function watchSession({
  context,
  request,
  user,
  identity,
  params: [id = ''],
}: RouteCall): Promise<Reply> {
  const { engine, pacing } = context;
  checkSessionId(id, 'session', engine.options.limits.idLength);
  // A page of another site can make a browser send a GET, for instance as the address of a picture, so a GET creates no session.
  const isMade = request.method === 'POST';
  const session = await (isMade ? context.sessions.getOrCreate(user, id) : context.sessions.get(user, id));
  const { searchParams } = new URL(request.url);
  const present = presenter({ context, request });
  const last = searchParams.get('last') ?? request.headers.get('last-event-id');
  const watcher = new Watcher(engine.newId());
  const joined = await session.join(watcher, { last, sound: null });
  const reader = new ResponseReader(watcher.response(id, joined, present, nodesOf(request, context)), pacing);
  const unwatch = engine.signIn.watch(identity, () => watcher.end('unauthorized', NO_LONGER_SIGNED_IN));
  reader.onClose(() => {
    unwatch();
    session.leave(watcher);
  });
  watcher.follow(reader);
  return streamReply(reader, id);
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

/** A listener over SSE that only receives: it gets every chunk, is never the active connection, and plays no sound. */
class Watcher implements Listener {
  readonly id: string;
  readonly watches = 'always';
  private reader: ResponseReader | null = null;
  private why: ProtocolError | null = null;
  /** Private replies to this client that are not sent yet. */
  private readonly waiting: Chunk[] = [];

  constructor(id: string) {
    this.id = id;
  }

  /** The response for this watcher: first what a socket would get first (`data-session`, and the stored messages after a reset), then every chunk of the log. */
  response(
    sessionId: string,
    joined: Joined,
    present: (messages: Message[]) => Message[],
    nodes: Pick<SessionInfo, 'nodes'>,
  ): SseResponse {
    const { feed, from, resumed, newest, reset, opening, omitted, info } = joined;
    const { epoch } = feed.log;
    const first: Chunk[] = [
      {
        type: 'data-session',
        data: { sessionId, connectionId: this.id, epoch, resumed, newest, ...info, ...nodes },
        transient: true,
      },
      ...(reset
        ? [
            {
              type: 'data-reset' as const,
              data: { ...reset, messages: present(reset.messages) },
              transient: true,
            },
          ]
        : []),
      ...opening,
    ];
    this.waiting.unshift(...first);
    return { feed, from, omitted, isWatched: true, present, privateReplies: () => this.waiting.splice(0) };
  }

  /** Connects the reader of the client. If `end` was called before, the reader ends at once with that error. */
  follow(reader: ResponseReader): void {
    this.reader = reader;
    if (this.why) reader.cut(this.why);
  }

  end(code: ErrorCode, message: string): void {
    this.why = new ProtocolError(code, message);
    this.reader?.cut(this.why);
  }

  failed(error: ProtocolError): void {
    this.waiting.push({ type: 'data-error', data: error.toWire(), transient: true });
    this.reader?.note();
  }

  play(): void {}

  stopPlayback(): void {}
}
