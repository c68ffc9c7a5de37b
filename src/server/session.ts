import { createHash } from 'node:crypto';
import { type DeferredCall, type RunView, Turn } from '../adk/engine.ts';
import { failedWith, inWords, withoutKeys } from '../models/engine.ts';
import {
  type Answer,
  type Chunk,
  type ErrorCode,
  type Message,
  ProtocolError,
  SUPERSEDED,
} from '../protocol/index.ts';
import { Calls } from './calls.ts';
import { Cards } from './cards.ts';
import { endCutOff } from './cut-off.ts';
import type { Engine } from './engine.ts';
import { type AdmittedPart, externalise, storeMessage } from './files.ts';
import { History } from './history.ts';
import { Live } from './live/live.ts';
import { modelErrorText } from './model-error.ts';
import { Output } from './output.ts';
import { reconcile } from './reconcile.ts';
import type { Identity } from './sign-in.ts';
import type { SessionKey } from './store/store.ts';
import { ToolRuns } from './tool-runs.ts';
import { Turns } from './turns/turns.ts';

/** One conversation: what is said, which calls wait, one turn at a time. It knows no socket and no request. */
export class Session {
  readonly key: SessionKey;
  readonly engine: Engine;
  readonly output: Output;
  readonly calls: Calls;
  readonly cards: Cards;
  readonly runs: ToolRuns;
  readonly history: History;
  readonly turns: Turns;
  readonly live: Live;
  /** The connection that holds the session; a later one takes it over. */
  holder: { id: string; request: string | null; end(code: ErrorCode, message: string): void } | null = null;
  private isNew = false;
  /** A fingerprint of each message of the person, by its id. */
  private readonly said = new Map<string, string>();
  private tail: Promise<unknown> = Promise.resolve();
  private queued = 0;
  /** Time of the last input or output, for eviction. */
  touchedAt: number;

  private constructor(key: SessionKey, engine: Engine) {
    this.key = key;
    this.engine = engine;
    const { store, clock, newId, options } = engine;
    this.touchedAt = clock.elapsed();
    const output = new Output(store, key, newId().slice(0, 8), clock);
    const history = new History(engine.sessionService, key);
    this.output = output;
    this.history = history;
    this.calls = new Calls({
      key,
      store,
      clock,
      newId,
      output,
      history,
      options,
      onRefused: (call, why) => engine.logger.warn('an approval was refused', { ...this.about, call, why }),
    });
    this.cards = new Cards(output, options.confirmations);
    this.runs = new ToolRuns({
      engine,
      history,
      calls: this.calls,
      onRan: (call, tool, outcome) => this.ran(call, tool, outcome),
    });
    this.turns = new Turns(this);
    this.live = new Live(this);
  }

  /** Takes up a stored session. */
  static async load(key: SessionKey, engine: Engine): Promise<Session> {
    const session = new Session(key, engine);
    await session.calls.recover();
    const messages = await reconcile(engine.store, key, await session.history.load());
    await endCutOff(session, messages);
    session.isNew = messages.length === 0;
    for (const { id, role, parts } of messages) if (role === 'user') session.said.set(id, fingerprint(parts));
    await session.expireQuietly();
    return session;
  }

  /** Whether a turn runs or waits to. */
  get isBusy(): boolean {
    return this.queued > 0;
  }

  /** Whether nothing runs and nobody reads. */
  get isIdle(): boolean {
    return !this.isBusy && !this.live.isRunning && !this.live.isBusy && this.output.log.readers === 0;
  }

  /** Whether the agent is at work, in either mode. */
  get isRunning(): boolean {
    return this.turns.current !== null || this.live.isBusy;
  }

  /** Stops what the agent does, in either mode; false when it does nothing and nothing waits. */
  async stop(): Promise<boolean> {
    if (this.turns.stop()) {
      // A turn that waits for a live one to end would wait for ever for one that is stuck.
      if (this.live.isBusy) await this.live.interrupt();
      return true;
    }
    const wasRunning = this.live.isBusy;
    await this.live.interrupt();
    return wasRunning;
  }

  /** The message that is being written, or that waits for an answer. */
  get current(): string | null {
    return this.turns.current ?? this.live.current;
  }

  /** Runs one thing at a time, in the order asked for. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    if (this.queued > this.engine.options.maxQueued) {
      throw new ProtocolError(
        'busy',
        'This conversation has too many messages waiting. Try again in a moment.',
        { retryAfterMs: 2000 },
      );
    }
    this.queued++;
    const run = this.tail.then(work).finally(() => {
      this.queued--;
      this.touchedAt = this.engine.clock.elapsed();
    });
    this.tail = run.catch(() => undefined);
    return run;
  }

  /** Where a line of the log comes from: the session, and the connection and request that it hears at the moment. */
  get about(): Record<string, unknown> {
    const { holder, turns } = this;
    const request = turns.request ?? holder?.request;
    return { session: this.key.id, ...(holder && { connection: holder.id }), ...(request && { request }) };
  }

  /** Writes down that a tool ran on the server. */
  ran(call: string, tool: string, outcome: string): void {
    this.engine.logger.info('a tool ran', { ...this.about, call, tool, outcome });
  }

  newMessage(): Message {
    return { id: `msg_${this.engine.newId()}`, role: 'assistant', parts: [] };
  }

  /** Keeps a message of the person; the first one names the session. */
  async store(id: string, parts: AdmittedPart[]): Promise<void> {
    const { store, newId, clock } = this.engine;
    await store.putMessage(this.key, await storeMessage(id, parts, store, this.key, newId, clock.now()));
    this.said.set(id, fingerprint(parts));
    if (!this.isNew) return;
    this.isNew = false;
    const text = parts
      .find((part) => part.type === 'text')
      ?.text.trim()
      .replace(/\s+/g, ' ');
    if (text) await store.renameSession(this.key, text.length > 60 ? `${text.slice(0, 59)}…` : text);
  }

  /** Whether the person said just that already, in a message with that id. */
  hasSaid(id: string, parts: readonly { type: string; text?: string }[]): boolean {
    return this.said.get(id) === fingerprint(parts);
  }

  /** Takes back everything from a message on, if it was said before: regenerate, edit, or the same message sent again. */
  async rewindTo(messageId: string, prepare?: () => Promise<void>): Promise<void> {
    const { store } = this.engine;
    this.output.dropDraft();
    if (prepare && this.said.has(messageId)) {
      // First, while they are still there: whatever ends in messages that are taken back is written to them.
      const messages = await store.loadMessages(this.key);
      if (messages.some(({ id }) => id === messageId)) await prepare();
    }
    if (await store.truncateMessages(this.key, messageId)) await this.history.rewindTo(messageId);
  }

  /** A machine for the chunks of a message, new or continued. */
  newTurn(message: Message): Turn {
    return new Turn({
      images: this.engine.options.images,
      usage: message.metadata?.usage ?? null,
      firstId: message.parts.length,
    });
  }

  /** Moves the images of a message to where they are stored. */
  keepImages(message: Message): Promise<void> {
    return externalise(message, this.engine.store, this.key, this.engine.newId);
  }

  /** Lets calls that a run of the agent makes reach the session, until `engine.plugin.end`. */
  beginRun(run: { live: boolean; defer: (call: DeferredCall) => Promise<void> }): RunView {
    const { appName, userId, sessionId: id } = this.history.key;
    const { tools } = this.runs;
    return this.engine.plugin.begin(
      { appName, userId, id },
      { ...run, tools, openCalls: () => this.calls.all },
    );
  }

  /** Whether whoever answers may decide: they are still signed in. Throws when that cannot be found out now. */
  async mayDecide(answers: readonly Answer[], by: Identity): Promise<boolean> {
    if (!this.calls.areDecided(answers)) return true;
    const standing = await this.engine.signIn.ask(by);
    if (standing !== 'unknown') return standing === 'signed-in';
    throw new ProtocolError(
      'internal',
      'It could not be found out whether you are still signed in. Please decide again in a moment.',
      { retryAfterMs: 2000 },
    );
  }

  /** Writes down that the agent failed; gives what the person is told. */
  agentFailed(code: string, message: string): string {
    const words = withoutKeys(inWords(message));
    this.engine.logger.error('the agent failed', { ...this.about, code, message: words });
    return modelErrorText(code, words);
  }

  /** The same for what the agent, or a model on the way to it, threw. */
  agentThrew(error: unknown): string {
    const { code, message } = failedWith(error);
    return this.agentFailed(code, message);
  }

  /** Ends every call whose time is up while nobody listens; gives the chunks that would tell, by message. */
  async expireQuietly(): Promise<{ messageId: string; chunks: Chunk[] }[]> {
    const late: { messageId: string; chunks: Chunk[] }[] = [];
    for (const { call, settlement } of this.calls.overdue()) {
      const chunks = await this.calls.settleQuietly(call, settlement);
      late.push({ messageId: call.messageId, chunks });
    }
    return late;
  }

  /** A new message of the person replaces what still waits, and leaves no call unanswered in the history. */
  async supersede(errorText: string = SUPERSEDED): Promise<void> {
    for (const call of this.calls.all) {
      const chunks = await this.calls.settleQuietly(call, { kind: 'error', errorText });
      this.tellSettled(call.messageId, chunks);
    }
    await this.closeDangling(errorText);
  }

  /** Tells what ended in an earlier message. */
  tellSettled(messageId: string, chunks: readonly Chunk[]): void {
    for (const chunk of chunks) {
      if (chunk.type !== 'tool-output-error') continue;
      const { toolCallId, errorText } = chunk;
      const data = { toolCallId, messageId, errorText };
      this.output.inject({ type: 'data-settled', data, transient: true });
    }
  }

  /** Resolves when the agent is not at work. */
  async settled(): Promise<void> {
    await this.tail;
    await this.live.settled();
  }

  /** Stops what runs and waits for it; calls that wait stay open in the store. */
  async close(): Promise<void> {
    this.turns.stop();
    await this.live.close();
    await this.tail;
  }

  /** Answers, with an error, every call in the history that nothing answers and that does not wait; gives their ids. */
  closeDangling(errorText: string): Promise<string[]> {
    return this.history.closeDangling(errorText, this.calls);
  }
}

/** What was said, in a few bytes: a long conversation would otherwise be in memory twice. */
function fingerprint(parts: readonly { type: string; text?: string }[]): string {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '[file]')).join('\n');
  return createHash('sha256').update(text).digest('base64');
}
