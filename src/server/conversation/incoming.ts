import { CONTINUE } from '../../models/for-server.ts';
import { type Answer, type Heard, ProtocolError, unfold } from '../../protocol/index.ts';
import type { Identity } from '../access/sign-in.ts';
import type { Engine } from '../engine.ts';
import { admit } from '../files.ts';
import type { Output } from '../output/output.ts';
import type {
  AnsweredBy,
  Asked,
  Listener,
  PostedContinuation,
  PostedMessage,
  Response,
  TypedMessage,
} from '../registry/session.ts';
import type { AcceptedRequest, CallRecord, SessionKey } from '../store/store.ts';
import { Aside } from './aside.ts';
import type { Asker } from './machine/effects.ts';
import type { Input, Said } from './machine/inputs.ts';
import { Post, type RequestNames } from './post.ts';
import type { Reading } from './reading.ts';
import { Requests } from './requests.ts';
import { SizeLimit } from './size-limit.ts';

/** What requests need from around them. */
export interface IncomingContext {
  key: SessionKey;
  engine: Engine;
  output: Output;
  reading: Reading;
  push: (input: Input) => void;
  openCalls: () => CallRecord[];
  takeFloor: (listener: Listener | null) => void;
  /** Throws when nothing can be asked for any more. */
  checkIsHere: () => void;
}

const NOTHING_HEARD: Heard = { messageId: undefined, playedMs: undefined };

/**
 * What is asked of a conversation, over a socket or by posts. Each request is made once: whoever makes one again, by its name, gets
 * what came of the first.
 */
export class Incoming {
  private readonly context: IncomingContext;
  private readonly requests: Requests;
  /** What was asked for and is neither begun nor refused. */
  private readonly asking = new Set<Post>();
  private admitting: Promise<unknown> = Promise.resolve();
  /** The listener's newest request that has a name. */
  private heard: string | null = null;
  /** The request that is being answered. */
  private answered: string | null = null;

  private readonly size: SizeLimit;

  /** `isNew`: the session has no messages yet. */
  constructor(accepted: readonly AcceptedRequest[], isNew: boolean, context: IncomingContext) {
    const { engine, key } = context;
    const { maxSessionBytes: maxBytes } = engine.options;
    this.context = context;
    this.size = new SizeLimit(engine.store, key, { maxBytes, isNew });
    this.requests = new Requests(accepted);
  }

  /** The requests that were accepted last, oldest first. */
  get accepted(): AcceptedRequest[] {
    return this.requests.list;
  }

  /** What the log calls the request that is being answered, or else the newest. */
  get logged(): string | null {
    return this.answered ?? this.heard;
  }

  /** The turn of a request has come. */
  mark(asker: Asker): void {
    if (asker instanceof Post) this.answered = asker.logged;
  }

  /** No request is being answered any more. */
  unmark(): void {
    this.answered = null;
  }

  /** Someone else listens: what was asked before is not theirs. */
  forgetHeard(): void {
    this.heard = null;
  }

  async say(message: TypedMessage, { again, ...asked }: Asked & { again: boolean }): Promise<void> {
    const { engine, key, push, takeFloor } = this.context;
    this.heard = asked.requestId ?? null;
    const known = this.repeated(asked);
    if (known) return known;
    if (asked.listener) takeFloor(asked.listener);
    const post = this.newPost({ name: asked.requestId }, asked);
    // Bad files are refused now, not when their turn comes; and nothing overtakes what was said before it.
    const admitted = this.admitting.then(async () => {
      const parts = await admit(message.parts, engine, key);
      await this.size.check(parts);
      return parts;
    });
    this.admitting = admitted.catch(() => undefined);
    const { id, metadata } = message;
    admitted.then(
      (parts) => {
        const said = { kind: 'message' as const, wire: 'bidi' as const, asker: post, id, parts, metadata };
        push({ type: 'say', said, again });
      },
      (error: ProtocolError) => post.refuse(error),
    );
    await post.begun;
  }

  /** The agent is to continue a message that was cut. */
  async continueMessage(messageId: string, asked: Asked): Promise<void> {
    const { push, takeFloor } = this.context;
    this.heard = asked.requestId ?? null;
    const known = this.repeated(asked);
    if (known) return known;
    if (asked.listener) takeFloor(asked.listener);
    const post = this.newPost({ name: asked.requestId }, asked);
    await this.admitting;
    push({ type: 'continue', said: continuation(messageId, 'bidi', post) });
    await post.begun;
  }

  async answer(answers: Answer[], { by, ...asked }: Asked & { by: Identity }): Promise<void> {
    const { push, takeFloor } = this.context;
    this.heard = asked.requestId ?? this.heard;
    const known = this.repeated(asked);
    if (known) return known;
    // What the browser is to do is done where it was allowed.
    if (asked.listener && this.allowsClientTool(answers)) takeFloor(asked.listener);
    const post = this.newPost({ name: asked.requestId }, asked);
    await this.admitting;
    push({ type: 'answer', answers, by, asker: post });
    await post.begun;
  }

  /** Someone wants it quiet. Resolves with false when they said so before. */
  async interrupt({ heard = NOTHING_HEARD, ...asked }: Partial<Asked> & { heard?: Heard }): Promise<boolean> {
    const known = this.repeated(asked);
    if (known) return known.then(() => false);
    this.context.push({
      type: 'interrupt',
      asker: this.newPost({ name: asked.requestId }, asked),
      heard,
    });
    return true;
  }

  async post({ id, parts, metadata, requestId: name, logged }: PostedMessage): Promise<Response> {
    const known = await this.responseOf(name);
    if (known) return known;
    await this.size.check(parts);
    const aside = new Aside();
    const asker = this.newPost({ name, logged }, { requester: aside });
    const said = { kind: 'message' as const, wire: 'sse' as const, asker, id, parts, metadata };
    this.context.takeFloor(null);
    this.context.push({ type: 'say', said, again: true });
    return this.responseTo(asker, aside);
  }

  async postAnswers(answers: Answer[], from: AnsweredBy): Promise<Response> {
    const { messageId, by, requestId: name, logged } = from;
    const known = await this.responseOf(name);
    if (known) return known;
    const aside = new Aside();
    const asker = this.newPost({ name, logged }, { requester: aside });
    if (this.allowsClientTool(answers)) this.context.takeFloor(null);
    const posted = { kind: 'answers' as const, wire: 'sse' as const, asker, answers, messageId, by };
    this.context.push({ type: 'post-answers', posted });
    return this.responseTo(asker, aside);
  }

  async postContinuation({ messageId, requestId: name, logged }: PostedContinuation): Promise<Response> {
    const known = await this.responseOf(name);
    if (known) return known;
    const aside = new Aside();
    const asker = this.newPost({ name, logged }, { requester: aside });
    this.context.takeFloor(null);
    this.context.push({ type: 'continue', said: continuation(messageId, 'sse', asker) });
    return this.responseTo(asker, aside);
  }

  /** Nobody waits for what will not come. */
  refuseAll(why: ProtocolError): void {
    for (const post of this.asking) post.refuse(why);
  }

  private async responseTo(post: Post, aside: Aside): Promise<Response> {
    return { feed: this.context.reading.feed, from: await post.begun, aside: () => aside.take() };
  }

  private newPost(names: RequestNames, { requester, listener }: Partial<Asked>): Post {
    const { output, checkIsHere } = this.context;
    checkIsHere();
    const post = new Post(() => output.log.last, { connection: listener?.id, ...names });
    if (requester) post.join(requester);
    this.requests.add(post);
    this.asking.add(post);
    const isAnswered = () => this.asking.delete(post);
    post.begun.then(isAnswered, isAnswered).catch(() => undefined);
    return post;
  }

  /** Whether answers let the browser do something. */
  private allowsClientTool(answers: readonly Answer[]): boolean {
    const open = this.context.openCalls();
    return answers.some(
      (answer) =>
        answer.kind === 'decision' &&
        answer.approved &&
        open.some(({ id, runsOn }) => id === answer.toolCallId && runsOn === 'client'),
    );
  }

  /** A request that was made before, over a socket: whoever made it again is told what came of it. */
  private repeated({ requestId, requester }: Partial<Asked>): Promise<void> | null {
    const post = this.requests.made(requestId);
    if (post) {
      if (requester) post.join(requester);
      return post.begun.then(() => undefined);
    }
    const accepted = this.requests.find(requestId);
    if (!accepted) return null;
    requester?.accepted(accepted);
    return Promise.resolve();
  }

  /** The response to a post that was made before, from the log or as it is stored; null when there is none yet. */
  private async responseOf(name: string | undefined): Promise<Response | null> {
    const { requests } = this;
    const { output, reading } = this.context;
    const { feed } = reading;
    const post = requests.made(name);
    const from = post && (await post.begun);
    const accepted = requests.find(name);
    const aside = new Aside();
    if (accepted) aside.accepted(accepted);
    const first = { aside: () => aside.take() };
    if (from !== null && from >= output.log.first - 1) return { feed, from, ...first };
    if (!accepted) return null;
    const { messageId, parts, requestId } = accepted;
    if (messageId === null)
      throw new ProtocolError('nothing_to_answer', 'This request was taken before, and nothing answers it.');
    const running = reading.responseIn(messageId);
    if (running) return { ...running, ...first };
    const message = await output.load(messageId);
    if (message) return { feed, from: output.log.last, ...first, told: unfold(message, parts) };
    // Its process died before anything was said to it: it is said again.
    requests.forget(requestId);
    return null;
  }
}

/** The instruction to continue a message: it is in the agent's history alone, and is no message of the person. */
function continuation(messageId: string, wire: Said['wire'], asker: Post): Said {
  const parts = [{ type: 'text' as const, text: CONTINUE }];
  return { kind: 'message', wire, asker, id: undefined, parts, continues: { messageId, message: null } };
}
