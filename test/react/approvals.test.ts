import { expect, test } from 'vitest';
import type { Message } from '../../src/protocol/index.ts';
import { pendingApprovals } from '../../src/react/index.ts';
import { ShownMessages } from '../../src/react/shown-messages.ts';

function answer(...parts: unknown[]): Message {
  return { id: 'a1', role: 'assistant', parts: parts as Message['parts'] };
}

test('a decision is waited for from the request on and no longer than until it is given', () => {
  const part = { type: 'tool-process_payment', toolCallId: 'c1', input: { amount: 5 } };
  const approval = { id: 'ap1', descriptor: { expiresAt: 99 } };
  const asked = {
    id: 'ap1',
    messageId: 'a1',
    toolCallId: 'c1',
    toolName: 'process_payment',
    input: { amount: 5 },
    expiresAt: 99,
    isConfirmation: false,
  };
  expect(pendingApprovals([answer({ ...part, state: 'input-available' })])).toEqual([]);
  expect(pendingApprovals([answer({ ...part, state: 'approval-requested', approval })])).toEqual([asked]);
  expect(
    pendingApprovals([answer({ ...part, state: 'approval-requested', approval: { id: 'ap1' } })]),
  ).toEqual([{ ...asked, expiresAt: null }]);
  const responded = { ...approval, approved: true };
  expect(pendingApprovals([answer({ ...part, state: 'approval-responded', approval: responded })])).toEqual(
    [],
  );
});

test('a confirmation asks about the call inside, and malformed ones ask about themselves', () => {
  const confirm = (input: unknown) =>
    pendingApprovals([
      answer({ type: 'tool-adk_request_confirmation', toolCallId: 'k1', state: 'input-available', input }),
    ]).map(({ id, toolName, input: asked }) => [id, toolName, asked]);
  expect(confirm({ originalFunctionCall: { id: 'c1', name: 'pay', args: { amount: 5 } } })).toEqual([
    ['k1', 'pay', { amount: 5 }],
  ]);
  expect(confirm({})).toEqual([['k1', 'adk_request_confirmation', {}]]);
  expect(confirm(null)).toEqual([['k1', 'adk_request_confirmation', {}]]);
});

test('a text that comes late and in pieces stays one part', () => {
  const chat = { messages: [answer({ type: 'text', text: 'Before.' })] };
  const shown = new ShownMessages(chat);
  const piece = (id: string, delta: string) =>
    [
      { type: 'text-start', id },
      { type: 'text-delta', id, delta },
      { type: 'text-end', id },
    ] as const;
  shown.add('a1', piece('t1', 'Hel'));
  shown.add('a1', piece('t1', 'lo'));
  shown.add('a1', piece('t2', 'Next'));
  expect(chat.messages[0]?.parts).toEqual([
    { type: 'text', text: 'Before.' },
    { type: 'text', text: 'Hello', state: 'done' },
    { type: 'text', text: 'Next', state: 'done' },
  ]);
});
