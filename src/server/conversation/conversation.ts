import type { Blob } from '@google/genai';
import { type Answer, type Chunk, ProtocolError } from '../../protocol/index.ts';
import { settlesWithin } from '../clock.ts';
import type { Engine } from '../engine.ts';
import { admit } from '../files.ts';
import { History } from '../history.ts';
import type {
  AnsweredBy,
  Feed,
  Joined,
  Listener,
  MessagePage,
  PostedMessage,
  Response,
  Session,
  TypedMessage,
} from '../home.ts';
import { decidedIn, Output } from '../output.ts';
import type { Identity } from '../sign-in.ts';
import type { PageRequest, SessionKey } from '../store/store.ts';
import { Post } from './post.ts';
import { recover, type TakenUp } from './recover.ts';
import { Shell } from './shell.ts';

/** How long whoever closes a conversation waits for what runs to end. */
const END_MS = 5000;
/** How long a live run waits for its person to come back. */
const GRACE_MS = 60_000;
const DELETED = 'This conversation was deleted.';

/** One conversation, as those see it who speak in it, listen to it or read it. */
export class Conversation implements Session {
  readonly key: SessionKey;
  private readonly engine: Engine;
  private readonly output: Output;
  private readonly history: History;
  private readonly feed: Feed;
  private readonly shell: Shell;
  private isClosing = false;
  /** Whether it is being removed: nobody joins it, and nothing is asked of it any more. */
  private isRemoved = false;
  /** What was asked for and is neither begun nor refused. */
  private readonly asking = new Set<Post>();
  private listener: Listener | null = null;
  private cancelGrace: () => void = () => undefined;
  /** The listener's newest request that has a name. */
  private heard: string | null = null;
  /** The request that is being answered. */
  private request: string | null = null;
  private identified: Promise<void> = Promise.resolve();
  private admitting: Promise<unknown> = Promise.resolve();

  private constructor(taken: TakenUp) {
    this.key = taken.key;
    this.engine = taken.engine;
    this.output = taken.output;
    this.history = taken.history;
    this.shell = new Shell(taken, {
      about: () => this.about,
      play: (sound) => this.listener?.play(sound),
      onMark: (asker) => {
        if (asker instanceof Post) this.request = asker.requestId;
      },
      onRest: () => {
        const { machine } = this.shell;
        if (!machine.isResponding && !machine.isBeginning) this.request = null;
      },
    });
    const { output } = taken;
    const isAtRest = () => !this.isRunning;
    this.feed = {
      log: output.log,
      get isAtRest() {
        return isAtRest();
      },
      onRest: (callback) => output.onRest(callback),
      attach: (reader) => output.attach(reader),
      readerMoved: () => output.readerMoved(),
    };
  }

  /** Takes up a stored session. */
  static async load(key: SessionKey, engine: Engine): Promise<Conversation> {
    const { store, clock, drafts, newId } = engine;
    const output = new Output(store, key, newId().slice(0, 8), clock, drafts);
    const history = new History(engine.sessionService, key);
    const conversation = new Conversation(await recover({ key, engine, output, history }));
    conversation.shell.push({ type: 'recovered' });
    await conversation.shell.rest();
    return conversation;
  }

  /** Where a line of the log comes from: the session, and the connection and request that it hears at the moment. */
  private get about(): Record<string, unknown> {
    const { listener } = this;
    const request = this.request ?? this.heard;
    return {
      session: this.key.id,
      ...(listener && { connection: listener.id }),
      ...(request && { request }),
    };
  }

  /** Someone is about to use it. */
  touch(): void {
    this.shell.touch();
  }

  /** Whether nothing ran and nobody read for so long. */
  isUnusedFor(ms: number): boolean {
    const { machine, isAtWork, touchedAt } = this.shell;
    const isUsed = machine.isBusy || machine.isBeginning || machine.isRunOpen;
    const isRead = this.output.log.readers > 0;
    return !isUsed && !isAtWork && !isRead && this.engine.clock.elapsed() - touchedAt > ms;
  }

  /** Whether the agent is at work. */
  private get isRunning(): boolean {
    return this.shell.machine.isBusy || this.shell.isAtWork;
  }

  async say(
    message: TypedMessage,
    { again, requestId }: { again: boolean; requestId?: string | undefined },
  ): Promise<void> {
    this.heard = requestId ?? null;
    // Bad files are refused now, not when their turn comes; and nothing overtakes what was said before it.
    const admitted = this.admitting.then(() => admit(message.parts, this.engine, this.key));
    this.admitting = admitted.catch(() => undefined);
    const { id } = message;
    const parts = await admitted;
    const asker = this.newPost();
    const said = { kind: 'message' as const, wire: 'bidi' as const, asker, id, requestId, parts };
    this.shell.push({ type: 'say', said, again });
    await asker.begun;
  }

  async answer(
    answers: Answer[],
    { by, requestId }: { by: Identity; requestId?: string | undefined },
  ): Promise<void> {
    this.heard = requestId ?? this.heard;
    await this.admitting;
    const asker = this.newPost();
    this.shell.push({ type: 'answer', answers, by, asker });
    await asker.begun;
  }

  async post({ id, parts, requestId }: PostedMessage): Promise<Response> {
    const post = this.newPost(requestId);
    const wire = 'sse' as const;
    // Posts are not sent again by themselves; the name of this one is for the log.
    const said = { kind: 'message' as const, wire, asker: post, id, requestId: undefined, parts };
    this.shell.push({ type: 'say', said, again: true });
    return { feed: this.feed, from: await post.begun };
  }

  async postAnswers(answers: Answer[], { messageId, by, requestId }: AnsweredBy): Promise<Response> {
    const asker = this.newPost(requestId);
    this.shell.push({
      type: 'post-answers',
      posted: { kind: 'answers', wire: 'sse', asker, answers, messageId, by },
    });
    return { feed: this.feed, from: await asker.begun };
  }

  private newPost(requestId: string | null = null): Post {
    if (this.isRemoved) throw new ProtocolError('not_found', DELETED);
    const post = new Post(() => this.output.log.last, requestId);
    this.asking.add(post);
    const isAnswered = () => this.asking.delete(post);
    post.begun.then(isAnswered, isAnswered).catch(() => undefined);
    return post;
  }

  async resume(last: string | null): Promise<Response | null> {
    const { feed, output } = this;
    const { log } = output;
    const current = this.isRunning ? this.shell.machine.current : null;
    const place = last === null ? null : log.placeOf(last);
    if (place !== null) {
      // What runs ends at the next end; what is over, at the last there is.
      if (current !== null) return { feed, from: place, endsAfter: log.last, endsAtRest: true };
      const isLast = place === log.last || (place === log.last - 1 && log.at(log.last)?.chunk === null);
      return isLast ? null : { feed, from: place, endsAfter: log.last - 1 };
    }
    const start = current === null ? null : output.startOf(current);
    if (current === null || start === null) return null;
    return { feed, from: start - 1, endsAfter: log.last, omitted: this.decided(current), endsAtRest: true };
  }

  media(blob: Blob): void {
    this.shell.push({ type: 'media', blob });
  }

  async stop(): Promise<boolean> {
    const wasRunning = this.shell.machine.isBusy;
    this.shell.push({ type: 'interrupt' });
    return wasRunning;
  }

  async join(listener: Listener, last: string | null): Promise<Joined> {
    if (this.isRemoved) throw new ProtocolError('not_found', DELETED);
    const before = this.listener;
    this.listener = listener;
    this.heard = null;
    this.cancelGrace();
    before?.end('taken_over', 'This conversation is open somewhere else now.');
    // One after the other: the last to come is the one that is written down.
    const identified = this.identified.then(() => this.history.identify(listener.id));
    this.identified = identified.catch(() => undefined);
    await identified;
    const joined = await this.beginningOf(last);
    // Takes up what another run, or another process, left open.
    if (this.listener === listener) this.shell.push({ type: 'joined' });
    return joined;
  }

  leave(listener: Listener): void {
    if (this.listener !== listener) return;
    this.listener = null;
    this.shell.push({ type: 'left' });
    if (this.isClosing) return;
    // When nobody comes back, the run and all that runs for it are let go of.
    this.cancelGrace = this.engine.clock.after(GRACE_MS, () => this.shell.push({ type: 'abandoned' }));
  }

  async page(request: PageRequest): Promise<MessagePage | null> {
    const page = await this.engine.store.loadPage(this.key, request);
    if (!page) return null;
    const older = page.hasOlder ? (page.messages[0]?.id ?? null) : null;
    return { messages: this.output.withoutDrafts(page.messages), older, isRunning: this.isRunning };
  }

  /** Where one begins who comes now, and has everything up to that chunk. */
  private async beginningOf(last: string | null): Promise<Joined> {
    const { feed, output } = this;
    const { log } = output;
    const place = last === null ? null : log.placeOf(last);
    const resumed = place !== null;
    // All that is waited for comes first: what is found out then stands at one place in the log.
    const stored = last === null || resumed ? null : await this.engine.store.loadMessages(this.key);
    const { current } = this.shell.machine;
    const start = current === null ? null : output.startOf(current);
    const from = place ?? (start === null || stored ? log.last : start - 1);
    const omitted = resumed || stored || current === null ? [] : this.decided(current);
    // Everything stands there as it is now, and what is being said goes on behind it.
    const reset = stored && output.asNow(stored);
    // What follows may belong to a message whose `start` is not told again.
    const opening = stored || (!resumed && start === null) ? this.opening() : [];
    const newest = `${log.epoch}-${log.last}`;
    return { feed, from, resumed, newest, reset, opening, omitted };
  }

  /** A card that was decided is not shown again: no chunk could take the decision along. */
  private decided(messageId: string): string[] {
    return decidedIn(this.output.fold(messageId)?.message ?? null);
  }

  /** Opens the message in progress again, with all that was said of its open blocks. */
  private opening(): Chunk[] {
    const { message } = this.output;
    return [
      ...(message ? [{ type: 'start' as const, messageId: message.id }] : []),
      ...this.output.openBlocks(),
    ];
  }

  /** Resolves when the agent is not at work and nothing waits. */
  settled(): Promise<void> {
    const { machine } = this.shell;
    return this.shell.rest(() => machine.isBusy || machine.isBeginning);
  }

  /** Stops what runs and waits for it; calls that wait stay open in the store. */
  async close(): Promise<void> {
    const { shell } = this;
    this.isClosing = true;
    this.cancelGrace();
    shell.push({ type: 'shut-down' });
    const stopped = shell.rest(() => shell.machine.isResponding);
    await settlesWithin(Promise.all([stopped, shell.runsEnded()]), END_MS, this.engine.clock);
    // Nobody waits for what will not come.
    const why = this.isRemoved
      ? new ProtocolError('not_found', DELETED)
      : new ProtocolError('shutting_down', 'The server is restarting. Try again in a moment.');
    for (const post of this.asking) post.refuse(why);
  }

  /** Closes for good, and tells whoever is there: whatever still comes of what ran is of no interest. */
  async remove(): Promise<void> {
    this.isRemoved = true;
    this.listener?.end('not_found', DELETED);
    await this.close();
    this.shell.drop();
  }
}
