import type { Chunk, Message, MessagePart } from './chunks.ts';
import { hasOutcome, toolNameOf } from './tool-call.ts';
import type { ApprovalResponse } from './wire/chat-frames.ts';

type ToolPart = Extract<MessagePart, { toolCallId: string }>;
type Approval = { id: string; descriptor?: unknown; requestReason?: string };

/**
 * Returns chunks from which a client builds this stored message. With `from`, the result has only the parts from that index on, and the outcomes of
 * calls in earlier parts. It has no approval request that was decided, because no chunk of `ai` 6 can carry the decision.
 */
export function unfold(message: Message, from = 0): Chunk[] {
  const { id: messageId, metadata, parts } = message;
  const isContinued = from > 0;
  return [
    isContinued || metadata === undefined
      ? { type: 'start', messageId }
      : { type: 'start', messageId, messageMetadata: metadata },
    ...parts.flatMap((part, index): Chunk[] => {
      if ('toolCallId' in part) return [...(index < from ? [] : inputOf(part)), ...endOf(part)];
      return index < from ? [] : contentChunks(part, index);
    }),
    {
      type: 'finish',
      finishReason: finishOf(message),
      ...(isContinued && metadata !== undefined ? { messageMetadata: metadata } : {}),
    },
  ];
}

/**
 * Like `unfold`, but for clients of `ai` 7, where a chunk can carry a decision, and always for a whole message. The result also has the
 * approval requests that were decided, each followed by the decision.
 */
export function unfoldDecided(message: Message): (Chunk | ApprovalResponse)[] {
  const parts = new Map(
    message.parts.flatMap((part) => ('toolCallId' in part ? [[part.toolCallId, part]] : [])),
  );
  return unfold(message).flatMap((chunk) => {
    const part = chunk.type === 'tool-input-available' ? parts.get(chunk.toolCallId) : undefined;
    return part && part.state !== 'approval-requested' ? [chunk, ...decisionOn(part)] : [chunk];
  });
}

/** Returns the approval request of a call and the decision on it; an empty list when the call was not decided. */
function decisionOn(part: ToolPart): (Chunk | ApprovalResponse)[] {
  const { approval } = part;
  if (approval?.approved === undefined) return [];
  const { id: approvalId, approved, reason } = approval;
  return [
    requestOf(part, approval),
    { type: 'tool-approval-response', approvalId, approved, ...(reason === undefined ? {} : { reason }) },
  ];
}

function requestOf({ toolCallId }: ToolPart, { id: approvalId, descriptor, requestReason }: Approval): Chunk {
  const described = descriptor === undefined ? {} : { approvalDescriptor: descriptor };
  const reason = requestReason === undefined ? {} : { reason: requestReason };
  return { type: 'tool-approval-request', toolCallId, approvalId, ...reason, ...described };
}

function contentChunks(part: MessagePart, index: number): Chunk[] {
  const id = String(index);
  switch (part.type) {
    case 'text':
      return [
        { type: 'text-start', id, ...metadataOf(part) },
        { type: 'text-delta', id, delta: part.text },
        { type: 'text-end', id },
      ];
    case 'reasoning':
      return [
        { type: 'reasoning-start', id, ...metadataOf(part) },
        { type: 'reasoning-delta', id, delta: part.text },
        { type: 'reasoning-end', id },
      ];
    case 'file':
      return [{ type: 'file', url: part.url, mediaType: part.mediaType, ...metadataOf(part) }];
    case 'source-url': {
      const { sourceId, url, title } = part;
      return [{ type: 'source-url', sourceId, url, ...(title === undefined ? {} : { title }) }];
    }
    default:
      return part.type.startsWith('data-') ? [part as Chunk] : [];
  }
}

function metadataOf({
  providerMetadata,
}: Extract<MessagePart, { type: 'text' | 'reasoning' | 'file' }>): Pick<
  Extract<Chunk, { type: 'text-start' }>,
  'providerMetadata'
> {
  return providerMetadata === undefined ? {} : { providerMetadata };
}

function inputOf(part: ToolPart): Chunk[] {
  const { toolCallId } = part;
  const toolName = toolNameOf(part) ?? '';
  const input = part.input ?? null;
  const about = part.toolMetadata === undefined ? {} : { toolMetadata: part.toolMetadata };
  const asks = part.state === 'approval-requested' ? [requestOf(part, part.approval)] : [];
  return [
    { type: 'tool-input-start', toolCallId, toolName, ...about },
    { type: 'tool-input-available', toolCallId, toolName, input, ...about },
    ...asks,
  ];
}

function endOf(part: ToolPart): Chunk[] {
  const { toolCallId } = part;
  if (part.state === 'output-available')
    return [
      {
        type: 'tool-output-available',
        toolCallId,
        output: part.output ?? null,
        ...(part.preliminary ? { preliminary: true } : {}),
      },
    ];
  if (part.state === 'output-error')
    return [{ type: 'tool-output-error', toolCallId, errorText: part.errorText }];
  return part.state === 'output-denied' ? [{ type: 'tool-output-denied', toolCallId }] : [];
}

function finishOf({
  metadata,
  parts,
}: Message): NonNullable<Extract<Chunk, { type: 'finish' }>['finishReason']> {
  if (metadata?.interrupted) return 'other';
  const isOpen = parts.some((part) => 'toolCallId' in part && !hasOutcome(part));
  return isOpen ? 'tool-calls' : 'stop';
}
