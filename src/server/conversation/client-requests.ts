import { CONTINUE } from '../../models/for-server.ts';
import { type Answer, type Heard, ProtocolError, unfold } from '../../protocol/index.ts';
import { base64Bytes } from '../../protocol/limits.ts';
import type { Identity } from '../access/sign-in.ts';
import type { Listeners } from '../clients/listeners.ts';
import {
  type PendingRequest,
  PrivateReplies,
  type RequestNames,
  type Requests,
} from '../clients/requests.ts';
import type { Engine } from '../engine.ts';
import { type AdmittedPart, admit } from '../files.ts';
import type { Output } from '../output/output.ts';
import type {
  AnsweredBy,
  PostedContinuation,
  PostedMessage,
  RequestContext,
  Requester,
  SseResponse,
  TypedMessage,
} from '../registry/session.ts';
import type { SessionKey, Store } from '../store/store.ts';
import type { EffectRunner } from './effect-runner.ts';
import type { Reading } from './reading.ts';
import type { ConversationState } from './state/conversation-state.ts';
import type { RequestRef } from './state/effects.ts';
import { shuttingDown } from './state/errors.ts';
import type { MessageRequest } from './state/inputs.ts';

/** The objects and callbacks that `ClientRequests` gets from its conversation. */
export interface ClientRequestsContext {
  key: SessionKey;
  engine: Engine;
  output: Output;
  state: ConversationState;
  runner: EffectRunner;
  requests: Requests;
  listeners: Listeners;
  reading: Reading;
  /** Throws when the session is deleted, or when another process owns it. */
  checkIsHere: () => void;
}

/** The requester for requests of the application. It ignores the replies, because the promise of the API method reports the result. */
const UNHEARD: Requester = { accepted: () => undefined, failed: () => undefined };

/** An interruption that names no message and does not say how much of the sound was played. */
const NOTHING_HEARD: Heard = { messageId: undefined, playedMs: undefined };

/**
 * Turns the requests of clients, over HTTP or a socket, and of the application into inputs. A request that repeats the name (`requestId`) of an
 * earlier request gets the result of the earlier request.
 */
export class ClientRequests {
  private readonly context: ClientRequestsContext;
  private readonly size: SizeLimit;
  private admitting: Promise<unknown> = Promise.resolve();
  /** The messages that the application is sending, by id. */
  private readonly sending = new Map<string, Promise<string | null>>();

  /** `isNew`: the session has no message yet. */
  constructor(isNew: boolean, context: ClientRequestsContext) {
    const { engine, key } = context;
    const { maxSessionBytes: maxBytes } = engine.options;
    this.context = context;
    this.size = new SizeLimit(engine.store, key, { maxBytes, isNew });
  }

  /**
   * Handles a user message from a socket or from the application. Resolves when its turn starts, and rejects when the message is rejected. Also resolves when
   * no turn starts: the message repeats an earlier one, or the conversation closes here, and then the client sends the message to the next process.
   */
  async say(message: TypedMessage, { again, ...asked }: RequestContext & { again: boolean }): Promise<void> {
    const { engine, key, runner, listeners, requests } = this.context;
    requests.setNewest(asked.requestId ?? null);
    const known = this.repeated(asked);
    if (known) return known;
    if (asked.listener) listeners.claim(asked.listener);
    const request = this.newRequest({ name: asked.requestId }, asked);
    // Check the files now, not when the message starts. Messages are checked one after the other, so that a message with large files is not overtaken
    // by the next.
    const admitted = this.admitting.then(async () => {
      const parts = await admit(message.parts, engine, key);
      await this.size.check(parts);
      return parts;
    });
    this.admitting = admitted.catch(() => undefined);
    const { id, metadata } = message;
    admitted.then(
      (parts) => {
        const typed = {
          kind: 'message',
          wire: 'bidi',
          request: refOf(request, asked),
          id,
          parts,
          metadata,
        } as const;
        runner.apply({ type: 'message', message: { ...typed, parts }, replaces: again });
      },
      (error: ProtocolError) => requests.reject(request.id, error),
    );
    await request.taken;
  }

  /** Handles a request from a socket to continue an assistant message that was cut off. */
  async continueMessage(messageId: string, asked: RequestContext): Promise<void> {
    const { runner, listeners, requests } = this.context;
    requests.setNewest(asked.requestId ?? null);
    const known = this.repeated(asked);
    if (known) return known;
    if (asked.listener) listeners.claim(asked.listener);
    const request = this.newRequest({ name: asked.requestId }, asked);
    await this.admitting;
    runner.apply({ type: 'continue', message: continuation(messageId, 'bidi', refOf(request, asked)) });
    await request.taken;
  }

  /** Handles answers to open calls, from a socket or from the application. */
  async answer(answers: Answer[], { by, ...asked }: RequestContext & { by: Identity }): Promise<void> {
    const { runner, listeners, requests } = this.context;
    if (asked.requestId !== undefined) requests.setNewest(asked.requestId);
    const known = this.repeated(asked);
    if (known) return known;
    // The connection that approves a browser tool becomes the active one, because its browser must run the tool.
    if (asked.listener && this.allowsClientTool(answers)) listeners.claim(asked.listener);
    const request = this.newRequest({ name: asked.requestId }, asked);
    await this.admitting;
    runner.apply({ type: 'answer', answers, by, request: refOf(request, asked) });
    await request.taken;
  }

  /** Interrupts the agent. Resolves with false when a request with this name was made before. */
  async interrupt({
    heard = NOTHING_HEARD,
    ...asked
  }: Partial<RequestContext> & { heard?: Heard }): Promise<boolean> {
    const known = this.repeated(asked);
    if (known) return known.then(() => false);
    const request = this.newRequest({ name: asked.requestId }, asked);
    this.context.runner.apply({ type: 'interrupt', request: refOf(request), heard });
    return true;
  }

  /** Handles a user message that was sent with POST. Resolves with its response when its turn starts. */
  async post(message: PostedMessage): Promise<SseResponse> {
    const { id, parts, metadata, requestId: name, logged } = message;
    const { runner, listeners } = this.context;
    const known = await this.responseOf(name);
    if (known) return known;
    await this.size.check(parts);
    const repeated = this.responseToCopy(message);
    if (repeated) return repeated;
    const replies = new PrivateReplies();
    const request = this.newRequest({ name, logged }, { requester: replies });
    const asked = refOf(request, message);
    const posted = { kind: 'message', wire: 'sse', request: asked, id, parts, metadata } as const;
    listeners.claim(null);
    runner.apply({ type: 'message', message: { ...posted, parts }, replaces: true });
    return this.responseTo(request, replies);
  }

  /** Handles answers that were sent with POST. Resolves with the response that continues the message of the answered calls. */
  async postAnswers(answers: Answer[], from: AnsweredBy): Promise<SseResponse> {
    const { runner, listeners } = this.context;
    const { messageId, by, requestId: name, logged } = from;
    const known = await this.responseOf(name);
    if (known) return known;
    const replies = new PrivateReplies();
    const request = this.newRequest({ name, logged }, { requester: replies });
    if (this.allowsClientTool(answers)) listeners.claim(null);
    const posted = { kind: 'answers', wire: 'sse', request: refOf(request, from), messageId, by } as const;
    runner.apply({ type: 'post-answers', posted: { ...posted, answers } });
    return this.responseTo(request, replies);
  }

  /** Handles a POST that asks to continue an assistant message that was cut off. Resolves with its response. */
  async postContinuation(posted: PostedContinuation): Promise<SseResponse> {
    const { messageId, requestId: name, logged } = posted;
    const { runner, listeners } = this.context;
    const known = await this.responseOf(name);
    if (known) return known;
    const replies = new PrivateReplies();
    const request = this.newRequest({ name, logged }, { requester: replies });
    listeners.claim(null);
    runner.apply({ type: 'continue', message: continuation(messageId, 'sse', refOf(request, posted)) });
    return this.responseTo(request, replies);
  }

  /**
   * Gives the agent an instruction of the application, which clients do not see. Resolves, when the turn of the instruction starts, with the id
   * of the message that answers the instruction.
   */
  async instruct(text: string, name: string): Promise<string> {
    const { runner, listeners, requests, engine } = this.context;
    const known = this.accepted(name);
    if (known !== undefined) return known;
    const parts = [{ type: 'text' as const, text }];
    await this.size.check(parts);
    const request = this.newRequest({ name, logged: name }, {});
    const wire = listeners.hasSocket ? 'bidi' : 'sse';
    const answerId = `msg_${engine.newId()}`;
    const message = {
      kind: 'message',
      wire,
      request: refOf(request),
      id: undefined,
      parts,
      answerId,
    } as const;
    runner.apply({ type: 'instruct', message: { ...message, parts, isInstruction: true } });
    await request.taken;
    return requests.find(name)?.messageId ?? answerId;
  }

  /** Shows a text of the application as a message of the agent. Resolves with the id of the message when it is stored. */
  async speak(text: string, name: string): Promise<string> {
    const { runner, engine } = this.context;
    const known = this.accepted(name);
    if (known !== undefined) return known;
    await this.size.check([{ type: 'text', text }]);
    const request = this.newRequest({ name, logged: name }, {});
    const answerId = `msg_${engine.newId()}`;
    runner.apply({
      type: 'speak',
      spoken: { kind: 'spoken', wire: 'sse', request: refOf(request), text, answerId },
    });
    await request.taken;
    return answerId;
  }

  /**
   * Handles answers of the application. While a page of the user has a socket open, they are handled like answers from a socket, and otherwise like
   * answers sent with POST. Resolves when they are stored.
   */
  async answerFor(by: Identity, answers: Answer[], requestId: string): Promise<void> {
    const { listeners } = this.context;
    if (this.accepted(requestId) !== undefined) return;
    if (listeners.hasSocket) await this.answer(answers, { by, requestId, requester: UNHEARD });
    else await this.postAnswers(answers, { messageId: undefined, by, requestId, logged: requestId });
    this.checkAccepted(requestId);
  }

  /** Handles a user message of the application. Resolves, when it is stored, with the id of the message that will answer it; null when none will. */
  sendFor(message: TypedMessage, requestId: string): Promise<string | null> {
    const { sending } = this;
    const { id } = message;
    if (id === undefined) return this.sendOnce(message, requestId);
    // A copy of a message is recognised only once the message has reached the state. So a copy that comes before that waits.
    const earlier = Promise.resolve(sending.get(id)).catch(() => null);
    const sent: Promise<string | null> = earlier
      .then(() => this.sendOnce(message, requestId))
      .finally(() => sending.get(id) === sent && sending.delete(id));
    sending.set(id, sent);
    return sent;
  }

  private async sendOnce(message: TypedMessage, requestId: string): Promise<string | null> {
    const { listeners, engine, key, state } = this.context;
    const known = this.accepted(requestId);
    if (known !== undefined) return known || null;
    const parts = await admit(message.parts, engine, key);
    const { id, metadata } = message;
    // A message that the session already has gets no second answer. A post would rewind the conversation to that message.
    if (state.copyOf({ id, parts })) return null;
    if (listeners.hasSocket) {
      // The server calls `accepted` when the message is stored. A queued message is stored at once, so this promise does not wait for its turn.
      await new Promise<void>((resolve, reject) => {
        const requester = { accepted: () => resolve(), failed: () => undefined };
        this.say(message, { again: false, requestId, requester }).then(resolve, reject);
      });
    } else await this.post({ id, parts, metadata, requestId, logged: requestId });
    return this.checkAccepted(requestId);
  }

  /**
   * The id of the message that answers an accepted request of this name; empty when no message answers it. Undefined when no request of this name was
   * accepted.
   */
  private accepted(name: string): string | undefined {
    const accepted = this.context.requests.find(name);
    return accepted ? (accepted.messageId ?? '') : undefined;
  }

  /**
   * The id of the message that answers an accepted request; null when no message answers it. Throws `shutting_down` when the conversation closes here before
   * the request is accepted: a client over a socket then repeats its request by itself, but the application does not.
   */
  private checkAccepted(name: string): string | null {
    const accepted = this.context.requests.find(name);
    if (!accepted) throw shuttingDown();
    return accepted.messageId;
  }

  private async responseTo({ taken }: PendingRequest, replies: PrivateReplies): Promise<SseResponse> {
    return { feed: this.context.reading.feed, from: await taken, privateReplies: () => replies.take() };
  }

  private newRequest(names: RequestNames, { requester, listener }: Partial<RequestContext>): PendingRequest {
    const { output, requests, checkIsHere } = this.context;
    checkIsHere();
    return requests.add(() => output.log.last, { connection: listener?.id, ...names }, requester);
  }

  /** Whether one of the answers approves a browser tool. */
  private allowsClientTool(answers: readonly Answer[]): boolean {
    const open = this.context.state.openCalls;
    return answers.some(
      (answer) =>
        answer.kind === 'decision' &&
        answer.approved &&
        open.some(({ id, runsOn }) => id === answer.toolCallId && runsOn === 'client'),
    );
  }

  /** The result of an earlier request with the same `requestId`; null when no such request was made. */
  private repeated({ requestId, requester }: Partial<RequestContext>): Promise<void> | null {
    const { requests } = this.context;
    const made = requests.made(requestId);
    if (made) {
      if (requester) made.join(requester);
      return made.taken.then(() => undefined);
    }
    const accepted = requests.find(requestId);
    if (!accepted) return null;
    requester?.accepted(accepted);
    return Promise.resolve();
  }

  /**
   * If a stock client (the AI SDK's own transport) repeats a message in a new request: the response to the message. Null when the message is to be
   * answered as a new message.
   */
  private responseToCopy({ repeats, ...message }: PostedMessage): Promise<SseResponse> | null {
    const { state, requests, reading } = this.context;
    const copy = repeats === undefined ? null : state.copyOf(message);
    if (!copy) return null;
    if ('request' in copy) {
      const { feed } = reading;
      return requests.get(copy.request)?.taken.then((from) => ({ feed, from })) ?? null;
    }
    if (!copy.isNewest && repeats === 'newest') return null;
    return this.replayed(copy.isNewest);
  }

  private async replayed(isNewest: boolean): Promise<SseResponse> {
    const response = isNewest ? await this.context.reading.replay(true) : null;
    if (response) return response;
    throw new ProtocolError(
      'nothing_to_answer',
      'This message was accepted before. Reload the page to see its answer.',
    );
  }

  /** The response to an earlier POST of the same name, from the log or the store; null when neither has such a response. */
  private async responseOf(name: string | undefined): Promise<SseResponse | null> {
    const { output, reading, requests } = this.context;
    const { feed } = reading;
    const made = requests.made(name);
    const from = made && (await made.taken);
    const accepted = requests.find(name);
    const replies = new PrivateReplies();
    if (accepted) replies.accepted(accepted);
    const first = { privateReplies: () => replies.take() };
    if (from !== null && from >= output.log.first - 1) return { feed, from, ...first };
    if (!accepted) return null;
    const { messageId, parts, requestId } = accepted;
    if (messageId === null)
      throw new ProtocolError(
        'nothing_to_answer',
        'A request with this id was accepted before, and no message answers it.',
      );
    const running = reading.responseIn(messageId);
    if (running) return { ...running, ...first };
    const message = await output.load(messageId);
    if (message) return { feed, from: output.log.last, ...first, storedChunks: unfold(message, parts) };
    // The process that accepted the request died before the agent answered. Forget the request, so that the client's repetition is handled as a new
    // request.
    requests.forget(requestId);
    return null;
  }
}

/** The reference by which the state knows a request. */
function refOf(
  { id, name, connection }: PendingRequest,
  { forTools }: Pick<RequestContext, 'forTools'> = {},
): RequestRef {
  return { id, name, connection, forTools };
}

/**
 * The request to continue an assistant message. Its text tells the agent to continue. Only the agent's history gets that text, and clients see no
 * user message.
 */
function continuation(messageId: string, wire: MessageRequest['wire'], request: RequestRef): MessageRequest {
  const parts = [{ type: 'text' as const, text: CONTINUE }];
  const continues = { messageId, message: null };
  return { kind: 'message', wire, request, id: undefined, parts, continues };
}

/** After this many messages the size is read from the store again, because answers and tool outputs are not counted in between. */
const MESSAGES_BETWEEN_READS = 16;
const FULL = 'This conversation is full: it has reached its size limit. Start a new conversation.';

/** Rejects messages to a session that has reached its size limit. */
class SizeLimit {
  private readonly store: Store;
  private readonly key: SessionKey;
  private readonly maxBytes: number;
  /** The size that the store reported, plus the bytes of the messages since then. */
  private bytes = 0;
  /** How many more messages are counted before the size is read again. */
  private left: number;

  /** `isNew`: the session has nothing in the store yet. */
  constructor(store: Store, key: SessionKey, { maxBytes, isNew }: { maxBytes: number; isNew: boolean }) {
    this.store = store;
    this.key = key;
    this.maxBytes = maxBytes;
    this.left = isNew ? MESSAGES_BETWEEN_READS : 0;
  }

  /**
   * Throws `session_full` when a message does not fit. If the size must be read from the store first, returns a promise that rejects with the error
   * instead.
   */
  check(parts: readonly AdmittedPart[]): Promise<void> | undefined {
    if (this.left > 0) return this.count(parts);
    return this.store.sessionBytes(this.key).then((bytes) => {
      this.bytes = bytes;
      this.left = MESSAGES_BETWEEN_READS;
      this.count(parts);
    });
  }

  private count(parts: readonly AdmittedPart[]): undefined {
    for (const part of parts) {
      // A text is stored twice, as a message and as an event; a file once.
      this.bytes += part.type === 'text' ? 2 * Buffer.byteLength(part.text) : base64Bytes(part.data);
    }
    this.left--;
    if (this.bytes <= this.maxBytes) return;
    // The rejected message was counted, but is not stored: read the size again next time.
    this.left = 0;
    throw new ProtocolError('session_full', FULL);
  }
}
