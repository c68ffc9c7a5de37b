import type { Blob } from '@google/genai';
import { type Answer, type Detection, type Heard, ProtocolError, unfold } from '../../protocol/index.ts';
import { settlesWithin } from '../clock.ts';
import type { Engine } from '../engine.ts';
import { admit } from '../files.ts';
import { History } from '../history.ts';
import type {
  AnsweredBy,
  Asked,
  Feed,
  Joined,
  Listener,
  MessagePage,
  Place,
  PostedMessage,
  Response,
  Session,
  TypedMessage,
} from '../home.ts';
import { Output } from '../output.ts';
import type { Identity } from '../sign-in.ts';
import { type OwnedKey, type PageRequest, type SessionKey, StaleFence } from '../store/store.ts';
import { Utterances } from '../utterances.ts';
import { Aside } from './aside.ts';
import { beginningOf, decidedCards } from './beginning.ts';
import { Floor } from './floor.ts';
import { Post, type RequestNames } from './post.ts';
import { type Remains, recover, type TakenUp } from './recover.ts';
import { Requests } from './requests.ts';
import { Shell } from './shell.ts';

/** How long whoever closes a conversation waits for what runs to end. */
const END_MS = 5000;
/** How long a live run waits for its person to come back. */
const GRACE_MS = 60_000;
const DELETED = 'This conversation was deleted.';
const MOVED = 'Another server keeps this conversation now. Try again in a moment.';

/** One conversation, as those see it who speak in it, listen to it or read it. */
export class Conversation implements Session {
  readonly key: OwnedKey;
  private readonly engine: Engine;
  private readonly output: Output;
  private readonly history: History;
  private readonly feed: Feed;
  private readonly shell: Shell;
  private readonly requests: Requests;
  private readonly utterances = new Utterances();
  private isClosing = false;
  /** Whether it is being removed: nobody joins it, and nothing is asked of it any more. */
  private isRemoved = false;
  /** What was asked for and is neither begun nor refused. */
  private readonly asking = new Set<Post>();
  private readonly floor = new Floor((holder) => this.floorTaken(holder));
  private cancelGrace: () => void = () => undefined;
  /** The listener's newest request that has a name. */
  private heard: string | null = null;
  /** The request that is being answered. */
  private request: string | null = null;
  /** Writes down which connection has the floor; the second never rejects. */
  private identifying: Promise<void> = Promise.resolve();
  private identified: Promise<void> = Promise.resolve();
  private admitting: Promise<unknown> = Promise.resolve();

  private constructor({ key, engine, history }: Remains, taken: TakenUp, onLost: () => void) {
    const { store, clock, drafts, newId } = engine;
    const onFault = (error: unknown) => this.shell.fault(error);
    const output = new Output({ store, key, epoch: newId().slice(0, 8), clock, drafts, onFault });
    this.key = key;
    this.engine = engine;
    this.output = output;
    this.history = history;
    this.requests = new Requests(taken.requests);
    this.shell = new Shell(taken, {
      key,
      engine,
      output,
      history,
      about: () => this.about,
      play: ({ messageId, sampleRate, data }) => {
        const sound = this.utterances.add(messageId, sampleRate, data);
        this.floor.holder?.play(sound);
      },
      onHush: () => {
        this.utterances.flush();
        this.floor.holder?.hush();
      },
      onMark: (asker) => {
        if (asker instanceof Post) this.request = asker.logged;
      },
      onRest: () => {
        const { machine } = this.shell;
        if (!machine.isResponding && !machine.isBeginning) this.request = null;
      },
      onLost: () => {
        onLost();
        this.moved();
      },
    });
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

  /** Takes up a stored session, as its owner from now on. `onLost`: someone else became that. */
  static async load(session: SessionKey, engine: Engine, onLost: () => void): Promise<Conversation> {
    const { store, sessionService } = engine;
    const key = await store.own(session);
    if (!key) throw new ProtocolError('not_found', 'There is no such session.');
    sessionService.own(key);
    try {
      const remains = { key, engine, history: new History(sessionService, key) };
      const conversation = new Conversation(remains, await recover(remains), onLost);
      conversation.shell.push({ type: 'recovered' });
      await conversation.shell.rest();
      return conversation;
    } catch (error) {
      sessionService.disown(key);
      throw inWords(error);
    }
  }

  /** Where a line of the log comes from: the session, and the connection and request that it hears at the moment. */
  private get about(): Record<string, unknown> {
    const { holder } = this.floor;
    const request = this.request ?? this.heard;
    return {
      session: this.key.id,
      ...(holder && { connection: holder.id }),
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
    const isBusy = machine.isBusy || machine.isBeginning || machine.isRunOpen;
    const isUsed = isBusy || isAtWork || this.output.log.readers > 0;
    return !isUsed && this.engine.clock.elapsed() - touchedAt > ms;
  }

  /** Whether the agent is at work. */
  private get isRunning(): boolean {
    return this.shell.machine.isBusy || this.shell.isAtWork;
  }

  async say(message: TypedMessage, { again, ...asked }: Asked & { again: boolean }): Promise<void> {
    this.heard = asked.requestId ?? null;
    const known = this.repeated(asked);
    if (known) return known;
    if (asked.listener) this.floor.take(asked.listener);
    const post = this.newPost({ name: asked.requestId }, asked);
    // Bad files are refused now, not when their turn comes; and nothing overtakes what was said before it.
    const admitted = this.admitting.then(() => admit(message.parts, this.engine, this.key));
    this.admitting = admitted.catch(() => undefined);
    const { id } = message;
    admitted.then(
      (parts) => {
        const said = { kind: 'message' as const, wire: 'bidi' as const, asker: post, id, parts };
        this.shell.push({ type: 'say', said, again });
      },
      (error: ProtocolError) => post.refuse(error),
    );
    await post.begun;
  }

  async answer(answers: Answer[], { by, ...asked }: Asked & { by: Identity }): Promise<void> {
    this.heard = asked.requestId ?? this.heard;
    const known = this.repeated(asked);
    if (known) return known;
    // What the browser is to do is done where it was allowed.
    if (asked.listener && this.allowsClientTool(answers)) this.floor.take(asked.listener);
    const post = this.newPost({ name: asked.requestId }, asked);
    await this.admitting;
    this.shell.push({ type: 'answer', answers, by, asker: post });
    await post.begun;
  }

  media(blob: Blob): void {
    this.shell.push({ type: 'media', blob });
  }

  microphone(action: 'start' | 'stop', detection: Detection): void {
    this.shell.push({ type: 'microphone', action, detection });
  }

  async stop({ heard = NOTHING_HEARD, ...asked }: Partial<Asked> & { heard?: Heard } = {}): Promise<boolean> {
    const known = this.repeated(asked);
    if (known) return known.then(() => false);
    const wasRunning = this.shell.machine.isBusy;
    this.shell.push({ type: 'interrupt', asker: this.newPost({ name: asked.requestId }, asked), heard });
    return wasRunning;
  }

  async post({ id, parts, requestId: name, logged }: PostedMessage): Promise<Response> {
    const known = await this.responseOf(name);
    if (known) return known;
    const aside = new Aside();
    const post = this.newPost({ name, logged }, { requester: aside });
    const said = { kind: 'message' as const, wire: 'sse' as const, asker: post, id, parts };
    this.shell.push({ type: 'say', said, again: true });
    return { feed: this.feed, from: await post.begun, aside: () => aside.take() };
  }

  async postAnswers(answers: Answer[], from: AnsweredBy): Promise<Response> {
    const { messageId, by, requestId: name, logged } = from;
    const known = await this.responseOf(name);
    if (known) return known;
    const aside = new Aside();
    const asker = this.newPost({ name, logged }, { requester: aside });
    this.shell.push({
      type: 'post-answers',
      posted: { kind: 'answers', wire: 'sse', asker, answers, messageId, by },
    });
    return { feed: this.feed, from: await asker.begun, aside: () => aside.take() };
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
    return current === null ? null : this.inProgress(current);
  }

  /** All of the response of a message that is being written; null when its beginning is no longer there. */
  private inProgress(messageId: string): Response | null {
    const { feed, output } = this;
    const start = output.startOf(messageId);
    if (start === null) return null;
    const omitted = decidedCards(output, messageId);
    return { feed, from: start - 1, endsAfter: output.log.last, omitted, endsAtRest: true };
  }

  async join(listener: Listener, at: Place): Promise<Joined> {
    this.checkIsHere();
    const { engine, output, feed, shell, utterances, requests } = this;
    this.heard = null;
    this.cancelGrace();
    this.floor.join(listener);
    const hasFloor = this.floor.holder === listener;
    await (hasFloor ? this.identifying : this.identified).catch((error: unknown) => {
      throw inWords(error);
    });
    const stored = await this.storedFor(at.last);
    const { machine } = shell;
    const joined: Joined = {
      feed,
      ...beginningOf(output, { last: at.last, stored, current: machine.current }),
      sounds: at.sound && hasFloor ? utterances.from(at.sound.n, at.sound.at) : [],
      info: {
        received: requests.list.map(({ requestId, messageId }) => ({
          requestId,
          ...(messageId === null ? {} : { messageId }),
        })),
        open: machine.waitingAnswers,
        running: machine.running,
        model: engine.senses(),
        floor: this.floor.holder?.id ?? null,
      },
    };
    // Takes up what another run, or another process, left open.
    if (this.floor.has(listener)) shell.push({ type: 'joined' });
    return joined;
  }

  takeFloor(listener: Listener): void {
    this.floor.take(listener);
  }

  /** Another connection has the floor: those who watch are told, and the session's state names it. */
  private floorTaken(holder: Listener | null): void {
    const connectionId = holder?.id ?? null;
    if (this.floor.isWatched)
      this.output.inject({ type: 'data-floor', data: { connectionId }, transient: true });
    if (connectionId === null) return;
    // One after the other: the last to come is the one that is written down.
    this.identifying = this.identified.then(() => this.history.identify(connectionId));
    this.identified = this.identifying.catch((error: unknown) => this.shell.fault(error));
  }

  /** Whether answers let the browser do something. */
  private allowsClientTool(answers: readonly Answer[]): boolean {
    const { openCalls } = this.shell.machine;
    return answers.some(
      (answer) =>
        answer.kind === 'decision' &&
        answer.approved &&
        openCalls.some(({ id, runsOn }) => id === answer.toolCallId && runsOn === 'client'),
    );
  }

  /** The stored messages, for one who cannot go on where they were. */
  private storedFor(last: string | null) {
    const isLost = last !== null && this.output.log.placeOf(last) === null;
    return isLost ? this.engine.store.loadMessages(this.key) : null;
  }

  leave(listener: Listener): void {
    if (!this.floor.leave(listener) || !this.floor.isEmpty) return;
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

  /** Lets go of the session, which nobody uses here. */
  letGo(): void {
    this.engine.sessionService.disown(this.key);
  }

  private checkIsHere(): void {
    if (this.isRemoved) throw new ProtocolError('not_found', DELETED);
    if (this.shell.isGone) throw moved();
  }

  /** Another process owns the session: whoever is here is told to come back, and finds it there. */
  private moved(): void {
    this.engine.logger.warn('a session has another owner now', this.about);
    this.cancelGrace();
    this.letGo();
    const why = moved();
    for (const post of this.asking) post.refuse(why);
    this.output.end(why);
    for (const listener of this.floor.all) listener.end(why.code, why.message);
  }

  /** Closes for good, and tells whoever is there: whatever still comes of what ran is of no interest. */
  async remove(): Promise<void> {
    this.isRemoved = true;
    for (const listener of this.floor.all) listener.end('not_found', DELETED);
    await this.close();
    this.shell.drop();
  }

  private newPost(names: RequestNames, { requester, listener }: Partial<Asked>): Post {
    this.checkIsHere();
    const post = new Post(() => this.output.log.last, { ...names, connection: listener?.id });
    if (requester) post.join(requester);
    this.requests.add(post);
    this.asking.add(post);
    const isAnswered = () => this.asking.delete(post);
    post.begun.then(isAnswered, isAnswered).catch(() => undefined);
    return post;
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
    const { requests, output, feed } = this;
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
    const running =
      this.isRunning && messageId === this.shell.machine.current ? this.inProgress(messageId) : null;
    if (running) return { ...running, ...first };
    const message = await output.load(messageId);
    if (message) return { feed, from: output.log.last, ...first, told: unfold(message, parts) };
    // Its process died before anything was said to it: it is said again.
    requests.forget(requestId);
    return null;
  }
}

const NOTHING_HEARD: Heard = { messageId: undefined, playedMs: undefined };

function moved(): ProtocolError {
  return new ProtocolError('moved', MOVED, { retryAfterMs: 1000 });
}

/** A failure to write, as it is told. */
function inWords(error: unknown): unknown {
  return error instanceof StaleFence ? moved() : error;
}
