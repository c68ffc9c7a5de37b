import { StreamingMode } from '@google/adk';
import type { Content } from '@google/genai';
import {
  type DeferredCall,
  RESUME,
  type RunView,
  rewindEvent,
  Turn,
  type TurnOutput,
  toContent,
} from '../adk/engine.ts';
import { type Answer, INTERRUPTED, type Message, ProtocolError } from '../protocol/index.ts';
import { type Settlement, type Step, settlementOf } from './calls.ts';
import { type admit, externalise } from './files.ts';
import { modelErrorText } from './model-error.ts';
import { missedOutputs } from './reconcile.ts';
import type { Session } from './session.ts';
import type { CallRecord } from './store/store.ts';

/** A message as a client posted it, checked. */
export interface PostedMessage {
  id: string | undefined;
  parts: Awaited<ReturnType<typeof admit>>;
}

/** How one run of the agent went. */
interface RunResult {
  failure: string | null;
  aborted: boolean;
}

/**
 * The turns of a session over SSE: each input gives one response, and the response ends whenever everything still open
 * waits for the person or the browser.
 */
export class Turns {
  private readonly session: Session;
  private controller: AbortController | null = null;
  private running: string | null = null;
  private turn = new Turn();

  constructor(session: Session) {
    this.session = session;
  }

  /** The message whose response is being written, or null. */
  get current(): string | null {
    return this.running;
  }

  /** Stops the response in progress; false when there is none. */
  stop(): boolean {
    if (!this.controller) return false;
    this.controller.abort();
    return true;
  }

  /** Takes a new message. Resolves, when its turn comes, with the place in the log before its first chunk. */
  async message(posted: PostedMessage): Promise<{ begun: Promise<number>; finished: Promise<void> }> {
    const { engine } = this.session;
    const { parts } = posted;
    return this.inTurn(async (begin) => {
      const from = this.session.output.log.last;
      await this.session.expireQuietly();
      await this.session.supersede();
      const { id = `msg_${engine.newId()}` } = posted;
      await this.rewindTo(id);
      await this.session.store(id, parts);
      const message = this.session.newMessage();
      message.metadata = { createdAt: engine.clock.now() };
      begin(from, message);
      await this.respond(message, toContent(parts), { messageId: id });
    });
  }

  /** Takes answers to open calls. Rejects when they answer nothing. */
  async answers(
    answers: Answer[],
    messageId: string | undefined,
  ): Promise<{ begun: Promise<number>; finished: Promise<void> }> {
    return this.inTurn(async (begin) => {
      const { session } = this;
      const from = session.output.log.last;
      const late = session.calls.overdue();
      for (const { call, settlement } of late) await session.calls.settleQuietly(call, settlement);
      const { steps, refused } = await session.calls.answer(answers);
      const target =
        steps[0]?.call.messageId ?? late[0]?.call.messageId ?? (await this.unfinished(messageId));
      const message = target === undefined ? null : await session.output.load(target);
      if (!message) {
        throw refused.length > 0
          ? new ProtocolError('answer_refused', `The answer was refused: ${refused.join('; ')}.`)
          : new ProtocolError('nothing_to_answer', 'The last message answers no call that is open.');
      }
      begin(from, message);
      for (const { call, settlement } of late) session.output.inject(session.calls.chunkOf(call, settlement));
      for (const why of refused) {
        session.output.inject({
          type: 'data-error',
          data: { code: 'answer_refused', message: `An answer was refused: ${why}.`, retryable: false },
          transient: true,
        });
      }
      await this.take(steps);
      if (this.signal.aborted) return this.interrupted(message);
      await this.askTheRest(message);
      if (session.calls.size > 0) {
        this.end('tool-calls');
        await session.output.save(message.id);
        return;
      }
      if (session.engine.options.confirmations === 'tool') session.output.say({ type: 'start-step' });
      await this.respond(message, { role: 'user', parts: [{ text: '' }] }, RESUME);
    });
  }

  private async inTurn(
    work: (begin: (from: number, message: Message) => void) => Promise<void>,
  ): Promise<{ begun: Promise<number>; finished: Promise<void> }> {
    const { session } = this;
    let resolve: (from: number) => void = () => undefined;
    let reject: (error: unknown) => void = () => undefined;
    const begun = new Promise<number>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    begun.catch(() => undefined);
    let message: Message | null = null;
    const finished = session
      .exclusive(async () => {
        this.controller = new AbortController();
        return session.live.yieldTo(() =>
          work((from, opened) => {
            message = opened;
            this.running = opened.id;
            this.turn = newTurn(session, opened);
            session.output.begin(opened);
            resolve(from);
          }),
        );
      })
      .catch((error: unknown) => {
        reject(error);
        if (!message) return;
        session.engine.logger.error('a turn failed', { session: session.key.id, error: String(error) });
        this.fail('Something went wrong on the server. Please try again.');
      })
      .finally(() => {
        this.controller = null;
        this.running = null;
        if (message) {
          session.output.done();
          if (!session.calls.all.some((call) => call.messageId === message?.id))
            session.output.release(message.id);
        }
      });
    return { begun, finished };
  }

  /** Does what the answers allow, call after call, each written down before the next. */
  private async take(steps: Step[]): Promise<void> {
    const { session, signal } = this;
    for (const step of steps) {
      if (signal.aborted) return;
      const call = step.call.status === 'approved' ? await session.calls.consume(step.call) : step.call;
      if (!call) continue;
      this.confirm(call, call.status !== 'denied');
      if (step.next === 'settle') await this.settle(call, step.settlement);
      else await this.execute(call);
    }
  }

  /** Runs the tool of an approved call, or lets the browser do it. */
  private async execute(call: CallRecord): Promise<void> {
    const { session, signal } = this;
    const outcome = await Promise.race([session.run(call, signal), aborted(signal)]);
    if (!outcome) return;
    if (outcome.kind === 'asks') {
      const errorText = `${call.toolName} asked again for a confirmation it already had.`;
      await this.settle(call, { kind: 'error', errorText });
    } else if (outcome.kind !== 'waits') await this.settle(call, settlementOf(outcome));
    else if (session.engine.options.confirmations === 'approval') {
      session.output.say({
        type: 'tool-input-available',
        toolCallId: call.id,
        toolName: call.toolName,
        input: call.args,
        toolMetadata: { runsOn: call.runsOn, asks: true },
      });
    }
  }

  /** In the confirmation dialect the answer closes the confirmation, and the original call is announced. */
  private confirm(call: CallRecord, confirmed: boolean): void {
    const { session } = this;
    if (session.engine.options.confirmations !== 'tool' || call.approvalId === null) return;
    const fold = session.output.fold(call.messageId);
    if (fold?.isOpen(call.approvalId)) {
      session.output.say({
        type: 'tool-output-available',
        toolCallId: call.approvalId,
        output: { confirmed },
      });
    }
    if (!fold?.knows(call.id)) session.announce(call, { runsOn: call.runsOn, asks: true });
  }

  private async settle(call: CallRecord, settlement: Settlement): Promise<void> {
    const { calls, output } = this.session;
    if (call.messageId !== output.message?.id) {
      await calls.settleQuietly(call, settlement);
      return;
    }
    const response = await calls.settle(call, settlement);
    if (!response) return;
    output.say(calls.chunkOf(call, settlement));
    await output.save(call.messageId);
  }

  /** Runs the agent and writes its response: to its end, or to the pause. */
  private async respond(
    message: Message,
    content: Content,
    customMetadata: Record<string, unknown>,
  ): Promise<void> {
    const { session } = this;
    const { failure, aborted } = await this.run(message, content, customMetadata);
    this.closeBlocks();
    if (aborted || failure !== null) await this.keepUnfinished(message);
    if (aborted) return this.interrupted(message);
    await this.closeAnnounced('The call was not completed');
    if (failure !== null) this.fail(failure);
    else this.end(session.calls.size > 0 ? 'tool-calls' : undefined);
    await externalise(message, session.engine.store, session.key, session.engine.newId);
    await session.output.save(message.id);
  }

  /** Ends a response that the person stopped. */
  private async interrupted(message: Message): Promise<void> {
    const { session } = this;
    for (const call of session.calls.all) await this.settle(call, { kind: 'error', errorText: INTERRUPTED });
    await this.closeAnnounced(INTERRUPTED);
    this.end('other', { interrupted: true });
    await externalise(message, session.engine.store, session.key, session.engine.newId);
    await session.output.save(message.id);
  }

  private fail(errorText: string): void {
    this.closeBlocks();
    this.session.output.say({ type: 'error', errorText });
    this.end('error');
  }

  private async run(
    message: Message,
    content: Content,
    customMetadata: Record<string, unknown>,
  ): Promise<RunResult> {
    const { session } = this;
    const { runner, plugin } = session.engine;
    const { appName, userId, sessionId } = session.adkKey;
    const { turn, signal } = this;
    const runKey = { appName, userId, id: sessionId };
    const view = plugin.begin(runKey, {
      live: false,
      defer: (call) => this.defer(call, message),
      openCalls: () => session.calls.all,
    });
    let failure: string | null = null;
    let said = false;
    let stopped: Promise<null> | undefined;
    try {
      const events = runner.runAsync({
        userId,
        sessionId,
        newMessage: content,
        runConfig: { streamingMode: StreamingMode.SSE },
        abortSignal: signal,
        customMetadata,
      });
      for await (const event of events) {
        for (const out of turn.push(event)) {
          if (out.type === 'failed') failure = this.report(out.code, out.message);
          else this.handle(out, view);
        }
        const room = session.output.room();
        if (room) {
          stopped ??= aborted(signal);
          await Promise.race([room, stopped]);
        }
      }
      said = turn.hasSpoken || session.calls.size > 0 || signal.aborted;
    } catch (error) {
      failure = this.report('UNKNOWN_ERROR', error instanceof Error ? error.message : String(error));
    } finally {
      plugin.end(view);
    }
    if (!said && failure === null && !turn.hasCalled) failure = this.report('EMPTY_RESPONSE', '');
    return { failure, aborted: signal.aborted };
  }

  private handle(out: TurnOutput, view: RunView): void {
    const { session } = this;
    switch (out.type) {
      case 'call': {
        const facts = view.factsOf(out.id);
        if (session.engine.options.confirmations === 'tool' && facts.asks) return;
        session.announce({ id: out.id, toolName: out.name, args: out.args }, facts);
        return;
      }
      case 'response': {
        const { id: toolCallId, response } = out;
        const failed = view.failed(toolCallId) && typeof response.error === 'string';
        session.output.say(
          failed
            ? { type: 'tool-output-error', toolCallId, errorText: String(response.error) }
            : { type: 'tool-output-available', toolCallId, output: view.outputOf(toolCallId, response) },
        );
        return;
      }
      case 'audio': {
        const { data: chunk, sampleRate } = out;
        session.output.say({
          type: 'data-pcm',
          data: { chunk, sampleRate, channels: 1, bitDepth: 16 },
          transient: true,
        });
        return;
      }
      case 'heard':
      case 'failed':
      case 'interrupted':
      case 'turn-complete':
        return;
      default:
        session.output.say(out);
    }
  }

  /** A call that waits: written down first, then shown. */
  private async defer(call: DeferredCall, message: Message): Promise<void> {
    const { session } = this;
    const record = await session.calls.issue(call, message.id);
    this.closeBlocks();
    if (!call.asks) {
      await session.output.save(message.id);
      return;
    }
    await this.ask(record);
  }

  private async ask(record: CallRecord): Promise<void> {
    const { session } = this;
    const { approvalTimeoutMs, confirmations } = session.engine.options;
    const timeout = approvalTimeoutMs.sse;
    const expiresAt = timeout === null ? null : session.engine.clock.now() + timeout;
    const shown = await session.calls.show(record, expiresAt);
    if (confirmations === 'tool') {
      session.announceConfirmation(shown);
      await session.output.save(record.messageId);
    } else await session.output.sayStored(session.approvalRequest(shown));
  }

  /** Cards that came one after the other live come all at once here. */
  private async askTheRest(message: Message): Promise<void> {
    const { session } = this;
    for (const call of session.calls.all) {
      if (call.status !== 'requested' || call.messageId !== message.id || session.calls.isShown(call))
        continue;
      if (session.engine.options.confirmations === 'approval') {
        session.announce(call, { runsOn: call.runsOn, asks: true });
      }
      await this.ask(call);
    }
  }

  /** What was said before an abort or a failure belongs to the history, though ADK does not keep it. */
  private async keepUnfinished(message: Message): Promise<void> {
    const text = this.turn.unfinishedText;
    if (!text) return;
    const { session } = this;
    const adkSession = await session.adkSession();
    const last = adkSession.events.findLast((event) => event.content?.parts?.length);
    // Stopped between ADK's keeping the whole text and giving it to us.
    const isKept = last?.content?.parts?.some((part) => part.text?.startsWith(text));
    if (isKept && last?.content?.role === 'model') return;
    const event = session.spokenEvent(text, message.id);
    await session.engine.sessionService.appendEvent({ session: adkSession, event });
  }

  /** No call stays without an answer, in the history or on the screen. */
  private async closeAnnounced(errorText: string): Promise<void> {
    const { session } = this;
    const { output } = session;
    for (const toolCallId of await session.closeDangling(errorText)) {
      if (output.message && output.fold(output.message.id)?.isOpen(toolCallId)) {
        output.say({ type: 'tool-output-error', toolCallId, errorText });
      }
    }
    if (!output.message) return;
    const missed = missedOutputs(output.message, await session.adkSession(), session.calls);
    for (const chunk of missed) output.say(chunk);
  }

  private get signal(): AbortSignal {
    this.controller ??= new AbortController();
    return this.controller.signal;
  }

  private closeBlocks(): void {
    for (const chunk of this.turn.close()) this.session.output.say(chunk);
  }

  private end(...how: Parameters<Turn['end']>): void {
    for (const chunk of this.turn.end(...how)) this.session.output.say(chunk);
  }

  /** Takes back everything from a message on: regenerate, edit, or the same message sent again. */
  private async rewindTo(messageId: string): Promise<void> {
    const { session } = this;
    const { store, sessionService } = session.engine;
    if (!(await store.truncateMessages(session.key, messageId))) return;
    const adkSession = await session.adkSession();
    const event = adkSession.events.find((candidate) => candidate.customMetadata?.messageId === messageId);
    if (event) await sessionService.appendEvent({ session: adkSession, event: rewindEvent(event.id) });
  }

  /** The message whose calls are all answered but which the model has not gone on with: its process died in between. */
  private async unfinished(messageId: string | undefined): Promise<string | undefined> {
    const { session } = this;
    if (session.calls.size > 0) return undefined;
    const { events } = await session.adkSession();
    const last = events.findLast((event) => event.content?.parts?.length);
    if (!last?.content?.parts?.some((part) => part.functionResponse)) return undefined;
    const messages = await session.engine.store.loadMessages(session.key);
    const message = messages.at(-1);
    const isThat = message?.role === 'assistant' && (messageId === undefined || message.id === messageId);
    return isThat ? message.id : undefined;
  }

  private report(code: string, message: string): string {
    const { session } = this;
    session.engine.logger.error('the agent failed', { session: session.key.id, code, message });
    return modelErrorText(code, message);
  }
}

function newTurn(session: Session, message: Message): Turn {
  return new Turn({
    images: session.engine.options.images,
    usage: message.metadata?.usage ?? null,
    firstId: message.parts.length,
  });
}

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    else signal.addEventListener('abort', () => resolve(null), { once: true });
  });
}
