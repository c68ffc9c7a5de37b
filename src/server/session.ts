import { createHash } from 'node:crypto';
import { type Session as AdkSession, createEvent, type Event } from '@google/adk';
import { danglingCalls, type Outcome, responseEvent, runDeferred } from '../adk/engine.ts';
import {
  type Chunk,
  CONFIRMATION_TOOL,
  type ErrorCode,
  type Message,
  ProtocolError,
  SUPERSEDED,
  type ToolFacts,
} from '../protocol/index.ts';
import { Calls } from './calls.ts';
import type { Engine } from './engine.ts';
import { type admit, storeMessage } from './files.ts';
import { Live } from './live.ts';
import { Output } from './output.ts';
import { reconcile } from './reconcile.ts';
import type { CallRecord, SessionKey } from './store/store.ts';
import { Turns } from './turns.ts';

/** One conversation: what is said, which calls wait, one turn at a time. It knows no socket and no request. */
export class Session {
  readonly key: SessionKey;
  readonly engine: Engine;
  readonly output: Output;
  readonly calls: Calls;
  readonly turns: Turns;
  readonly live: Live;
  /** The connection that holds the session; a later one takes it over. */
  holder: { end(code: ErrorCode, message: string): void } | null = null;
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
    this.touchedAt = engine.clock.now();
    this.output = new Output(engine.store, key, engine.newId().slice(0, 8));
    this.calls = new Calls({
      key,
      store: engine.store,
      clock: engine.clock,
      newId: engine.newId,
      output: this.output,
      sessionService: engine.sessionService,
      adkSession: () => this.adkSession(),
      denials: engine.options.denials,
      clientTimeoutMs: engine.options.clientTimeoutMs,
    });
    this.turns = new Turns(this);
    this.live = new Live(this);
  }

  /** Takes up a stored session. */
  static async load(key: SessionKey, engine: Engine): Promise<Session> {
    const session = new Session(key, engine);
    await session.calls.recover();
    const messages = await reconcile(engine.store, key, await session.adkSession());
    session.isNew = messages.length === 0;
    for (const { id, role, parts } of messages) if (role === 'user') session.said.set(id, fingerprint(parts));
    await session.expireQuietly();
    return session;
  }

  async adkSession(): Promise<AdkSession> {
    const { appName, userId, sessionId } = this.adkKey;
    const session = await this.engine.sessionService.getSession({ appName, userId, sessionId });
    if (!session) throw new ProtocolError('not_found', 'There is no such session.');
    return session;
  }

  get adkKey(): { appName: string; userId: string; sessionId: string } {
    return { appName: this.key.app, userId: this.key.user, sessionId: this.key.id };
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
        {
          retryAfterMs: 2000,
        },
      );
    }
    this.queued++;
    const run = this.tail.then(work).finally(() => {
      this.queued--;
      this.touchedAt = this.engine.clock.now();
    });
    this.tail = run.catch(() => undefined);
    return run;
  }

  newMessage(): Message {
    return { id: `msg_${this.engine.newId()}`, role: 'assistant', parts: [] };
  }

  /** Keeps a message of the person; the first one names the session. */
  async store(id: string, parts: Awaited<ReturnType<typeof admit>>): Promise<void> {
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

  /** Adds to the history something that ADK does not add by itself. */
  async remember(event: Parameters<typeof createEvent>[0]): Promise<void> {
    await this.engine.sessionService.appendEvent({
      session: await this.adkSession(),
      event: createEvent(event),
    });
  }

  /** Writes down which connection speaks, so that tools can tell. */
  async identify(connectionId: string): Promise<void> {
    // One event for all connections, replaced by the next: a client that comes and goes does not lengthen the history.
    const id = 'client_identifier';
    await this.remember({ id, author: 'user', actions: { stateDelta: { [id]: connectionId } } });
  }

  /** The chunks that announce a call. */
  announce(call: { id: string; toolName: string; args: Record<string, unknown> }, facts: ToolFacts): void {
    const toolMetadata = { ...facts };
    this.output.say({ type: 'tool-input-start', toolCallId: call.id, toolName: call.toolName, toolMetadata });
    this.output.say({
      type: 'tool-input-available',
      toolCallId: call.id,
      toolName: call.toolName,
      input: call.args,
      toolMetadata,
    });
  }

  /** The chunks of the confirmation dialect: a call of its own that asks about the original one. */
  announceConfirmation(call: CallRecord): void {
    if (call.approvalId === null) return;
    this.announce(
      {
        id: call.approvalId,
        toolName: CONFIRMATION_TOOL,
        args: {
          originalFunctionCall: { id: call.id, name: call.toolName, args: call.args },
          toolConfirmation: { confirmed: false },
        },
      },
      { runsOn: 'client', asks: false },
    );
  }

  /** The request chunk of a card. */
  approvalRequest(call: CallRecord): Chunk {
    return {
      type: 'tool-approval-request',
      approvalId: call.approvalId ?? '',
      toolCallId: call.id,
      ...(call.expiresAt === null ? {} : { approvalDescriptor: { expiresAt: call.expiresAt } }),
    };
  }

  /** Runs the tool of a call on the server. */
  async run(call: CallRecord, signal: AbortSignal): Promise<Outcome> {
    const { rootAgent, sessionService, runner } = this.engine;
    const outcome = await runDeferred({
      rootAgent,
      sessionService,
      pluginManager: runner.pluginManager,
      session: await this.adkSession(),
      agent: call.agent,
      invocationId: call.invocationId,
      toolName: call.toolName,
      callId: call.id,
      args: call.args,
      approved: call.approvalId !== null,
      signal,
    });
    if (outcome.kind === 'error') return { kind: 'error', errorText: String(outcome.errorText) };
    return outcome.kind === 'output' ? inJson(outcome, call.toolName) : outcome;
  }

  /** Ends every call whose time is up while nobody listens. */
  async expireQuietly(): Promise<void> {
    for (const { call, settlement } of this.calls.overdue()) await this.calls.settleQuietly(call, settlement);
  }

  /** A new message of the person replaces what still waits, and leaves no call unanswered in the history. */
  async supersede(errorText: string = SUPERSEDED): Promise<void> {
    for (const call of this.calls.all) {
      await this.calls.settleQuietly(call, { kind: 'error', errorText });
      this.output.inject({
        type: 'data-settled',
        data: { toolCallId: call.id, messageId: call.messageId, errorText },
        transient: true,
      });
    }
    await this.closeDangling(errorText);
  }

  /** What the agent said, as an event of the history. */
  spokenEvent(text: string, messageId: string): Event {
    return createEvent({
      author: this.engine.rootAgent.name,
      content: { role: 'model', parts: [{ text }] },
      customMetadata: { messageId },
    });
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

  /** Answers, with an error, every call in the history that nothing answers and that does not wait. */
  async closeDangling(errorText: string): Promise<string[]> {
    const session = await this.adkSession();
    const dangling = danglingCalls(session.events).filter(({ id }) => !this.calls.get(id));
    for (const { id, name, event } of dangling) {
      const author = {
        agent: event.author ?? 'model',
        invocationId: event.invocationId,
        branch: event.branch ?? null,
      };
      await this.engine.sessionService.appendEvent({
        session,
        event: responseEvent(author, [{ id, name, response: { error: errorText } }]),
      });
    }
    return dangling.map(({ id }) => id);
  }
}

/** What was said, in a few bytes: a long conversation would otherwise be in memory twice. */
function fingerprint(parts: readonly { type: string; text?: string }[]): string {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '[file]')).join('\n');
  return createHash('sha256').update(text).digest('base64');
}

/** An output as it will be read again; one that has no JSON is a failure of the tool. */
function inJson(outcome: Extract<Outcome, { kind: 'output' }>, toolName: string): Outcome {
  try {
    const text = JSON.stringify(outcome.output) ?? 'null';
    JSON.stringify(outcome.actions);
    return { ...outcome, output: JSON.parse(text) as unknown };
  } catch {
    return { kind: 'error', errorText: `${toolName} ran, but what it gave cannot be written as JSON.` };
  }
}
