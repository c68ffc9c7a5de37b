import { Chat } from '@ai-sdk/react';
import {
  type ConnectionState,
  DuologueHttp,
  DuologueSseTransport,
  type DuologueSseTransportOptions,
  DuologueTransport,
  type DuologueTransportOptions,
  type Executors,
  type HttpOptions,
  type Pending,
  shouldResume,
  type WebSocketLike,
} from '../client/index.ts';
import type { Chunk, Message } from '../protocol/chunks.ts';
import { ProtocolError } from '../protocol/errors.ts';
import { type PendingApproval, pendingApprovals } from './approvals.ts';
import type { Mode } from './mode.ts';
import { ShownMessages } from './shown-messages.ts';

/** Data that the server tells and that is not kept in a message. */
export type ToldData = Extract<Chunk, { type: `data-${string}` }>;

/** What a conversation is made of. */
export interface ConversationOptions extends HttpOptions {
  mode: Mode;
  sessionId: string;
  /** The browser tools of the page. Which there are is settled at the beginning; what they do may change. */
  tools?: Executors | undefined;
  /** What was said before; without it the server is asked. */
  messages?: Message[] | undefined;
  toolTimeoutMs?: number | undefined;
  WebSocket?: (new (url: string, protocols: string[]) => WebSocketLike) | undefined;
  onData?: ((data: ToldData) => void) | undefined;
  onError?: ((error: Error) => void) | undefined;
  onFinish?: ((result: { message: Message; messages: Message[] }) => void) | undefined;
  /** Sees every frame of the socket, as it goes and comes. */
  onFrame?: ((direction: 'in' | 'out', data: string | Uint8Array) => void) | undefined;
}

/** What the page may want to know beside the messages. */
export interface ConversationState {
  /** The mode in force. A change waits for the end of the response that is being read. */
  mode: Mode;
  connection: ConnectionState;
  /** Where what was said before is: on its way, here, or not to be had. */
  history: { status: 'loading' } | { status: 'ready' } | { status: 'failed'; error: Error };
  /** Whether this page has the floor: it runs browser tools and hears sound, the others watch. */
  floor: { isHere: boolean; take(): void };
}

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
  readonly #watchers = new Set<() => void>();
  readonly #pending = new Map<string, Pending>();
  readonly #executors: Executors;
  #current: ConversationState;
  #wanted: Mode;
  /** The message whose decision `sendMessage()` without a message would go on with. */
  #decided: string | null = null;
  #loading: AbortController | null = null;
  /** Resolves when the chat has begun to read the message that it takes up. */
  #takingUp: Promise<void> = Promise.resolve();
  #onTakenUp: () => void = () => undefined;
  /** Whether something was said elsewhere before what this page has said and not heard of yet. */
  #isBehind = false;
  /** What happened elsewhere while the chat was reading, in order. */
  readonly #news: ToldData[] = [];

  constructor(options: ConversationOptions) {
    const { mode, sessionId } = options;
    this.#options = options;
    this.#wanted = mode;
    this.#executors = this.#executorsFor(options.tools ?? {});
    this.live = this.#newLive(mode);
    this.#current = {
      mode,
      connection: this.live.connection.state,
      history: options.messages ? READY.history : { status: 'loading' },
      floor: { isHere: true, take: () => this.live.takeFloor() },
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
  }

  get state(): ConversationState {
    return this.#current;
  }

  /** Calls the listener whenever the state changes; the returned function ends that. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  };

  /** Takes the newest callbacks and tools; the session, its address and its transports stay. */
  update(options: ConversationOptions): void {
    this.#options = options;
    this.#wanted = options.mode;
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

  /** Connects again: now, or here, when another page has the conversation. */
  async reconnect(): Promise<void> {
    this.chat.clearError();
    if (this.#current.connection.status === 'taken-over') {
      // What was typed elsewhere is in no chunk: all is read anew.
      this.#renewLive();
      await this.#load(true);
    } else this.live.connect(this.chat.id);
  }

  /** Stops the agent; the answer keeps what was said, and open calls end. */
  interrupt(): void {
    this.live.interrupt();
  }

  /** Gives the person's decision, also while the agent speaks. */
  async decide(approval: PendingApproval, approved: boolean, reason?: string): Promise<void> {
    const { id, toolCallId, messageId, isConfirmation } = approval;
    // A chat that takes up a message writes it anew: what is answered in that moment would be lost with the old one.
    await this.#takingUp;
    // The chat keeps an answer until it is at rest and all its cards are answered; a socket takes each at once.
    const isKept = this.#isBusy || pendingApprovals(this.chat.messages).some((other) => other.id !== id);
    const isNow = this.#current.mode === 'bidi' && isKept;
    if (isConfirmation) {
      const output = { confirmed: approved };
      if (isNow) this.live.sendToolResult(toolCallId, output);
      await this.chat.addToolOutput({
        tool: 'adk_request_confirmation' as never,
        toolCallId,
        output: output as never,
      });
      return;
    }
    if (isNow) this.live.sendDecision(toolCallId, approved, reason);
    this.#decided = messageId;
    await this.chat.addToolApprovalResponse({ id, approved, ...(reason ? { reason } : {}) });
  }

  /** The chat may have come to rest: what waited for that happens now. */
  chatSettled(): void {
    if (this.#isBusy) return;
    if (this.#isBehind) return this.#readAnew();
    this.#catchUp();
    if (this.#wanted !== this.#current.mode) this.#change(this.#wanted);
    this.#attach();
  }

  get #isBusy(): boolean {
    return this.chat.status === 'submitted' || this.chat.status === 'streaming';
  }

  #change(mode: Mode): void {
    const isWhole = this.live.isAtRest;
    this.#renewLive(mode);
    this.#become({ mode, floor: { ...this.#current.floor, isHere: true } });
    if (this.#hasBegun) this.live.connect(this.chat.id);
    // What the old connection had not told yet, the new one does not know of.
    if (!isWhole) void this.#load(true);
  }

  /** A transport goes on after the last chunk that it saw; what the page got elsewhere meanwhile would come twice. */
  #renewLive(mode = this.#current.mode): void {
    this.live.close();
    this.#pending.clear();
    this.#news.length = 0;
    this.live = this.#newLive(mode);
    this.#become({ connection: this.live.connection.state });
  }

  /** Whether anything was said. A session begins with its first message, so that nobody leaves empty ones behind. */
  get #hasBegun(): boolean {
    return this.chat.messages.length > 0;
  }

  #newLive(mode: Mode): DuologueTransport<Message> {
    const { url, key, headers, credentials, fetch, sharesStream, WebSocket, toolTimeoutMs } = this.#options;
    const options: DuologueTransportOptions & DuologueSseTransportOptions = {
      ...{ url, key, headers, credentials, fetch, sharesStream, WebSocket },
      executors: this.#executors,
      executorTimeoutMs: toolTimeoutMs,
      watches: true,
      onData: (data: ToldData) => this.#hear(data),
      onFrame: (direction, data) => this.#options.onFrame?.(direction, data),
      onPending: (pending) => {
        if (live !== this.live) return;
        this.#pending.set(pending.messageId, pending);
        this.#attach();
      },
      onFloor: (isHere) => {
        if (live === this.live) this.#become({ floor: { ...this.#current.floor, isHere } });
      },
      shows: (messageId) => this.chat.messages.some(({ id }) => id === messageId),
      onReset: (messages) => {
        this.#pending.clear();
        this.#news.length = 0;
        this.#shown.reset(messages);
        this.#become(READY);
      },
    };
    const live = new (mode === 'bidi' ? DuologueTransport : DuologueSseTransport)<Message>(options);
    live.connection.subscribe(() => {
      if (live === this.live) this.#become({ connection: live.connection.state });
    });
    return live;
  }

  #executorsFor(tools: Executors): Executors {
    return Object.fromEntries(
      Object.keys(tools).map((name) => [
        name,
        (input: never, context) => {
          const tool = this.#options.tools?.[name];
          if (!tool) throw new Error(`This page has no tool ${name} any more.`);
          return tool(input, context);
        },
      ]),
    ) as Executors;
  }

  #send(request: SendOptions): Promise<ReadableStream> {
    if (request.messageId === this.#decided) this.#decided = null;
    this.#isBehind ||= this.live.isUnread && request.messages.at(-1)?.role === 'user';
    return this.live.sendMessages(request);
  }

  async #reconnectToStream(request: ReconnectOptions): Promise<ReadableStream | null> {
    const loading = this.#loading;
    const stream = await this.live.reconnectToStream(request);
    // Once the chat knows that it is busy.
    setTimeout(() => {
      this.#onTakenUp();
      if (loading && loading === this.#loading) this.#ready();
    }, 0);
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
      const isRunning = await this.#read(loading.signal);
      // What is said before the answer in progress is followed would get in its way.
      if (this.#isBusy || !isRunning) this.#ready();
      if (this.#isBusy) return;
      await this.#takeUp();
      loading.signal.throwIfAborted();
      this.#ready();
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

  #ready(): void {
    this.#become(READY);
    this.#attach();
  }

  async #read(signal: AbortSignal): Promise<boolean> {
    const session = await new DuologueHttp(this.#options).readSession(this.chat.id, signal);
    signal.throwIfAborted();
    this.chat.messages = session?.messages ?? [];
    this.live.loaded(this.chat.messages);
    return session?.isRunning ?? false;
  }

  #hear(data: ToldData): void {
    if (data.type === 'data-settled') this.#shown.settle(data.data);
    const isWaiting = this.#isBusy && this.chat.messages.at(-1)?.role === 'user';
    this.#isBehind ||= data.type === 'data-message' && isWaiting;
    this.#news.push(data);
    this.#catchUp();
    this.#options.onData?.(data);
  }

  /** What two pages said at once stands in the order of the server. */
  #readAnew(): void {
    this.#isBehind = false;
    this.#renewLive();
    void this.#load(true);
  }

  /** Shows what happened elsewhere. A chat that reads would write over it. */
  #catchUp(): void {
    if (this.#isBusy || this.#current.history.status === 'loading') return;
    for (const told of this.#news.splice(0)) {
      if (told.type === 'data-heard') this.#shown.cut(told.data);
      if (told.type === 'data-message') this.#shown.say(this.#withAddresses(told.data.message));
      if (told.type === 'data-decided') this.#shown.decide(told.data);
      if (told.type === 'data-rewind') this.#shown.rewind(told.data);
    }
  }

  /** What is told to all has the addresses of files as the server knows them. */
  #withAddresses(message: Message): Message {
    const http = new DuologueHttp(this.#options);
    const parts = message.parts.map((part) =>
      part.type === 'file' && part.url.startsWith('/') ? { ...part, url: http.addressOf(part.url) } : part,
    );
    return { ...message, parts };
  }

  #failed(error: Error): void {
    this.#options.onError?.(error);
    const code = error instanceof ProtocolError ? error.code : null;
    // The page shows a decision that does not count: what counts is on the server.
    if (code === 'answer_refused' || code === 'nothing_to_answer') {
      this.#read(new AbortController().signal).catch((reason: unknown) =>
        this.#options.onError?.(reason as Error),
      );
    }
  }

  /** Shows chunks that came while nobody read: as a response where the chat can read one, else at once. */
  #attach(): void {
    // What was said before comes first, and takes the place of all that is shown.
    if (this.#current.history.status === 'loading') return;
    this.#catchUp();
    for (const { messageId, isNew } of [...this.#pending.values()]) {
      if (isNew) {
        if (this.#isBusy) continue;
        this.#pending.delete(messageId);
        void this.#takeUp();
        return;
      }
      this.#pending.delete(messageId);
      if (!this.#isBusy && this.#continues(messageId)) {
        void this.chat.sendMessage();
        return;
      }
      this.#shown.add(messageId, this.live.takePending(messageId));
    }
  }

  /** Whether `sendMessage()` without a message goes on with this one. */
  #continues(messageId: string): boolean {
    if (this.#decided !== null) return this.#decided === messageId;
    const { messages } = this.chat;
    const responded = messages.findLast(({ parts }) =>
      parts.some((part) => 'toolCallId' in part && part.state === 'approval-responded'),
    );
    const target = responded ?? messages.at(-1);
    return target?.id === messageId && target.role === 'assistant';
  }

  #become(change: Partial<ConversationState>): void {
    this.#current = { ...this.#current, ...change };
    for (const watcher of [...this.#watchers]) watcher();
  }
}
