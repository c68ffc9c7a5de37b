import { AsyncQueue, BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';
import type { Content } from '@google/genai';
import { withLiveFacts } from '../../../src/adk/live-facts.ts';
import { calls, partial, ScriptedLiveConnection, type Sent, text } from '../../support/scripted-model.ts';
import type { Journal } from './journal.ts';
import type { ToolName } from './workbench.ts';

/** A call that the model makes. */
export interface MadeCall {
  id: string;
  name: ToolName;
}

/** One request to the model in turn-by-turn mode; the test provides every response. */
class Generation {
  readonly responses = new AsyncQueue<LlmResponse>();
  isOpen = true;

  end(): void {
    this.isOpen = false;
    this.responses.close();
  }
}

/** A live connection as the model sees it. */
export interface LiveLine {
  readonly connection: ScriptedLiveConnection;
  /** The number of turns that the model has not finished yet. */
  owes: number;
  /** The user interrupted, and the model has not stopped yet. */
  mustStop: boolean;
  /** The number of the turn that it is in. */
  turn: number;
  /** Calls whose response it waits for, with the turns that they were made in. */
  readonly waiting: Map<string, number>;
}

/** Whether the turn that a live model is in waits for calls. */
export function isWaiting({ waiting, turn }: LiveLine): boolean {
  return [...waiting.values()].includes(turn);
}

/** A model whose every step the test decides: turn by turn and, with `nativeLive`, also over a live connection. */
export class SteppedModel extends BaseLlm {
  readonly nativeLive: boolean;
  /** The input of the model, one text for each request. */
  readonly reported: string[] = [];
  private readonly made: MadeCall[];
  /** The number of next connections that the model refuses. */
  refusals = 0;
  line: LiveLine | null = null;
  private readonly generations: Generation[] = [];
  private readonly journal: Journal;

  /** The model adds its tool calls to `made`. */
  constructor(options: { nativeLive: boolean; journal: Journal; made: MadeCall[] }) {
    super({ model: 'stepped' });
    this.nativeLive = options.nativeLive;
    this.journal = options.journal;
    this.made = options.made;
  }

  /** The model request in progress, if there is one. */
  get generation(): Generation | undefined {
    return this.generations.findLast(({ isOpen }) => isOpen);
  }

  override async *generateContentAsync(
    request: LlmRequest,
    _stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    this.reported.push(wordsOf(request.contents));
    this.journal.add({ kind: 'model', text: 'is called' });
    const generation = new Generation();
    this.generations.push(generation);
    signal?.addEventListener('abort', () => generation.end(), { once: true });
    if (signal?.aborted) generation.end();
    yield* generation.responses;
  }

  override async connect(): Promise<BaseLlmConnection> {
    if (this.refusals > 0) {
      this.refusals -= 1;
      this.journal.add({ kind: 'model', text: 'refuses a connection' });
      throw new Error('The model refused the connection.');
    }
    this.journal.add({ kind: 'model', text: 'is connected' });
    const line: LiveLine = {
      connection: new ScriptedLiveConnection((sent) => this.listen(line, sent)),
      owes: 0,
      mustStop: false,
      turn: 0,
      waiting: new Map(),
    };
    const { connection } = line;
    const close = connection.close.bind(connection);
    connection.close = async () => {
      if (this.line === line) this.line = null;
      await close();
    };
    this.line = line;
    return connection;
  }

  /** Streams a text delta. */
  words(): void {
    const { generation, line } = this;
    if (generation) generation.responses.push(partial('word '));
    else line?.connection.push({ outputTranscription: { text: 'word ', finished: false }, partial: true });
  }

  thought(): void {
    this.generation?.responses.push(partial('hm ', true));
  }

  sound(): void {
    this.line?.connection.push({
      content: { role: 'model', parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AAAA' } }] },
    });
  }

  /** Calls tools, all at once. In turn-by-turn mode that ends the model request. */
  call(names: ToolName[]): void {
    const made = names.map((name, n) => ({ id: `c${this.made.length + n + 1}`, name, args: { n } }));
    this.made.push(...made);
    this.journal.add({
      kind: 'model',
      text: `calls ${made.map(({ id, name }) => `${name} ${id}`).join(', ')}`,
    });
    const { generation, line } = this;
    if (generation) {
      generation.responses.push(calls(...made));
      generation.end();
    } else if (line) {
      for (const { id } of made) line.waiting.set(id, line.turn);
      line.connection.push(calls(...made));
    }
  }

  /** Completes the turn. */
  complete(): void {
    const { generation, line } = this;
    if (generation) {
      generation.responses.push(text('End.'));
      generation.end();
    } else if (line) {
      this.endTurn(line);
      line.connection.push({ outputTranscription: { text: 'End.', finished: false }, partial: true });
      line.connection.push({ outputTranscription: { text: 'End.', finished: true } });
      line.connection.push({ turnComplete: true });
    }
  }

  /** Stops because the user interrupted: on our activity signal, or because the model detected their speech. */
  stop(): void {
    const { line } = this;
    if (!line) return;
    // It answers input that arrived after the signal next.
    if (!line.mustStop) this.endTurn(line);
    line.mustStop = false;
    line.connection.push({ interrupted: true }, { turnComplete: true });
  }

  /** Cancels a call. */
  cancel(callId: string): void {
    this.line?.waiting.delete(callId);
    this.line?.connection.push({ interrupted: true, ...withLiveFacts({ cancelledCalls: [callId] }) });
  }

  /** Sends the transcript of the user's speech. */
  heard(words: string): void {
    this.line?.connection.push({ inputTranscription: { text: words, finished: false }, partial: true });
    this.line?.connection.push({ inputTranscription: { text: words, finished: true } });
  }

  fail(): void {
    const error = new Error('The model fell over.');
    const { generation, line } = this;
    if (generation) {
      generation.isOpen = false;
      generation.responses.fail(error);
    } else line?.connection.fail(error);
    if (!generation) this.line = null;
  }

  /** Closes the connection in order, even in the middle of a turn. */
  hangUp(): void {
    this.line?.connection.end();
    this.line = null;
  }

  private endTurn(line: LiveLine): void {
    line.owes = Math.max(0, line.owes - 1);
    line.turn += 1;
  }

  private listen(line: LiveLine, sent: Sent): void {
    if (sent.kind === 'activityStart') {
      line.mustStop = true;
      line.owes = 0;
      line.turn += 1;
    }
    if (sent.kind === 'realtime') line.owes = Math.max(1, line.owes);
    if (sent.kind !== 'content') return;
    const parts = sent.value.parts ?? [];
    this.reported.push(wordsOf([sent.value]));
    this.journal.add({ kind: 'model', text: `is told ${JSON.stringify(parts)}` });
    if (parts.some((part) => part.text)) {
      // The model abandons a turn that waits for calls, and answers this text instead.
      line.owes = isWaiting(line) ? Math.max(1, line.owes) : line.owes + 1;
      line.turn += 1;
    }
    for (const { functionResponse } of parts) {
      if (!functionResponse) continue;
      const { id = '', response } = functionResponse;
      const isOfNow = line.waiting.get(id) === line.turn;
      line.waiting.delete(id);
      // A function response for a call of an earlier turn gets its own turn.
      if (response?.interrupted === true) continue;
      // A model answers every function response, even without a new user message.
      line.owes = isOfNow ? Math.max(1, line.owes) : line.owes + 1;
    }
  }
}

function wordsOf(contents: readonly Content[]): string {
  return contents.flatMap(({ parts = [] }) => parts.map((part) => part.text ?? '')).join('\n');
}
