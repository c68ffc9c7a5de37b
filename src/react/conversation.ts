import { Chat } from '@ai-sdk/react';
import {
  DuologueHttp,
  DuologueSseTransport,
  type DuologueSseTransportOptions,
  DuologueTransport,
  type DuologueTransportOptions,
  type Executors,
} from '../client/index.ts';
import { Listeners } from '../client/platform.ts';
import { shouldResume } from '../client/resume.ts';
import { CONFIRMATION_TOOL, type Message } from '../protocol/chunks.ts';
import type { ProtocolError } from '../protocol/errors.ts';
import { continuedMessage, type PendingApproval, type PendingQuestion } from './messages.ts';
import type { ConversationOptions, ConversationState, Mode, TransientData } from './options.ts';
import { ShownMessages } from './shown-messages.ts';

type SendOptions = Parameters<DuologueTransport<Message>['sendMessages']>[0];
type ReconnectOptions = Parameters<DuologueTransport<Message>['reconnectToStream']>[0];

const READY: Pick<ConversationState, 'history'> = { history: { status: 'ready' } };

/**
 * One session on one page: a `Chat` of the AI SDK and the transport of the current mode. It adds what a `Chat` cannot do by itself, such as loading
 * older messages and showing changes that other pages made.
 */
export class Conversation {
  readonly chat: Chat<Message>;
  #options: ConversationOptions;
  #live: DuologueTransport<Message>;
  readonly #shown: ShownMessages;
  readonly #listeners = new Listeners<[]>();
  readonly #executors: Executors;
  #state: ConversationState;
  /**
   * The id of the message with a decision that the chat has not sent yet; null when there is no such message. The chat sends the decision when
   * `sendMessage()` is called without a message.
   */
  #decided: string | null = null;
  /** Whether `decide` is in progress, so that the chat may be about to send a decision. */
  #isDeciding = false;
  /** Whether the next request asks the agent to continue its last answer. */
  #isContinuing = false;
  #loading: AbortController | null = null;
  /** The request for an older page that is in progress. */
  #loadingOlder: Promise<void> | null = null;
  /** Resolves when the chat has started to read the message for which `#resume` was called. */
  #resuming: Promise<void> = Promise.resolve();
  #onResumed: () => void = () => undefined;

  constructor(options: ConversationOptions) {
    const { mode, sessionId } = options;
    this.#options = options;
    this.#executors = latestTools(options.tools ?? {}, () => this.#options.tools);
    this.#live = this.#newTransport(mode);
    this.#state = {
      mode,
      connection: this.#live.connection.state,
      history: options.messages ? READY.history : { status: 'loading' },
      hasOlder: false,
      active: { isHere: true, isFree: false, claim: () => this.#live.claim() },
    };
    this.chat = new Chat<Message>({
      id: sessionId,
      ...(options.messages ? { messages: options.messages } : {}),
      transport: {
        sendMessages: (request: SendOptions) => this.#send(request),
        reconnectToStream: (request: ReconnectOptions) => this.#reconnectToStream(request),
      },
      sendAutomaticallyWhen: ({ messages }) => shouldResume(messages, this.#live.memory),
      onError: (error) => this.#onError(error),
      onFinish: ({ message, messages }) => this.#options.onFinish?.({ message, messages }),
    });
    this.#shown = new ShownMessages(this.chat);
  }

  get state(): ConversationState {
    return this.#state;
  }

  /** The transport of the current mode. A change of the mode replaces it. */
  get live(): DuologueTransport<Message> {
    return this.#live;
  }

  /** Calls the listener whenever `state` changes. The returned function unsubscribes. */
  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  /** Uses the callbacks, tools and mode of these options from now on. The session and the URL of the server do not change. */
  update(options: ConversationOptions): void {
    this.#options = options;
    this.chatSettled();
  }

  /** Connects, and loads the messages. The returned function stops the loading and closes the connection. */
  start(): () => void {
    // Connect in a later task. React's strict mode mounts, unmounts and mounts again at once, and only the last mount may open a socket.
    const timer = setTimeout(() => void this.#load(this.#state.history.status === 'loading'), 0);
    return () => {
      clearTimeout(timer);
      this.#loading?.abort();
      this.#live.close();
    };
  }

  /** Loads the messages from the server again, and shows the answer in progress. */
  reload(): Promise<void> {
    return this.#load(true);
  }

  /** Shows one more page of messages, before the first one that is shown. */
  loadOlder(): Promise<void> {
    this.#loadingOlder ??= this.#readOlder().finally(() => {
      this.#loadingOlder = null;
    });
    return this.#loadingOlder;
  }

  /** Connects at once, without waiting for the next attempt. It also connects in the state `taken-over`. */
  async reconnect(): Promise<void> {
    this.chat.clearError();
    this.#live.connect(this.chat.id);
  }

  /** Stops the agent. The answer keeps its text so far, and open calls end. */
  interrupt(): void {
    this.#live.interrupt();
  }

  /** Asks the agent to continue its last answer, which was cut. */
  async continueAnswer(): Promise<void> {
    // After a crash of the server, the page may show text that the server did not store. The model continues the stored text, so load
    // the stored message first.
    if (this.chat.lastMessage?.metadata?.cutOff)
      await this.#read(new AbortController().signal).catch(() => undefined);
    this.#isContinuing = true;
    await this.chat.sendMessage();
  }

  /** Sends the answer to a question, or declines the question, even while the agent is working. The message shows the answer once the server accepted it. */
  answer(
    { toolCallId, messageId, approvalId: id }: PendingQuestion,
    answer: { output: unknown } | { errorText: string },
  ): Promise<void> {
    // The user signs in at the provider, not here. A sign-in can only be declined here, like an approval request.
    if (id === undefined || 'output' in answer) return this.#live.sendAnswer(toolCallId, answer);
    return this.decide({ id, toolCallId, messageId, isConfirmation: false }, false, answer.errorText);
  }

  /** Sends the user's decision, even while the agent is working. */
  async decide(
    approval: Pick<PendingApproval, 'id' | 'toolCallId' | 'messageId' | 'isConfirmation'>,
    approved: boolean,
    reason?: string,
    payload?: unknown,
  ): Promise<void> {
    const { id, toolCallId, messageId, isConfirmation } = approval;
    // A chat that resumes a message builds the message again from its chunks. It would overwrite a decision that was written into the message before.
    await this.#resuming;
    this.#isDeciding = true;
    const output = { confirmed: approved, ...(payload === undefined ? {} : { payload }) };
    if (isConfirmation) {
      const tool = CONFIRMATION_TOOL as never;
      await this.chat.addToolOutput({ tool, toolCallId, output: output as never });
    } else {
      this.#decided = messageId;
      // The chat cannot send a payload. So the transport sends the decision, and the chat only shows it.
      if (payload !== undefined) this.#live.sendDecision(toolCallId, approved, reason, payload);
      await this.chat.addToolApprovalResponse({ id, approved, ...(reason ? { reason } : {}) });
    }
    // The chat does not send a decision while it reads a response, nor before every approval request of the message is decided. Another
    // page may decide the other requests, so send this decision now unless the chat has sent it.
    setTimeout(() => {
      const live = this.#live;
      this.#isDeciding = false;
      if (!live.memory.wasSent(toolCallId, isConfirmation ? 'output' : 'decision')) {
        if (isConfirmation) live.sendToolResult(toolCallId, output);
        else live.sendDecision(toolCallId, approved, reason);
      }
      this.chatSettled();
    }, 0);
  }

  /** Applies the changes that had to wait while the chat read a response. Call it whenever the chat may have finished a response. */
  chatSettled(): void {
    if (this.#isBusy || this.#resyncIfNeeded()) return;
    this.#showQueued();
    const { mode } = this.#options;
    if (mode !== this.#state.mode) this.#changeMode(mode);
    this.#showPending();
  }

  get #isBusy(): boolean {
    return this.chat.status === 'submitted' || this.chat.status === 'streaming';
  }

  /** Whether there is a message. A session starts with its first message, so that no empty sessions are stored. */
  get #hasStarted(): boolean {
    return this.chat.messages.length > 0;
  }

  #changeMode(mode: Mode): void {
    const isComplete = this.#live.isAtRest;
    // If the old transport stayed open, it would deliver the same chunks as the new transport a second time.
    this.#live.close();
    this.#shown.clearQueue();
    this.#live = this.#newTransport(mode);
    const active = { ...this.#state.active, isHere: true, isFree: false };
    this.#setState({ mode, active, connection: this.#live.connection.state });
    if (this.#hasStarted) this.#live.connect(this.chat.id);
    // The new connection does not deliver chunks that the old connection should still have delivered, so load the messages.
    if (!isComplete) void this.#load(true);
  }

  #newTransport(mode: Mode): DuologueTransport<Message> {
    const { mode: _, tools, messages, toolTimeoutMs, onError, onFinish, ...given } = this.#options;
    const options: DuologueTransportOptions & DuologueSseTransportOptions = {
      ...given,
      executors: this.#executors,
      executorTimeoutMs: toolTimeoutMs,
      watches: true,
      onData: (data: TransientData) => this.#onData(data),
      onFrame: (direction, data) => this.#options.onFrame?.(direction, data),
      onPending: () => {
        if (live === this.#live) this.#showPending();
      },
      onActive: (isHere, isFree) => {
        if (live === this.#live) this.#setState({ active: { ...this.#state.active, isHere, isFree } });
      },
      shows: (messageId) => this.#shown.has(messageId),
      onReset: (messages, older) => {
        this.#shown.reset(messages, older);
        this.#setState({ ...READY, hasOlder: this.#shown.older !== null });
      },
    };
    const live = new (mode === 'bidi' ? DuologueTransport : DuologueSseTransport)<Message>(options);
    live.connection.subscribe(() => {
      if (live !== this.#live) return;
      const { state, info } = live.connection;
      // If the server cannot continue after the last chunk of this page, a reset follows. The reset includes the changes that are queued now. Only
      // changes that arrive later must be shown after the reset.
      if (state.status === 'live' && !info?.resumed) this.#shown.clearQueue();
      this.#setState({ connection: state });
    });
    return live;
  }

  #send(request: SendOptions): Promise<ReadableStream> {
    if (request.messageId === this.#decided) this.#decided = null;
    // Add the trigger here. If it were passed to `chat.sendMessage({ body })`, the chat would send that body again with the answers to the calls
    // of the response.
    const trigger = this.#isContinuing ? { trigger: 'continue-message' } : {};
    this.#isContinuing = false;
    const sent = this.#live.sendMessages({ ...request, body: { ...request.body, ...trigger } });
    this.#resyncIfNeeded();
    return sent;
  }

  /**
   * Asks the server for the newest messages in the order of the server, if two pages sent messages at the same moment and the chat is not reading an
   * answer. Returns whether it asked.
   */
  #resyncIfNeeded(): boolean {
    const isNeeded = this.#live.isOutOfOrder && this.chat.status !== 'streaming';
    if (isNeeded) this.#live.resync();
    return isNeeded;
  }

  async #reconnectToStream(request: ReconnectOptions): Promise<ReadableStream | null> {
    const stream = await this.#live.reconnectToStream(request);
    // Call `#onResumed` in a later task, because the chat sets its status to `streaming` only after this function has returned.
    setTimeout(() => this.#onResumed(), 0);
    return stream;
  }

  async #load(isWanted: boolean): Promise<void> {
    if (isWanted || this.#hasStarted) this.#live.connect(this.chat.id);
    if (!isWanted) return;
    this.#loading?.abort();
    const loading = new AbortController();
    this.#loading = loading;
    this.#setState({ history: { status: 'loading' } });
    try {
      // When the connection is live and the agent is idle, the chunks that follow continue the loaded messages. Otherwise chunks may be
      // missing between the loaded messages and the connection, so ask for a reset.
      const isLive = await this.#live.untilConnected(loading.signal);
      await this.#read(loading.signal);
      const isComplete = isLive && this.#live.isAtRest;
      if (!isComplete) this.#live.resync();
      if (isLive && !isComplete) return;
      this.#setState(READY);
      this.#showPending();
    } catch (error) {
      if (loading.signal.aborted) return;
      const failure = error instanceof Error ? error : new Error(String(error));
      this.#setState({ history: { status: 'failed', error: failure } });
    } finally {
      if (this.#loading === loading) this.#loading = null;
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const page = await this.#http.readPage(this.chat.id, null, signal);
    signal.throwIfAborted();
    this.#shown.load(page?.messages ?? [], page?.older ?? null);
    this.#live.load(this.chat.messages);
    this.#setState({ hasOlder: this.#shown.older !== null });
  }

  async #readOlder(): Promise<void> {
    const before = this.#shown.older;
    if (before === null || this.#loading) return;
    const page = await this.#http.readPage(this.chat.id, before);
    // While this page of messages was read, the conversation was loaded again, or another browser page rewound it: discard the result.
    if (before !== this.#shown.older) return;
    if (!page) return this.#load(true);
    this.#shown.addOlder(page.messages, page.older ?? null);
    this.#setState({ hasOlder: this.#shown.older !== null });
  }

  get #http(): DuologueHttp {
    return new DuologueHttp(this.#options);
  }

  #onData(data: TransientData): void {
    if (data.type === 'data-settled') this.#shown.settle(data.data);
    // Another page rewound the conversation to a message that is older than all messages on this page.
    if (data.type === 'data-rewind' && this.#shown.older !== null && !this.#shown.has(data.data.messageId))
      void this.#load(true);
    this.#shown.queue(data, this.#live.pending.at(-1)?.messageId);
    this.#resyncIfNeeded();
    this.#showQueued();
    this.#options.onData?.(data);
  }

  #onError(error: Error): void {
    this.#options.onError?.(error);
    const { code } = error as Partial<ProtocolError>;
    // The page shows a decision that the server rejected, or a message that is no longer the last one. Replace it with the state of the server.
    if (code === 'answer_refused' || code?.startsWith('nothing_to_')) this.#live.resync();
  }

  /** Shows changes that other pages made, unless the chat is reading a response. The chat would overwrite such a change with its next chunk. */
  #showQueued(): void {
    if (this.#isBusy || this.#state.history.status === 'loading') return;
    this.#shown.showQueued(this.#live.pending);
  }

  /**
   * Shows chunks that no response has read. Where possible, it lets the chat read them as a response. Otherwise it adds the chunks to the shown
   * message.
   */
  #showPending(): void {
    // The messages that are being loaded will replace the shown ones.
    if (this.#state.history.status === 'loading') return;
    for (const { messageId, isNew } of this.#live.pending) {
      // The message may answer a user message of another page that is still queued. Show that user message first, if all chunks before it are shown.
      this.#showQueued();
      if (isNew) {
        if (this.#isBusy) continue;
        this.#resume();
        return;
      }
      if (!this.#isBusy && this.#continues(messageId)) {
        // The chat may be about to send a decision, and would then read this message, too. A second response would overwrite what the first one shows.
        if (this.#isDeciding) return;
        void this.chat.sendMessage();
        return;
      }
      this.#shown.add(messageId, this.#live.takePending(messageId));
    }
    this.#showQueued();
  }

  /** Lets the chat read a message that it has not read yet. */
  #resume(): void {
    const read = this.chat.resumeStream();
    this.#resuming = new Promise((resolve) => {
      this.#onResumed = resolve;
      void read.finally(resolve);
    });
  }

  /** Whether `chat.sendMessage()` without a message would continue the message with this id. */
  #continues(messageId: string): boolean {
    if (this.#decided !== null) return this.#decided === messageId;
    const target = continuedMessage(this.chat.messages);
    return target?.id === messageId && target.role === 'assistant';
  }

  #setState(change: Partial<ConversationState>): void {
    this.#state = { ...this.#state, ...change };
    this.#listeners.notify();
  }
}

/** Returns tools with the names of `first`. Each calls the function that `latest()` has under that name at the time of the call. */
function latestTools(first: Executors, latest: () => Executors | undefined): Executors {
  return Object.fromEntries(
    Object.keys(first).map((name) => [
      name,
      (input: never, context) => {
        const tool = latest()?.[name];
        if (!tool) throw new Error(`This page no longer has the tool ${name}.`);
        return tool(input, context);
      },
    ]),
  ) as Executors;
}
