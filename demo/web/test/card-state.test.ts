import { describe, expect, test } from 'vitest';
import { cardStateOf, isApprovalCard } from '../src/approval/card-state.ts';
import { reachOf } from '../src/approval/reach.tsx';
import type { ToolPart } from '../src/tools/tool-part.ts';

const PAY: ToolPart = { type: 'tool-process_payment', toolCallId: 'c1', state: 'input-available' };
const approval = { id: 'a1' };
const failed = (errorText: string): ToolPart => ({ ...PAY, state: 'output-error', approval, errorText });

describe('an approval card', () => {
  test('is there from the request on, and not before', () => {
    expect(isApprovalCard({ ...PAY, state: 'input-streaming' })).toBe(false);
    expect(isApprovalCard({ ...PAY, toolMetadata: { asks: true } })).toBe(false);
    expect(isApprovalCard({ ...PAY, state: 'approval-requested', approval })).toBe(true);
    expect(isApprovalCard(failed('boom'))).toBe(true);
  });

  test.each<[string, ToolPart]>([
    ['requested', { ...PAY, state: 'approval-requested', approval }],
    ['processing', { ...PAY, state: 'approval-responded', approval: { ...approval, approved: true } }],
    ['processing', { ...PAY, state: 'input-available', approval: { ...approval, approved: true } }],
    ['denying', { ...PAY, state: 'approval-responded', approval: { ...approval, approved: false } }],
    ['done', { ...PAY, state: 'output-available', approval, output: {} }],
    ['denied', { ...PAY, state: 'output-denied', approval }],
    ['denied', failed('User denied the tool call')],
    ['denied', failed('User denied the tool call: too much')],
    ['expired', failed('Approval request timed out')],
    ['cancelled', failed('Superseded by a newer message')],
    ['cancelled', failed('Interrupted by the user')],
    [
      'unknown',
      failed('The outcome is unknown: the server stopped while the tool was running. It was not run again.'),
    ],
    ['unknown', failed('process_payment did not finish in time. The outcome is unknown.')],
    ['unknown', { ...failed('Interrupted by the user'), approval: { ...approval, approved: true } }],
    ['unknown', { ...failed('Superseded by a newer message'), approval: { ...approval, approved: true } }],
    ['failed', failed('Insufficient funds.')],
  ])('says %s', (state, part) => {
    expect(cardStateOf(part)).toBe(state);
  });

  test.each<[string, Partial<ToolPart>]>([
    ['requested', { state: 'input-available' }],
    ['approved', { state: 'output-available', output: { confirmed: true } }],
    ['denied', { state: 'output-available', output: { confirmed: false } }],
    ['expired', { state: 'output-error', errorText: 'Approval request timed out' }],
  ])('of a confirmation says %s', (state, part) => {
    const confirmation = { ...PAY, type: 'tool-adk_request_confirmation', ...part };
    expect(isApprovalCard(confirmation)).toBe(true);
    expect(cardStateOf(confirmation)).toBe(state);
  });
});

test.each<[ReturnType<typeof reachOf>, ...Parameters<typeof reachOf>]>([
  ['live', 'bidi', 'live', undefined],
  ['live', 'bidi', 'idle', undefined],
  ['away', 'bidi', 'reconnecting', undefined],
  ['elsewhere', 'bidi', 'taken-over', undefined],
  ['closed', 'bidi', 'closed', undefined],
  ['idle', 'sse', 'idle', undefined],
  ['idle', 'sse', 'idle', new Error('The model is overloaded.')],
  ['unsure', 'sse', 'idle', new TypeError('Failed to fetch')],
  ['away', 'sse', 'offline', undefined],
])('decisions reach the server: %s, over %s that is %s', (reach, mode, status, error) => {
  expect(reachOf(mode, status, error)).toBe(reach);
});
