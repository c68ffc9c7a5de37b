import type { Event } from '@google/adk';
import { MessageChunks, type MessageOutput } from '../../../adk/for-server.ts';
import type { Chunk, Message } from '../../../protocol/index.ts';
import { type AdmittedPart, fingerprint } from '../../files.ts';
import type { CallRecord } from '../../store/store.ts';
import { type Context, causeOf } from './context.ts';
import type { Cause, MessageRequest } from './inputs.ts';
import type { OpenCalls } from './open-calls.ts';

/** An assistant message that is in progress: from its first `start` until the response has ended and none of its calls is open. */
export class Draft {
  /** `Output` adds each chunk of the draft to this object when it sends the chunk. */
  readonly message: Message;
  private reader: MessageChunks;
  private started = false;
  private hasChunks = false;
  private failureText: string | null = null;
  /** Whether the agent writes the message; false for a text of the application. */
  readonly isTurn: boolean;
  private answered: Cause = { metadata: null, request: null };
  private paused: string | undefined;

  constructor(message: Message, reader: MessageChunks, isTurn: boolean) {
    this.message = message;
    this.reader = reader;
    this.isTurn = isTurn;
  }

  get id(): string {
    return this.message.id;
  }

  /** The user message and the request that this message answers. */
  get cause(): Cause {
    return this.answered;
  }

  setCause(cause: Cause): void {
    this.answered = cause;
  }

  /** The ADK invocation that the next run of the message continues; undefined while no call of the message has ended in this process. */
  get invocation(): string | undefined {
    return this.paused;
  }

  setInvocation(id: string): void {
    this.paused = id;
  }

  /** Whether the `start` of the message was sent, and no `finish` since then. */
  get isStarted(): boolean {
    return this.started;
  }

  /** Whether the message has no content. A chunk that waits for a slow write is content too, although `message` does not contain it yet. */
  get isEmpty(): boolean {
    return !this.hasChunks && this.message.parts.length === 0;
  }

  /** The error text that the message ends with; null when the agent has not failed. */
  get failure(): string | null {
    return this.failureText;
  }

  /** Whether the agent wrote text or called a tool in this response. */
  get hasContent(): boolean {
    return this.reader.hasSpoken || this.reader.hasCalled;
  }

  /** The streamed text for which ADK has sent no final event yet. The history lacks this text, because ADK stores only final events. */
  get unfinishedText(): string {
    return this.reader.unfinishedText;
  }

  /** Turns an event of the agent into chunks and other outputs. */
  read(event: Event): MessageOutput[] {
    return this.reader.push(event);
  }

  /** Turns an event that has only text deltas into chunks; null for any other event. */
  readDeltas(event: Event): readonly Chunk[] | null {
    const chunks = this.reader.words(event);
    this.hasChunks ||= chunks !== null;
    return chunks;
  }

  /** Makes the message end with an error. A later failure does not replace the first one. */
  fail(text: string): void {
    this.failureText ??= text;
  }

  /** Returns the chunks that close the open text and reasoning blocks. */
  closeBlocks(): Chunk[] {
    return this.reader.close();
  }

  /** Records that the `start` of the message was sent. */
  start(): void {
    this.started = true;
  }

  /** Records that a chunk with content was sent. */
  noteChunk(): void {
    this.hasChunks = true;
  }

  /** Gives the draft a new reader, because another response continues the message. */
  restart(reader: MessageChunks): void {
    this.reader = reader;
  }

  /** Returns the chunks that end the response. Forgets the failure, and the headers and body fields of the request. */
  finish(reason: FinishReason, metadata: FinishMetadata): Chunk[] {
    const failure = this.failureText;
    this.failureText = null;
    this.started = false;
    this.answered = { ...this.answered, request: null };
    return [
      ...(failure === null ? [] : [{ type: 'error' as const, errorText: failure }]),
      ...this.reader.end(reason, metadata),
    ];
  }
}

type FinishReason = Parameters<MessageChunks['end']>[0];
type FinishMetadata = Parameters<MessageChunks['end']>[1];

/**
 * The assistant messages that are in progress. A user may answer a call when the conversation is already several messages further, so several drafts
 * can be unfinished. The agent works on one of them, the active draft, and continues others after it.
 */
export class Messages {
  private readonly context: Context;
  private readonly calls: OpenCalls;
  private readonly drafts = new Map<string, Draft>();
  private activeDraft: Draft | null = null;
  private working = false;
  /** Drafts that the agent continues after the active one. */
  private next: Draft[] = [];
  private lastActiveId: string | null = null;
  /** The draft that the next chunks belong to, because its `start` was sent last. */
  private current: Draft | null = null;

  constructor(context: Context, calls: OpenCalls) {
    this.context = context;
    this.calls = calls;
  }

  /** The draft that the agent writes, or continues when the calls of the draft are answered; null when the agent has no such draft. */
  get active(): Draft | null {
    return this.activeDraft;
  }

  /** Whether the agent works on the active draft, as opposed to waiting for an answer. */
  get isWorking(): boolean {
    return this.working;
  }

  /**
   * The id of the message that the agent started, or wrote to, last; null when there is none. Every other draft is from an earlier part of the
   * conversation.
   */
  get lastActive(): string | null {
    return this.lastActiveId;
  }

  /** Every unfinished draft. */
  get all(): Draft[] {
    return [...this.drafts.values()];
  }

  /** The active draft and those that the agent continues after it. */
  get expected(): Draft[] {
    return this.activeDraft ? [this.activeDraft, ...this.next] : [...this.next];
  }

  get(messageId: string): Draft | undefined {
    return this.drafts.get(messageId);
  }

  /** Returns the draft of a message. Creates a draft if the message has none. */
  add(message: Message, isTurn = true): Draft {
    const known = this.drafts.get(message.id);
    if (known) return known;
    const draft = new Draft(message, this.newReader(message), isTurn);
    this.drafts.set(message.id, draft);
    return draft;
  }

  /** Sets `lastActive` to the message that an earlier process wrote last. */
  recall(messageId: string | null): void {
    this.lastActiveId = messageId;
  }

  private newReader({ metadata, parts }: Message): MessageChunks {
    const { usage = null, audio } = metadata ?? {};
    const soFar = { usage, ...(audio ? { audio } : {}), firstId: parts.length };
    return new MessageChunks({ images: this.context.options.images, ...soFar });
  }

  /**
   * Starts an assistant message, or continues the message `cut`, which was cut off. `isTurn`: whether the agent writes the message; false for a text
   * of the application. `request`: the request that the message answers, if there is one.
   */
  begin(messageId?: string, cut?: Message | null, isTurn = true, request?: MessageRequest): Draft {
    const id = messageId ?? this.context.newMessageId();
    const { now } = this.context;
    const message: Message = cut ?? { id, role: 'assistant', parts: [], metadata: { createdAt: now } };
    const draft = this.add(message, isTurn);
    draft.setCause(causeOf(request));
    this.activate(draft);
    this.lastActiveId = draft.id;
    this.turnTo(draft);
    return draft;
  }

  /** Makes a draft the active one. `isWorking`: the agent works on it now. */
  activate(draft: Draft, isWorking = true): void {
    this.drafts.set(draft.id, draft);
    this.next = this.next.filter((one) => one !== draft);
    this.activeDraft = draft;
    this.working = isWorking;
  }

  /** Activates the next expected draft. Returns false when no draft is expected next. */
  activateNext(isWorking = true): boolean {
    const next = this.next.shift();
    if (next) this.activate(next, isWorking);
    return next !== undefined;
  }

  /** Sets whether the agent works on the active draft. */
  setWorking(isWorking: boolean): void {
    this.working = isWorking;
  }

  /** Records that the agent wrote text or called a tool in the active draft. */
  noteActivity(): void {
    if (this.activeDraft) this.lastActiveId = this.activeDraft.id;
  }

  /** Leaves no draft active. The draft that was active stays open, and `isWorking` does not change. */
  deactivate(): void {
    this.activeDraft = null;
  }

  /** Removes and returns the drafts that the agent was to continue after the active one, except the first `count`. */
  dropNext(count = 0): Draft[] {
    return this.next.splice(count);
  }

  /** Forgets which draft is active and which come next, because the run is over. The drafts stay open. */
  reset(): void {
    this.activeDraft = null;
    this.working = false;
    this.next = [];
    this.lastActiveId = null;
  }

  /** Sends a chunk of a draft. */
  say(draft: Draft, chunk: Chunk): void {
    this.turnTo(draft);
    draft.noteChunk();
    this.context.emit({ type: 'say', messageId: draft.id, chunk });
  }

  /** Whether the next chunks belong to this draft without another `start`. */
  isCurrent(draft: Draft): boolean {
    return this.current === draft;
  }

  /** Sends a chunk without adding it to a message. */
  inject(chunk: Chunk): void {
    this.context.emit({ type: 'inject', chunk });
  }

  /** Closes the open text and reasoning blocks of a draft. */
  closeBlocksOf(draft: Draft): void {
    this.turnTo(draft);
    for (const chunk of draft.closeBlocks()) this.say(draft, chunk);
  }

  closeBlocks(): void {
    if (this.current) this.closeBlocksOf(this.current);
  }

  /** Makes a draft the current one: closes the open blocks of the previous draft, and sends the `start` of the new one. */
  turnTo(draft: Draft): void {
    if (this.current === draft) return;
    this.closeBlocks();
    this.current = draft;
    draft.start();
    this.context.emit({ type: 'start', message: draft.message, isTurn: draft.isTurn });
  }

  /** Continues a draft in a new response: its `start` is sent again. */
  resume(draft: Draft): void {
    this.activate(draft);
    this.closeBlocks();
    this.current = null;
    draft.restart(this.newReader(draft.message));
    this.turnTo(draft);
  }

  /** Stores a draft in its current state. `asks`: the call whose question or confirmation the draft shows from now on. */
  save(draft: Draft, asks?: CallRecord): void {
    this.context.store([{ do: 'save', messageId: draft.id, ...(asks && { asks }) }], null);
  }

  /**
   * Prepares the draft `owner` for its continuation by the agent, because the model gets the response to one of its calls. `isComplete`: every call
   * of the same step has a response.
   */
  expect(owner: Draft, isComplete: boolean): void {
    const { activeDraft } = this;
    if (this.working) {
      if (!this.expected.includes(owner)) this.next.push(owner);
      return;
    }
    // The model has started another message by itself. That message ends, because the model now continues `owner`.
    if (activeDraft && activeDraft !== owner && !this.calls.hasIn(activeDraft.id)) this.finish(activeDraft);
    // The model continues the message that it wrote last only when every call of the step is answered. In an earlier message it responds to each answer at
    // once.
    this.activate(owner, isComplete || this.lastActiveId !== owner.id);
  }

  /** Pauses a draft, because its calls wait for the user or the browser. */
  pause(draft: Draft): void {
    this.closeBlocksOf(draft);
    if (this.activeDraft === draft) this.working = false;
    if (!draft.isEmpty) this.save(draft);
  }

  /** Ends a response of a draft. The end is stored before clients see it. A draft without open calls is then removed. */
  finish(draft: Draft, how: { interrupted?: boolean } = {}): void {
    const isOpen = this.calls.hasIn(draft.id);
    const { message, failure } = draft;
    const reason = how.interrupted ? 'other' : failure !== null ? 'error' : isOpen ? 'tool-calls' : undefined;
    this.closeBlocksOf(draft);
    const metadata = finishMetadata(message, reason, this.context.isClosed);
    const chunks = draft.finish(reason, metadata);
    this.context.emit({ type: 'finish', message, chunks, isOver: !isOpen });
    this.current = null;
    this.deactivateIf(draft);
    this.next = this.next.filter((one) => one !== draft);
    if (!isOpen) this.forget(draft);
  }

  /** Finishes as interrupted every draft that was started and not finished. */
  finishStarted(drafts: Iterable<Draft> = this.all): void {
    for (const draft of drafts) if (draft.isStarted) this.finish(draft, { interrupted: true });
  }

  /** Removes a draft from the messages in progress. */
  forget(draft: Draft): void {
    if (!this.drafts.delete(draft.id)) return;
    if (this.current === draft) this.current = null;
    this.deactivateIf(draft);
    this.context.emit({ type: 'release', messageId: draft.id });
  }

  /** Ends a draft if the agent will not continue it: none of its calls is open, and it is not among `expected`. */
  endLeftover(draft: Draft | undefined): void {
    if (!draft || this.expected.includes(draft) || this.calls.hasIn(draft.id)) return;
    if (draft.isStarted) this.finish(draft, { interrupted: true });
    this.forget(draft);
  }

  /** Ends every draft that the agent will not continue. */
  endLeftovers(): void {
    for (const draft of this.all) this.endLeftover(draft);
  }

  private deactivateIf(draft: Draft): void {
    if (this.activeDraft !== draft) return;
    this.activeDraft = null;
    this.working = false;
  }
}

/**
 * The metadata of a `finish` chunk. It resets the marks of an earlier failure or cut (`interrupted`, `cutOff`, `failed`, `finishReason`), because the
 * message was continued. A message that the shutdown of the process ends is marked as cut off, because the user did not stop it.
 */
function finishMetadata({ metadata }: Message, reason: FinishReason, isClosed: boolean): FinishMetadata {
  const interrupted = reason === 'other';
  const cutOff = interrupted && isClosed;
  const failed = reason === 'error';
  return {
    ...(interrupted || metadata?.interrupted ? { interrupted } : {}),
    ...(cutOff || metadata?.cutOff ? { cutOff } : {}),
    ...(failed || metadata?.failed ? { failed } : {}),
    ...(metadata?.finishReason ? { finishReason: 'stop' } : {}),
  };
}

/**
 * The newest user messages of a conversation. The state remembers them to recognise a message that a client sends twice, and one that rewinds the
 * conversation.
 */
export class UserMessages {
  private unansweredId: string | null;
  /** A fingerprint of each message, by its id, in order. */
  private readonly messages: Map<string, string>;

  constructor(messages: readonly { id: string; fingerprint: string }[], unanswered: string | null) {
    this.messages = new Map(messages.map(({ id, fingerprint }) => [id, fingerprint]));
    this.unansweredId = unanswered;
  }

  /** The id of the stored user message that the agent has not started to answer; null when there is none. */
  get unanswered(): string | null {
    return this.unansweredId;
  }

  get newest(): string | undefined {
    return [...this.messages.keys()].at(-1);
  }

  has(id: string): boolean {
    return this.messages.has(id);
  }

  /** Whether the user message with this id has the same fingerprint as these parts. */
  matches(id: string, parts: readonly AdmittedPart[]): boolean {
    return this.messages.get(id) === fingerprint(parts);
  }

  add(id: string, parts: readonly AdmittedPart[]): void {
    this.messages.set(id, fingerprint(parts));
  }

  setUnanswered(id: string | null): void {
    this.unansweredId = id;
  }

  forget(id: string): void {
    this.messages.delete(id);
  }

  /** Forgets a message and every later one. */
  forgetFrom(messageId: string): void {
    let isLater = false;
    for (const id of [...this.messages.keys()]) {
      isLater ||= id === messageId;
      if (isLater) this.messages.delete(id);
    }
  }
}
