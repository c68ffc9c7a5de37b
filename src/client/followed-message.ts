import type { Chunk, MessageMetadata } from '../protocol/chunks.ts';
import { type CallTracker, endedCall } from './call-tracker.ts';
import { KeptChunks } from './kept-chunks.ts';
import { Reader } from './reader.ts';
import type { Steps } from './steps.ts';

/** What follows: a chunk for a response, its end, or chunks that nobody reads. */
export type ResponsesOutput =
  | { type: 'chunk'; response: number; chunk: Chunk }
  | { type: 'end'; response: number }
  | { type: 'pending'; messageId: string; isNew: boolean };

/** Where a message stands for the page. */
type Standing =
  /** Chunks wait for a reader. `isNew`: from the first one on. `isTold`: whoever may read knows. `isOver`: no more are to come. */
  | { is: 'kept'; chunks: KeptChunks; isNew: boolean; isTold: boolean; isOver: boolean }
  /** A response gets its chunks as they come. */
  | { is: 'read'; response: number; reader: Reader }
  /** Nobody reads; more is to come, by itself or after an answer. */
  | { is: 'paused' }
  /** The SDK stopped reading at an error; what the server still says of the failure has no reader. */
  | { is: 'failed' }
  /** Nothing is to come. */
  | { is: 'over' };

/** One message of a conversation as its chunks come: who reads it, what waits, and whether it goes on. */
export class FollowedMessage {
  readonly id: string;
  readonly #calls: CallTracker;
  readonly #steps: Steps;
  #standing: Standing = { is: 'over' };
  /** Whether the page has the message from elsewhere: of that, nothing is repeated. */
  #isShown = false;
  /** Whether a step with approval requests is open: several may share it, and arrive one by one. */
  #isAsking = false;
  /** Whether its turn was over before a call of it had ended. */
  #isDone = false;
  /** Whether a chunk of it came. */
  hasBegun = false;
  /** Whether an error ended it; it may go on. */
  hasFailed = false;

  constructor(id: string, calls: CallTracker, steps: Steps) {
    this.id = id;
    this.#calls = calls;
    this.#steps = steps;
  }

  get is(): Standing['is'] {
    return this.#standing.is;
  }

  /** The response that reads it now, if one does. */
  get response(): number | undefined {
    return this.#standing.is === 'read' ? this.#standing.response : undefined;
  }

  /** Whether it is kept from its first chunk on. */
  get isUnread(): boolean {
    return this.#standing.is === 'kept' && this.#standing.isNew;
  }

  /** Whether all that came was read, and nothing more comes before someone answers. */
  get isAtRest(): boolean {
    if (this.is === 'read' || this.is === 'paused') return !this.#isAsking && this.#waitsForPage;
    return this.is !== 'kept';
  }

  /** Whether a response waits for its first chunk. */
  get isExpected(): boolean {
    return this.#standing.is === 'read' && !this.hasBegun;
  }

  /** It is to come: for the response that waits for it, or to be kept. */
  begin(response?: number): void {
    this.#standing =
      response === undefined
        ? { is: 'kept', chunks: new KeptChunks(), isNew: true, isTold: true, isOver: false }
        : { is: 'read', response, reader: this.#newReader() };
  }

  /** It goes on, also after a failure. */
  goOn(): void {
    this.hasFailed = false;
    this.#isDone = false;
    if (this.is === 'failed') this.#standing = { is: 'paused' };
  }

  /** The page shows it, from wherever it has it. */
  show(): void {
    this.#isShown = true;
  }

  /** The page has read it from the server: if only its `start` came, its beginning is gone, and it goes on behind what was read. */
  loaded(): void {
    if (this.#standing.is !== 'kept' || !this.#standing.chunks.isBare) return;
    this.show();
    this.#standing = { is: 'paused' };
  }

  /** A response reads it from now on: what is kept of it, and what comes. `expects`: an answer is on its way. */
  read(response: number, expects: boolean): ResponsesOutput[] {
    const before = this.#standing;
    const isOver = !expects && (before.is === 'kept' ? before.isOver : this.isIdle);
    if (isOver && before.is !== 'kept') return [{ type: 'end', response }];
    this.#standing = { is: 'read', response, reader: this.#newReader() };
    const kept = before.is === 'kept' ? before.chunks.read(this.#isShown) : [];
    // The end of the part before is not the end of the one that is on its way.
    const out = kept.flatMap((chunk) =>
      this.#deliver(expects && chunk.type === 'finish' ? described(chunk.messageMetadata) : chunk),
    );
    if (isOver) return [...out, ...this.close('over')];
    return this.#isPaused ? [...out, ...this.close()] : out;
  }

  /** A chunk of it came. */
  take(chunk: Chunk, isReplay: boolean): ResponsesOutput[] {
    if (this.is === 'failed') return [];
    this.hasBegun = true;
    this.hasFailed ||= chunk.type === 'error';
    const isRepeated = chunk.type === 'tool-input-available' && this.#isDecided(chunk.toolCallId);
    this.#calls.push(chunk, this.id);
    // The page may have given the output meanwhile, and this would take it off the screen.
    if (isRepeated) return [];
    if (this.is === 'over') this.#standing = { is: 'paused' };
    const isInStep = chunk.type === 'start-step' || chunk.type === 'tool-approval-request';
    this.#isAsking = isInStep && (this.#isAsking || chunk.type === 'start-step');
    if (this.is === 'read') {
      const isSeen = isReplay && this.#isShown && endedCall(chunk) === null;
      return isSeen ? [] : this.#deliver(chunk);
    }
    this.#keep(chunk, isReplay);
    return [];
  }

  /** The turn is over. */
  done(): ResponsesOutput[] {
    const standing = this.#standing;
    // More is to come of it: the end of a response and an answer may cross.
    this.#isDone = standing.is !== 'failed' && this.#hasCallInHand;
    if (this.#isDone) return [];
    if (standing.is === 'kept') standing.isOver = true;
    else if (standing.is === 'read') return this.close('over');
    else this.#standing = { is: 'over' };
    return [];
  }

  /** A call of it ended beside its chunks. When its turn is over, nothing else is to come. */
  settled(): ResponsesOutput[] {
    return this.#isDone ? this.done() : [];
  }

  /** All that has arrived is here: a pause ends the response, and what waits is told. */
  frameEnded(): ResponsesOutput[] {
    const { id: messageId } = this;
    const standing = this.#standing;
    if (this.#isPaused) return this.close();
    if (standing.is !== 'kept' || standing.isTold) return [];
    standing.isTold = true;
    return [{ type: 'pending', messageId, isNew: standing.isNew }];
  }

  /** Its reader went away; `isRefused`: because what it waited for will not come. */
  leave(isRefused: boolean): void {
    this.#standing = { is: isRefused ? 'over' : 'paused' };
  }

  /** The page gets it anew. */
  reset(): ResponsesOutput[] {
    const out = this.close();
    this.#standing = { is: 'over' };
    this.#isShown = false;
    this.#isAsking = false;
    return out;
  }

  /** Ends the response that reads it. */
  close(is: 'paused' | 'over' | 'failed' = 'paused'): ResponsesOutput[] {
    if (this.#standing.is !== 'read') return [];
    const { response, reader } = this.#standing;
    this.#standing = { is };
    return [...toResponse(response, reader.end()), { type: 'end', response }];
  }

  /** Whether nothing of it is to come, and nothing waits for a reader. */
  get isIdle(): boolean {
    return this.is === 'over' || this.is === 'failed';
  }

  #keep(chunk: Chunk, isReplay: boolean): void {
    const isNew = this.isUnread;
    const isBare = chunk.type === 'start' && chunk.messageMetadata === undefined && !isNew;
    if (this.#standing.is === 'kept') this.#standing.isOver = false;
    if (chunk.type === 'finish-step' || isBare) return;
    if (this.#standing.is !== 'kept') {
      this.#standing = { is: 'kept', chunks: new KeptChunks(), isNew, isTold: true, isOver: false };
    }
    this.#standing.chunks.push(chunk, isReplay);
    if (chunk.type !== 'start' && chunk.type !== 'start-step') this.#standing.isTold = false;
  }

  #deliver(chunk: Chunk): ResponsesOutput[] {
    const standing = this.#standing;
    if (standing.is !== 'read') return [];
    const { response, reader } = standing;
    const shown = toResponse(response, reader.push(chunk));
    return chunk.type === 'error' ? [...shown, ...this.close('failed')] : shown;
  }

  #newReader(): Reader {
    return new Reader(this.id, this.#calls, this.#steps);
  }

  /** Whether someone reads it and nothing more comes before someone answers. */
  get #isPaused(): boolean {
    const standing = this.#standing;
    return standing.is === 'read' && !standing.reader.isInBlock && !this.#isAsking && this.#waitsForPage;
  }

  /** Whether it has open calls, and all of them wait for the person or the page. */
  get #waitsForPage(): boolean {
    const open = this.#calls.open(this.id);
    return open.length > 0 && open.every((call) => this.#calls.isPaused(call));
  }

  /** Whether a call was answered and is still to end, or a browser tool is still to give its output. */
  get #hasCallInHand(): boolean {
    return this.#calls
      .open(this.id)
      .some(
        (call) =>
          this.#calls.wasSent(call.id, 'output') ||
          call.state === 'approval-responded' ||
          this.#calls.isDue(call),
      );
  }

  /** Whether it was approved, and the page is asked to run it. */
  #isDecided(toolCallId: string): boolean {
    const call = this.#calls.get(toolCallId);
    return call?.state === 'approval-responded' && this.#calls.isPaused(call);
  }
}

/** Chunks as a response gets them. */
export function toResponse(response: number, chunks: Chunk[]): ResponsesOutput[] {
  return chunks.map((chunk) => ({ type: 'chunk', response, chunk }));
}

function described(messageMetadata: MessageMetadata = {}): Chunk {
  return { type: 'message-metadata', messageMetadata };
}
