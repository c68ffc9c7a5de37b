import { type Chunk, Grammar, type Message } from '../../../src/protocol/index.ts';
import type { Ledger } from './ledger.ts';

/** A message as it was heard. */
interface HeardMessage {
  id: string;
  message: Message;
  isOpen: boolean;
  /** Whether a response over SSE was given of it. */
  isPosted: boolean;
  finishes: number;
  /** Its calls that have no end yet. */
  calls: Set<string>;
  /** An interruption was heard while it was open, or before. */
  isSilenced: boolean;
}

/** Everything that is said, checked against PROTOCOL.md as it comes. */
export class ClientView {
  readonly wrong: string[] = [];
  readonly messages = new Map<string, HeardMessage>();
  /** Calls that were announced, with what the person needs to answer them. */
  readonly calls = new Map<string, { toolName: string; approvalId?: string }>();
  readonly ended = new Set<string>();
  private readonly reported = new Set<string>();
  /** Calls whose end was written to a message that was not being sent. */
  private readonly amended = new Set<string>();
  /** Calls whose end could not be written: the user gets the outcome all the same. */
  private readonly unwritten = new Set<string>();
  readonly chunks: Chunk[] = [];
  private readonly grammar = new Grammar('bidi');
  private readonly ledger: Ledger;
  /** Whether requests for approval come one by one, outside of responses over SSE. */
  private readonly isOneByOne: boolean;
  private current: HeardMessage | null = null;

  constructor(ledger: Ledger, isOneByOne: boolean) {
    this.ledger = ledger;
    this.isOneByOne = isOneByOne;
  }

  start(message: Message, isPosted: boolean): void {
    const { id } = message;
    const known = this.messages.get(id);
    this.current = known ?? {
      id,
      message,
      isOpen: true,
      isPosted,
      finishes: 0,
      calls: new Set(),
      isSilenced: false,
    };
    this.current.isOpen = true;
    this.current.isPosted ||= isPosted;
    this.messages.set(id, this.current);
    this.check({ type: 'start', messageId: id });
  }

  /** What is being said is a response over SSE. */
  posted(): void {
    if (this.current) this.current.isPosted = true;
  }

  say(chunk: Chunk): void {
    this.chunks.push(chunk);
    if ('transient' in chunk && chunk.transient) {
      if (chunk.type === 'data-settled') this.tell(chunk.data.toolCallId);
      return;
    }
    // The machine asks whether anything was said.
    if (chunk.type !== 'finish') this.current?.message.parts.push({ type: 'step-start' });
    this.check(chunk);
    this.silence(chunk);
    this.call(chunk);
  }

  /** A response ends: what it ends with, and `[DONE]`. */
  finish({ id }: Message, chunks: readonly Chunk[]): void {
    for (const chunk of chunks) this.say(chunk);
    const message = this.messages.get(id);
    if (this.current !== message) this.wrong.push(`[C6] ${id} ends while ${this.current?.id} is said`);
    this.current = null;
    if (!message) return;
    message.isOpen = false;
    const finish = chunks.find((chunk) => chunk.type === 'finish');
    // What failed may be gone on with, so may what the process cut off, and over SSE every response has its own end.
    if (message.isPosted || finish?.finishReason === 'error' || finish?.messageMetadata?.cutOff) return;
    message.finishes++;
    if (message.finishes > 1) this.wrong.push(`[B13] ${id} ends twice`);
    // What is replaced ends although a call is open.
    if (message.calls.size > 0 && finish?.finishReason !== 'other')
      this.wrong.push(`[B13] ${id} ends while ${[...message.calls]} is open`);
  }

  /** Nothing of what is being said is said any more. */
  interrupted(): void {
    for (const message of this.messages.values()) message.isSilenced = true;
  }

  /** An event could not be written. */
  notWritten(callId: string): void {
    this.unwritten.add(callId);
  }

  /** What is open in a message could not be closed in the history. */
  notMended(messageId: string): void {
    for (const id of this.messages.get(messageId)?.calls ?? []) this.unwritten.add(id);
  }

  /** The calls that a message shows as open although none of them waits. */
  missed(messageId: string, waiting: ReadonlySet<string>, errorText: string): Chunk[] {
    const calls = [...(this.messages.get(messageId)?.calls ?? [])].filter((id) => !waiting.has(id));
    for (const id of calls) this.ledger.answered.add(id);
    return calls.map((toolCallId) => ({ type: 'tool-output-error', toolCallId, errorText }));
  }

  /** Chunks that were written to a message without being sent. */
  amend(chunks: readonly Chunk[]): void {
    for (const chunk of chunks) {
      if (!('toolCallId' in chunk)) continue;
      this.end(chunk.toolCallId);
      if (chunk.type === 'tool-output-error') this.amended.add(chunk.toolCallId);
    }
  }

  /** What is wrong once everything has come to rest. */
  atRest(): string[] {
    const open = [...this.messages.values()].filter(({ isOpen }) => isOpen);
    const calls = [...this.calls.keys()].filter((id) => !this.ended.has(id));
    const untold = [...this.amended].filter((id) => this.calls.has(id) && !this.reported.has(id));
    return [
      ...open.map(({ id }) => `[C6] ${id} has no end`),
      ...calls.map((id) => `[C9] ${id} has no end`),
      ...untold.map((id) => `[C9] ${id} has ended, and nobody is told`),
    ];
  }

  private check(chunk: Chunk): void {
    for (const words of this.grammar.push(chunk)) {
      // Over SSE requests stand outside of steps.
      if (words.includes('outside a step')) continue;
      this.wrong.push(`[C6] [C7] [C9] ${words}`);
    }
  }

  private silence(chunk: Chunk): void {
    const { current } = this;
    const isSpeech =
      /-(delta|start|available|request)$/.test(chunk.type) && !chunk.type.startsWith('tool-output');
    if (current?.isSilenced && isSpeech && chunk.type !== 'start-step')
      this.wrong.push(`[B6] ${chunk.type} of ${current.id} comes after its interruption`);
  }

  private call(chunk: Chunk): void {
    if (!('toolCallId' in chunk)) return;
    const { toolCallId: id } = chunk;
    const stored = this.ledger.calls.get(id);
    if (chunk.type === 'tool-input-start') {
      this.calls.set(id, { toolName: chunk.toolName });
      this.current?.calls.add(id);
      const isWritten = stored !== undefined || this.ledger.inside.has(id) || this.ledger.answered.has(id);
      if (!this.current?.isPosted && !isWritten) this.wrong.push(`[T10] ${id} is told before it is written`);
    } else if (chunk.type === 'tool-approval-request') {
      const before = [...this.calls].find(
        ([other, { approvalId }]) => other !== id && approvalId !== undefined && !this.ended.has(other),
      );
      if (before && this.isOneByOne && !this.current?.isPosted)
        this.wrong.push(`[T17] ${id} asks before ${before[0]} has ended`);
      this.calls.set(id, { toolName: this.calls.get(id)?.toolName ?? '', approvalId: chunk.approvalId });
      if (stored?.approvalId !== chunk.approvalId) this.wrong.push(`[T10] ${id} asks before it is written`);
    } else if (chunk.type.startsWith('tool-output-')) {
      const isWritten = this.ledger.answered.has(id) || this.unwritten.has(id);
      if (!isWritten) this.wrong.push(`[T10] ${id} ends before it is written`);
      this.tell(id);
    }
  }

  private tell(id: string): void {
    if (this.reported.has(id)) this.wrong.push(`[C9] ${id} ends twice`);
    this.reported.add(id);
    this.end(id);
  }

  private end(id: string): void {
    this.ended.add(id);
    for (const { calls } of this.messages.values()) calls.delete(id);
  }
}
