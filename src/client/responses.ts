import type { Chunk } from '../protocol/chunks.ts';
import { type Calls, endedCall } from './calls.ts';
import { DeltaMerger } from './merge.ts';
import { Steps } from './steps.ts';

/** What happens to the responses of a connection. */
export type ResponsesInput =
  /**
   * Someone reads: a message that is to come (null), or one that goes on. `expects`: an answer is on its way for it.
   * `repeats`: approved browser calls that the page is asked to run.
   */
  | { type: 'open'; response: number; messageId: string | null; expects?: boolean; repeats?: string[] }
  /** `isReplay`: said before the connection began, and repeated for pages that have not seen it. */
  | { type: 'chunk'; chunk: Chunk; isReplay?: boolean }
  /** A turn is over. */
  | { type: 'done' }
  /** All that has arrived has been pushed. */
  | { type: 'rest' }
  /** The reader of a response went away; `isRefused`: because what it waited for will not come. */
  | { type: 'leave'; response: number; isRefused?: boolean }
  /** The page gets the whole conversation anew; only what is to come is still waited for. */
  | { type: 'reset' };

/** What follows: a chunk for a response, its end, or chunks that nobody reads. */
export type ResponsesOutput =
  | { type: 'chunk'; response: number; chunk: Chunk }
  | { type: 'end'; response: number }
  | { type: 'pending'; messageId: string; isNew: boolean };

interface Kept {
  chunks: Chunk[];
  merger: DeltaMerger;
  /** Whether the message is kept from its first chunk on. */
  isNew: boolean;
  isTold: boolean;
  /** Whether all of it so far is a repetition, else how many chunks are. */
  replayed: number | 'all';
}

interface Open {
  id: number;
  messageId: string;
  /** Text and reasoning blocks that the reader saw begin and not end. */
  blocks: Map<string, 'text' | 'reasoning'>;
}

type Out = ResponsesOutput[];

/**
 * Sorts the chunks of a connection into responses. A response is one message, or a piece of one: it ends with the turn, or
 * at a pause, when everything still open waits for the person or for a browser tool that nobody runs here. What comes for
 * a message that nobody reads is kept until someone does.
 */
export class Responses {
  private readonly calls: Calls;
  private readonly readers = new Map<string, Open>();
  private readonly kept = new Map<string, Kept>();
  private readonly known = new Set<string>();
  /** Messages that the page has from elsewhere: of those, nothing is repeated. */
  private readonly shown = new Set<string>();
  private readonly running = new Set<string>();
  private readonly failed = new Set<string>();
  private readonly held = new Set<string>();
  private readonly steps: Steps;
  private asking: string | null = null;
  private waiting: number[] = [];
  private current: string | null = null;

  constructor(calls: Calls) {
    this.calls = calls;
    this.steps = new Steps(calls);
  }

  push(input: ResponsesInput): ResponsesOutput[] {
    const out: Out = [];
    switch (input.type) {
      case 'open':
        this.open(input, out);
        break;
      case 'chunk':
        this.take(input.chunk, input.isReplay === true, out);
        break;
      case 'done':
        this.done(out);
        break;
      case 'rest':
        this.rest(out);
        break;
      case 'leave':
        this.leave(input.response, input.isRefused === true);
        break;
      case 'reset':
        this.reset(out);
        break;
    }
    return out;
  }

  /** The conversation is over: every response ends. */
  end(): ResponsesOutput[] {
    const out: Out = [];
    this.reset(out);
    for (const response of this.waiting) out.push({ type: 'end', response });
    this.waiting = [];
    return out;
  }

  /** A message that is kept from its first chunk on and that nobody reads, the oldest if there are several. */
  get unread(): string | null {
    for (const [id, kept] of this.kept) if (kept.isNew) return id;
    return null;
  }

  /** The page has the message. */
  know(messageId: string): void {
    this.known.add(messageId);
  }

  /** The page shows the message, from wherever it has it. */
  show(messageId: string): void {
    if (!this.known.has(messageId) || this.kept.get(messageId)?.isNew) this.shown.add(messageId);
  }

  /** Whether chunks of the message wait for someone to read them. */
  isKept(messageId: string): boolean {
    return this.kept.has(messageId);
  }

  /** Whether all that came was read, and nothing more comes before someone says or answers something. */
  get isAtRest(): boolean {
    const blocks = new Map();
    return (
      this.kept.size === 0 &&
      [...this.running].every((messageId) => this.isOver({ id: 0, messageId, blocks }))
    );
  }

  /** Takes what is kept of a message, for a page that shows it without a response. */
  takeKept(messageId: string): Chunk[] {
    const reader: Open = { id: 0, messageId, blocks: new Map() };
    const out: Out = [];
    this.drain(reader, out);
    this.endBlocks(reader, out);
    return out.flatMap((output) => (output.type === 'chunk' ? [output.chunk] : []));
  }

  /** Whether nothing of the message is to come, and nothing waits for a reader. */
  isIdle(messageId: string): boolean {
    return !this.running.has(messageId) && !this.kept.has(messageId);
  }

  private open(input: Extract<ResponsesInput, { type: 'open' }>, out: Out): void {
    const { response, messageId, expects = false, repeats = [] } = input;
    if (messageId === null) {
      this.waiting.push(response);
      return;
    }
    const before = this.readers.get(messageId);
    if (before) this.close(before, out);
    if (expects) {
      this.running.add(messageId);
      this.failed.delete(messageId);
    }
    const reader = this.attach(response, messageId);
    out.push({ type: 'chunk', response, chunk: { type: 'start', messageId } });
    for (const id of repeats) {
      const chunk = this.calls.announcementOf(id);
      if (chunk) out.push({ type: 'chunk', response, chunk });
    }
    this.drain(reader, out);
    if (this.readers.get(messageId) === reader && this.isOver(reader)) this.close(reader, out);
  }

  private attach(id: number, messageId: string): Open {
    const reader: Open = { id, messageId, blocks: new Map() };
    this.readers.set(messageId, reader);
    this.known.add(messageId);
    return reader;
  }

  private drain(reader: Open, out: Out): void {
    const kept = this.kept.get(reader.messageId);
    this.kept.delete(reader.messageId);
    if (!kept) return;
    const isShown = this.shown.has(reader.messageId);
    const { replayed } = kept;
    for (const [index, chunk] of [...kept.chunks, ...kept.merger.end()].entries()) {
      const isReplay = replayed === 'all' || index < replayed;
      if (isShown && isReplay && endedCall(chunk) === null) continue;
      if (this.failed.has(reader.messageId)) return;
      this.deliver(reader, chunk, out);
    }
  }

  private take(chunk: Chunk, isReplay: boolean, out: Out): void {
    if ('transient' in chunk && chunk.transient) return this.tell(chunk, out);
    if (chunk.type === 'start' && chunk.messageId !== undefined) this.begin(chunk.messageId);
    const { current } = this;
    if (current === null || this.failed.has(current)) return;
    this.calls.push(chunk, current);
    this.running.add(current);
    // Several requests may share a step, and arrive one by one: the pause is at its end.
    const isInStep = chunk.type === 'start-step' || chunk.type === 'tool-approval-request';
    this.asking = isInStep && (this.asking === current || chunk.type === 'start-step') ? current : null;
    const reader = this.readers.get(current);
    const isSeen = isReplay && this.shown.has(current) && endedCall(chunk) === null;
    if (!reader) this.keep(current, chunk, isReplay);
    else if (!isSeen) this.deliver(reader, chunk, out);
  }

  /** Data that is told and not kept goes to whoever reads. */
  private tell(chunk: Chunk, out: Out): void {
    this.calls.push(chunk, this.current ?? '');
    const reader =
      (this.current === null ? undefined : this.readers.get(this.current)) ??
      [...this.readers.values()].at(-1);
    const response = reader?.id ?? this.waiting[0];
    if (response !== undefined) out.push({ type: 'chunk', response, chunk });
  }

  private begin(messageId: string): void {
    this.current = messageId;
    this.running.add(messageId);
    this.failed.delete(messageId);
    if (this.known.has(messageId) || this.kept.has(messageId)) return;
    const response = this.waiting.shift();
    if (response === undefined) this.keepNew(messageId);
    else this.attach(response, messageId);
  }

  private keepNew(messageId: string): void {
    this.kept.set(messageId, {
      chunks: [],
      merger: new DeltaMerger(),
      isNew: true,
      isTold: true,
      replayed: 'all',
    });
    this.known.add(messageId);
  }

  private keep(messageId: string, chunk: Chunk, isReplay: boolean): void {
    const kept = this.kept.get(messageId) ?? {
      chunks: [],
      merger: new DeltaMerger(),
      isNew: false,
      isTold: true,
      replayed: 'all',
    };
    this.kept.set(messageId, kept);
    if (kept.replayed === 'all' && !isReplay) {
      kept.chunks.push(...kept.merger.end());
      kept.replayed = kept.chunks.length;
    }
    const isBare = chunk.type === 'start' && chunk.messageMetadata === undefined && !kept.isNew;
    if (chunk.type === 'finish-step' || isBare) return;
    kept.chunks.push(...kept.merger.push(chunk));
    if (chunk.type !== 'start' && chunk.type !== 'start-step') kept.isTold = false;
  }

  private done(out: Out): void {
    const { current } = this;
    if (current === null) return;
    this.failed.delete(current);
    // The end of a turn and an answer may cross: a call that was just answered is still to be heard of.
    if (this.isAnswered(current)) return;
    this.running.delete(current);
    const reader = this.readers.get(current);
    if (reader) this.close(reader, out);
  }

  private isAnswered(messageId: string): boolean {
    return this.calls
      .open(messageId)
      .some((call) => this.calls.wasSent(call.id, 'output') || call.state === 'approval-responded');
  }

  private rest(out: Out): void {
    for (const reader of [...this.readers.values()]) if (this.isOver(reader)) this.close(reader, out);
    for (const [messageId, kept] of this.kept) {
      if (kept.isTold) continue;
      kept.isTold = true;
      out.push({ type: 'pending', messageId, isNew: kept.isNew });
    }
  }

  private leave(response: number, isRefused: boolean): void {
    this.waiting = this.waiting.filter((id) => id !== response);
    for (const [messageId, reader] of this.readers) {
      if (reader.id !== response) continue;
      this.readers.delete(messageId);
      if (isRefused) this.running.delete(messageId);
    }
  }

  private reset(out: Out): void {
    for (const reader of [...this.readers.values()]) this.close(reader, out);
    this.kept.clear();
    this.shown.clear();
    this.running.clear();
    this.held.clear();
    this.asking = null;
    this.current = null;
  }

  /** Whether nothing more comes for the reader before someone answers. */
  private isOver({ messageId, blocks }: Open): boolean {
    if (!this.running.has(messageId)) return true;
    if (blocks.size > 0 || this.asking === messageId) return false;
    const open = this.calls.open(messageId);
    return open.length > 0 && open.every((call) => this.calls.isPaused(call));
  }

  private close(reader: Open, out: Out): void {
    this.endBlocks(reader, out);
    this.readers.delete(reader.messageId);
    out.push({ type: 'end', response: reader.id });
  }

  private endBlocks(reader: Open, out: Out): void {
    for (const [id, kind] of reader.blocks) {
      out.push({ type: 'chunk', response: reader.id, chunk: { type: `${kind}-end`, id } });
    }
    reader.blocks.clear();
  }

  /** Gives a chunk to a reader, in a form that the SDK takes from a stream that may begin anywhere. */
  private deliver(reader: Open, chunk: Chunk, out: Out): void {
    const { id: response, messageId, blocks } = reader;
    const emit = (chunk: Chunk) => {
      if (this.steps.beginsBefore(chunk, messageId)) emit({ type: 'start-step' });
      out.push({ type: 'chunk', response, chunk });
    };
    const isHeld = this.held.delete(messageId);
    switch (chunk.type) {
      case 'start-step':
        // A step around an approval request is not shown: the SDK's helper looks for the call in the last step.
        if (isHeld) emit(chunk);
        this.held.add(messageId);
        return;
      case 'finish-step':
        return;
      case 'tool-approval-request':
        if (this.calls.get(chunk.toolCallId)) emit(chunk);
        return;
    }
    if (isHeld) emit({ type: 'start-step' });
    switch (chunk.type) {
      case 'text-start':
      case 'reasoning-start':
        if (!blocks.has(chunk.id)) emit(chunk);
        blocks.set(chunk.id, chunk.type === 'text-start' ? 'text' : 'reasoning');
        return;
      case 'text-delta':
      case 'reasoning-delta': {
        const kind = chunk.type === 'text-delta' ? 'text' : 'reasoning';
        if (!blocks.has(chunk.id)) emit({ type: `${kind}-start`, id: chunk.id });
        blocks.set(chunk.id, kind);
        emit(chunk);
        return;
      }
      case 'text-end':
      case 'reasoning-end':
        if (blocks.delete(chunk.id)) emit(chunk);
        return;
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
        // The SDK gives up on a stream that names a call it never saw.
        if (this.calls.get(chunk.toolCallId)) emit(chunk);
        return;
      case 'error':
        emit(chunk);
        // The SDK stops reading here; what the server still says about the failure has no reader.
        this.failed.add(messageId);
        this.running.delete(messageId);
        this.close(reader, out);
        return;
      default:
        emit(chunk);
    }
  }
}
