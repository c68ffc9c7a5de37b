import { LiveRequestQueue, type RunConfig } from '@google/adk';
import type { Blob } from '@google/genai';
import {
  type DeferredCall,
  type RunView,
  responseEvent,
  rewindEvent,
  Turn,
  type TurnOutput,
  toContent,
} from '../adk/engine.ts';
import {
  type Answer,
  type Chunk,
  type ErrorCode,
  INTERRUPTED,
  type Input,
  type Message,
  ProtocolError,
  toProtocolError,
} from '../protocol/index.ts';
import { type Settlement, type Step, settlementOf } from './calls.ts';
import { admit, externalise } from './files.ts';
import { modelErrorText } from './model-error.ts';
import type { Session } from './session.ts';
import type { CallRecord } from './store/store.ts';

/** Sound for the person, as the model gave it. */
export interface Sound {
  data: string;
  sampleRate: number;
}

/** A message that the agent writes live. */
interface LiveMessage {
  message: Message;
  turn: Turn;
  failure: string | null;
}

/** A typed message that waits for the agent to finish. */
interface Waiting {
  input: Extract<Input, { kind: 'message' }>;
}

/** One opening of the agent's live run. */
interface LiveRun {
  queue: LiveRequestQueue;
  view: RunView;
  ended: Promise<void>;
}

const MAX_WAITING = 16;
/** Requests that are remembered, in case they are sent again. */
const MAX_REQUESTS = 256;
/** Inputs that may wait for the one before them to be taken. */
const MAX_PENDING = 64;
/** How long a run that is told to end may take; a model's connection that hangs is left behind. */
const END_MS = 5000;
/** So many events in one go, then everyone else gets a turn. */
const EVENTS_IN_A_ROW = 200;

/**
 * A session spoken live: everything goes in and out at once. The agent's run never waits for a call: calls are taken out
 * of it, and their answers are fed back in when they come.
 */
export class Live {
  private readonly session: Session;
  private readonly waiting: Waiting[] = [];
  private readonly requests = new Set<string>();
  private readonly cards: CallRecord[] = [];
  private readonly messages = new Map<string, LiveMessage>();
  private open: LiveRun | null = null;
  private opening: Promise<void> | null = null;
  /** The message the agent writes now; null between turns. */
  private speaking: LiveMessage | null = null;
  /** The message the agent said or called something in last: what came before it, the conversation has left behind. */
  private lastToSpeak: string | null = null;
  /** Messages the agent will go on with after this one. */
  private next: LiveMessage[] = [];
  /** The model is at work on `speaking`. */
  private generating = false;
  /** What still comes of an interrupted turn is dropped, up to its end. */
  private muted = false;
  private heard = '';
  /** Arguments of calls that the run announced and nobody took out of it yet. */
  private readonly called = new Map<string, Record<string, unknown>>();
  private inputs: Promise<unknown> = Promise.resolve();
  private pending = 0;
  private stopping = new AbortController();
  /** How often the agent was interrupted: who waited for something meanwhile finds out. */
  private interruptions = 0;
  /** Nobody came back: what still ends is written down, but the agent is not asked to go on. */
  private isAbandoned = false;
  private isClosed = false;
  private cancelTimer: (() => void) | null = null;
  private readonly resting = new Set<() => void>();
  /** Gets the sound; set by the connection that holds the session. */
  onSound: ((sound: Sound) => void) | null = null;

  constructor(session: Session) {
    this.session = session;
  }

  /** Whether the agent's run is open. */
  get isRunning(): boolean {
    return this.open !== null || this.opening !== null;
  }

  /** Whether the agent is at work, as opposed to waiting for the person or the browser. */
  get isBusy(): boolean {
    return (
      this.generating ||
      this.session.calls.all.some((call) => call.status === 'running' && call.runsOn === 'server')
    );
  }

  /** The message that is being written or that waits for an answer. */
  get current(): string | null {
    return this.speaking?.message.id ?? this.session.calls.all[0]?.messageId ?? null;
  }

  /** Takes a typed message: at once, or when the agent is done. */
  async say(
    input: Extract<Input, { kind: 'message' }>,
    options: { again: boolean; requestId?: string | undefined },
  ): Promise<void> {
    const { again, requestId } = options;
    this.checkRoom();
    if (requestId !== undefined && this.requests.has(requestId)) return;
    // A client that lost its connection cannot know whether its message arrived, and sends it again.
    if (!again && this.hasHeard(input) && !(await this.isUnanswered(input))) return;
    if (this.isBusy && this.session.engine.options.whenBusy === 'interrupt') await this.interrupt();
    this.checkRoom();
    const { engine, key } = this.session;
    const waiting = { input };
    this.waiting.push(waiting);
    if (requestId !== undefined) this.remember(requestId);
    try {
      // Bad files are refused now, not when their turn comes.
      await admit(input.parts, engine.store, key, engine.options.files);
    } catch (error) {
      const index = this.waiting.indexOf(waiting);
      if (index !== -1) this.waiting.splice(index, 1);
      if (requestId !== undefined) this.requests.delete(requestId);
      throw error;
    }
    await this.inOrder(() => this.drain());
  }

  /** Takes answers to open calls, while everything else goes on. */
  async answer(answers: Answer[]): Promise<void> {
    this.checkRoom();
    return this.inOrder(async () => {
      await this.expire();
      const { steps, refused } = await this.session.calls.answer(answers);
      for (const why of refused) this.tell('answer_refused', `The answer was refused: ${why}.`);
      if (steps.length === 0 && refused.length === 0) {
        this.tell('nothing_to_answer', 'The answer belongs to no call that is open.');
      }
      for (const step of steps) await this.take(step);
    });
  }

  /** Sound or a picture from the person. What comes while the session is busy otherwise is too late to be heard. */
  async hear(blob: Blob): Promise<void> {
    if (this.session.isBusy) return;
    if (!this.open) await this.inOrder(() => this.ready());
    this.open?.queue.sendRealtime(blob);
  }

  /** Ends what the agent says and what waits. The next message finds everything in order. */
  interrupt(): Promise<void> {
    return this.inOrder(async () => {
      const { session } = this;
      const open = session.calls.all;
      const target = this.speaking;
      const wasAtWork = this.generating || open.length > 0;
      if (!wasAtWork && !target) return;
      this.interruptions++;
      this.stopping.abort();
      this.stopping = new AbortController();
      this.cards.length = 0;
      if (
        this.open &&
        (this.generating || (target && open.some((call) => call.messageId === target.message.id)))
      ) {
        this.muted = true;
        this.open.queue.sendActivityStart();
      }
      const touched = new Set(target ? [target, ...this.next] : this.next);
      for (const call of open) {
        const owner = await this.messageOf(call.messageId);
        touched.add(owner);
        await this.finishCall(call, { kind: 'error', errorText: INTERRUPTED, interrupted: true });
      }
      this.generating = false;
      this.next = [];
      for (const message of touched) await this.finish(message, true);
      // What was typed before is still to be answered.
      this.detach(this.inOrder(() => this.drain()));
    });
  }

  /** Resolves when the agent is not at work. */
  async settled(): Promise<void> {
    while (this.isBusy) {
      await new Promise<void>((resolve) => {
        this.resting.add(resolve);
      });
    }
  }

  /**
   * Lets something else have the session, once the agent is at rest: its run ends, and whatever comes in waits until the
   * work is done.
   */
  async yieldTo<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      await this.settled();
      const done = await this.inOrder(async () => {
        if (this.isBusy) return null;
        await this.end();
        return { value: await work() };
      });
      if (!done) continue;
      if (this.session.holder) this.arm();
      this.detach(this.inOrder(() => this.drain()));
      return done.value;
    }
  }

  /** Closes the agent's run; what waits stays open in the store, and a later input opens a new run. */
  async end(): Promise<void> {
    this.cancelTimer?.();
    this.cancelTimer = null;
    const { open } = this;
    if (!open) return;
    open.queue.close();
    const { clock, logger } = this.session.engine;
    let cancel: () => void = () => undefined;
    const late = new Promise<'late'>((resolve) => {
      cancel = clock.after(END_MS, () => resolve('late'));
    });
    const how = await Promise.race([open.ended, late]);
    cancel();
    if (how !== 'late') return;
    logger.error('the live run does not end', { session: this.session.key.id });
    await this.over(open);
  }

  /** Nobody came back: lets go of the run and all that runs for it. */
  async abandon(): Promise<void> {
    this.isAbandoned = true;
    await this.end();
  }

  /** Ends everything, for good: tools are told to stop, and what they still give is of no interest. */
  async close(): Promise<void> {
    this.isAbandoned = true;
    this.isClosed = true;
    this.waiting.length = 0;
    this.stopping.abort();
    await this.end();
  }

  /** Ends every call whose time is up. */
  async expire(): Promise<void> {
    for (const { call, settlement } of this.session.calls.overdue()) {
      const wasOnScreen = this.session.calls.isShown(call) || call.approvalId === null;
      if (wasOnScreen) await this.finishCall(call, settlement);
    }
    this.arm();
  }

  /** Someone is there: takes up what another run, or another process, left open. */
  takeUp(): void {
    const { calls } = this.session;
    this.isAbandoned = false;
    for (const call of calls.all) {
      if (
        call.status === 'requested' &&
        !calls.isShown(call) &&
        !this.cards.some(({ id }) => id === call.id)
      ) {
        this.cards.push(call);
      }
    }
    this.arm();
    this.detach(
      this.inOrder(async () => {
        // Decided, and then its process died before anything came of it.
        for (const call of calls.all.filter(({ status }) => status === 'approved')) {
          await this.take({ call, next: call.runsOn === 'server' ? 'run' : 'await-client' });
        }
        await this.showNext();
      }),
    );
  }

  private hasHeard({ id, parts }: Extract<Input, { kind: 'message' }>): boolean {
    if (id === undefined) return false;
    return this.session.hasSaid(id, parts) || this.waiting.some(({ input }) => input.id === id);
  }

  /** Whether a message was stored and its process died before the agent said anything to it. */
  private isUnanswered({ id }: Extract<Input, { kind: 'message' }>): Promise<boolean> {
    return this.inOrder(async () => {
      if (this.speaking || this.isBusy || this.waiting.some(({ input }) => input.id === id)) return false;
      const { engine, key } = this.session;
      return (await engine.store.loadMessages(key)).at(-1)?.id === id;
    });
  }

  private remember(requestId: string): void {
    this.requests.add(requestId);
    const [oldest] = this.requests;
    if (this.requests.size > MAX_REQUESTS && oldest !== undefined) this.requests.delete(oldest);
  }

  private checkRoom(): void {
    if (this.waiting.length < MAX_WAITING && this.pending < MAX_PENDING) return;
    throw new ProtocolError('busy', 'Too many messages are waiting. Try again in a moment.', {
      retryAfterMs: 2000,
    });
  }

  private inOrder<T>(work: () => Promise<T>): Promise<T> {
    this.pending++;
    const run = this.inputs.then(work).finally(() => {
      this.pending--;
      this.rest();
    });
    this.inputs = run.catch(() => undefined);
    return run;
  }

  /** Work that nobody waits for: when it fails, the log says so. */
  private detach(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      const { engine, key } = this.session;
      engine.logger.error('something failed in a live session', { session: key.id, error: String(error) });
    });
  }

  private rest(): void {
    if (this.isBusy) return;
    for (const resolve of this.resting) resolve();
    this.resting.clear();
  }

  /** Begins the turn of the next typed message, if the agent is free for it. */
  private async drain(): Promise<void> {
    if (this.isBusy || this.isAbandoned) return;
    const waiting = this.waiting.shift();
    if (!waiting) return;
    const { session } = this;
    const { engine, key } = session;
    try {
      const parts = await admit(waiting.input.parts, engine.store, key, engine.options.files);
      const { id = `msg_${engine.newId()}` } = waiting.input;
      await this.rewindTo(id);
      await session.store(id, parts);
      await this.ready();
      const content = toContent(parts);
      await session.remember({ author: 'user', content, customMetadata: { messageId: id } });
      // The agent may have begun to speak by itself meanwhile, or not have gone on as was expected.
      const { speaking } = this;
      if (speaking && (this.generating || !this.hasOpenCalls(speaking)))
        await this.finish(speaking, this.generating);
      this.begin(session.newMessage());
      this.generating = true;
      this.open?.queue.sendContent(content);
    } catch (thrown) {
      const error = toProtocolError(thrown);
      if (error.code === 'internal')
        engine.logger.error('a message failed', { session: key.id, error: String(thrown) });
      this.tell(error.code, error.message);
    }
  }

  private async rewindTo(messageId: string): Promise<void> {
    const { session } = this;
    if (!(await session.engine.store.truncateMessages(session.key, messageId))) return;
    // The open run remembers what is being taken back: a new one starts from the history.
    await this.end();
    await session.supersede();
    const adkSession = await session.adkSession();
    const event = adkSession.events.find((candidate) => candidate.customMetadata?.messageId === messageId);
    if (event)
      await session.engine.sessionService.appendEvent({ session: adkSession, event: rewindEvent(event.id) });
  }

  /** Opens the agent's run if there is none. */
  private ready(): Promise<void> {
    if (this.opening) return this.opening;
    if (this.open) return Promise.resolve();
    this.opening = this.begun().finally(() => {
      this.opening = null;
    });
    return this.opening;
  }

  private async begun(): Promise<void> {
    const { session } = this;
    await session.closeDangling('The call was not completed');
    const { runner, plugin, options } = session.engine;
    const { appName, userId, sessionId } = session.adkKey;
    const queue = new LiveRequestQueue();
    this.muted = false;
    const view = plugin.begin(
      { appName, userId, id: sessionId },
      { live: true, defer: (call) => this.defer(call), openCalls: () => session.calls.all },
    );
    const events = runner.runLive({
      userId,
      sessionId,
      liveRequestQueue: queue,
      runConfig: options.live as RunConfig,
    });
    const run: LiveRun = { queue, view, ended: Promise.resolve() };
    this.open = run;
    run.ended = this.read(run, events).then(() => this.over(run));
    // What is stored before ADK has read the session would reach the model twice.
    await Promise.race([view.begun, run.ended]);
  }

  /** Never rejects. */
  private async read(run: LiveRun, events: AsyncIterable<Parameters<Turn['push']>[0]>): Promise<void> {
    const { session } = this;
    let count = 0;
    try {
      for await (const event of events) {
        if (this.open !== run) return;
        // The user's words are in the history already, and an event without a message has nothing to show.
        for (const out of this.turnFor(event).push(event)) {
          // Outputs of one event stay together, as far as they can.
          const work = this.handle(run, out);
          if (work) await work;
        }
        if (++count % EVENTS_IN_A_ROW === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      session.engine.logger.error('the live run failed', { session: session.key.id, error: message });
      if (this.open === run && this.speaking)
        this.speaking.failure = modelErrorText('UNKNOWN_ERROR', message);
    }
  }

  /** A run is over: what it was saying ends with it. */
  private async over(run: LiveRun): Promise<void> {
    const { session, speaking } = this;
    session.engine.plugin.end(run.view);
    run.queue.close();
    if (this.open !== run) return;
    const cut = this.generating && speaking ? [speaking, ...this.next] : this.next;
    this.open = null;
    this.generating = false;
    this.speaking = null;
    this.next = [];
    this.called.clear();
    this.messages.clear();
    this.lastToSpeak = null;
    for (const message of cut) {
      // The agent did not fail, it was cut off: a message without a word in it never was, and can be asked for again.
      if (this.isClosed && message.message.parts.length === 0) continue;
      if (message === speaking) message.failure ??= modelErrorText('UNKNOWN_ERROR', '');
      await this.finish(message).catch((error: unknown) =>
        session.engine.logger.error('a message was not kept', {
          session: session.key.id,
          error: String(error),
        }),
      );
    }
    this.rest();
    if (this.waiting.length > 0) this.detach(this.inOrder(() => this.drain()));
  }

  private silent = new Turn();

  private turnFor(event: Parameters<Turn['push']>[0]): Turn {
    // What still comes of an interrupted turn is not the next message's.
    if (this.muted) return this.silent;
    if (this.speaking) return this.speaking.turn;
    const says = event.content?.parts?.length && event.author !== 'user';
    if (!says && !event.outputTranscription?.text) return this.silent;
    // The agent speaks first, or goes on by itself.
    this.generating = true;
    return this.begin(this.session.newMessage()).turn;
  }

  private handle({ view }: LiveRun, out: TurnOutput): Promise<void> | undefined {
    const { session, speaking } = this;
    if (out.type === 'turn-complete') {
      if (!this.muted && !out.isIdle) return this.completed(out.goesOn);
      this.muted = false;
      this.silent = new Turn();
      return undefined;
    }
    if (out.type === 'heard') return this.listen(out.text, out.finished);
    if (this.muted || !speaking) return undefined;
    switch (out.type) {
      case 'call':
        this.lastToSpeak = speaking.message.id;
        this.called.set(out.id, out.args);
        return undefined;
      case 'response': {
        // Only callbacks of the application, ADK's own tools and calls of unknown tools are answered inside the run.
        const { id: toolCallId, name: toolName, response } = out;
        this.turnTo(speaking.message);
        if (!session.output.fold(speaking.message.id)?.knows(toolCallId)) {
          const args = this.called.get(toolCallId) ?? {};
          session.announce({ id: toolCallId, toolName, args }, { runsOn: 'server', asks: false });
        }
        this.called.delete(toolCallId);
        session.output.say(
          view.failed(toolCallId) && typeof response.error === 'string'
            ? { type: 'tool-output-error', toolCallId, errorText: response.error }
            : {
                type: 'tool-output-available',
                toolCallId,
                output: view.outputOf(toolCallId, response),
              },
        );
        return undefined;
      }
      case 'audio':
        this.onSound?.({ data: out.data, sampleRate: out.sampleRate });
        return undefined;
      case 'failed':
        session.engine.logger.error('the agent failed', {
          session: session.key.id,
          code: out.code,
          message: out.message,
        });
        speaking.failure = modelErrorText(out.code, out.message);
        return undefined;
      case 'interrupted':
        return this.interruptedByModel(speaking, out.cancelled);
      default:
        this.generating = true;
        this.lastToSpeak = speaking.message.id;
        this.turnTo(speaking.message);
        session.output.say(out);
        return undefined;
    }
  }

  /** The model stopped by itself, because the person spoke; or it wants no more of some calls. */
  private async interruptedByModel(speaking: LiveMessage, cancelled: string[]): Promise<void> {
    if (cancelled.length === 0) return this.finish(speaking, true);
    for (const id of cancelled) {
      const call = this.session.calls.get(id);
      if (call) await this.finishCall(call, { kind: 'error', errorText: INTERRUPTED, interrupted: true });
    }
  }

  /** The person's speech: shown as it is understood, and kept as their message when it is. */
  private async listen(text: string, finished: boolean): Promise<void> {
    const { session } = this;
    this.heard = finished ? text : this.heard + text;
    session.output.inject({
      type: 'data-transcript',
      data: { role: 'user', text: this.heard, finished },
      transient: true,
    });
    if (!finished) return;
    this.heard = '';
    await session.store(`msg_${session.engine.newId()}`, [{ type: 'text', text }]);
  }

  /** The model has nothing more to say for now, or goes on at once about calls of other messages. */
  private async completed(goesOn: boolean | undefined): Promise<void> {
    this.generating = false;
    if (this.speaking) await this.finish(this.speaking);
    // Several results may have been told to the model at once: it speaks once for all of them.
    const others = this.next.splice(goesOn === false ? 0 : 1);
    for (const message of others) await this.finish(message);
    // Another result may have come meanwhile.
    if (this.generating) return;
    const next = this.next.shift();
    if (next) {
      this.speak(next);
      this.generating = goesOn === true;
    }
    if (!this.generating) this.detach(this.inOrder(() => this.drain()));
  }

  /** Says how a message ended; one whose calls still wait is only set aside. */
  private async finish(target: LiveMessage, interrupted = false): Promise<void> {
    const { session } = this;
    const { message, turn } = target;
    const waits = this.hasOpenCalls(target);
    const failure = target.failure === null ? [] : [{ type: 'error' as const, errorText: target.failure }];
    const reason = interrupted ? 'other' : failure.length > 0 ? 'error' : waits ? 'tool-calls' : undefined;
    target.failure = null;
    this.turnTo(message);
    for (const chunk of turn.close()) session.output.say(chunk);
    const end = turn.end(reason, interrupted ? { interrupted: true } : {});
    if (this.speaking === target) this.speaking = null;
    await session.output.conclude(message, [...failure, ...end], {
      prepare: () => externalise(message, session.engine.store, session.key, session.engine.newId),
      turnTo: () => this.turnTo(message),
    });
    this.rest();
    // Meanwhile the model may have been given something to go on with.
    if (this.hasOpenCalls(target) || this.speaking === target || this.next.includes(target)) return;
    this.messages.delete(message.id);
    session.output.release(message.id);
  }

  private speak(live: LiveMessage): void {
    this.messages.set(live.message.id, live);
    this.speaking = live;
  }

  private hasOpenCalls({ message }: LiveMessage): boolean {
    return this.session.calls.all.some((call) => call.messageId === message.id);
  }

  private begin(message: Message): LiveMessage {
    const live: LiveMessage = { message, turn: this.newTurn(message), failure: null };
    message.metadata ??= { createdAt: this.session.engine.clock.now() };
    this.speak(live);
    this.lastToSpeak = message.id;
    this.turnTo(message);
    return live;
  }

  private newTurn(message: Message): Turn {
    return new Turn({
      images: this.session.engine.options.images,
      usage: message.metadata?.usage ?? null,
      firstId: message.parts.length,
    });
  }

  /** The message a call belongs to, from memory or from the store. */
  private async messageOf(messageId: string): Promise<LiveMessage> {
    const known = this.messages.get(messageId);
    if (known) return known;
    const message = (await this.session.output.load(messageId)) ?? {
      ...this.session.newMessage(),
      id: messageId,
    };
    const live: LiveMessage = { message, turn: this.newTurn(message), failure: null };
    this.messages.set(messageId, live);
    return live;
  }

  /** A call that ADK made: taken out of its loop at once. */
  private async defer(call: DeferredCall): Promise<void> {
    const { session, speaking } = this;
    this.called.delete(call.id);
    if (!speaking || this.muted) return this.turnDown(call);
    const { interruptions } = this;
    const record = await session.calls.issue(call, speaking.message.id);
    if (this.interruptions !== interruptions) {
      // Interrupted while it was written down: nobody has heard of it.
      const response = await session.calls.settle(record, {
        kind: 'error',
        errorText: INTERRUPTED,
        interrupted: true,
      });
      if (response) this.tellModel(record, response);
      return;
    }
    this.turnTo(speaking.message);
    for (const chunk of speaking.turn.close()) session.output.say(chunk);
    if (call.asks) {
      this.cards.push(record);
      this.generating = false;
      await this.showNext();
      return;
    }
    if (call.runsOn === 'client') this.generating = false;
    session.announce(record, { runsOn: call.runsOn, asks: false });
    await session.output.save(speaking.message.id);
    if (call.runsOn === 'server') this.detach(this.run(record));
    else {
      this.arm();
      this.detach(this.inOrder(() => this.drain()));
    }
  }

  /** A call of a turn that was interrupted: nobody hears of it, but it does not stay open either. */
  private async turnDown(call: DeferredCall): Promise<void> {
    const { id, toolName: name, agent, invocationId, branch } = call;
    const response = { error: INTERRUPTED, interrupted: true };
    const event = responseEvent({ agent, invocationId, branch: branch ?? null }, [{ id, name, response }]);
    await this.session.engine.sessionService.appendEvent({ session: await this.session.adkSession(), event });
    this.tellModel({ id, toolName: name }, response);
  }

  private tellModel(
    { id, toolName: name }: { id: string; toolName: string },
    response: Record<string, unknown>,
  ): void {
    this.open?.queue.sendContent({ role: 'user', parts: [{ functionResponse: { id, name, response } }] });
  }

  /** Shows the next card, or all of them. */
  private async showNext(): Promise<void> {
    const { session } = this;
    const { approvals, approvalTimeoutMs, confirmations } = session.engine.options;
    while (this.cards.length > 0) {
      const busy = session.calls.all.some((call) => call.approvalId !== null && session.calls.isShown(call));
      if (approvals === 'sequential' && busy) break;
      const record = this.cards.shift();
      if (!record || session.calls.get(record.id)?.status !== 'requested' || session.calls.isShown(record))
        continue;
      const timeout = approvalTimeoutMs.bidi;
      const call = await session.calls.show(
        record,
        timeout === null ? null : session.engine.clock.now() + timeout,
      );
      const { message, turn } = await this.messageOf(call.messageId);
      // Settled while its time was written down.
      if (!session.calls.get(call.id)) continue;
      this.turnTo(message);
      for (const chunk of turn.close()) session.output.say(chunk);
      if (confirmations === 'tool') session.announceConfirmation(call);
      else {
        session.announce(call, { runsOn: call.runsOn, asks: true });
        session.output.inject({ type: 'start-step' });
        session.output.say(session.approvalRequest(call));
        session.output.inject({ type: 'finish-step' });
      }
      await session.output.save(message.id);
    }
    this.arm();
    this.detach(this.inOrder(() => this.drain()));
  }

  /** Does what an answer allows. */
  private async take(step: Step): Promise<void> {
    const { session } = this;
    const call = step.call.status === 'approved' ? await session.calls.consume(step.call) : step.call;
    if (!call) return;
    await this.confirm(call, call.status !== 'denied');
    if (step.next === 'settle') await this.finishCall(call, step.settlement);
    else if (step.next === 'run') this.detach(this.run(call));
    else {
      await session.output.save(call.messageId);
      this.arm();
    }
  }

  /** In the confirmation dialect the answer closes the confirmation, and the original call is announced. */
  private async confirm(call: CallRecord, confirmed: boolean): Promise<void> {
    const { session } = this;
    if (session.engine.options.confirmations !== 'tool' || call.approvalId === null) return;
    const { message } = await this.messageOf(call.messageId);
    this.turnTo(message);
    if (session.output.fold(message.id)?.knows(call.id)) return;
    session.output.say({ type: 'tool-output-available', toolCallId: call.approvalId, output: { confirmed } });
    session.announce(call, { runsOn: call.runsOn, asks: true });
  }

  /** Runs a tool beside the agent. */
  private async run(call: CallRecord): Promise<void> {
    const { signal } = this.stopping;
    const settlement = await this.outcomeOf(call, signal);
    await this.inOrder(async () => {
      try {
        await this.finishCall(call, settlement);
      } catch (error) {
        const { engine, key, calls } = this.session;
        if (!calls.get(call.id)) throw error;
        engine.logger.error('a result was not kept', {
          session: key.id,
          call: call.id,
          error: String(error),
        });
        await this.finishCall(call, {
          kind: 'error',
          errorText: 'The result of the tool could not be kept.',
        });
      }
    });
  }

  private async outcomeOf(call: CallRecord, signal: AbortSignal): Promise<Settlement> {
    const outcome = await this.session.run(call, signal);
    if (outcome.kind !== 'asks') return settlementOf(outcome);
    return {
      kind: 'error',
      errorText: `${call.toolName} asks for a confirmation while it runs, which it can only do over SSE.`,
    };
  }

  /** Ends a call: the history first, then the person, then the model. */
  private async finishCall(call: CallRecord, settlement: Settlement): Promise<void> {
    const { session } = this;
    const interrupted = settlement.kind === 'error' && settlement.interrupted === true;
    if (!session.calls.get(call.id)) return;
    if (!interrupted && !this.isAbandoned) await this.ready();
    const response = await session.calls.settle(call, settlement);
    if (!response) return;
    const owner = await this.messageOf(call.messageId);
    this.turnTo(owner.message);
    // A card behind another one was not shown yet; in the confirmation dialect the confirmation is what is shown.
    for (const toolCallId of [call.approvalId, call.id]) {
      if (toolCallId === null || !session.output.fold(owner.message.id)?.isOpen(toolCallId)) continue;
      session.output.say({ ...session.calls.chunkOf(call, settlement), toolCallId } as Chunk);
    }
    if (!interrupted && !this.isAbandoned) this.expect(owner, call);
    await session.output.save(owner.message.id);
    if (this.isAbandoned) {
      if (!this.hasOpenCalls(owner)) await this.finish(owner);
      return;
    }
    this.arm();
    this.tellModel(call, response);
    if (!interrupted) await this.showNext();
  }

  /** Makes a message the one that is written; what the one before had begun to say is closed first. */
  private turnTo(message: Message): void {
    const { output } = this.session;
    const before = output.message;
    if (before && before.id !== message.id) {
      for (const chunk of this.messages.get(before.id)?.turn.close() ?? []) output.say(chunk);
    }
    output.switchTo(message);
  }

  /** Whom the model will speak for once it has the response. */
  private expect(owner: LiveMessage, call: CallRecord): void {
    if (this.generating) {
      const isKnown = [this.speaking, ...this.next].some((one) => one?.message.id === owner.message.id);
      if (!isKnown) this.next.push(owner);
      return;
    }
    const waits = this.session.calls.all.some(
      (other) => other.messageId === owner.message.id && other.invocationId === call.invocationId,
    );
    this.speak(owner);
    // The calls of one step are answered together, unless the conversation has moved on.
    this.generating = !waits || this.lastToSpeak !== owner.message.id;
  }

  /** Wakes up when the next call runs out of time. */
  private arm(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
    const deadline = this.session.calls.nextDeadline();
    if (deadline === null) return;
    const { clock } = this.session.engine;
    this.cancelTimer = clock.after(deadline - clock.now(), () =>
      this.detach(this.inOrder(() => this.expire())),
    );
  }

  private tell(code: ErrorCode, message: string): void {
    this.session.output.inject({
      type: 'data-error',
      data: new ProtocolError(code, message).toWire(),
      transient: true,
    });
  }
}
