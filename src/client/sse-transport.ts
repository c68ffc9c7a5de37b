import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import type { Chunk } from '../protocol/chunks.ts';
import { ProtocolError } from '../protocol/errors.ts';
import { Advice } from './advice.ts';
import { CallTracker, endedCall, type TrackedCall } from './call-tracker.ts';
import { ExecutorRuns } from './executors.ts';
import { DuologueHttp, errorOf, type HttpOptions } from './http.ts';
import { DEFAULTS, type TransportOptions } from './options.ts';
import { factsOf, type ToolPart } from './parts.ts';
import { ResponseStream } from './response-stream.ts';
import { type AnswerMemory, callsOfLastStep, unsentAnswers, unsentOutputs } from './resume.ts';
import { type Place, SseExchange } from './sse-exchange.ts';
import { Steps } from './steps.ts';
import { systemTimers, type Timers } from './timers.ts';

/** Options of the transport over HTTP. */
export interface DuologueSseTransportOptions extends TransportOptions, HttpOptions {}

/** One response as the chat reads it: one request, and those that continue it. */
interface Reading {
  stream: ResponseStream;
  exchange: SseExchange;
  hasFailed: boolean;
  /** Whether an earlier page may have heard all this, and acted on it. */
  isReplay: boolean;
}

type SendOptions<M extends UIMessage> = Parameters<ChatTransport<M>['sendMessages']>[0];

/** A `ChatTransport` over HTTP, one request a turn. It posts the last message only, and comes back after a drop. */
export class DuologueSseTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  private readonly options: DuologueSseTransportOptions;
  private readonly http: DuologueHttp;
  private readonly timers: Timers;
  private readonly runs: ExecutorRuns;
  private readonly calls: CallTracker;
  private readonly steps: Steps;
  private readonly advice: Advice;
  /** A response that broke off for good: the chat may ask for its rest. */
  private broken: Place | null = null;
  private newest: Reading | null = null;

  constructor(options: DuologueSseTransportOptions) {
    this.options = options;
    this.http = new DuologueHttp(options);
    this.timers = options.timers ?? systemTimers;
    this.runs = new ExecutorRuns(options, this.timers);
    this.calls = new CallTracker((toolName) => this.runs.has(toolName));
    this.steps = new Steps(this.calls);
    this.advice = new Advice((toolName) => this.runs.has(toolName));
  }

  /** Which answers left and which calls are settled; the resume rule asks. */
  get memory(): AnswerMemory {
    return this.calls;
  }

  async sendMessages(options: SendOptions<M>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, trigger, messageId, abortSignal } = options;
    const target = messages.find((message) => message.id === messageId) ?? messages.at(-1);
    const reading = this.read(chatId, abortSignal);
    const isAnswer = trigger === 'submit-message' && target?.role === 'assistant';
    if (isAnswer && this.repeats(reading, target))
      return reading.stream.readable as ReadableStream<UIMessageChunk>;
    if (!isAnswer) await this.deliver(chatId, messages, abortSignal);
    const answers = isAnswer ? await this.answersOf(target, reading.exchange.controller.signal) : [];
    const message = isAnswer
      ? { id: target.id, role: 'assistant', parts: answers }
      : messages.findLast(({ role }) => role === 'user');
    if (!message) throw new ProtocolError('empty_message', 'There is nothing to send.');
    this.calls.mark(answers);
    this.advice.hear(answers);
    const response = await this.post(reading, options, message).catch((error: unknown) => {
      if (!(error instanceof ProtocolError) || error.toWire().retryable) this.calls.unmark(answers);
      throw error;
    });
    void this.follow(reading, response);
    return reading.stream.readable as ReadableStream<UIMessageChunk>;
  }

  async reconnectToStream({
    chatId,
    abortSignal,
  }: Parameters<ChatTransport<M>['reconnectToStream']>[0]): Promise<ReadableStream<UIMessageChunk> | null> {
    const reading = this.read(chatId, abortSignal);
    reading.isReplay = this.broken?.chatId !== chatId;
    if (this.broken?.chatId === chatId) reading.exchange.takeUp(this.broken);
    this.broken = null;
    const response = await reading.exchange.get();
    if (response.status === 204) return null;
    if (!response.ok) throw await errorOf(response);
    void this.follow(reading, response);
    return reading.stream.readable as ReadableStream<UIMessageChunk>;
  }

  /** Stops the agent; the response that is being read gets its end from the server. */
  interrupt(): void {
    this.runs.cancelAll();
    if (this.newest) this.stop(this.newest.exchange.place.chatId);
  }

  private read(chatId: string, abortSignal: AbortSignal | undefined): Reading {
    const { mergeMs = DEFAULTS.mergeMs } = this.options;
    abortSignal?.addEventListener('abort', () => this.abort(reading), { once: true });
    const exchange = new SseExchange(this.http, this.timers, chatId, (chunk) => this.take(reading, chunk));
    const reading: Reading = {
      stream: new ResponseStream(this.timers, mergeMs, () => exchange.controller.abort()),
      exchange,
      hasFailed: false,
      isReplay: false,
    };
    this.newest = reading;
    return reading;
  }

  private abort(reading: Reading): void {
    const { controller, place } = reading.exchange;
    controller.abort();
    const stop = () => {
      this.runs.cancelAll();
      if (this.options.onAbort !== 'detach') this.stop(place.chatId);
    };
    if (!reading.isReplay) return stop();
    // A second resume takes the place of the first, which is no wish to stop.
    this.timers.after(0, () => {
      if (this.newest === reading) stop();
    });
  }

  /** Shows approved browser calls again whose approval was sent alone, when there is nothing else to send. */
  private repeats({ stream }: Reading, message: M): boolean {
    const alone =
      unsentAnswers(message, this.calls, true).length === 0 ? this.calls.approvedAlone(message) : [];
    if (alone.length === 0) return false;
    stream.write({ type: 'start', messageId: message.id });
    for (const id of alone) {
      const chunk = this.calls.announcementOf(id);
      if (chunk) stream.write(chunk);
    }
    stream.end();
    return true;
  }

  /** Outputs that nothing sent go before what the person says next, which would end their calls. */
  private async deliver(chatId: string, messages: M[], signal: AbortSignal | undefined): Promise<void> {
    for (const { message, answers } of unsentOutputs(messages, this.calls)) {
      const reading = this.read(chatId, signal);
      this.calls.mark(answers);
      const answer = { id: message.id, role: 'assistant', parts: answers };
      try {
        await reading.exchange.read(await this.post(reading, { messageId: message.id }, answer));
      } catch (error) {
        // The call may have ended meanwhile; that is no reason not to send the message.
        if (!(error instanceof ProtocolError) || error.toWire().retryable) throw error;
      }
    }
  }

  /** What to post for a message that was answered: the answers that were not sent, with outputs of approved browser tools. */
  private async answersOf(message: M, signal: AbortSignal): Promise<ToolPart[]> {
    const unsent = unsentAnswers(message, this.calls, true);
    this.calls.adopt(message, 'page');
    // With nothing new to say the server decides what the request means.
    const parts = unsent.length > 0 ? unsent : callsOfLastStep(message);
    const complete = await Promise.all(parts.map((part) => this.complete(part)));
    signal.throwIfAborted();
    return complete;
  }

  /** Decision and output of a browser tool that asks go in one request. */
  private async complete(part: ToolPart): Promise<ToolPart> {
    const { toolCallId, approval, state } = part;
    const call = this.calls.get(toolCallId);
    const isApproved = state === 'approval-responded' && approval?.approved === true;
    if (!call || !isApproved || factsOf(part.toolMetadata).runsOn !== 'client') return part;
    const result = await this.runs.run(call);
    return result === null ? part : withResult(part, result);
  }

  private post(
    { exchange }: Reading,
    { body, headers, trigger, messageId }: Partial<SendOptions<M>>,
    message: unknown,
  ): Promise<Response> {
    const { chatId: id } = exchange.place;
    const requestId = (this.options.newId ?? (() => crypto.randomUUID()))();
    const said = { id, messages: [message], trigger: trigger ?? 'submit-message', messageId, requestId };
    return exchange.post({ ...body, ...said }, headers);
  }

  private stop(chatId: string): void {
    this.http.stopSession(chatId).catch(() =>
      this.options.onData?.({
        type: 'data-error',
        data: { code: 'internal', message: 'The agent was not stopped.', retryable: true },
        transient: true,
      }),
    );
  }

  /** Reads a response and whatever continues it: its rest after a drop, and what follows the output of a browser tool. */
  private async follow(reading: Reading, first: Response): Promise<void> {
    const { stream, exchange } = reading;
    try {
      let response: Response | null = first;
      while (response && stream.isOpen) {
        const isWhole = await exchange.read(response);
        if (!stream.isOpen || reading.hasFailed) break;
        const rest: Response | null = isWhole ? null : await exchange.resume();
        // A response that broke off behind its last chunk has no rest, and is whole.
        response = rest ?? (await this.continue(reading));
      }
      stream.end();
    } catch (error) {
      if (exchange.controller.signal.aborted) return;
      if (error instanceof TypeError) this.broken = { ...exchange.place };
      stream.fail(error instanceof Error ? error : new Error(String(error)));
    } finally {
      exchange.controller.abort();
    }
  }

  private take(reading: Reading, chunk: Chunk): void {
    const messageId = reading.exchange.place.messageId ?? '';
    if (chunk.type === 'error') reading.hasFailed = true;
    const isRepeated = chunk.type === 'tool-input-available' && this.isDecided(chunk.toolCallId);
    this.calls.push(chunk, messageId);
    if ('transient' in chunk && chunk.transient) this.options.onData?.(chunk);
    // The page may have given the output meanwhile, and this would take it off the screen.
    if (!isRepeated) {
      if (this.steps.beginsBefore(chunk, messageId)) reading.stream.write({ type: 'start-step' });
      reading.stream.write(chunk);
    }
    const ended = endedCall(chunk);
    const call = ended === null ? undefined : this.calls.get(ended);
    // The server has gone on with an output of its own; the browser only acts.
    if (call?.optimistic && !reading.isReplay) void this.runs.run(call);
    else if (ended !== null) this.runs.cancel(ended);
  }

  private isDecided(toolCallId: string): boolean {
    const call = this.calls.get(toolCallId);
    return call?.state === 'approval-responded' && this.calls.isPaused(call);
  }

  /** Runs the browser tools that the response ended for, and posts what they gave; null when there are none. */
  private async continue(reading: Reading): Promise<Response | null> {
    const { messageId } = reading.exchange.place;
    if (messageId === null) return null;
    const due = this.calls.open(messageId).filter((call) => this.calls.isDue(call));
    const parts = (await Promise.all(due.map((call) => this.execute(call)))).flat();
    if (parts.length === 0 || !reading.stream.isOpen) return null;
    this.calls.mark(parts);
    return this.post(reading, { messageId }, { id: messageId, role: 'assistant', parts });
  }

  private async execute(call: TrackedCall): Promise<ToolPart[]> {
    const { id: toolCallId, toolName, input } = call;
    const result = await this.runs.run(call);
    if (!result) return [];
    return [withResult({ type: `tool-${toolName}`, toolCallId, state: 'input-available', input }, result)];
  }
}

function withResult(part: ToolPart, result: { output: unknown } | { errorText: string }): ToolPart {
  return 'output' in result
    ? { ...part, state: 'output-available', output: result.output }
    : { ...part, state: 'output-error', errorText: result.errorText };
}
