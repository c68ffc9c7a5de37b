import type { Blob } from '@google/genai';
import {
  type Answer,
  type ErrorCode,
  type Input as FrameInput,
  type Message,
  ProtocolError,
} from '../../protocol/index.ts';
import { settlesWithin } from '../clock.ts';
import type { Engine } from '../engine.ts';
import { type AdmittedPart, admit } from '../files.ts';
import { History } from '../history.ts';
import { Output } from '../output.ts';
import type { Identity } from '../sign-in.ts';
import type { SessionKey } from '../store/store.ts';
import { Post } from './post.ts';
import { recover, type TakenUp } from './recover.ts';
import { Shell } from './shell.ts';

/** Something that a person typed. */
export type TypedMessage = Extract<FrameInput, { kind: 'message' }>;

/** Sound for the person, as the model gave it. */
export interface Sound {
  data: string;
  sampleRate: number;
}

/** One that listens to a conversation and may speak in it. */
export interface Listener {
  readonly id: string;
  /** The request that opened it, as the log names it. */
  readonly request: string | null;
  /** Is told why it loses the conversation, and goes. */
  end(code: ErrorCode, message: string): void;
  play(sound: Sound): void;
}

/** A message as a client posted it, checked. */
export interface PostedMessage {
  id: string | undefined;
  parts: AdmittedPart[];
  requestId?: string;
}

/** Which message answers are for, and who gives them in which request. */
export interface AnsweredBy {
  messageId: string | undefined;
  by: Identity;
  requestId?: string;
}

/** How long whoever closes a conversation waits for what runs to end. */
const END_MS = 5000;
const DELETED = 'This conversation was deleted.';

/** One conversation, as those see it who speak in it, listen to it or read it. */
export class Conversation {
  readonly key: SessionKey;
  readonly output: Output;
  readonly history: History;
  private readonly engine: Engine;
  private readonly shell: Shell;
  /** Whether it is being removed: nobody joins it, and nothing is asked of it any more. */
  private isRemoved = false;
  /** What was asked for and is neither begun nor refused. */
  private readonly asking = new Set<Post>();
  private listener: Listener | null = null;
  /** The request that is being answered. */
  private request: string | null = null;
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
  }

  /** Takes up a stored session. */
  static async load(key: SessionKey, engine: Engine): Promise<Conversation> {
    const { store, clock, newId } = engine;
    const output = new Output(store, key, newId().slice(0, 8), clock);
    const history = new History(engine.sessionService, key);
    const conversation = new Conversation(await recover({ key, engine, output, history }));
    conversation.shell.push({ type: 'recovered' });
    await conversation.shell.rest();
    return conversation;
  }

  /** Time of the last input or output, for eviction. */
  get touchedAt(): number {
    return this.shell.touchedAt;
  }

  set touchedAt(time: number) {
    this.shell.touchedAt = time;
  }

  /** The messages as they are stored. */
  messages(): Promise<Message[]> {
    return this.engine.store.loadMessages(this.key);
  }

  /** Where a line of the log comes from: the session, and the connection and request that it hears at the moment. */
  get about(): Record<string, unknown> {
    const { listener } = this;
    const request = this.request ?? listener?.request;
    return {
      session: this.key.id,
      ...(listener && { connection: listener.id }),
      ...(request && { request }),
    };
  }

  /** Whether nothing runs and nobody reads. */
  get isIdle(): boolean {
    const { machine, isAtWork } = this.shell;
    const isUsed = machine.isBusy || machine.isBeginning || machine.isRunOpen;
    return !isUsed && !isAtWork && this.output.log.readers === 0;
  }

  /** Whether the agent is at work. */
  get isRunning(): boolean {
    return this.shell.machine.isBusy || this.shell.isAtWork;
  }

  /** The message that is being written, or that waits for an answer. */
  get current(): string | null {
    return this.shell.machine.current;
  }

  /** Takes a typed message: at once, or when the agent is done. Resolves when it was taken, rejects when it is refused. */
  async say(
    message: TypedMessage,
    { again, requestId }: { again: boolean; requestId?: string | undefined },
  ): Promise<void> {
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

  /** Takes answers to open calls, while everything else goes on. */
  async answer(answers: Answer[], by: Identity): Promise<void> {
    await this.admitting;
    const asker = this.newPost();
    this.shell.push({ type: 'answer', answers, by, asker });
    await asker.begun;
  }

  /** Takes a message that was posted. Resolves, when its turn comes, with the place before its response in the log. */
  post({ id, parts, requestId }: PostedMessage): Promise<number> {
    const post = this.newPost(requestId);
    const wire = 'sse' as const;
    // Posts are not sent again by themselves; the name of this one is for the log.
    const said = { kind: 'message' as const, wire, asker: post, id, requestId: undefined, parts };
    this.shell.push({ type: 'say', said, again: true });
    return post.begun;
  }

  /** Takes answers that were posted. */
  postAnswers(answers: Answer[], { messageId, by, requestId }: AnsweredBy): Promise<number> {
    const asker = this.newPost(requestId);
    this.shell.push({
      type: 'post-answers',
      posted: { kind: 'answers', wire: 'sse', asker, answers, messageId, by },
    });
    return asker.begun;
  }

  private newPost(requestId: string | null = null): Post {
    if (this.isRemoved) throw new ProtocolError('not_found', DELETED);
    const post = new Post(() => this.output.log.last, requestId);
    this.asking.add(post);
    const isAnswered = () => this.asking.delete(post);
    post.begun.then(isAnswered, isAnswered).catch(() => undefined);
    return post;
  }

  /** Sound or a picture from the person. */
  hear(blob: Blob): void {
    this.shell.push({ type: 'media', blob });
  }

  /** Stops what the agent does; false when it does nothing. */
  stop(): boolean {
    const wasRunning = this.shell.machine.isBusy;
    this.shell.push({ type: 'interrupt' });
    return wasRunning;
  }

  /** Someone is there; whoever was there before loses the conversation. */
  join(listener: Listener): void {
    if (this.isRemoved) return listener.end('not_found', DELETED);
    const before = this.listener;
    this.listener = listener;
    before?.end('taken_over', 'This conversation is open somewhere else now.');
  }

  /** Someone is gone; false when another one had taken over. */
  leave(listener: Listener): boolean {
    if (this.listener !== listener) return false;
    this.listener = null;
    this.shell.push({ type: 'left' });
    return true;
  }

  /** The one that is there listens from now on: takes up what another run, or another process, left open. */
  takeUp(): void {
    this.shell.push({ type: 'joined' });
  }

  /** Nobody came back: lets go of the run and all that runs for it. */
  abandon(): void {
    if (!this.listener) this.shell.push({ type: 'abandoned' });
  }

  /** Resolves when the agent is not at work and nothing waits. */
  settled(): Promise<void> {
    const { machine } = this.shell;
    return this.shell.rest(() => machine.isBusy || machine.isBeginning);
  }

  /** Stops what runs and waits for it; calls that wait stay open in the store. */
  async close(): Promise<void> {
    const { shell } = this;
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
