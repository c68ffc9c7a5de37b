import type { Chunk, Message, MessageMetadata, MessagePart } from './chunks.ts';
import { hasOutcome, type ToolCallState } from './tool-call.ts';

/** A tool part while it is being built. The AI SDK has a type for each state of a part; these are the fields of all of them. */
interface ToolPart {
  type: string;
  toolCallId: string;
  state: ToolCallState;
  input?: unknown;
  output?: unknown;
  errorText?: string;
  preliminary?: true;
  toolMetadata?: unknown;
  approval?: {
    id: string;
    descriptor?: unknown;
    requestReason?: string;
    approved?: boolean;
    reason?: string;
  };
}

type ToolInput = Extract<Chunk, { type: 'tool-input-start' | 'tool-input-available' }>;
type DataChunk = Extract<Chunk, { type: `data-${string}` }>;
type BlockStart = Extract<Chunk, { type: 'text-start' | 'reasoning-start' }>;
type BlockPart = Extract<MessagePart, { type: 'text' | 'reasoning' }>;

/**
 * Builds a message from its chunks, as the AI SDK's client does, so that the server stores the same message that the browser shows. `message` can be
 * read after any chunk. The next chunk changes that object, so copy it to keep its current content.
 */
export class MessageFold {
  readonly message: Message;
  readonly #open = new Map<string, BlockPart>();
  readonly #calls = new Map<string, ToolPart>();
  readonly #data = new Map<string, { data: unknown }>();

  constructor(message: Message) {
    this.message = message;
    for (const part of message.parts) {
      if ('toolCallId' in part) this.#calls.set(part.toolCallId, part as unknown as ToolPart);
      else if ('data' in part && part.id !== undefined) this.#data.set(`${part.type} ${part.id}`, part);
    }
  }

  push(chunk: Chunk): void {
    switch (chunk.type) {
      case 'start':
        if (chunk.messageId !== undefined) this.message.id = chunk.messageId;
        return this.#describe(chunk.messageMetadata);
      case 'message-metadata':
      case 'finish':
        return this.#describe(chunk.messageMetadata);
      case 'text-start':
      case 'reasoning-start':
        return this.#openBlock(chunk);
      case 'text-delta':
      case 'reasoning-delta': {
        const part = this.#open.get(chunk.id);
        if (part) part.text += chunk.delta;
        return;
      }
      case 'text-end':
      case 'reasoning-end': {
        const part = this.#open.get(chunk.id);
        if (part) part.state = 'done';
        this.#open.delete(chunk.id);
        return;
      }
      case 'start-step':
        return this.#add({ type: 'step-start' });
      case 'tool-input-start':
        this.#call(chunk, 'input-streaming');
        return;
      case 'tool-input-available':
        this.#call(chunk, 'input-available').input = chunk.input;
        return;
      case 'tool-approval-request': {
        // The type of this chunk in `ai` 6 has no `reason`.
        const { reason }: { type: string; reason?: string } = chunk;
        return this.#settle(chunk.toolCallId, 'approval-requested', {
          approval: {
            id: chunk.approvalId,
            ...(chunk.approvalDescriptor == null ? {} : { descriptor: chunk.approvalDescriptor }),
            ...(reason === undefined ? {} : { requestReason: reason }),
          },
        });
      }
      case 'tool-output-available':
        return this.#settle(chunk.toolCallId, 'output-available', {
          output: chunk.output,
          ...(chunk.preliminary ? { preliminary: true } : {}),
        });
      case 'tool-output-error':
        return this.#settle(chunk.toolCallId, 'output-error', { errorText: chunk.errorText });
      case 'tool-output-denied':
        return this.#settle(chunk.toolCallId, 'output-denied', {});
      case 'file':
        return this.#add({ ...chunk });
      case 'source-url': {
        const { sourceId, url, title } = chunk;
        return this.#add({ type: 'source-url', sourceId, url, ...(title === undefined ? {} : { title }) });
      }
      default:
        if (isData(chunk) && !chunk.transient) this.#addData(chunk);
    }
  }

  /** Writes the user's decision into the part of the call, as the AI SDK's client does. A second decision on the same call changes nothing. */
  decide(toolCallId: string, approved: boolean, reason?: string): void {
    const part = this.#calls.get(toolCallId);
    if (part?.state !== 'approval-requested' || !part.approval) return;
    part.approval = { ...part.approval, approved, ...(reason ? { reason } : {}) };
    part.state = 'approval-responded';
  }

  /** The text and reasoning blocks that have not ended, with the ids of their chunks. */
  get openBlocks(): { id: string; part: BlockPart }[] {
    return [...this.#open].map(([id, part]) => ({ id, part }));
  }

  /** Whether the message has a part for the call. */
  knows(toolCallId: string): boolean {
    return this.#calls.has(toolCallId);
  }

  /** Whether the message has a part for the call and that part shows no outcome yet. */
  isOpen(toolCallId: string): boolean {
    const part = this.#calls.get(toolCallId);
    return part !== undefined && !hasOutcome(part);
  }

  #openBlock(chunk: BlockStart): void {
    const part: BlockPart =
      chunk.type === 'text-start'
        ? { type: 'text', text: '', state: 'streaming' }
        : { type: 'reasoning', id: chunk.id, text: '', state: 'streaming' };
    if (chunk.providerMetadata !== undefined) part.providerMetadata = chunk.providerMetadata;
    this.#open.set(chunk.id, part);
    this.#add(part);
  }

  #call(chunk: ToolInput, state: ToolCallState): ToolPart {
    const metadata = chunk.toolMetadata === undefined ? {} : { toolMetadata: chunk.toolMetadata };
    const known = this.#calls.get(chunk.toolCallId);
    if (known) return Object.assign(known, { state, ...metadata });
    const part: ToolPart = {
      type: `tool-${chunk.toolName}`,
      toolCallId: chunk.toolCallId,
      state,
      ...metadata,
    };
    this.#calls.set(part.toolCallId, part);
    this.#add(part as unknown as MessagePart);
    return part;
  }

  #settle(toolCallId: string, state: ToolCallState, fields: Partial<ToolPart>): void {
    const part = this.#calls.get(toolCallId);
    if (!part) return;
    // The final output or error replaces a preliminary output.
    if (part.preliminary) {
      delete part.preliminary;
      delete part.output;
    }
    Object.assign(part, { state, ...fields });
  }

  #addData({ type, id, data }: DataChunk): void {
    const known = id === undefined ? undefined : this.#data.get(`${type} ${id}`);
    if (known) {
      known.data = data;
      return;
    }
    const part = { type, ...(id === undefined ? {} : { id }), data } as MessagePart & { data: unknown };
    if (id !== undefined) this.#data.set(`${type} ${id}`, part);
    this.#add(part);
  }

  #add(part: MessagePart): void {
    this.message.parts.push(part);
  }

  #describe(metadata: MessageMetadata | null | undefined): void {
    if (metadata != null) this.message.metadata = merge(this.message.metadata ?? {}, metadata);
  }
}

function isData(chunk: Chunk): chunk is DataChunk {
  return chunk.type.startsWith('data-');
}

/** Merges objects recursively and replaces every other value, as the AI SDK merges message metadata. A field that is undefined in `changes` keeps its value. */
export function merge(base: object, changes: object): object {
  const merged = new Map<string, unknown>(Object.entries(base));
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    const before = merged.get(key);
    merged.set(key, isPlain(before) && isPlain(value) ? merge(before, value) : value);
  }
  return Object.fromEntries(merged);
}

/** Whether a value is an object and no array. */
export function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
