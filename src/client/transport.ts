import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import type { AcceptedRequest, Chunk, DataParts, Message } from '../protocol/chunks.ts';
import { encodeFrame } from '../protocol/encode-frame.ts';
import { ERRORS, ProtocolError } from '../protocol/errors.ts';
import { isSettled } from '../protocol/tool-call.ts';
import { Advice } from './advice.ts';
import { type AnswerPart, endedCall } from './call-tracker.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { ExecutorRuns } from './executors.ts';
import { endingOf, toError } from './failure.ts';
import type { ResponsesOutput } from './followed-message.ts';
import type { ConnectionEvent } from './incoming.ts';
import { DEFAULTS, type TransportOptions } from './options.ts';
import { Outgoing } from './outgoing.ts';
import type { Played } from './played.ts';
import { type Opened, Readings } from './readings.ts';
import { Requests } from './requests.ts';
import type { ResponseStream } from './response-stream.ts';
import { Responses } from './responses.ts';
import { type AnswerMemory, callsOfLastStep, unsentAnswers, unsentOutputs } from './resume.ts';
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
  /** The floor is here, or somewhere else: whoever has it runs browser tools and hears sound. */
  onFloor?: ((isHere: boolean) => void) | undefined;
  /** Whether the page shows a message: one that it has from elsewhere goes on where it is. */
  shows?: ((messageId: string) => boolean) | undefined;
  /** What was missed is gone: these messages are the conversation now. */
  onReset?: ((messages: Message[]) => void) | undefined;
}

/** How long the message that is being written may take to come on a new connection. */
const UNREAD_MS = 2_000;

type SendOptions<M extends UIMessage> = Parameters<ChatTransport<M>['sendMessages']>[0];

/** A `ChatTransport` over one WebSocket. A response outlives the socket: a drop is not seen by the chat. */
export class DuologueTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  readonly connection: Connection;
  private readonly options: DuologueTransportOptions;
  private readonly timers: Timers;
  private readonly newId: () => string;
  private readonly runs: ExecutorRuns;
  private readonly advice: Advice;
  private readonly responses: Responses;
  private readonly readings: Readings;
  private readonly requests = new Requests();
  private readonly outgoing: Outgoing;
  private resumes = 0;
  private chatId: string | null = null;
  private connectionId: string | null = null;
  /** Whether this connection has the floor. */
  private isFloorHere = true;
  /** Whether the agent was at work when the connection began. */
  private isRunning = false;

  constructor(options: DuologueTransportOptions) {
    this.options = options;
    this.timers = options.timers ?? systemTimers;
    this.runs = new ExecutorRuns(options, this.timers);
    this.advice = new Advice((toolName) => this.runs.has(toolName));
    this.responses = new Responses((toolName) => this.runs.has(toolName), options.shows);
    this.readings = new Readings(this.timers, options.mergeMs ?? DEFAULTS.mergeMs, (number) =>
      this.leave(number),
    );
    this.connection = new Connection(options);
    this.newId = options.newId ?? (() => crypto.randomUUID());
    this.outgoing = new Outgoing(this.connection, this.requests, this.newId);
    this.connection.listen((event) => this.hear(event));
    this.connection.subscribe(() => this.watch());
  }

  /** Which answers left and which calls are settled; the resume rule asks. */
  get memory(): AnswerMemory {
    return this.calls;
  }

  private get calls(): Responses['calls'] {
    return this.responses.calls;
  }

  /** Connects before the first message does; another chat id leaves the chat before. */
  connect(chatId: string): void {
    this.connection.connect(this.options.sessionId ?? chatId);
    if (this.chatId !== null && this.chatId !== chatId) this.apply(this.responses.end());
    this.chatId = chatId;
  }

  async sendMessages(options: SendOptions<M>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, trigger, messageId, abortSignal } = options;
    this.checkUsable(chatId);
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
    this.checkUsable(chatId);
    this.connect(chatId);
    const resume = ++this.resumes;
    const messageId = await this.unread(abortSignal);
    if (messageId === null || abortSignal?.aborted) return null;
    const { number, readable } = this.readings.open();
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

  /** The message that nobody reads yet, once the connection is there; null when there is none. */
  private async unread(signal: AbortSignal | undefined): Promise<string | null> {
    const waiting = { connection: this.connection, timers: this.timers, signal };
    await until(waiting, () => this.connection.state.status === 'live');
    if (this.isRunning) await until(waiting, () => this.responses.unread !== null, UNREAD_MS);
    return this.responses.unread;
  }

  /** Sends the output of a browser tool, or `{confirmed}` for a confirmation. */
  sendToolResult(toolCallId: string, result: unknown): void {
    this.answer({ toolCallId, state: 'output-available' }, { result: result ?? null });
  }

  /** Says that a browser tool failed. */
  sendToolError(toolCallId: string, errorText: string): void {
    this.answer({ toolCallId, state: 'output-error' }, { error: errorText });
  }

  /** Sends a decision at once, also while a response is read. */
  sendDecision(toolCallId: string, approved: boolean, reason?: string): void {
    this.answer(
      { toolCallId, state: 'approval-responded', approval: { approved } },
      { status: approved ? 'approved' : 'rejected', ...(reason === undefined ? {} : { reason }) },
    );
    this.execute();
  }

  /**
   * Stops the agent; the response that is being read gets its end from the server. `played`: how much of its sound was
   * heard; else the player of the connection is silenced and says so.
   */
  interrupt(played: Played | undefined = this.connection.player?.silence()): void {
    this.runs.cancelAll();
    this.outgoing.interrupt(played);
  }

  /** Takes the floor from another page. To say something, or to approve a browser tool, takes it, too. */
  takeFloor(): void {
    this.connection.send(encodeFrame('floor', {}));
  }

  /** Whether a message waits that the page has not begun to read. */
  get isUnread(): boolean {
    return this.responses.unread !== null;
  }

  /** Whether the page has heard all that there is until someone says or answers something. */
  get isAtRest(): boolean {
    return this.responses.isAtRest;
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
    const message = messages.findLast(({ role }) => role === 'user');
    if (!message) throw new ProtocolError('empty_message', 'There is nothing to send.');
    for (const unsent of unsentOutputs(messages, this.calls)) {
      this.responses.push({ type: 'answer', answers: unsent.answers });
      this.outgoing.answer(chatId, unsent.message, unsent.answers);
    }
    const opened = this.readings.open();
    const { number: response } = opened;
    const requestId = this.newId();
    this.responses.push({ type: 'ask', response, requestId });
    try {
      this.outgoing.say({ chatId, message, trigger, messageId }, requestId, response);
    } catch (error) {
      this.leave(response);
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
    const repeats = mine.length === 0 ? this.calls.approvedAlone(target) : [];
    if (answered.length === 0 && repeats.length === 0) this.checkGoesOn(target);
    this.responses.push({ type: 'show', message: target });
    for (const { message, answers } of answered) {
      this.responses.push({ type: 'show', message });
      this.responses.push({ type: 'answer', answers });
      this.advice.hear(answers);
    }
    const opened = this.readings.open();
    const { number: response } = opened;
    const expects = mine.length > 0;
    this.apply(this.responses.push({ type: 'open', response, messageId: target.id, expects, repeats }));
    for (const { message, answers } of answered) {
      this.outgoing.answer(this.chatId, message, answers, message === target ? response : undefined);
    }
    this.execute();
    return opened;
  }

  /** A helper that asks again and again about calls that are settled gets one refusal instead of empty responses without end. */
  private checkGoesOn(target: M): void {
    const calls = callsOfLastStep(target);
    const isSettledForGood = calls.length > 0 && calls.every(({ state }) => isSettled(state));
    if (isSettledForGood && this.responses.isIdle(target.id)) {
      throw new ProtocolError('nothing_to_answer', 'The last message answers no call that is open.');
    }
  }

  private answer(part: AnswerPart, data: object): void {
    this.outgoing.result(part, data);
    this.responses.push({ type: 'answer', answers: [part] });
  }

  /** Runs the browser tools that are due: announced, approved where they ask, and still waited for. */
  private execute(): void {
    if (!this.isFloorHere) return;
    for (const call of this.calls.open()) {
      if (!this.calls.isDue(call) || this.runs.hasBegun(call.id)) continue;
      void this.runs.run(call).then((result) => {
        if (!result) return;
        if ('output' in result) this.sendToolResult(call.id, result.output);
        else this.sendToolError(call.id, result.errorText);
      });
    }
  }

  private hear(event: ConnectionEvent): void {
    switch (event.type) {
      case 'session':
        this.isRunning = event.session.running !== null;
        this.moveFloor(event.session.floor, event.session.connectionId);
        this.responses.push({ type: 'waiting', calls: event.session.open });
        for (const accepted of event.session.received) this.accept(accepted);
        return;
      case 'chunk':
        return this.hearChunk(event.chunk, event.isReplay === true);
      case 'done':
        return this.apply(this.responses.push({ type: 'done' }));
      case 'rest':
        this.execute();
        this.apply(this.responses.push({ type: 'rest' }));
        return;
      case 'refused': {
        const code = event.code === ERRORS.too_large.close ? 'too_large' : 'invalid_frame';
        for (const { response } of this.requests.takeAll()) {
          if (response !== undefined) this.fail(response, new ProtocolError(code, event.reason || code));
        }
        return;
      }
      case 'binary':
        // Sound is for whoever plays it.
        return;
      default:
        event satisfies never;
    }
  }

  private hearChunk(chunk: Chunk, isReplay: boolean): void {
    if (chunk.type === 'data-reset') return this.reset(chunk.data.messages);
    if (chunk.type === 'data-accepted') return this.accept(chunk.data);
    if (chunk.type === 'start') this.requests.begin(chunk.messageId);
    if (chunk.type === 'data-floor') return this.moveFloor(chunk.data.connectionId);
    if (this.isOwn(chunk)) return;
    if (chunk.type === 'data-decided') this.decided(chunk.data);
    this.apply(this.responses.push({ type: 'chunk', chunk, isReplay }));
    if ('transient' in chunk && chunk.transient) this.options.onData?.(chunk);
    if (chunk.type === 'data-error') this.refuse(chunk.data);
    const ended = endedCall(chunk);
    if (ended !== null) this.runs.cancel(ended);
  }

  /** Whether a chunk tells others what this page said: it shows that already. */
  private isOwn(chunk: Chunk): boolean {
    if (chunk.type === 'data-message') return this.requests.says(chunk.data.message.id);
    return chunk.type === 'data-rewind' && this.requests.says(chunk.data.messageId);
  }

  /** A decision that was made here or on another page: nobody need send it again. */
  private decided({ toolCallId, approved }: DataParts['decided']): void {
    this.responses.push({
      type: 'answer',
      answers: [{ toolCallId, state: 'approval-responded', approval: { approved } }],
    });
  }

  private moveFloor(to: string | null | undefined, own = this.connectionId): void {
    this.connectionId = own;
    // A server that knows no floor has one connection a session.
    this.isFloorHere = to === undefined || to === own;
    this.options.onFloor?.(this.isFloorHere);
  }

  /** The server has a request, and says which message will answer it. */
  private accept({ requestId, messageId }: AcceptedRequest): void {
    if (!this.requests.accept(requestId, messageId) || messageId === undefined) return;
    this.apply(this.responses.push({ type: 'accepted', requestId, messageId }));
  }

  private refuse(error: DataParts['error']): void {
    const request = this.requests.refuse(error);
    if (!request) return;
    const { response, answers } = request;
    if (error.retryable && answers) this.responses.push({ type: 'unanswer', answers });
    if (response !== undefined) this.fail(response, toError(error));
  }

  private reset(messages: Message[]): void {
    // What a chat still reads of a response, it would write over the messages: it hears of them when it has read all.
    let unread = 1;
    const all = this.requests.after(messages) as Message[];
    const wasRead = () => {
      if (--unread === 0) this.options.onReset?.(all);
    };
    this.apply(this.responses.push({ type: 'reset', messages }), (stream) => {
      unread++;
      stream.end(wasRead);
    });
    wasRead();
  }

  private apply(outputs: ResponsesOutput[], end = (stream: ResponseStream) => stream.end()): void {
    for (const output of outputs) {
      if (output.type === 'pending') {
        const { messageId, isNew } = output;
        // A response that just ended is still being worked on; whoever goes on with its message must find all of it.
        this.timers.after(0, () => {
          if (this.responses.isKept(messageId)) this.options.onPending?.({ messageId, isNew });
        });
      } else if (output.type === 'end') {
        const stream = this.readings.take(output.response);
        if (stream) end(stream);
      } else this.readings.get(output.response)?.write(output.chunk);
    }
  }

  private leave(number: number, isRefused = false): ResponseStream | undefined {
    const stream = this.readings.take(number);
    this.apply(this.responses.push({ type: 'leave', response: number, isRefused }));
    return stream;
  }

  private abort(number: number): void {
    if (!this.leave(number)) return;
    const request = this.requests.of(number);
    if (!request || !this.outgoing.withdraw(request.requestId)) this.interruptUnlessDetached();
  }

  private interruptUnlessDetached(): void {
    if (this.options.onAbort !== 'detach') this.interrupt();
  }

  private fail(number: number, error: Error): void {
    const stream = this.leave(number, true);
    const request = this.requests.of(number);
    if (request) this.outgoing.withdraw(request.requestId);
    stream?.fail(error);
  }

  /** The connection changed: one that will not come back by itself fails what is read. */
  private watch(): void {
    const error = endingOf(this.connection.state);
    if (!error) return;
    this.runs.cancelAll();
    for (const number of this.readings.numbers) this.fail(number, error);
    this.requests.takeAll();
  }

  private checkUsable(chatId: string): void {
    const error = endingOf(this.connection.state);
    if (error instanceof ProtocolError) throw error;
    const isOthers = this.chatId !== null && this.chatId !== chatId && this.readings.numbers.length > 0;
    if (!isOthers) return;
    throw new Error(
      `This transport still carries the chat "${this.chatId}". Make a transport for each chat.`,
    );
  }
}
