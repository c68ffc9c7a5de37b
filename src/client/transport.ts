import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import type { Chunk } from '../protocol/chunks.ts';
import { encodeFrame } from '../protocol/codec.ts';
import { ProtocolError } from '../protocol/errors.ts';
import { isSettled } from '../protocol/tool-call.ts';
import { Advice } from './advice.ts';
import { Answers } from './answers.ts';
import { causeOf } from './cause.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { endingOf } from './connection-state.ts';
import { ExecutorRuns } from './executors.ts';
import { Hearing, type HearingOptions, type Opened, type Pending } from './hearing.ts';
import { DuologueHttp } from './http.ts';
import type { TransportOptions } from './options.ts';
import { CONTINUE, Outgoing } from './outgoing.ts';
import type { Played } from './played.ts';
import type { Responses } from './responses.ts';
import { type AnswerMemory, callsOfLastStep, unsentAnswers, unsentOutputs } from './resume.ts';
import { systemTimers, type Timers } from './timers.ts';
import { until } from './until.ts';

/** Options of the transport over one connection. */
export interface DuologueTransportOptions extends TransportOptions, ConnectionOptions, HearingOptions {
  /** The session; else the chat's id is. */
  sessionId?: string | undefined;
}

/** How long the message that is being written may take to come on a new connection. */
const UNREAD_MS = 2_000;

type SendOptions<M extends UIMessage> = Parameters<ChatTransport<M>['sendMessages']>[0];

/** A `ChatTransport` over one WebSocket. A response outlives the socket: a drop is not seen by the chat. */
export class DuologueTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  readonly connection: Connection;
  readonly #options: DuologueTransportOptions;
  readonly #timers: Timers;
  readonly #newId: () => string;
  readonly #runs: ExecutorRuns;
  readonly #advice: Advice;
  readonly #hearing: Hearing;
  readonly #outgoing: Outgoing;
  readonly #answers: Answers;
  #resumes = 0;
  #chatId: string | null = null;

  constructor(options: DuologueTransportOptions) {
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    this.#runs = new ExecutorRuns(options, this.#timers);
    this.#advice = new Advice((toolName) => this.#runs.has(toolName));
    // A WebSocket brings the cookies of its server along: so does the request that asks why it was refused.
    const http = new DuologueHttp({ credentials: 'include', ...options });
    const findCause = () => causeOf(http, options.dial !== undefined);
    this.connection = new Connection({ findCause, ...options });
    this.#newId = options.newId ?? (() => crypto.randomUUID());
    this.#hearing = new Hearing(this.connection, options, {
      has: (toolName) => this.#runs.has(toolName),
      due: () => this.#answers.runDue(),
      ended: (toolCallId, isReplay) => this.#answers.ended(toolCallId, isReplay),
    });
    this.#outgoing = new Outgoing(this.connection, this.#hearing.requests, this.#newId);
    this.#answers = new Answers(this.connection, this.#runs, this.#hearing, this.#outgoing);
    this.connection.isAtRest = () => this.isAtRest && !this.#hearing.isRead();
    this.connection.subscribe(() => {
      if (endingOf(this.connection.state)) this.#runs.cancelAll();
    });
  }

  /** Which answers left and which calls are settled; the resume rule asks. */
  get memory(): AnswerMemory {
    return this.#calls;
  }

  get #calls(): Responses['calls'] {
    return this.#hearing.responses.calls;
  }

  /** Connects before the first message does; another chat id leaves the chat before. */
  connect(chatId: string): void {
    this.connection.connect(this.#options.sessionId ?? chatId);
    if (this.#chatId !== null && this.#chatId !== chatId) this.#hearing.end();
    this.#chatId = chatId;
    this.#outgoing.chatId = chatId;
  }

  async sendMessages(options: SendOptions<M>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, trigger, messageId, abortSignal } = options;
    this.#checkUsable(chatId);
    this.connect(chatId);
    const target = messages.find((message) => message.id === messageId) ?? messages.at(-1);
    const { number, readable } =
      trigger === 'submit-message' && target?.role === 'assistant'
        ? this.#goOn(target, options)
        : this.#ask(options);
    abortSignal?.addEventListener('abort', () => this.#abort(number));
    return readable;
  }

  /** The response in progress of a session that this page has not followed: a reload, or a turn that the agent began. */
  async reconnectToStream({
    chatId,
    abortSignal,
  }: Parameters<ChatTransport<M>['reconnectToStream']>[0]): Promise<ReadableStream<UIMessageChunk> | null> {
    this.#checkUsable(chatId);
    this.connect(chatId);
    const resume = ++this.#resumes;
    const messageId = await this.#unread(abortSignal);
    if (messageId === null || abortSignal?.aborted) return null;
    const { number, readable } = this.#hearing.open();
    this.#hearing.push({ type: 'open', response: number, messageId });
    abortSignal?.addEventListener('abort', () => {
      this.#hearing.leave(number);
      // A second resume takes the place of the first, which is no wish to stop.
      this.#timers.after(0, () => {
        if (this.#resumes === resume) this.#interruptUnlessDetached();
      });
    });
    return readable;
  }

  /** The message that nobody reads yet, once the connection is there; null when there is none. */
  async #unread(signal: AbortSignal | undefined): Promise<string | null> {
    const { connection } = this;
    const timers = this.#timers;
    const hearing = this.#hearing;
    const waiting = { connection, timers, signal };
    await until(waiting, () => connection.state.status === 'live');
    // A chat that took up half of what was said would show less than it did before.
    const isHere = () => hearing.responses.unread !== null && connection.isPresent;
    if (hearing.isRunning) await until(waiting, isHere, UNREAD_MS);
    return hearing.responses.unread;
  }

  /** Resolves when the connection is there, or could not be made. Says which. */
  async arrived(signal: AbortSignal): Promise<boolean> {
    const { connection } = this;
    await until({ connection, timers: this.#timers, signal }, () => connection.state.status !== 'connecting');
    return connection.state.status === 'live';
  }

  /** Sends the output of a browser tool, or `{confirmed}` for a confirmation. */
  sendToolResult(toolCallId: string, result: unknown): void {
    const output = result ?? null;
    this.#answers.give(toolCallId, { state: 'output-available', output }, { result: output });
  }

  /** Says that a browser tool failed. */
  sendToolError(toolCallId: string, errorText: string): void {
    this.#answers.give(toolCallId, { state: 'output-error', errorText }, { error: errorText });
  }

  /** Sends a decision at once, also while a response is read. */
  sendDecision(toolCallId: string, approved: boolean, reason?: string): void {
    const why = reason === undefined ? {} : { reason };
    const approval = { id: this.#calls.get(toolCallId)?.approvalId ?? '', approved, ...why };
    const status = approved ? ('approved' as const) : ('rejected' as const);
    this.#answers.give(toolCallId, { state: 'approval-responded', approval }, { status, ...why });
    this.#answers.runDue();
  }

  /**
   * Stops the agent; the response that is being read gets its end from the server. `played`: how much of its sound was
   * heard; else the player of the connection is silenced and says so.
   */
  interrupt(played: Played | undefined = this.connection.player?.silence()): void {
    this.#runs.cancelAll();
    this.#outgoing.interrupt(played);
  }

  /** Takes the floor from another page. To say something, or to approve a browser tool, takes it, too. */
  takeFloor(): void {
    this.connection.send(encodeFrame('floor', {}));
  }

  /** The messages of which chunks wait for a reader, oldest first. */
  get kept(): Pending[] {
    return this.#hearing.responses.kept;
  }

  /** Whether the page has heard all that there is until someone says or answers something. */
  get isAtRest(): boolean {
    return this.#hearing.responses.isAtRest;
  }

  /** Whether what is shown may stand in another order than on the server. */
  get isBehind(): boolean {
    return this.#hearing.isBehind;
  }

  /** Hears the whole conversation anew (`onReset`). */
  hearAnew(): void {
    this.#hearing.isBehind = false;
    this.connection.renew();
  }

  /** The page has read these messages from the server: how their calls go on is told without repeating them. */
  loaded(messages: readonly M[]): void {
    this.#hearing.push({ type: 'loaded', messages });
  }

  /** Takes the chunks that wait for a message, to show them without a response. */
  takePending(messageId: string): Chunk[] {
    return this.#hearing.responses.takeKept(messageId);
  }

  /** Ends the connection and every response. */
  close(): void {
    this.connection.close();
  }

  #ask(options: SendOptions<M>): Opened {
    const { messages } = options;
    const message = messages.findLast(({ role }) => role === 'user');
    if (!message) throw new ProtocolError('empty_message', 'There is nothing to send.');
    for (const unsent of unsentOutputs(messages, this.#calls)) {
      this.#hearing.push({ type: 'answer', answers: unsent.answers });
      this.#outgoing.answer(unsent.message.id, unsent.answers, undefined, options);
    }
    this.#hearing.isBehind ||= this.kept.length > 0;
    const opened = this.#hearing.open();
    const { number: response } = opened;
    const requestId = this.#newId();
    this.#hearing.push({ type: 'ask', response, requestId });
    try {
      this.#outgoing.say({ ...options, message }, requestId, response);
    } catch (error) {
      this.#hearing.leave(response);
      throw error;
    }
    return opened;
  }

  /** Sends the answers in a message, or asks the server to continue it (`body: { trigger: 'continue-message' }`), and reads the response. */
  #goOn(target: M, options: SendOptions<M>): Opened {
    const { messages } = options;
    const last = messages.at(-1);
    const answered = messages.flatMap((message) => {
      const answers = unsentAnswers(message, this.#calls, message === target || message === last);
      return answers.length === 0 ? [] : [{ message, answers }];
    });
    const mine = answered.find(({ message }) => message === target)?.answers ?? [];
    const repeats = mine.length === 0 ? this.#calls.approvedAlone(target) : [];
    const isAnswered = answered.length > 0 || repeats.length > 0;
    // The chat repeats the body of a request when it sends the answers to calls of its response.
    const continues = !isAnswered && (options.body as { trigger?: string } | undefined)?.trigger === CONTINUE;
    if (!isAnswered && !continues) this.#checkGoesOn(target);
    this.#hearing.push({ type: 'show', message: target });
    for (const { message, answers } of answered) {
      this.#hearing.push({ type: 'show', message });
      this.#hearing.push({ type: 'answer', answers });
      for (const { toolCallId } of answers) this.#hearing.floor.claim(message.id, toolCallId);
      this.#advice.hear(answers);
    }
    const opened = this.#hearing.open();
    const { number: response } = opened;
    const expects = continues || mine.length > 0;
    this.#hearing.push({ type: 'open', response, messageId: target.id, expects, repeats });
    for (const { message, answers } of answered) {
      void this.#answers.deliver(message.id, answers, response, message === target, options);
    }
    if (continues) this.#outgoing.answer(target.id, [], response, options, CONTINUE);
    this.#answers.runDue();
    return opened;
  }

  /** A helper that asks again and again about calls that are settled gets one refusal instead of empty responses without end. */
  #checkGoesOn(target: M): void {
    const calls = callsOfLastStep(target);
    const isSettledForGood = calls.length > 0 && calls.every(({ state }) => isSettled(state));
    if (isSettledForGood && this.#hearing.responses.isIdle(target.id)) {
      throw new ProtocolError('nothing_to_answer', 'The last message answers no call that is open.');
    }
  }

  #abort(number: number): void {
    if (this.#hearing.leave(number) && !this.#hearing.withdraw(number)) this.#interruptUnlessDetached();
  }

  #interruptUnlessDetached(): void {
    if (this.#options.onAbort !== 'detach') this.interrupt();
  }

  #checkUsable(chatId: string): void {
    const error = endingOf(this.connection.state);
    if (error instanceof ProtocolError) throw error;
    if (this.#chatId === null || this.#chatId === chatId || !this.#hearing.isRead()) return;
    throw new Error(
      `This transport still carries the chat "${this.#chatId}". Make a transport for each chat.`,
    );
  }
}
