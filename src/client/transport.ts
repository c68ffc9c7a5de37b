import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import type { Chunk, DataParts, Message } from '../protocol/chunks.ts';
import { encodeFrame } from '../protocol/codec.ts';
import { ERRORS, ProtocolError } from '../protocol/errors.ts';
import { Calls, endedCall } from './calls.ts';
import { Connection, type ConnectionEvent, type ConnectionOptions } from './connection.ts';
import { ExecutorRuns } from './executors.ts';
import { endingOf, toError } from './failure.ts';
import { DEFAULTS, type TransportOptions } from './options.ts';
import type { ToolPart } from './parts.ts';
import { ResponseStream } from './response-stream.ts';
import { Responses, type ResponsesOutput } from './responses.ts';
import { type AnswerMemory, unsentAnswers } from './resume.ts';
import { systemTimers, type Timers } from './timers.ts';
import { until } from './until.ts';

/** Chunks that came while nobody read their message. `isNew`: the page has not seen the message before. */
export interface Pending {
  messageId: string;
  isNew: boolean;
}

/** Options of the transport over one WebSocket. */
export interface DuologueTransportOptions extends TransportOptions, ConnectionOptions {
  /** The session; else the chat's id is. */
  sessionId?: string | undefined;
  /** Chunks wait for a reader: `resumeStream()` reads a new message, `sendMessage()` goes on with the last one. */
  onPending?: ((pending: Pending) => void) | undefined;
  /** What was missed is gone: these messages are the conversation now. */
  onReset?: ((messages: Message[]) => void) | undefined;
}

interface Reading {
  stream: ResponseStream;
  /** The frame that it is the response to. */
  requestId: string | null;
  /** The user message that it answers. */
  userMessageId: string | null;
  /** The message that it goes on with. */
  messageId: string | null;
  answers: ToolPart[];
  hasBegun: boolean;
}

interface Opened {
  number: number;
  readable: ReadableStream<UIMessageChunk>;
}

type SendOptions<M extends UIMessage> = Parameters<ChatTransport<M>['sendMessages']>[0];

/** Codes that are about the connection or about sound, and not about what a response waits for. */
const ELSEWHERE: readonly string[] = [
  'taken_over',
  'idle',
  'too_slow',
  'flooded',
  'shutting_down',
  'invalid_frame',
  'bad_audio',
  'unknown_frame',
  'bad_version',
];

/** A `ChatTransport` over one WebSocket. A response outlives the socket: a drop is not seen by the chat. */
export class DuologueTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  readonly connection: Connection;
  private readonly options: DuologueTransportOptions;
  private readonly timers: Timers;
  private readonly newId: () => string;
  private readonly runs: ExecutorRuns;
  private readonly calls: Calls;
  private readonly responses: Responses;
  private readonly readings = new Map<number, Reading>();
  private count = 0;
  private resumes = 0;
  private chatId: string | null = null;
  private running: string | null | undefined;

  constructor(options: DuologueTransportOptions) {
    this.options = options;
    this.timers = options.timers ?? systemTimers;
    this.newId = options.newId ?? (() => crypto.randomUUID());
    this.runs = new ExecutorRuns(
      options.executors ?? {},
      this.timers,
      options.executorTimeoutMs ?? DEFAULTS.executorTimeoutMs,
    );
    this.calls = new Calls((toolName) => this.runs.has(toolName));
    this.responses = new Responses(this.calls);
    this.connection = new Connection(options);
    this.connection.listen((event) => this.hear(event));
    this.connection.subscribe(() => this.watch());
  }

  /** Which answers left and which calls are settled; the resume rule asks. */
  get memory(): AnswerMemory {
    return this.calls;
  }

  /** Connects before the first message does. */
  connect(chatId: string): void {
    this.connection.connect(this.options.sessionId ?? chatId);
    if (this.chatId !== null && this.chatId !== chatId) this.apply(this.responses.end());
    this.chatId = chatId;
  }

  async sendMessages(options: SendOptions<M>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, trigger, messageId, abortSignal } = options;
    this.checkUsable();
    this.connect(chatId);
    const target = messages.find((message) => message.id === messageId) ?? messages.at(-1);
    const { number, readable } =
      trigger === 'submit-message' && target?.role === 'assistant'
        ? this.goOn(target, messages)
        : this.ask(options);
    abortSignal?.addEventListener('abort', () => this.abort(number), { once: true });
    return readable;
  }

  /** The response in progress of a session that this page has not followed: a reload, or a turn that the agent began. */
  async reconnectToStream({
    chatId,
    abortSignal,
  }: Parameters<ChatTransport<M>['reconnectToStream']>[0]): Promise<ReadableStream<UIMessageChunk> | null> {
    this.checkUsable();
    this.connect(chatId);
    const resume = ++this.resumes;
    const waiting = { connection: this.connection, timers: this.timers, signal: abortSignal };
    await until(waiting, () => this.connection.state.status === 'live');
    if (this.running !== null) {
      const waitMs = this.running === undefined ? 100 : 2_000;
      await until(waiting, () => this.responses.unread !== null, waitMs);
    }
    const messageId = this.responses.unread;
    if (messageId === null || abortSignal?.aborted) return null;
    const { number, readable } = this.read({ messageId });
    this.apply(this.responses.push({ type: 'open', response: number, messageId }));
    abortSignal?.addEventListener(
      'abort',
      () => {
        this.leave(number);
        // A second resume takes the place of the first, which is no wish to stop.
        this.timers.after(0, () => {
          if (this.resumes === resume) this.interruptUnlessDetached();
        });
      },
      { once: true },
    );
    return readable;
  }

  /** Sends the output of a browser tool, or `{confirmed}` for a confirmation. */
  sendToolResult(toolCallId: string, result: unknown): void {
    this.answer({ toolCallId, result: result ?? null });
    this.calls.markSent(toolCallId, 'output');
  }

  /** Says that a browser tool failed. */
  sendToolError(toolCallId: string, errorText: string): void {
    this.answer({ toolCallId, error: errorText });
    this.calls.markSent(toolCallId, 'output');
  }

  /** Sends a decision at once, also while a response is read. */
  sendDecision(toolCallId: string, approved: boolean, reason?: string): void {
    this.answer({
      toolCallId,
      status: approved ? 'approved' : 'rejected',
      ...(reason === undefined ? {} : { reason }),
    });
    this.calls.decide(toolCallId, approved);
    this.execute();
  }

  /** Stops the agent; the response that is being read gets its end from the server. */
  interrupt(): void {
    this.runs.cancelAll();
    const text = encodeFrame('interrupt', { reason: 'user_abort' });
    if (!this.connection.send(text)) {
      this.connection.post({ requestId: this.newId(), text, isFleeting: true });
    }
  }

  /** Takes the chunks that wait for a message, to show them without a response. */
  takePending(messageId: string): Chunk[] {
    return this.responses.takeKept(messageId);
  }

  /** Ends the connection and every response. */
  close(): void {
    this.connection.close();
  }

  private ask({ chatId, messages, trigger, messageId }: SendOptions<M>): Opened {
    const user = messages.findLast((message) => message.role === 'user');
    if (!user) throw new ProtocolError('empty_message', 'There is no message of the person to send.');
    const requestId = this.newId();
    const text = encodeFrame('message', {
      id: chatId,
      messages: [user],
      trigger,
      ...(messageId === undefined ? {} : { messageId }),
      requestId,
    });
    const isRepeat = trigger === 'regenerate-message' || messageId !== undefined;
    const opened = this.read({ requestId, userMessageId: user.id });
    this.apply(this.responses.push({ type: 'open', response: opened.number, messageId: null }));
    try {
      this.connection.post({ requestId, text, messageId: isRepeat ? undefined : user.id });
    } catch (error) {
      this.leave(opened.number);
      throw error;
    }
    return opened;
  }

  /** Goes on with a message: sends what was answered, if anything, and reads what comes. */
  private goOn(target: M, messages: M[]): Opened {
    const last = messages.at(-1);
    const answered = messages.flatMap((message) => {
      const answers = unsentAnswers(message, this.calls, message === target || message === last);
      return answers.length === 0 ? [] : [{ message, answers }];
    });
    const mine = answered.find(({ message }) => message === target)?.answers ?? [];
    this.calls.adopt(target, 'page');
    for (const { message, answers } of answered) {
      this.calls.adopt(message, 'page');
      this.calls.mark(answers);
    }
    const opened = this.read({ messageId: target.id, answers: mine });
    const expects = mine.length > 0;
    this.apply(this.responses.push({ type: 'open', response: opened.number, messageId: target.id, expects }));
    try {
      for (const { message, answers } of answered) this.sendAnswers(message, answers);
    } catch (error) {
      for (const { answers } of answered) this.calls.unmark(answers);
      this.leave(opened.number);
      throw error;
    }
    this.execute();
    return opened;
  }

  private sendAnswers(message: M, answers: ToolPart[]): void {
    const requestId = this.newId();
    const text = encodeFrame('message', {
      id: this.chatId,
      messages: [{ id: message.id, role: 'assistant', parts: answers }],
      trigger: 'submit-message',
      messageId: message.id,
      requestId,
    });
    this.connection.post({ requestId, text, calls: answers.map((part) => part.toolCallId) });
  }

  private answer(data: { toolCallId: string; [field: string]: unknown }): void {
    const requestId = this.newId();
    const text = encodeFrame('tool_result', { ...data, requestId });
    this.connection.post({ requestId, text, calls: [data.toolCallId] });
  }

  /** Runs the browser tools that are due: announced, approved where they ask, and still waited for. */
  private execute(): void {
    for (const call of this.calls.open()) {
      if (!this.calls.isDue(call) || this.runs.hasBegun(call.id)) continue;
      void this.runs.run(call).then((result) => {
        if (!result || this.calls.isSettled(call.id)) return;
        if ('output' in result) this.sendToolResult(call.id, result.output);
        else this.sendToolError(call.id, result.errorText);
      });
    }
  }

  private hear(event: ConnectionEvent): void {
    switch (event.type) {
      case 'session':
        this.running = event.session.running;
        return;
      case 'chunk':
        return this.hearChunk(event.chunk);
      case 'done':
        return this.apply(this.responses.push({ type: 'done' }));
      case 'rest':
        this.execute();
        this.apply(this.responses.push({ type: 'rest' }));
        this.connection.settle(({ calls }) => calls?.every((id) => this.calls.isSettled(id)) === true);
        return;
      case 'refused': {
        const code = event.code === ERRORS.too_large.close ? 'too_large' : 'invalid_frame';
        const message = event.reason || 'The server refused what was sent.';
        for (const [number, reading] of this.readings) {
          if (!reading.hasBegun) this.fail(number, new ProtocolError(code, message));
        }
      }
    }
  }

  private hearChunk(chunk: Chunk): void {
    if (chunk.type === 'data-reset') return this.reset(chunk.data.messages);
    this.apply(this.responses.push({ type: 'chunk', chunk }));
    if ('transient' in chunk && chunk.transient) this.options.onData?.(chunk);
    if (chunk.type === 'data-error') this.hearError(chunk.data);
    const ended = endedCall(chunk);
    if (ended !== null) this.runs.cancel(ended);
  }

  /** An error ends the response that waits for what was refused, the oldest first. */
  private hearError(error: DataParts['error']): void {
    const isAnswer = error.code === 'nothing_to_answer' || error.code === 'answer_refused';
    if (ELSEWHERE.includes(error.code)) return;
    // What was sent again after a drop may well have arrived before.
    if (error.code === 'nothing_to_answer' && this.connection.hasRepeated) return;
    for (const [number, { hasBegun, answers, requestId }] of this.readings) {
      if (hasBegun || (isAnswer ? answers.length === 0 : requestId === null && answers.length === 0))
        continue;
      // Other answers of the same message may have counted.
      if (error.code === 'answer_refused' && answers.length > 1) return;
      if (error.retryable) this.calls.unmark(answers);
      return this.fail(number, toError(error));
    }
  }

  private reset(messages: Message[]): void {
    this.apply(this.responses.push({ type: 'reset' }));
    for (const message of messages) {
      this.responses.know(message.id);
      this.calls.adopt(message, 'server');
    }
    for (const [number, { userMessageId }] of this.readings) {
      const asked = messages.findIndex((message) => message.id === userMessageId);
      const isAnswered = asked !== -1 && messages.slice(asked).some(({ role }) => role === 'assistant');
      if (isAnswered) this.finish(number);
    }
    this.options.onReset?.(messages);
  }

  private apply(outputs: ResponsesOutput[]): void {
    for (const output of outputs) {
      if (output.type === 'pending') {
        const { messageId, isNew } = output;
        // A response that just ended is still being worked on; whoever goes on with its message must find all of it.
        this.timers.after(0, () => {
          if (!this.responses.isRead(messageId)) this.options.onPending?.({ messageId, isNew });
        });
        continue;
      }
      const reading = this.readings.get(output.response);
      if (!reading) continue;
      if (output.type === 'end') {
        this.readings.delete(output.response);
        reading.stream.end();
        continue;
      }
      const { chunk } = output;
      reading.stream.write(chunk);
      if (chunk.type === 'start' || ('transient' in chunk && chunk.transient)) {
        if (reading.messageId !== null || chunk.type !== 'start') continue;
      }
      if (!reading.hasBegun) this.begun(reading);
    }
  }

  private begun(reading: Reading): void {
    reading.hasBegun = true;
    const { requestId } = reading;
    if (requestId !== null) this.connection.settle((letter) => letter.requestId === requestId);
  }

  private read(reading: Partial<Reading>): Opened {
    const number = ++this.count;
    const { mergeMs = DEFAULTS.mergeMs } = this.options;
    const stream = new ResponseStream(this.timers, mergeMs, () => this.leave(number));
    this.readings.set(number, {
      requestId: null,
      userMessageId: null,
      messageId: null,
      answers: [],
      hasBegun: false,
      ...reading,
      stream,
    });
    return { number, readable: stream.readable as ReadableStream<UIMessageChunk> };
  }

  private leave(number: number, isRefused = false): void {
    this.readings.delete(number);
    this.apply(this.responses.push({ type: 'leave', response: number, isRefused }));
  }

  private abort(number: number): void {
    const reading = this.readings.get(number);
    if (!reading) return;
    this.leave(number);
    const unsent = this.connection.settle((letter) => letter.requestId === reading.requestId);
    if (unsent.length === 0) this.interruptUnlessDetached();
  }

  private interruptUnlessDetached(): void {
    if (this.options.onAbort !== 'detach') this.interrupt();
  }

  private finish(number: number): void {
    const reading = this.readings.get(number);
    this.leave(number);
    reading?.stream.end();
  }

  private fail(number: number, error: Error): void {
    const reading = this.readings.get(number);
    this.leave(number, true);
    const answered = reading?.answers.map(({ toolCallId }) => toolCallId) ?? [];
    this.connection.settle(
      ({ requestId, calls }) =>
        requestId === reading?.requestId || calls?.some((id) => answered.includes(id)) === true,
    );
    reading?.stream.fail(error);
  }

  /** The connection changed: one that will not come back by itself fails what is read. */
  private watch(): void {
    const error = endingOf(this.connection.state);
    if (!error) return;
    this.runs.cancelAll();
    for (const number of [...this.readings.keys()]) this.fail(number, error);
  }

  private checkUsable(): void {
    const error = endingOf(this.connection.state);
    if (error instanceof ProtocolError) throw error;
  }
}
