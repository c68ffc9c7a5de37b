import type { Chunk } from '../../protocol/chunks.ts';
import { settledCall, type ToolCalls, type TrackedCall } from '../tool-calls.ts';
import { MessageReader, type ReaderContext, type ResponseSink } from './message-reader.ts';
import { joinDeltas } from './response-stream.ts';

/** Chunks arrived for a message that no response reads. `isNew`: the page has not seen the message before. */
export interface Pending {
  messageId: string;
  isNew: boolean;
}

/** Chunks of a message that no response reads yet. Consecutive deltas are joined, so that many short deltas need no more memory than their text. */
class ChunkBuffer {
  readonly #chunks: { chunk: Chunk; isReplay: boolean }[] = [];

  push(chunk: Chunk, isReplay: boolean): void {
    const last = this.#chunks.at(-1);
    const joined = last?.isReplay === isReplay ? joinDeltas(last.chunk, chunk) : null;
    if (last && joined) last.chunk = joined;
    else this.#chunks.push({ chunk, isReplay });
  }

  /** Whether the buffer holds only a `start` chunk that is not a replay. */
  get isBare(): boolean {
    const [first, second] = this.#chunks;
    return first?.chunk.type === 'start' && !first.isReplay && !second;
  }

  /** Returns the chunks for a response. If the page already shows the message, these are the chunks that are not replays, and the outcomes of calls. */
  read(isShown: boolean): Chunk[] {
    return this.#chunks.flatMap(({ chunk, isReplay }) =>
      isShown && isReplay && settledCall(chunk) === null ? [] : chunk,
    );
  }
}

/** The reading state of a message. */
type State =
  /**
   * Chunks wait for a response to read them. `isNew`: the buffer starts with the first chunk of the message. `isReported`: there is nothing new to
   * report with `onPending`. `isOver`: no more chunks follow.
   */
  | { is: 'buffered'; buffer: ChunkBuffer; isNew: boolean; isReported: boolean; isOver: boolean }
  /** A response gets the chunks as they arrive. */
  | { is: 'read'; reader: MessageReader }
  /** No response reads the message, and more chunks follow, now or after the page has answered a call. */
  | { is: 'paused' }
  /** The AI SDK stopped reading at an error chunk. Chunks after it are dropped. */
  | { is: 'failed' }
  /** No chunks follow. */
  | { is: 'over' };

/**
 * One message of a conversation while its chunks arrive: which response reads the message, which chunks no response has read, and whether more chunks
 * follow.
 */
export class StreamedMessage {
  readonly id: string;
  readonly #calls: ToolCalls;
  readonly #readerContext: ReaderContext;
  #state: State = { is: 'over' };
  /** Whether the page has the message from another source, such as HTTP. Replayed chunks of the message are then dropped. */
  #isShown = false;
  /** Whether a step is open that so far has only approval requests or nothing. A step may hold several requests, which arrive one by one. */
  #isAsking = false;
  /** Whether the turn of the message ended while an answered call of the message still had no outcome. */
  #isDone = false;
  #hasStarted = false;

  constructor(id: string, calls: ToolCalls) {
    this.id = id;
    this.#calls = calls;
    this.#readerContext = { messageId: id, calls, isStepEnded: false };
  }

  get is(): State['is'] {
    return this.#state.is;
  }

  /** Whether a chunk of the message has arrived. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** The response that reads the message. */
  get sink(): ResponseSink | undefined {
    return this.#state.is === 'read' ? this.#state.reader.sink : undefined;
  }

  /** Whether the message is buffered from its first chunk on. */
  get isUnread(): boolean {
    return this.#state.is === 'buffered' && this.#state.isNew;
  }

  /** Whether no chunks wait to be read, and no more follow before the page sends something. */
  get isAtRest(): boolean {
    if (this.is === 'read' || this.is === 'paused') return !this.#isAsking && this.#waitsForPage;
    return this.is !== 'buffered';
  }

  /** Whether a response waits for the first chunk of the message. */
  get isExpected(): boolean {
    return this.#state.is === 'read' && !this.#hasStarted;
  }

  /** Whether no chunks follow, and none wait to be read. */
  get isIdle(): boolean {
    return this.is === 'over' || this.is === 'failed';
  }

  /** Prepares for the first chunk of the message. With a sink, a response reads the chunks; without one, they are buffered. */
  expect(sink?: ResponseSink): void {
    this.#state = sink
      ? this.#readBy(sink)
      : { is: 'buffered', buffer: new ChunkBuffer(), isNew: true, isReported: true, isOver: false };
  }

  /** Handles a `start` chunk: the message starts, or continues, even after a failure. */
  start(): void {
    this.#isDone = false;
    if (this.is === 'failed') this.#state = { is: 'paused' };
  }

  /** Records that the page shows the message without having read it from a response. */
  show(): void {
    this.#isShown = true;
  }

  /** Records that the page loaded the message over HTTP. If only its `start` chunk has arrived here, later chunks continue the loaded message. */
  loaded(): void {
    if (this.#state.is !== 'buffered' || !this.#state.buffer.isBare) return;
    this.show();
    this.#state = { is: 'paused' };
  }

  /** Lets a response read the buffered chunks of the message, and later ones. `expects`: the page sent an answer, so more chunks follow. */
  read(sink: ResponseSink, expects: boolean): void {
    const before = this.#state;
    const isOver = !expects && (before.is === 'buffered' ? before.isOver : this.isIdle);
    if (isOver && before.is !== 'buffered') return sink.end();
    this.#state = this.#readBy(sink);
    const buffered = before.is === 'buffered' ? before.buffer.read(this.#isShown) : [];
    for (const chunk of buffered) this.#deliver(expects ? withoutFinish(chunk) : chunk);
    if (isOver) this.close('over');
    else if (this.#isPaused) this.close();
  }

  /** Receives a chunk of the message: passes it to the response that reads the message, or buffers it. */
  receive(chunk: Chunk, isReplay: boolean): void {
    if (this.is === 'failed') return;
    this.#hasStarted = true;
    const isRepeated = chunk.type === 'tool-input-available' && this.#isDecided(chunk.toolCallId);
    this.#calls.observe(chunk, this.id);
    // The chunk announces an approved call a second time. The chat would set the call back to `input-available`, and so remove an output that the page
    // may already have added.
    if (isRepeated) return;
    if (this.is === 'over') this.#state = { is: 'paused' };
    const isInStep = chunk.type === 'start-step' || chunk.type === 'tool-approval-request';
    this.#isAsking = isInStep && (this.#isAsking || chunk.type === 'start-step');
    if (this.is !== 'read') return this.#buffer(chunk, isReplay);
    const isSeen = isReplay && this.#isShown && settledCall(chunk) === null;
    if (!isSeen) this.#deliver(chunk);
  }

  /** Handles the end of the turn that the message belongs to. */
  endTurn(): void {
    const state = this.#state;
    // The page may have sent an answer that the server had not received when it ended the turn. In that case more chunks follow.
    this.#isDone = state.is !== 'failed' && this.#hasAnsweredCall;
    if (this.#isDone) return;
    if (state.is === 'buffered') state.isOver = true;
    else if (state.is === 'read') this.close('over');
    else this.#state = { is: 'over' };
  }

  /**
   * Handles the outcome of a call of this message in a transient chunk (`data-settled`). If the turn has ended, and this was the last answered call
   * without an outcome, no more chunks follow.
   */
  callSettled(): void {
    if (this.#isDone) this.endTurn();
  }

  /** Call it after all chunks of a frame. Ends the response at a pause, and returns newly buffered chunks to report. */
  endFrame(): Pending | null {
    const state = this.#state;
    if (this.#isPaused) this.close();
    if (state.is !== 'buffered' || state.isReported) return null;
    state.isReported = true;
    return { messageId: this.id, isNew: state.isNew };
  }

  /** Detaches the response that reads the message. `isRejected`: the server rejected the request that the message would have answered. */
  leave(isRejected: boolean): void {
    this.#state = { is: isRejected ? 'over' : 'paused' };
  }

  /** Ends the response and discards the state, because the messages of a reset or of another conversation replace this message. */
  reset(): void {
    this.close();
    this.#state = { is: 'over' };
    this.#isShown = false;
    this.#isAsking = false;
  }

  /** Ends the response that reads the message. */
  close(is: 'paused' | 'over' | 'failed' = 'paused'): void {
    if (this.#state.is !== 'read') return;
    const { reader } = this.#state;
    this.#state = { is };
    reader.end();
  }

  #buffer(chunk: Chunk, isReplay: boolean): void {
    const isNew = this.isUnread;
    const isBareStart = chunk.type === 'start' && chunk.messageMetadata === undefined && !isNew;
    if (this.#state.is === 'buffered') this.#state.isOver = false;
    if (chunk.type === 'finish-step' || isBareStart) return;
    if (this.#state.is !== 'buffered') {
      this.#state = { is: 'buffered', buffer: new ChunkBuffer(), isNew, isReported: true, isOver: false };
    }
    this.#state.buffer.push(chunk, isReplay);
    if (chunk.type !== 'start' && chunk.type !== 'start-step') this.#state.isReported = false;
  }

  #deliver(chunk: Chunk): void {
    const state = this.#state;
    if (state.is !== 'read') return;
    state.reader.push(chunk);
    if (chunk.type === 'error') this.close('failed');
  }

  #readBy(sink: ResponseSink): State {
    return { is: 'read', reader: new MessageReader(sink, this.#readerContext) };
  }

  /** Whether a response reads the message, and no chunks follow before the page answers a call. */
  get #isPaused(): boolean {
    const state = this.#state;
    return state.is === 'read' && !state.reader.isInBlock && !this.#isAsking && this.#waitsForPage;
  }

  /** Whether the message has calls without an outcome, and each waits for the user or the page, or is the call of an agent that waits for a call inside it. */
  get #waitsForPage(): boolean {
    const open = this.#calls.open(this.id);
    const isOutside = ({ id }: TrackedCall) => open.some(({ within }) => within === id);
    return open.length > 0 && open.every((call) => this.#calls.waitsForPage(call) || isOutside(call));
  }

  /** Whether a call was answered and has no outcome yet, or a browser tool is about to run. */
  get #hasAnsweredCall(): boolean {
    const calls = this.#calls;
    return calls
      .open(this.id)
      .some(
        (call) =>
          calls.wasSent(call.id, 'output') || call.state === 'approval-responded' || calls.isDue(call),
      );
  }

  /** Whether the user approved the call, and the page has to run it. */
  #isDecided(toolCallId: string): boolean {
    const call = this.#calls.get(toolCallId);
    return call?.state === 'approval-responded' && this.#calls.waitsForPage(call);
  }
}

/** Replaces a `finish` chunk with its metadata. The `finish` ended an earlier part of the message, and the response also reads the part after it. */
function withoutFinish(chunk: Chunk): Chunk {
  if (chunk.type !== 'finish') return chunk;
  return { type: 'message-metadata', messageMetadata: chunk.messageMetadata ?? {} };
}
