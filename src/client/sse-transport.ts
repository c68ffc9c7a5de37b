import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import type { Chunk } from '../protocol/chunks.ts';
import { BlockDecoder, parseChunkId } from '../protocol/codec.ts';
import { ProtocolError, type WireError } from '../protocol/errors.ts';
import { Advice } from './advice.ts';
import { Calls, endedCall, type TrackedCall } from './calls.ts';
import { ExecutorRuns } from './executors.ts';
import { networkError, toError } from './failure.ts';
import { DEFAULTS, type TransportOptions } from './options.ts';
import { factsOf, type ToolPart } from './parts.ts';
import { ResponseStream } from './response-stream.ts';
import { type AnswerMemory, callsOfLastStep, unsentAnswers, unsentOutputs } from './resume.ts';
import { Steps } from './steps.ts';
import { systemTimers, type Timers } from './timers.ts';

/** Options of the transport over HTTP. */
export interface DuologueSseTransportOptions extends TransportOptions {
  /** Where the server is mounted: an http(s) address, or a path of this page's host. */
  url: string;
  /** The server's key, for pages that may know it; others log in for a cookie. */
  key?: string | undefined;
  headers?: Record<string, string> | undefined;
  credentials?: RequestCredentials | undefined;
  fetch?: typeof fetch | undefined;
}

/** One response as the chat reads it: one request, and those that continue it. */
interface Reading {
  chatId: string;
  stream: ResponseStream;
  controller: AbortController;
  /** The last chunk that was read. */
  last: string | null;
  messageId: string | null;
  hasFinished: boolean;
  hasFailed: boolean;
  /** Whether the first chunk must follow the last one that was read. */
  isResumed: boolean;
  /** Whether an earlier page may have heard all this, and acted on it. */
  isReplay: boolean;
}

type SendOptions<M extends UIMessage> = Parameters<ChatTransport<M>['sendMessages']>[0];

const RETRIES = 6;
const FIRST_DELAY_MS = 500;

/** A `ChatTransport` over HTTP, one request a turn. It posts the last message only, and comes back after a drop. */
export class DuologueSseTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  private readonly options: DuologueSseTransportOptions;
  private readonly timers: Timers;
  private readonly runs: ExecutorRuns;
  private readonly calls: Calls;
  private readonly steps: Steps;
  private readonly advice: Advice;
  /** A response that broke off for good: the chat may ask for its rest. */
  private broken: Pick<Reading, 'chatId' | 'last' | 'messageId'> | null = null;
  private newest: Reading | null = null;

  constructor(options: DuologueSseTransportOptions) {
    this.options = options;
    this.timers = options.timers ?? systemTimers;
    this.runs = new ExecutorRuns(
      options.executors ?? {},
      this.timers,
      options.executorTimeoutMs ?? DEFAULTS.executorTimeoutMs,
    );
    this.calls = new Calls((toolName) => this.runs.has(toolName));
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
    const answers = isAnswer ? await this.answersOf(target, reading.controller.signal) : [];
    const message = isAnswer
      ? { id: target.id, role: 'assistant', parts: answers }
      : messages.findLast(({ role }) => role === 'user');
    if (!message) throw new ProtocolError('empty_message', 'There is no message of the person to send.');
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
    if (this.broken?.chatId === chatId) Object.assign(reading, this.broken, { isResumed: true });
    this.broken = null;
    const response = await this.get(reading);
    if (response.status === 204) return null;
    if (!response.ok) throw await errorOf(response);
    void this.follow(reading, response);
    return reading.stream.readable as ReadableStream<UIMessageChunk>;
  }

  /** Stops the agent; the response that is being read gets its end from the server. */
  interrupt(): void {
    this.runs.cancelAll();
    if (this.newest) this.stop(this.newest.chatId);
  }

  private read(chatId: string, abortSignal: AbortSignal | undefined): Reading {
    const controller = new AbortController();
    const { mergeMs = DEFAULTS.mergeMs } = this.options;
    abortSignal?.addEventListener('abort', () => this.abort(reading), { once: true });
    const reading: Reading = {
      chatId,
      stream: new ResponseStream(this.timers, mergeMs, () => controller.abort()),
      controller,
      last: null,
      messageId: null,
      hasFinished: false,
      hasFailed: false,
      isResumed: false,
      isReplay: false,
    };
    this.newest = reading;
    return reading;
  }

  private abort(reading: Reading): void {
    reading.controller.abort();
    const stop = () => {
      this.runs.cancelAll();
      if (this.options.onAbort !== 'detach') this.stop(reading.chatId);
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
        await this.pipe(reading, await this.post(reading, { messageId: message.id }, answer));
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

  private async post(
    reading: Reading,
    { body, headers, trigger, messageId }: Partial<SendOptions<M>>,
    message: unknown,
  ): Promise<Response> {
    const response = await this.request('/stream', {
      method: 'POST',
      headers: { ...Object.fromEntries(new Headers(headers)), 'content-type': 'application/json' },
      body: JSON.stringify({
        ...body,
        id: reading.chatId,
        messages: [message],
        trigger: trigger ?? 'submit-message',
        messageId,
      }),
      signal: reading.controller.signal,
    });
    if (!response.ok) throw await errorOf(response);
    reading.last = response.headers.get('x-duologue-last') ?? reading.last;
    return response;
  }

  private get({ chatId, last, controller }: Reading): Promise<Response> {
    const query = last === null ? '' : `?last=${encodeURIComponent(last)}`;
    return this.request(`/stream/${encodeURIComponent(chatId)}/stream${query}`, {
      signal: controller.signal,
    });
  }

  private stop(chatId: string): void {
    this.request(`/sessions/${encodeURIComponent(chatId)}/stop`, { method: 'POST' }).catch(() =>
      this.options.onData?.({
        type: 'data-error',
        data: { code: 'internal', message: 'The agent could not be told to stop.', retryable: true },
        transient: true,
      }),
    );
  }

  private request(path: string, init: RequestInit): Promise<Response> {
    const { url, key, headers, credentials } = this.options;
    const send = this.options.fetch ?? fetch;
    return send(url.replace(/^ws/, 'http').replace(/\/$/, '') + path, {
      ...init,
      headers: {
        ...headers,
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(init.headers as Record<string, string> | undefined),
      },
      ...(credentials === undefined ? {} : { credentials }),
    });
  }

  /** Reads a response and whatever continues it: its rest after a drop, and what follows the output of a browser tool. */
  private async follow(reading: Reading, first: Response): Promise<void> {
    const { stream, controller } = reading;
    try {
      let response: Response | null = first;
      while (response && stream.isOpen) {
        const isWhole = await this.pipe(reading, response);
        if (!stream.isOpen || reading.hasFailed) break;
        const rest: Response | null = isWhole ? null : await this.resume(reading);
        // A response that broke off behind its last chunk has no rest, and is whole.
        response = rest ?? (await this.continue(reading));
      }
      stream.end();
    } catch (error) {
      if (controller.signal.aborted) return;
      if (error instanceof TypeError) {
        const { chatId, last, messageId } = reading;
        this.broken = { chatId, last, messageId };
      }
      stream.fail(error instanceof Error ? error : new Error(String(error)));
    } finally {
      controller.abort();
    }
  }

  /** Reads one HTTP response; false when it broke off. */
  private async pipe(reading: Reading, response: Response): Promise<boolean> {
    const decoder = new BlockDecoder();
    const text = new TextDecoder();
    const body = response.body?.getReader();
    if (!body) return false;
    for (;;) {
      const piece = await body.read().catch(() => null);
      if (!piece?.value) return false;
      for (const { id, data } of decoder.push(text.decode(piece.value, { stream: true }))) {
        if (data === '[DONE]') {
          await body.cancel();
          return true;
        }
        if (id) this.follows(reading, id);
        this.take(reading, JSON.parse(data) as Chunk);
      }
    }
  }

  /** A response that is taken up again must go on where it broke off; another one would be shown twice. */
  private follows(reading: Reading, id: string): void {
    const before = reading.isResumed && reading.last !== null ? parseChunkId(reading.last) : null;
    const next = parseChunkId(id);
    reading.isResumed = false;
    reading.last = id;
    if (before && (before.epoch !== next?.epoch || before.seq >= next.seq)) {
      reading.last = null;
      throw networkError('came back, but the rest of the response is gone');
    }
  }

  private take(reading: Reading, chunk: Chunk): void {
    if (chunk.type === 'start' && chunk.messageId !== undefined) reading.messageId = chunk.messageId;
    if (chunk.type === 'finish') reading.hasFinished = true;
    if (chunk.type === 'error') reading.hasFailed = true;
    const isRepeated = chunk.type === 'tool-input-available' && this.isDecided(chunk.toolCallId);
    this.calls.push(chunk, reading.messageId ?? '');
    if ('transient' in chunk && chunk.transient) this.options.onData?.(chunk);
    // The page may have given the output meanwhile, and this would take it off the screen.
    if (!isRepeated) this.write(reading, chunk);
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

  private write(reading: Reading, chunk: Chunk): void {
    if (this.steps.beginsBefore(chunk, reading.messageId ?? '')) reading.stream.write({ type: 'start-step' });
    reading.stream.write(chunk);
  }

  /** Runs the browser tools that the response ended for, and posts what they gave; null when there are none. */
  private async continue(reading: Reading): Promise<Response | null> {
    const { messageId } = reading;
    if (messageId === null) return null;
    const due = this.calls.open(messageId).filter((call) => this.calls.isDue(call));
    const parts = (await Promise.all(due.map((call) => this.execute(call)))).flat();
    if (parts.length === 0 || !reading.stream.isOpen) return null;
    this.calls.mark(parts);
    reading.hasFinished = false;
    return this.post(reading, { messageId }, { id: messageId, role: 'assistant', parts });
  }

  private async execute(call: TrackedCall): Promise<ToolPart[]> {
    const { id: toolCallId, toolName, input } = call;
    const result = await this.runs.run(call);
    if (!result) return [];
    return [withResult({ type: `tool-${toolName}`, toolCallId, state: 'input-available', input }, result)];
  }

  /** Asks for the rest of a response that broke off; null when there is no rest. */
  private async resume(reading: Reading): Promise<Response | null> {
    for (let attempt = 0; attempt < RETRIES; attempt++) {
      const delay = FIRST_DELAY_MS * 2 ** attempt * (0.5 + this.timers.random() / 2);
      if (attempt > 0) await new Promise<void>((resolve) => this.timers.after(delay, resolve));
      reading.controller.signal.throwIfAborted();
      const response = await this.get(reading).catch(() => null);
      if (!response || response.status >= 500) continue;
      if (response.status === 204) {
        if (reading.hasFinished) return null;
        throw networkError('came back, but the rest of the response is gone');
      }
      if (!response.ok) throw await errorOf(response);
      reading.isResumed = true;
      return response;
    }
    throw networkError('was lost');
  }
}

function withResult(part: ToolPart, result: { output: unknown } | { errorText: string }): ToolPart {
  return 'output' in result
    ? { ...part, state: 'output-available', output: result.output }
    : { ...part, state: 'output-error', errorText: result.errorText };
}

async function errorOf(response: Response): Promise<Error> {
  const body = (await response.json().catch(() => null)) as { error?: WireError } | null;
  if (typeof body?.error?.code === 'string') return toError(body.error);
  return new ProtocolError('internal', `The server answered with status ${response.status}.`);
}
