import { Chat } from '@ai-sdk/react';
import {
  DuologueHttp,
  DuologueSseTransport,
  type DuologueSseTransportOptions,
  DuologueTransport,
  type DuologueTransportOptions,
  type Executors,
  shouldResume,
} from '../client/index.ts';
import { Listeners } from '../client/listeners.ts';
import { CONFIRMATION_TOOL, type Message } from '../protocol/chunks.ts';
import type { ProtocolError } from '../protocol/errors.ts';
import type { PendingApproval } from './approvals.ts';
import { continued } from './continued.ts';
import type { Mode } from './mode.ts';
import { newestTools } from './newest-tools.ts';
import { News } from './news.ts';
import type { ConversationOptions, ConversationState, ToldData } from './options.ts';
import { ShownMessages } from './shown-messages.ts';

type SendOptions = Parameters<DuologueTransport<Message>['sendMessages']>[0];
type ReconnectOptions = Parameters<DuologueTransport<Message>['reconnectToStream']>[0];

const READY: Pick<ConversationState, 'history'> = { history: { status: 'ready' } };

/** One session on one page: a chat, the transports of both modes under it, and what a chat alone cannot do. */
export class Conversation {
  readonly chat: Chat<Message>;
  #options: ConversationOptions;
  /** The transport of the mode in force; a new one when the conversation is read anew. Sound travels over BIDI alone. */
  live: DuologueTransport<Message>;
  readonly #shown: ShownMessages;
  readonly #watchers = new Listeners<[]>();
  readonly #executors: Executors;
  #current: ConversationState;
  /** The message whose decision `sendMessage()` without a message would go on with. */
  #decided: string | null = null;
  /** Whether the next request asks the agent to continue its last answer. */
  #isContinuing = false;
  #loading: AbortController | null = null;
  /** The request for an older page that is under way. */
  #loadingOlder: Promise<void> | null = null;
  /** Resolves when the chat has begun to read the message that it takes up. */
  #takingUp: Promise<void> = Promise.resolve();
  #onTakenUp: () => void = () => undefined;
  readonly #news: News;

  constructor(options: ConversationOptions) {
    const { mode, sessionId } = options;
    this.#options = options;
    this.#executors = newestTools(options.tools ?? {}, () => this.#options.tools);
    this.live = this.#newLive(mode);
    this.#current = {
      mode,
      connection: this.live.connection.state,
      history: options.messages ? READY.history : { status: 'loading' },
      hasOlder: false,
      floor: { isHere: true, isFree: false, take: () => this.live.takeFloor() },
    };
    this.chat = new Chat<Message>({
      id: sessionId,
      ...(options.messages ? { messages: options.messages } : {}),
      transport: {
        sendMessages: (request: SendOptions) => this.#send(request),
        reconnectToStream: (request: ReconnectOptions) => this.#reconnectToStream(request),
      },
      sendAutomaticallyWhen: ({ messages }) => shouldResume(messages, this.live.memory),
      onError: (error) => this.#failed(error),
      onFinish: ({ message, messages }) => this.#options.onFinish?.({ message, messages }),
    });
    this.#shown = new ShownMessages(this.chat);
    this.#news = new News(this.#shown);
  }

  get state(): ConversationState {
    return this.#current;
  }

  /** Calls the listener whenever the state changes; the returned function ends that. */
  readonly subscribe = (listener: () => void): (() => void) => this.#watchers.add(listener);

  /** Takes the newest callbacks and tools; the session, its address and its transports stay. */
  update(options: ConversationOptions): void {
    this.#options = options;
    this.chatSettled();
  }

  /** Begins: connects, and reads what was said before. The returned function ends all that. */
  start(): () => void {
    // Not at once: React may mount a component twice, and one page has one socket.
    const timer = setTimeout(() => void this.#load(this.#current.history.status === 'loading'), 0);
    return () => {
      clearTimeout(timer);
      this.#loading?.abort();
      this.live.close();
    };
  }

  /** Reads the conversation from the server again, and goes on with what is in progress. */
  reload(): Promise<void> {
    return this.#load(true);
  }

  /** Shows the messages before the first one that is shown: one more page of them. */
  loadOlder(): Promise<void> {
    this.#loadingOlder ??= this.#readOlder().finally(() => {
      this.#loadingOlder = null;
    });
    return this.#loadingOlder;
  }

  /** Connects again: now, or here, when another page has the conversation. */
  async reconnect(): Promise<void> {
    this.chat.clearError();
    this.live.connect(this.chat.id);
  }

  /** Stops the agent; the answer keeps what was said, and open calls end. */
  interrupt(): void {
    this.live.interrupt();
  }

  /** Lets the agent continue its last answer, which was cut. */
  async continueAnswer(): Promise<void> {
    // The page may show words that the server lost when it stopped: the answer continues behind those that it has.
    if (this.chat.lastMessage?.metadata?.cutOff)
      await this.#read(new AbortController().signal).catch(() => undefined);
    this.#isContinuing = true;
    await this.chat.sendMessage();
  }

  /** Gives the person's decision, also while the agent speaks. */
  async decide(approval: PendingApproval, approved: boolean, reason?: string): Promise<void> {
    const { id, toolCallId, messageId, isConfirmation } = approval;
    // A chat that takes up a message writes it anew: what is answered in that moment would be lost with the old one.
    await this.#takingUp;
    const output = { confirmed: approved };
    if (isConfirmation) {
      const tool = CONFIRMATION_TOOL as never;
      await this.chat.addToolOutput({ tool, toolCallId, output: output as never });
    } else {
      this.#decided = messageId;
      await this.chat.addToolApprovalResponse({ id, approved, ...(reason ? { reason } : {}) });
    }
    // The chat keeps an answer while it reads, and until all its cards are answered: others may be answered on another page.
    setTimeout(() => {
      const { live } = this;
      if (live.memory.wasSent(toolCallId, isConfirmation ? 'output' : 'decision')) return;
      if (isConfirmation) live.sendToolResult(toolCallId, output);
      else live.sendDecision(toolCallId, approved, reason);
    }, 0);
  }

  /** The chat may have come to rest: what waited for that happens now. */
  chatSettled(): void {
    if (this.#isBusy || this.#hearAnew()) return;
    this.#catchUp();
    const { mode } = this.#options;
    if (mode !== this.#current.mode) this.#change(mode);
    this.#attach();
  }

  get #isBusy(): boolean {
    return this.chat.status === 'submitted' || this.chat.status === 'streaming';
  }

  #change(mode: Mode): void {
    const isWhole = this.live.isAtRest;
    // A transport goes on after the last chunk that it saw; what the page got elsewhere meanwhile would come twice.
    this.live.close();
    this.#news.clear();
    this.live = this.#newLive(mode);
    const floor = { ...this.#current.floor, isHere: true, isFree: false };
    this.#become({ mode, floor, connection: this.live.connection.state });
    if (this.#hasBegun) this.live.connect(this.chat.id);
    // What the old connection had not told yet, the new one does not know of.
    if (!isWhole) void this.#load(true);
  }

  /** Whether anything was said. A session begins with its first message, so that nobody leaves empty ones behind. */
  get #hasBegun(): boolean {
    return this.chat.messages.length > 0;
  }

  #newLive(mode: Mode): DuologueTransport<Message> {
    const options: DuologueTransportOptions & DuologueSseTransportOptions = {
      ...this.#options,
      executors: this.#executors,
      executorTimeoutMs: this.#options.toolTimeoutMs,
      watches: true,
      onData: (data: ToldData) => this.#hear(data),
      onFrame: (direction, data) => this.#options.onFrame?.(direction, data),
      onPending: () => {
        if (live === this.live) this.#attach();
      },
      onFloor: (isHere, isFree) => {
        if (live === this.live) this.#become({ floor: { ...this.#current.floor, isHere, isFree } });
      },
      shows: (messageId) => this.#shown.has(messageId),
      onReset: (messages, older) => {
        this.#shown.reset(messages, older);
        this.#become({ ...READY, hasOlder: this.#shown.older !== null });
      },
    };
    const live = new (mode === 'bidi' ? DuologueTransport : DuologueSseTransport)<Message>(options);
    live.connection.subscribe(() => {
      if (live !== this.live) return;
      const { state, info } = live.connection;
      // A reset follows. It is shown later, when the chat has read all: what is told behind it stays.
      if (state.status === 'live' && !info?.resumed) this.#news.clear();
      this.#become({ connection: state });
    });
    return live;
  }

  #send(request: SendOptions): Promise<ReadableStream> {
    if (request.messageId === this.#decided) this.#decided = null;
    // Not in the body of the chat's request: the chat repeats that with the answers to the calls of the response.
    const trigger = this.#isContinuing ? { trigger: 'continue-message' } : {};
    this.#isContinuing = false;
    const sent = this.live.sendMessages({ ...request, body: { ...request.body, ...trigger } });
    this.#hearAnew();
    return sent;
  }

  /** What pages said at the same moment stands in the order of the server, as soon as no answer is being shown. */
  #hearAnew(): boolean {
    const isWanted = this.live.isBehind && this.chat.status !== 'streaming';
    if (isWanted) this.live.hearAnew();
    return isWanted;
  }

  async #reconnectToStream(request: ReconnectOptions): Promise<ReadableStream | null> {
    const stream = await this.live.reconnectToStream(request);
    // Once the chat knows that it is busy.
    setTimeout(() => this.#onTakenUp(), 0);
    return stream;
  }

  async #load(isWanted: boolean): Promise<void> {
    if (isWanted || this.#hasBegun) this.live.connect(this.chat.id);
    if (!isWanted) return;
    this.#loading?.abort();
    const loading = new AbortController();
    this.#loading = loading;
    this.#become({ history: { status: 'loading' } });
    try {
      // What is said from now on is heard. If that cannot be, or an answer is being given, all is heard anew, in one piece.
      const isHere = await this.live.arrived(loading.signal);
      await this.#read(loading.signal);
      const isWhole = isHere && this.live.isAtRest;
      if (!isWhole) this.live.hearAnew();
      if (isHere && !isWhole) return;
      this.#become(READY);
      this.#attach();
    } catch (error) {
      if (loading.signal.aborted) return;
      const failure = error instanceof Error ? error : new Error(String(error));
      this.#become({ history: { status: 'failed', error: failure } });
    } finally {
      if (this.#loading === loading) this.#loading = null;
    }
  }

  /** Lets the chat read a message that it has not followed. */
  #takeUp(): Promise<void> {
    const read = this.chat.resumeStream();
    this.#takingUp = new Promise((resolve) => {
      this.#onTakenUp = resolve;
      void read.finally(resolve);
    });
    return read;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const page = await this.#http.readPage(this.chat.id, null, signal);
    signal.throwIfAborted();
    this.#shown.load(page?.messages ?? [], page?.older ?? null);
    this.live.loaded(this.chat.messages);
    this.#become({ hasOlder: this.#shown.older !== null });
  }

  async #readOlder(): Promise<void> {
    const before = this.#shown.older;
    if (before === null || this.#loading) return;
    const page = await this.#http.readPage(this.chat.id, before);
    // The conversation was read again, or another page took it back to before these messages.
    if (before !== this.#shown.older) return;
    if (!page) return this.#load(true);
    this.#shown.addOlder(page.messages, page.older ?? null);
    this.#become({ hasOlder: this.#shown.older !== null });
  }

  get #http(): DuologueHttp {
    return new DuologueHttp(this.#options);
  }

  #hear(data: ToldData): void {
    if (data.type === 'data-settled') this.#shown.settle(data.data);
    // Another page took the conversation back to before everything that is shown here.
    if (data.type === 'data-rewind' && this.#shown.older !== null && !this.#shown.has(data.data.messageId))
      void this.#load(true);
    this.#news.add(data, this.live.kept.at(-1)?.messageId);
    this.#hearAnew();
    this.#catchUp();
    this.#options.onData?.(data);
  }

  /** Shows what happened elsewhere. A chat that reads would write over it. */
  #catchUp(): void {
    if (this.#isBusy || this.#current.history.status === 'loading') return;
    this.#news.show(this.live.kept);
  }

  #failed(error: Error): void {
    this.#options.onError?.(error);
    const { code } = error as Partial<ProtocolError>;
    // The page shows a decision that does not count, or a message that is not the last: what counts is on the server.
    if (code === 'answer_refused' || code?.startsWith('nothing_to_')) this.live.hearAnew();
  }

  /** Shows chunks that came while nobody read: as a response where the chat can read one, else at once. */
  #attach(): void {
    // What was said before comes first, and takes the place of all that is shown.
    if (this.#current.history.status === 'loading') return;
    for (const { messageId, isNew } of this.live.kept) {
      // What a message answers may have stood behind what was shown just now.
      this.#catchUp();
      if (isNew) {
        if (this.#isBusy) continue;
        void this.#takeUp();
        return;
      }
      if (!this.#isBusy && this.#continues(messageId)) {
        void this.chat.sendMessage();
        return;
      }
      this.#shown.add(messageId, this.live.takePending(messageId));
    }
    this.#catchUp();
  }

  /** Whether `sendMessage()` without a message goes on with this one. */
  #continues(messageId: string): boolean {
    if (this.#decided !== null) return this.#decided === messageId;
    const target = continued(this.chat.messages);
    return target?.id === messageId && target.role === 'assistant';
  }

  #become(change: Partial<ConversationState>): void {
    this.#current = { ...this.#current, ...change };
    this.#watchers.tell();
  }
}
