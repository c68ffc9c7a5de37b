import { describe, expect, it } from 'vitest';
import { type Chunk, Grammar, type Message, MessageFold, unfold } from '../../src/protocol/index.ts';

const facts = { runsOn: 'server', asks: true };
const texts: Chunk[] = [
  { type: 'start', messageId: 'm1', messageMetadata: { createdAt: 1 } },
  { type: 'reasoning-start', id: '0' },
  { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
  { type: 'reasoning-end', id: '0' },
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Let me see.' },
  { type: 'text-end', id: '1' },
  { type: 'tool-input-start', toolCallId: 'c1', toolName: 'look', toolMetadata: facts },
  { type: 'tool-input-available', toolCallId: 'c1', toolName: 'look', input: { at: 1 }, toolMetadata: facts },
  { type: 'tool-output-available', toolCallId: 'c1', output: [1] },
  { type: 'tool-input-start', toolCallId: 'c2', toolName: 'look', toolMetadata: facts },
  { type: 'tool-input-available', toolCallId: 'c2', toolName: 'look', input: null, toolMetadata: facts },
  { type: 'tool-output-error', toolCallId: 'c2', errorText: 'No.' },
  { type: 'tool-input-start', toolCallId: 'c3', toolName: 'look', toolMetadata: facts },
  { type: 'tool-input-available', toolCallId: 'c3', toolName: 'look', input: null, toolMetadata: facts },
  { type: 'tool-output-available', toolCallId: 'c3', output: 'half', preliminary: true },
  { type: 'file', url: '/f', mediaType: 'image/png' },
  { type: 'source-url', sourceId: 's', url: 'u', title: 't' },
  { type: 'data-executable-code', data: { language: 'PYTHON', code: '1' } },
  { type: 'text-start', id: '2' },
  { type: 'text-delta', id: '2', delta: 'There.' },
  { type: 'text-end', id: '2' },
  { type: 'finish', finishReason: 'stop', messageMetadata: { modelVersion: 'v' } },
];

function folded(
  chunks: readonly Chunk[],
  message: Message = { id: '', role: 'assistant', parts: [] },
): Message {
  const fold = new MessageFold(structuredClone(message));
  for (const chunk of chunks) fold.push(chunk);
  return fold.message;
}

describe('a stored message told again', () => {
  it('[S19b] becomes the same message, in chunks of the protocol', () => {
    const message = folded(texts);
    const chunks = unfold(message);
    expect(folded(chunks)).toEqual(message);
    const grammar = new Grammar('sse');
    expect([...chunks.flatMap((chunk) => grammar.push(chunk)), ...grammar.end()]).toEqual([]);
  });

  it('[S19b] goes on behind the parts that were there before, with how their calls ended', () => {
    const message = folded(texts);
    const before: Message = {
      ...message,
      parts: message.parts.slice(0, 4).map((part) =>
        'toolCallId' in part
          ? {
              type: 'tool-look',
              toolCallId: part.toolCallId,
              state: 'input-available',
              input: part.input,
              toolMetadata: facts,
            }
          : part,
      ) as Message['parts'],
    };
    expect(folded(unfold(message, 4), before)).toEqual(message);
  });

  it('[S19b] asks what is still open, and nothing that was decided', () => {
    const ask: Chunk[] = [
      ...texts.slice(0, 1),
      ...texts.slice(7, 9),
      {
        type: 'tool-approval-request',
        toolCallId: 'c1',
        approvalId: 'a1',
        approvalDescriptor: { expiresAt: 9 },
      },
      { type: 'finish', finishReason: 'tool-calls' },
    ];
    const open = folded(ask);
    expect(unfold(open)).toEqual(ask);
    const fold = new MessageFold(structuredClone(open));
    fold.decide('c1', true);
    expect(unfold(fold.message).map(({ type }) => type)).toEqual([
      'start',
      'tool-input-start',
      'tool-input-available',
      'finish',
    ]);
  });
});
