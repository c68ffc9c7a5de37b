import type { Chunk, Message, MessagePart } from './chunks.ts';
import { toolNameOf } from './tool-call.ts';

type ToolPart = Extract<MessagePart, { toolCallId: string }>;

/**
 * The chunks of a stored message, from which a client builds the same message. With `from`, the chunks of the parts from that
 * index on, and of earlier calls only their ends. A decided approval request is left out: no chunk can carry the decision.
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
      return index < from ? [] : saidIn(part, index);
    }),
    {
      type: 'finish',
      finishReason: finishOf(message),
      ...(isContinued && metadata !== undefined ? { messageMetadata: metadata } : {}),
    },
  ];
}

function saidIn(part: MessagePart, index: number): Chunk[] {
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
      return [{ type: 'file', url: part.url, mediaType: part.mediaType }];
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
}: Extract<MessagePart, { type: 'text' | 'reasoning' }>): Pick<
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
  const asks: Chunk[] =
    part.state === 'approval-requested'
      ? [
          {
            type: 'tool-approval-request',
            toolCallId,
            approvalId: part.approval.id,
            ...(part.approval.descriptor === undefined
              ? {}
              : { approvalDescriptor: part.approval.descriptor }),
          },
        ]
      : [];
  return [
    { type: 'tool-input-start', toolCallId, toolName, ...about },
    { type: 'tool-input-available', toolCallId, toolName, input, ...about },
    ...asks,
  ];
}

function endOf(part: ToolPart): Chunk[] {
  const { toolCallId } = part;
  if (part.state === 'output-available')
    return [{ type: 'tool-output-available', toolCallId, output: part.output ?? null }];
  if (part.state === 'output-error')
    return [{ type: 'tool-output-error', toolCallId, errorText: part.errorText }];
  return part.state === 'output-denied' ? [{ type: 'tool-output-denied', toolCallId }] : [];
}

function finishOf({
  metadata,
  parts,
}: Message): NonNullable<Extract<Chunk, { type: 'finish' }>['finishReason']> {
  if (metadata?.interrupted) return 'other';
  const isOpen = parts.some((part) => 'toolCallId' in part && !part.state.startsWith('output-'));
  return isOpen ? 'tool-calls' : 'stop';
}
