import type { Chunk, Message, MessageMetadata, MessagePart } from './chunks.ts';
import type { ToolCallState } from './tool-call.ts';

/** A tool part while it is being built: the states of the AI SDK share these fields. */
interface ToolPart {
  type: string;
  toolCallId: string;
  state: ToolCallState;
  input?: unknown;
  output?: unknown;
  errorText?: string;
  toolMetadata?: unknown;
  approval?: { id: string; descriptor?: unknown; approved?: boolean; reason?: string };
}

type TextPart = { type: 'text' | 'reasoning'; id?: string; text: string; state: 'streaming' | 'done' };

/**
 * Builds a message from its chunks, as the AI SDK's client does, so that what the server stores is what the browser
 * shows. `message` is always whole: it may be read (and must be copied by whoever keeps it) after any chunk.
 */
export class MessageFold {
  readonly message: Message;
  private readonly open = new Map<string, TextPart>();
  private readonly calls = new Map<string, ToolPart>();

  constructor(message: Message) {
    this.message = message;
    for (const part of message.parts) {
      if ('toolCallId' in part) this.calls.set(part.toolCallId, part as unknown as ToolPart);
    }
  }

  push(chunk: Chunk): void {
    switch (chunk.type) {
      case 'start':
      case 'message-metadata':
      case 'finish':
        if (chunk.messageMetadata) this.mergeMetadata(chunk.messageMetadata);
        return;
      case 'text-start':
        return this.openText(chunk.id, { type: 'text', text: '', state: 'streaming' });
      case 'reasoning-start':
        return this.openText(chunk.id, { type: 'reasoning', id: chunk.id, text: '', state: 'streaming' });
      case 'text-delta':
      case 'reasoning-delta': {
        const part = this.open.get(chunk.id);
        if (part) part.text += chunk.delta;
        return;
      }
      case 'text-end':
      case 'reasoning-end': {
        const part = this.open.get(chunk.id);
        if (part) part.state = 'done';
        this.open.delete(chunk.id);
        return;
      }
      case 'start-step':
        return this.add({ type: 'step-start' });
      case 'finish-step':
        return this.open.clear();
      case 'tool-input-start':
        return this.setCall(chunk.toolCallId, chunk.toolName, 'input-streaming', chunk.toolMetadata);
      case 'tool-input-available': {
        this.setCall(chunk.toolCallId, chunk.toolName, 'input-available', chunk.toolMetadata);
        const part = this.calls.get(chunk.toolCallId);
        if (part) part.input = chunk.input;
        return;
      }
      case 'tool-approval-request': {
        const part = this.calls.get(chunk.toolCallId);
        if (!part) return;
        part.state = 'approval-requested';
        part.approval = {
          id: chunk.approvalId,
          ...(chunk.approvalDescriptor == null ? {} : { descriptor: chunk.approvalDescriptor }),
        };
        return;
      }
      case 'tool-output-available': {
        const part = this.calls.get(chunk.toolCallId);
        if (!part) return;
        part.state = 'output-available';
        part.output = chunk.output;
        return;
      }
      case 'tool-output-error': {
        const part = this.calls.get(chunk.toolCallId);
        if (!part) return;
        part.state = 'output-error';
        part.errorText = chunk.errorText;
        return;
      }
      case 'tool-output-denied': {
        const part = this.calls.get(chunk.toolCallId);
        if (part) part.state = 'output-denied';
        return;
      }
      case 'file':
        return this.add({ type: 'file', mediaType: chunk.mediaType, url: chunk.url });
      case 'source-url':
        return this.add({
          type: 'source-url',
          sourceId: chunk.sourceId,
          url: chunk.url,
          ...(chunk.title === undefined ? {} : { title: chunk.title }),
        });
      default:
        if (chunk.type.startsWith('data-') && 'data' in chunk && !('transient' in chunk && chunk.transient)) {
          this.add({
            type: chunk.type,
            ...(chunk.id ? { id: chunk.id } : {}),
            data: chunk.data,
          } as MessagePart);
        }
    }
  }

  /** Writes the person's decision on the card, as the client did when it was made. */
  decide(toolCallId: string, approved: boolean, reason?: string): void {
    const part = this.calls.get(toolCallId);
    if (!part?.approval) return;
    part.approval = { ...part.approval, approved, ...(reason ? { reason } : {}) };
    if (part.state === 'approval-requested') part.state = 'approval-responded';
  }

  private openText(id: string, part: TextPart): void {
    this.open.set(id, part);
    this.message.parts.push(part as MessagePart);
  }

  private setCall(toolCallId: string, toolName: string, state: ToolCallState, toolMetadata: unknown): void {
    const known = this.calls.get(toolCallId);
    if (known) {
      known.state = state;
      return;
    }
    const part: ToolPart = { type: `tool-${toolName}`, toolCallId, state, toolMetadata };
    this.calls.set(toolCallId, part);
    this.message.parts.push(part as unknown as MessagePart);
  }

  private add(part: MessagePart): void {
    this.message.parts.push(part);
  }

  private mergeMetadata(metadata: MessageMetadata): void {
    this.message.metadata = { ...this.message.metadata, ...metadata };
  }
}
