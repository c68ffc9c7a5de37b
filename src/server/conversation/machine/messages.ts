import { MessageChunks } from '../../../adk/for-server.ts';
import type { Chunk, Message } from '../../../protocol/index.ts';
import type { Effect } from './effects.ts';

/** A message that the agent writes, from its `start` until nothing of it is open. */
export interface Writing {
  readonly message: Message;
  /** Turns the agent's events into chunks; a response of its own begins with a new one. */
  chunks: MessageChunks;
  /** Whether something of it was said since it last had a `finish`. */
  isUnderWay: boolean;
  /** What the person is told when it ends, if the agent failed. */
  failure: string | null;
}

/** What the messages need from around them. */
export interface MessagesContext {
  emit: (effect: Effect) => void;
  images: 'file' | 'data-image';
  newMessageId: () => string;
  now: () => number;
  hasOpenCalls: (messageId: string) => boolean;
  /** Whether the process ends. */
  isClosed: () => boolean;
}

/**
 * The messages that the agent writes. A call may be answered long after the conversation has moved on, so several can be
 * unfinished: one is being written, and the agent goes on with others after it.
 */
export class Messages {
  /** The message the agent writes now; null between turns. */
  speaking: Writing | null = null;
  /** Whether the agent is at work on `speaking`, as opposed to waiting with it for an answer. */
  isAtWork = false;
  /** Messages the agent will go on with after this one. */
  next: Writing[] = [];
  /** The message the agent said or called something in last: what came before it, the conversation has left behind. */
  lastToSpeak: string | null = null;
  private readonly context: MessagesContext;
  private readonly unfinished = new Map<string, Writing>();
  /** The message that chunks go to: the one of the last `start`. */
  private current: Writing | null = null;

  constructor(context: MessagesContext) {
    this.context = context;
  }

  /** Takes up a message whose calls are open. */
  add(message: Message): Writing {
    const known = this.unfinished.get(message.id);
    if (known) return known;
    const writing: Writing = {
      message,
      chunks: this.newChunks(message),
      isUnderWay: false,
      failure: null,
    };
    this.unfinished.set(message.id, writing);
    return writing;
  }

  private newChunks(message: Message): MessageChunks {
    const { usage = null, audio } = message.metadata ?? {};
    const soFar = { usage, ...(audio ? { audio } : {}), firstId: message.parts.length };
    return new MessageChunks({ images: this.context.images, ...soFar });
  }

  get(messageId: string): Writing | undefined {
    return this.unfinished.get(messageId);
  }

  /** Begins a message of the agent, or continues one that was cut. */
  begin(answerId?: string, cut?: Message | null): Writing {
    const { newMessageId, now } = this.context;
    const id = answerId ?? newMessageId();
    const writing = this.add(cut ?? { id, role: 'assistant', parts: [], metadata: { createdAt: now() } });
    this.speak(writing);
    this.lastToSpeak = id;
    this.turnTo(writing);
    return writing;
  }

  /** The agent is at work on a message. */
  speak(writing: Writing, isAtWork = true): void {
    this.unfinished.set(writing.message.id, writing);
    this.speaking = writing;
    this.isAtWork = isAtWork;
  }

  /** Says a chunk of a message. */
  say(writing: Writing, chunk: Chunk): void {
    this.turnTo(writing);
    this.context.emit({ type: 'say', messageId: writing.message.id, chunk });
  }

  /** Whether chunks go to that message now, and so nothing has to be said before one of it. */
  isTurnedTo(writing: Writing): boolean {
    return this.current === writing;
  }

  /** Says something that is no part of a message. */
  inject(chunk: Chunk): void {
    this.context.emit({ type: 'inject', chunk });
  }

  /** Closes what a message had begun to say: something else of it comes next. */
  interject(writing: Writing): void {
    this.turnTo(writing);
    for (const chunk of writing.chunks.close()) this.say(writing, chunk);
  }

  /** Makes a message the one that chunks go to; what the one before had begun to say is closed first. */
  turnTo(writing: Writing): void {
    const { current } = this;
    if (current === writing) return;
    this.closeBlocks();
    this.current = writing;
    writing.isUnderWay = true;
    this.context.emit({ type: 'start', message: writing.message });
  }

  /** Closes what is being said. */
  closeBlocks(): void {
    if (this.current) for (const chunk of this.current.chunks.close()) this.say(this.current, chunk);
  }

  /** Goes on with a message in a response of its own: `start` is said again. */
  resume(writing: Writing): void {
    this.speak(writing);
    this.closeBlocks();
    this.current = null;
    writing.chunks = this.newChunks(writing.message);
    this.turnTo(writing);
  }

  /** Keeps what a message has so far. */
  save(writing: Writing): void {
    this.context.emit({
      type: 'store',
      writes: [{ do: 'save', messageId: writing.message.id }],
      after: [],
      about: null,
    });
  }

  /** Whom the model will speak for once it has the response to a call. `isComplete`: no call of its step is open any more. */
  expect(owner: Writing, isComplete: boolean): void {
    if (this.isAtWork) {
      const isKnown = [this.speaking, ...this.next].includes(owner);
      if (!isKnown) this.next.push(owner);
      return;
    }
    const { speaking } = this;
    // What the model said by itself in between is over.
    if (speaking && speaking !== owner && !this.context.hasOpenCalls(speaking.message.id))
      this.finish(speaking);
    // The calls of one step are answered together, unless the conversation has moved on.
    this.speak(owner, isComplete || this.lastToSpeak !== owner.message.id);
  }

  /** The agent says no more of a message for now, and waits with it for the person or the browser. */
  pause(writing: Writing): void {
    this.interject(writing);
    if (this.speaking === writing) this.isAtWork = false;
    if (writing.message.parts.length > 0) this.save(writing);
  }

  /** Ends a response of a message: what it ends with is stored before anyone hears of it. */
  finish(writing: Writing, how: { interrupted?: boolean } = {}): void {
    const { message, chunks, failure } = writing;
    const { emit, hasOpenCalls, isClosed } = this.context;
    const isOpen = hasOpenCalls(message.id);
    writing.failure = null;
    this.interject(writing);
    writing.isUnderWay = false;
    const reason = how.interrupted ? 'other' : failure !== null ? 'error' : isOpen ? 'tool-calls' : undefined;
    emit({
      type: 'finish',
      message,
      chunks: [
        ...(failure === null ? [] : [{ type: 'error' as const, errorText: failure }]),
        ...chunks.end(reason, endOf(message, reason, isClosed())),
      ],
    });
    this.current = null;
    if (this.speaking === writing) {
      this.speaking = null;
      this.isAtWork = false;
    }
    this.next = this.next.filter((one) => one !== writing);
    if (!isOpen) this.forget(writing);
  }

  /** A message that is over: nothing more is written to it. */
  forget(writing: Writing): void {
    if (!this.unfinished.delete(writing.message.id)) return;
    if (this.current === writing) this.current = null;
    if (this.speaking === writing) {
      this.speaking = null;
      this.isAtWork = false;
    }
    this.context.emit({ type: 'release', messageId: writing.message.id });
  }

  /** Every unfinished message. */
  get all(): Writing[] {
    return [...this.unfinished.values()];
  }
}

/**
 * The metadata that the `finish` of a message carries. A message that was continued after a failure or a cut loses those marks. One that
 * ends because the process shuts down is marked as cut off, because the person did not stop it.
 */
function endOf(
  { metadata }: Message,
  reason: Parameters<MessageChunks['end']>[0],
  isClosed: boolean,
): Parameters<MessageChunks['end']>[1] {
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
