import type { Blob } from '@google/genai';
import {
  type Answer,
  type ErrorCode,
  type Input as FrameInput,
  type Message,
  ProtocolError,
} from '../../protocol/index.ts';
import { Approvals } from '../approvals.ts';
import { settlesWithin } from '../clock.ts';
import type { Engine } from '../engine.ts';
import { type AdmittedPart, admit } from '../files.ts';
import { History } from '../history.ts';
import { Output } from '../output.ts';
import type { Identity } from '../sign-in.ts';
import type { SessionKey } from '../store/store.ts';
import { AdkRuns } from './adk-runs.ts';
import type { Asker, Effect } from './effects.ts';
import type { Input } from './inputs.ts';
import { Machine } from './machine.ts';
import { recover } from './recover.ts';
import { ToolSlots } from './tool-slots.ts';
import { Writes } from './writes.ts';

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

/** Something that was asked for, over either wire. */
class Post implements Asker {
  /** Resolves, when its turn comes, with the place in the log before its first chunk; rejects when it is refused. */
  readonly begun: Promise<number>;
  readonly requestId: string | null;
  private readonly place: () => number;
  private from = 0;
  private resolve: (place: number) => void = () => undefined;
  private reject: (error: ProtocolError) => void = () => undefined;

  constructor(place: () => number, requestId: string | null) {
    this.place = place;
    this.requestId = requestId;
    this.begun = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  mark(): void {
    this.from = this.place();
  }

  begin(): void {
    this.resolve(this.from);
  }

  refuse(error: ProtocolError): void {
    this.reject(error);
  }
}

/** How long whoever closes a conversation waits for what runs to end. */
const END_MS = 5000;
const DELETED = 'This conversation was deleted.';

/**
 * One conversation: the machine that decides, and the hands that do what it says. Whatever comes of that is pushed back to
 * the machine. Effects are done in order; one that writes holds back those behind it, and nothing else does.
 */
export class Conversation {
  readonly key: SessionKey;
  readonly output: Output;
  readonly history: History;
  /** Time of the last input or output, for eviction. */
  touchedAt: number;
  private readonly engine: Engine;
  private readonly machine: Machine;
  private readonly writes: Writes;
  private readonly runs: AdkRuns;
  private readonly slots: ToolSlots;
  private readonly queue: Effect[] = [];
  private isPerforming = false;
  private isGone = false;
  /** Whether it is being removed: nobody joins it, and nothing is asked of it any more. */
  private isRemoved = false;
  /** What was asked for and is neither begun nor refused. */
  private readonly asking = new Set<Post>();
  private listener: Listener | null = null;
  /** The request that is being answered. */
  private request: string | null = null;
  private admitting: Promise<unknown> = Promise.resolve();
  private readonly resting = new Set<() => void>();
  private cancelWake: () => void = () => undefined;

  private constructor(key: SessionKey, engine: Engine, parts: Awaited<ReturnType<typeof recover>>) {
    const { store, clock, newId, options } = engine;
    const { output, history, recovered, isNew } = parts;
    this.key = key;
    this.engine = engine;
    this.output = output;
    this.history = history;
    this.touchedAt = clock.elapsed();
    this.machine = new Machine(options, newId, recovered);
    for (const message of recovered.messages) output.adopt(message);
    const push = (input: Input) => this.push(input);
    const log = (level: 'info' | 'warn', text: string, fields: Record<string, unknown>) =>
      engine.logger[level](text, { ...this.about, ...fields });
    this.slots = new ToolSlots({ engine, history, push, log });
    this.runs = new AdkRuns({
      engine,
      history,
      push,
      tools: this.slots.tools,
      openCalls: () => this.machine.open.records,
      room: () => output.room(),
    });
    const approvals = new Approvals(store, key, () => clock.now());
    this.writes = new Writes({ key, engine, output, history, approvals, isNew, log });
  }

  /** Takes up a stored session. */
  static async load(key: SessionKey, engine: Engine): Promise<Conversation> {
    const { store, clock, newId } = engine;
    const output = new Output(store, key, newId().slice(0, 8), clock);
    const history = new History(engine.sessionService, key);
    const conversation = new Conversation(key, engine, await recover({ key, engine, output, history }));
    conversation.push({ type: 'recovered' });
    await conversation.atRest();
    return conversation;
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
    const { machine } = this;
    const isAtWork = machine.isBusy || machine.isBeginning || machine.isRunOpen;
    return !isAtWork && this.queue.length === 0 && this.output.log.readers === 0;
  }

  /** Whether the agent is at work. */
  get isRunning(): boolean {
    return this.machine.isBusy || this.isPerforming;
  }

  /** The message that is being written, or that waits for an answer. */
  get current(): string | null {
    return this.machine.current;
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
    this.push({ type: 'say', said, again });
    await asker.begun;
  }

  /** Takes answers to open calls, while everything else goes on. */
  async answer(answers: Answer[], by: Identity): Promise<void> {
    await this.admitting;
    const asker = this.newPost();
    this.push({ type: 'answer', answers, by, asker });
    await asker.begun;
  }

  /** Takes a message that was posted. Resolves, when its turn comes, with the place before its response in the log. */
  post({ id, parts, requestId }: PostedMessage): Promise<number> {
    const post = this.newPost(requestId);
    const wire = 'sse' as const;
    // Posts are not sent again by themselves; the name of this one is for the log.
    const said = { kind: 'message' as const, wire, asker: post, id, requestId: undefined, parts };
    this.push({ type: 'say', said, again: true });
    return post.begun;
  }

  /** Takes answers that were posted. */
  postAnswers(answers: Answer[], { messageId, by, requestId }: AnsweredBy): Promise<number> {
    const asker = this.newPost(requestId);
    this.push({
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
    this.push({ type: 'media', blob });
  }

  /** Stops what the agent does; false when it does nothing. */
  stop(): boolean {
    const wasRunning = this.machine.isBusy;
    this.push({ type: 'interrupt' });
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
    this.push({ type: 'left' });
    return true;
  }

  /** The one that is there listens from now on: takes up what another run, or another process, left open. */
  takeUp(): void {
    this.push({ type: 'joined' });
  }

  /** Nobody came back: lets go of the run and all that runs for it. */
  abandon(): void {
    if (!this.listener) this.push({ type: 'abandoned' });
  }

  /** Resolves when the agent is not at work and nothing waits. */
  async settled(): Promise<void> {
    while (this.machine.isBusy || this.machine.isBeginning || this.queue.length > 0) {
      await new Promise<void>((resolve) => this.resting.add(resolve));
    }
  }

  /** Stops what runs and waits for it; calls that wait stay open in the store. */
  async close(): Promise<void> {
    this.push({ type: 'shut-down' });
    const stopped = async () => {
      while (this.machine.isResponding || this.isPerforming) {
        await new Promise<void>((resolve) => this.resting.add(resolve));
      }
    };
    await settlesWithin(Promise.all([stopped(), this.runs.ended()]), END_MS, this.engine.clock);
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
    this.isGone = true;
  }

  /** Resolves when everything that was to be done is done. */
  private async atRest(): Promise<void> {
    while (this.queue.length > 0 || this.isPerforming) {
      await new Promise<void>((resolve) => this.resting.add(resolve));
    }
  }

  private push(input: Input): void {
    if (this.isGone) return;
    const { clock } = this.engine;
    this.touchedAt = clock.elapsed();
    try {
      for (const effect of this.machine.push(input, clock.now())) this.queue.push(effect);
    } catch (error) {
      this.failed(`what came of "${input.type}" was not worked out`, error);
    }
    if (!this.isPerforming) this.perform();
  }

  /** Does what is to be done, up to something that has to be waited for. */
  private perform(): void {
    this.isPerforming = true;
    for (let effect = this.queue.shift(); effect !== undefined; effect = this.queue.shift()) {
      const work = this.attempt(effect);
      if (!work) continue;
      this.apart(work.then(() => this.perform()));
      return;
    }
    this.isPerforming = false;
    if (!this.machine.isResponding && !this.machine.isBeginning) this.request = null;
    if (!this.machine.isBusy) this.output.rested();
    if (this.resting.size === 0) return;
    for (const resolve of this.resting) resolve();
    this.resting.clear();
  }

  /** Does one thing; one that fails in an unforeseen way leaves the rest to be done. */
  private attempt(effect: Effect): Promise<void> | undefined {
    try {
      return this.act(effect);
    } catch (error) {
      this.failed(`"${effect.type}" was not done`, error);
      return undefined;
    }
  }

  /** Does one thing. What it gives has to be waited for, and never rejects. */
  private act(effect: Effect): Promise<void> | undefined {
    const { output, runs, slots, engine } = this;
    switch (effect.type) {
      case 'say':
        output.say(effect.chunk);
        return;
      case 'start':
        output.begin(effect.message);
        return;
      case 'inject':
        output.inject(effect.chunk);
        return;
      case 'say-stored':
        return this.note('a card was not kept', output.sayStored(effect.chunk, effect.inStep));
      case 'finish':
        return this.note('a message was not kept', this.finish(effect));
      case 'amend':
        return this.note('a message was not kept', output.amend(effect.messageId, effect.chunks));
      case 'mark-card':
        output.fold(effect.messageId)?.decide(effect.callId, effect.approved, effect.reason);
        return;
      case 'release':
        output.release(effect.messageId);
        return;
      case 'sound':
        this.listener?.play(effect);
        return;
      case 'store':
        return this.store(effect);
      case 'store-apart':
        this.apart(this.store({ ...effect, type: 'store', after: [] }));
        return;
      case 'open-run':
        runs.open(effect.n, effect.request);
        return;
      case 'close-run':
        runs.close(effect.n);
        return;
      case 'send':
        runs.send(effect.n, effect.content);
        return;
      case 'show-media':
        runs.show(effect.n, effect.blob);
        return;
      case 'hush':
        runs.hush(effect.n);
        return;
      case 'let-go':
        runs.letGo(effect.ticket, effect.error);
        return;
      case 'want-slot':
        this.apart(slots.want(effect.call));
        return;
      case 'give-slot-back':
        slots.giveBack(effect.callId);
        return;
      case 'run-tool':
        this.apart(slots.run(effect.call));
        return;
      case 'ask-sign-in':
        this.apart(this.askSignIn(effect));
        return;
      case 'abort-tools':
        slots.abort();
        return;
      case 'mark':
        effect.asker.mark();
        if (effect.asker instanceof Post) this.request = effect.asker.requestId;
        return;
      case 'begun':
        effect.asker.begin();
        return;
      case 'refuse':
        effect.asker.refuse(effect.error);
        return;
      case 'wake':
        this.wake(effect.at);
        return;
      case 'note':
        engine.logger[effect.level](effect.text, { ...this.about, ...effect.fields });
        return;
    }
  }

  private async store({ writes, after, about }: Extract<Effect, { type: 'store' }>): Promise<void> {
    try {
      const results = await this.writes.all(writes);
      this.queue.unshift(...after);
      if (about) this.push({ type: 'stored', about, results });
    } catch (error) {
      this.push({ type: 'store-failed', about, error });
    }
  }

  private finish({ message, chunks }: Extract<Effect, { type: 'finish' }>): Promise<void> {
    return this.output.conclude(message, chunks, () => this.writes.keepImages(message));
  }

  private async askSignIn({ by, question }: Extract<Effect, { type: 'ask-sign-in' }>): Promise<void> {
    const standing = await this.engine.signIn.ask(by);
    this.push({ type: 'signed-in', question, standing });
  }

  private wake(at: number | null): void {
    const { clock } = this.engine;
    this.cancelWake();
    this.cancelWake =
      at === null ? () => undefined : clock.after(at - clock.now(), () => this.push({ type: 'time' }));
  }

  private note(text: string, work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => this.failed(text, error));
  }

  /** Work that nothing waits for: what it gives comes back as an input. */
  private apart(work: Promise<void>): void {
    work.catch((error: unknown) => this.failed('something failed in a conversation', error));
  }

  private failed(text: string, error: unknown): void {
    this.engine.logger.error(text, { ...this.about, error: String(error) });
  }
}
