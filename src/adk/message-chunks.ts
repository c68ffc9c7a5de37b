import type { Event } from '@google/adk';
import type { Part } from '@google/genai';
import { finishOf } from '../parse/finish.ts';
import type { Finish } from '../parse/reading.ts';
import { usageOf as parseUsage } from '../parse/usage.ts';
import type { Chunk, Citation, MessageMetadata, TokenUsage } from '../protocol/index.ts';
import { liveFactsOf } from './live-facts.ts';

/** The outputs for the events of a message: chunks for clients, and inputs for the state of the conversation. */
export type MessageOutput =
  | Chunk
  | { type: 'call'; id: string; name: string; args: Record<string, unknown> }
  | { type: 'response'; id: string; name: string; response: Record<string, unknown> }
  | { type: 'audio'; data: string; sampleRate: number }
  | { type: 'heard'; text: string; finished: boolean }
  | { type: 'failed'; code: string; message: string }
  | { type: 'interrupted'; cancelled: string[] }
  /** `continues`: whether the model is about to speak again; undefined for models that do not report it. */
  | { type: 'turn-complete'; continues: boolean | undefined; isIdle: boolean };

type BlockKind = 'text' | 'reasoning';

/** Chunk types as constants, because strings that are concatenated at run time are slow to compare. */
const START = { text: 'text-start', reasoning: 'reasoning-start' } as const;
const DELTA = { text: 'text-delta', reasoning: 'reasoning-delta' } as const;
const END = { text: 'text-end', reasoning: 'reasoning-end' } as const;

/** A block that an agent writes: the id of its chunks while it is open, and the text that no final event has repeated yet. */
interface Block {
  id: string | null;
  streamed: string;
}

/** One agent that writes to the message. Agents that run in parallel have separate blocks. */
interface Writer {
  readonly author: string | undefined;
  readonly branch: string | undefined;
  readonly text: Block;
  readonly reasoning: Block;
  /** The usage that the newest partial event reported. The final event of the model call reports the total. */
  partialUsage: Event['usageMetadata'];
}

type FinishReason = NonNullable<Extract<Chunk, { type: 'finish' }>['finishReason']>;

/**
 * Turns the events of one message into chunks. A model call yields partial texts and then its whole content again: only text that was not streamed
 * yet becomes a chunk. All state belongs to one message and lives as long as its turn.
 */
export class MessageChunks {
  private readonly images: 'file' | 'data-image';
  private readonly writers: Writer[] = [];
  /** The agent that opened the first block. */
  private firstWriter: Writer | undefined;
  private readonly sources = new Set<string>();
  private nextId: number;
  private usage: TokenUsage | null;
  private citations: Citation[] = [];
  private audio: MessageMetadata['audio'];
  private modelVersion: string | undefined;
  private rawFinish: string | undefined;
  private spoke = false;
  private called = false;

  /** `usage`, `audio` and `firstId` (the next block id) are those of a message that continues. `images`: the chunk type of pictures. */
  constructor(
    options: {
      images?: 'file' | 'data-image';
      usage?: TokenUsage | null;
      audio?: MessageMetadata['audio'];
      firstId?: number;
    } = {},
  ) {
    this.images = options.images ?? 'file';
    this.usage = options.usage ?? null;
    this.audio = options.audio;
    this.nextId = options.firstId ?? 0;
  }

  push(event: Event): MessageOutput[] {
    const out: MessageOutput[] = [];
    const parts = event.content?.parts;
    if (parts && event.partial) {
      this.partials(event, parts, out);
      return out;
    }
    this.remember(event);
    const { waiting, continues, wasIdle, cancelledCalls } = liveFactsOf(event);
    if (waiting) out.push({ type: 'data-waiting', data: waiting, transient: true });
    // The user's speech is also the content of this event, for the history; here only its transcript is used.
    if (parts && !event.inputTranscription) this.final(parts, event, out);
    const { text: heard = '', finished = false } = event.inputTranscription ?? {};
    if (heard !== '' || finished) out.push({ type: 'heard', text: heard, finished });
    if (event.outputTranscription)
      this.transcript(this.writerOf(event), event.outputTranscription, event.content !== undefined, out);
    this.fail(event, out);
    if (event.interrupted) {
      out.push(...this.close(), { type: 'interrupted', cancelled: cancelledCalls ?? [] });
    }
    if (event.turnComplete) {
      out.push(...this.close(), { type: 'turn-complete', continues, isIdle: wasIdle === true });
    }
    return out;
  }

  /** The chunks of an event that has only partial text; null for any other event. The server calls this for every token. */
  words(event: Event): Chunk[] | null {
    const parts = event.content?.parts;
    if (!parts || !event.partial) return null;
    for (const part of parts) if (!part.text || part.inlineData) return null;
    const out: Chunk[] = [];
    this.partials(event, parts, out);
    return out;
  }

  /** Closes the open blocks of all agents. The caller does so before a pause, before a tool output, and at the end. */
  close(): Chunk[] {
    const out: Chunk[] = [];
    for (const writer of this.writers) closeBlocks(writer, out);
    return out;
  }

  /** Whether the events that were pushed have text, reasoning or media of the agent. */
  get hasSpoken(): boolean {
    return this.spoke;
  }

  /** Whether the events that were pushed have a call of a tool. */
  get hasCalled(): boolean {
    return this.called;
  }

  /** The text that was streamed and that no final event has repeated: the text of an aborted model call. */
  get unfinishedText(): string {
    return this.writers.flatMap(({ text }) => text.streamed || []).join('\n\n');
  }

  /** Returns the chunks that close the open blocks, and the `finish` chunk. */
  end(reason?: FinishReason, extra: MessageMetadata = {}): Chunk[] {
    for (const writer of this.writers) this.count(writer, writer.partialUsage);
    const finishReason =
      reason ?? (this.rawFinish === undefined ? 'stop' : aiSdkFinishOf(finishOf(this.rawFinish)));
    const isCut = finishReason === 'length' || finishReason === 'content-filter';
    return [
      ...this.close(),
      {
        type: 'finish',
        finishReason,
        messageMetadata: {
          usage: this.usage,
          ...(this.modelVersion === undefined ? {} : { modelVersion: this.modelVersion }),
          ...(this.rawFinish === undefined ? {} : { rawFinishReason: this.rawFinish }),
          ...(this.citations.length === 0 ? {} : { citations: this.citations }),
          ...(this.audio === undefined ? {} : { audio: this.audio }),
          ...extra,
          // Store the reason with the message, so that a page that loads it later does not show a cut answer as a whole one.
          ...(isCut ? { finishReason } : {}),
        },
      },
    ];
  }

  private partials(event: Event, parts: Part[], out: MessageOutput[]): void {
    const writer = this.writerOf(event);
    if (event.usageMetadata) writer.partialUsage = event.usageMetadata;
    for (const part of parts) this.partial(writer, part, out);
  }

  private partial(writer: Writer, part: Part, out: MessageOutput[]): void {
    if (part.inlineData) this.other(writer, part, out);
    if (!part.text) return;
    const kind = part.thought ? 'reasoning' : 'text';
    this.delta(writer, kind, part.text, out);
    writer[kind].streamed += part.text;
  }

  private final(parts: Part[], event: Event, out: MessageOutput[]): void {
    const writer = this.writerOf(event);
    for (const part of parts) {
      if (part.text) {
        const kind = part.thought ? 'reasoning' : 'text';
        const rest = missing(writer[kind], part.text);
        if (rest) this.delta(writer, kind, rest, out);
      }
      this.other(writer, part, out);
    }
    // Live audio and thoughts arrive between the pieces of one transcript, and must not end its text block; other parts do.
    if (parts.some((part) => !part.inlineData && !part.thought)) {
      closeBlocks(writer, out);
      writer.text.streamed = '';
    }
    if (parts.some((part) => !part.inlineData)) {
      closeBlock(writer, 'reasoning', out);
      // An event with a transcript does not repeat the streamed reasoning; the whole reasoning still comes in a later event.
      if (!event.outputTranscription) writer.reasoning.streamed = '';
    }
    for (const source of sourcesOf(event)) {
      if (this.sources.has(source.url)) continue;
      this.sources.add(source.url);
      out.push({ type: 'source-url', sourceId: `source-${this.sources.size}`, ...source });
    }
  }

  private other(writer: Writer, part: Part, out: MessageOutput[]): void {
    if (part.functionCall?.name) {
      this.called = true;
      closeBlocks(writer, out);
      out.push({
        type: 'call',
        id: part.functionCall.id ?? '',
        name: part.functionCall.name,
        args: part.functionCall.args ?? {},
      });
    } else if (part.functionResponse?.name) {
      const { id = '', name, response = {} } = part.functionResponse;
      out.push({ type: 'response', id, name, response });
    } else if (part.executableCode) {
      const { language = 'LANGUAGE_UNSPECIFIED', code = '' } = part.executableCode;
      closeBlocks(writer, out);
      out.push({ type: 'data-executable-code', data: { language, code } });
    } else if (part.codeExecutionResult) {
      const { outcome = 'OUTCOME_UNSPECIFIED', output = '' } = part.codeExecutionResult;
      closeBlocks(writer, out);
      out.push({ type: 'data-code-execution-result', data: { outcome, output } });
    } else if (part.fileData?.fileUri && /^https?:/.test(part.fileData.fileUri)) {
      const mediaType = part.fileData.mimeType ?? 'application/octet-stream';
      closeBlocks(writer, out);
      out.push({ type: 'file', mediaType, url: part.fileData.fileUri });
    } else if (part.inlineData?.data && part.inlineData.mimeType) {
      this.media(writer, part.inlineData.mimeType, part.inlineData.data, out);
    }
  }

  private media(writer: Writer, mimeType: string, data: string, out: MessageOutput[]): void {
    this.spoke = true;
    if (mimeType.startsWith('audio/pcm')) {
      const sampleRate = Number(/rate=(\d+)/.exec(mimeType)?.[1] ?? 24_000);
      const bytes =
        Math.floor((data.length * 3) / 4) - (data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0);
      const { chunks = 0, bytes: before = 0 } = this.audio ?? {};
      const total = before + bytes;
      this.audio = { chunks: chunks + 1, bytes: total, sampleRate, duration: total / (sampleRate * 2) };
      out.push({ type: 'audio', data, sampleRate });
      return;
    }
    if (mimeType.startsWith('audio/')) {
      out.push({ type: 'data-audio', data: { mediaType: mimeType, data }, transient: true });
      return;
    }
    if (mimeType.startsWith('image/') && this.images === 'data-image') {
      closeBlocks(writer, out);
      out.push({ type: 'data-image', data: { mediaType: mimeType, data } });
      return;
    }
    closeBlocks(writer, out);
    out.push({ type: 'file', mediaType: mimeType, url: `data:${mimeType};base64,${data}` });
  }

  /** Adds a transcript of the agent's speech as text of the message. A finished transcript repeats all its pieces. */
  private transcript(
    writer: Writer,
    transcription: { text?: string; finished?: boolean },
    alreadyContent: boolean,
    out: MessageOutput[],
  ): void {
    const { text = '', finished = false } = transcription;
    if (finished) {
      const rest = alreadyContent ? '' : missing(writer.text, text);
      if (rest) this.delta(writer, 'text', rest, out);
      closeBlock(writer, 'text', out);
      writer.text.streamed = '';
    } else if (text) {
      this.delta(writer, 'text', text, out);
      writer.text.streamed += text;
    }
  }

  private delta(writer: Writer, kind: BlockKind, delta: string, out: MessageOutput[]): void {
    this.spoke = true;
    const block = writer[kind];
    if (block.id === null) {
      closeBlock(writer, kind === 'text' ? 'reasoning' : 'text', out);
      block.id = String(this.nextId++);
      out.push({ type: START[kind], id: block.id, ...this.nameOf(writer) });
    }
    out.push({ type: DELTA[kind], id: block.id, delta });
  }

  /** Finds the writer of an event. Two agents may have the same author, or the same branch, but not both. */
  private writerOf({ author, branch }: Event): Writer {
    for (const writer of this.writers) {
      if (writer.author === author && writer.branch === branch) return writer;
    }
    const writer: Writer = {
      author,
      branch,
      text: { id: null, streamed: '' },
      reasoning: { id: null, streamed: '' },
      partialUsage: undefined,
    };
    this.writers.push(writer);
    return writer;
  }

  /** Names the author of a block where several agents write: ADK gives a branch to each agent that runs in parallel with others. */
  private nameOf(writer: Writer): { providerMetadata?: { duologue: { author: string } } } {
    this.firstWriter ??= writer;
    const { author, branch } = writer;
    if (author === undefined || (branch === undefined && this.firstWriter === writer)) return {};
    return { providerMetadata: { duologue: { author } } };
  }

  private remember(event: Event): void {
    if (event.modelVersion) this.modelVersion = event.modelVersion;
    if (event.finishReason) this.rawFinish = event.finishReason;
    if (event.usageMetadata && !event.partial) this.count(this.writerOf(event), event.usageMetadata);
    if (event.citationMetadata && !event.partial) this.citations.push(...citationsOf(event.citationMetadata));
  }

  /** Adds the usage of one model call to the total. Forgets the usage in the partial events of the call, because `usage` includes it. */
  private count(writer: Writer, usage: Event['usageMetadata']): void {
    writer.partialUsage = undefined;
    if (usage) this.usage = addUsage(this.usage, usageOf(usage));
  }

  /** Reports a failure of the model. ADK also gives the name of a finish reason as an error code; with content, that is no error. */
  private fail(event: Event, out: MessageOutput[]): void {
    if (!event.errorCode) return;
    // For a blocked prompt the event has an error code but no finish reason.
    const finish = finishOf(event.errorCode);
    const isFinish = event.errorCode === event.finishReason || finish === 'content_filter';
    // The finish reason `error` is a failure, even if the model produced output before.
    if (isFinish && finish !== 'error' && (event.content?.parts?.length || this.spoke)) {
      this.rawFinish ??= event.errorCode;
      return;
    }
    out.push(...this.close(), {
      type: 'failed',
      code: event.errorCode,
      message: event.errorMessage ?? '',
    });
  }
}

/** Returns the part of a final text that was not streamed yet. Removes from the block the streamed text that the final text repeats. */
function missing(block: Block, text: string): string {
  const { streamed } = block;
  if (streamed.startsWith(text)) {
    block.streamed = streamed.slice(text.length);
    return '';
  }
  block.streamed = '';
  return text.startsWith(streamed) ? text.slice(streamed.length) : text;
}

function closeBlocks(writer: Writer, out: (Chunk | MessageOutput)[]): void {
  closeBlock(writer, 'reasoning', out);
  closeBlock(writer, 'text', out);
}

function closeBlock(writer: Writer, kind: BlockKind, out: (Chunk | MessageOutput)[]): void {
  const { id } = writer[kind];
  if (id === null) return;
  out.push({ type: END[kind], id });
  writer[kind].id = null;
}

/** The token counts of an ADK event, with one meaning for all providers; null when there are none. */
function usageOf(raw: object): TokenUsage | null {
  const usage = parseUsage(raw);
  if (!usage) return null;
  const { input, output, cacheRead, cacheWrite, reasoning, total, modality } = usage;
  const audio = {
    input: modality?.input.audio ?? null,
    output: modality?.output.audio ?? null,
    cacheRead: modality?.cacheRead?.audio ?? null,
  };
  const hasAudio = Object.values(audio).some((count) => count !== null);
  return { input, output, cacheRead, cacheWrite, reasoning, total, ...(hasAudio ? { audio } : {}) };
}

/** The total tokens of the model calls of these events; null when no event reports any. */
export function usageIn(events: readonly Event[]): TokenUsage | null {
  let usage: TokenUsage | null = null;
  for (const { usageMetadata, partial } of events)
    if (usageMetadata && !partial) usage = addUsage(usage, usageOf(usageMetadata));
  return usage;
}

type Count = number | null;

/** The sum of the counts of two model calls. A count is null only where neither call has it. */
function addUsage(a: TokenUsage | null, b: TokenUsage | null): TokenUsage | null {
  if (!a || !b) return a ?? b;
  const audio =
    a.audio && b.audio
      ? {
          input: plus(a.audio.input, b.audio.input),
          output: plus(a.audio.output, b.audio.output),
          cacheRead: plus(a.audio.cacheRead, b.audio.cacheRead),
        }
      : (a.audio ?? b.audio);
  return {
    input: plus(a.input, b.input),
    output: plus(a.output, b.output),
    cacheRead: plus(a.cacheRead, b.cacheRead),
    cacheWrite: plus(a.cacheWrite, b.cacheWrite),
    reasoning: plus(a.reasoning, b.reasoning),
    total: plus(a.total, b.total),
    ...(audio ? { audio } : {}),
  };
}

function plus(a: Count, b: Count): Count {
  if (a === null) return b;
  return b === null ? a : a + b;
}

/** The web pages that an answer cites: first the pages of grounding, then the pages of citations. */
function sourcesOf(event: Event): { url: string; title?: string }[] {
  const sources: { url: string; title?: string }[] = [];
  const add = (url: string | undefined, title: string | undefined) => {
    if (url && /^https?:/.test(url)) sources.push({ url, ...(title ? { title } : {}) });
  };
  for (const chunk of event.groundingMetadata?.groundingChunks ?? []) {
    add(chunk.web?.uri ?? chunk.retrievedContext?.uri, chunk.web?.title ?? chunk.retrievedContext?.title);
  }
  for (const citation of event.citationMetadata?.citations ?? []) add(citation.uri, citation.title);
  return sources;
}

/** The citations of an event, as the metadata of a message has them. */
function citationsOf(metadata: NonNullable<Event['citationMetadata']>): Citation[] {
  return (metadata.citations ?? []).map((citation) => ({
    startIndex: citation.startIndex ?? null,
    endIndex: citation.endIndex ?? null,
    uri: citation.uri ?? null,
    title: citation.title ?? null,
    license: citation.license ?? null,
  }));
}

/** Converts the finish reason of a provider to that of the AI SDK. */
export function aiSdkFinishOf(finish: Finish | null): FinishReason {
  if (finish === 'refusal' || finish === 'content_filter') return 'content-filter';
  if (finish === 'tool_calls') return 'tool-calls';
  if (finish === 'pause') return 'stop';
  return finish === null || finish === 'incomplete' ? 'other' : finish;
}
