import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Answer, answersIn, LIMITS } from '../../src/protocol/index.ts';

const decision = (toolCallId: string, approvalId: string, approved: boolean, more: object = {}): Answer => ({
  kind: 'decision',
  toolCallId,
  approvalId,
  approved,
  ...more,
});

/** A value inside so many arrays. */
function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i += 1) value = [value];
  return value;
}

const pay = { type: 'tool-process_payment', toolCallId: 'c1', input: { amount: 50 } };
const input = { input: { amount: 50 } };

describe('answers in the parts of a message', () => {
  test.each<[string, object, Answer[]]>([
    [
      'an approval',
      { ...pay, state: 'approval-responded', approval: { id: 'a1', approved: true } },
      [decision('c1', 'a1', true, input)],
    ],
    [
      'a denial with its reason',
      { ...pay, state: 'approval-responded', approval: { id: 'a1', approved: false, reason: 'no' } },
      [decision('c1', 'a1', false, { reason: 'no', ...input })],
    ],
    ['a preliminary output is none', { ...pay, state: 'output-available', output: 1, preliminary: true }, []],
    [
      'an empty reason is none',
      { ...pay, state: 'approval-responded', approval: { id: 'a1', approved: false, reason: '' } },
      [decision('c1', 'a1', false, input)],
    ],
    [
      'an approval that keeps descriptor, signature and the reason of the request',
      {
        ...pay,
        state: 'approval-responded',
        approval: {
          id: 'a1',
          descriptor: { expiresAt: 1 },
          signature: 's',
          requestReason: 'r',
          approved: true,
        },
      },
      [decision('c1', 'a1', true, input)],
    ],
    [
      'an approved client call with its output: both',
      { ...pay, state: 'output-available', output: { lat: 1 }, approval: { id: 'a1', approved: true } },
      [decision('c1', 'a1', true, input), { kind: 'output', toolCallId: 'c1', output: { lat: 1 }, ...input }],
    ],
    [
      'an approved client call that failed: both',
      { ...pay, state: 'output-error', errorText: 'boom', approval: { id: 'a1', approved: true } },
      [decision('c1', 'a1', true, input), { kind: 'failure', toolCallId: 'c1', errorText: 'boom', ...input }],
    ],
    [
      'a decision on a part that the server denied',
      { ...pay, state: 'output-denied', approval: { id: 'a1', approved: false } },
      [decision('c1', 'a1', false, input)],
    ],
    [
      'a decision on an approved call that is shown again',
      { ...pay, state: 'input-available', approval: { id: 'a1', approved: true } },
      [decision('c1', 'a1', true, input)],
    ],
    [
      'an output on a card that was never answered is an output only',
      { ...pay, state: 'output-available', output: 1, approval: { id: 'a1' } },
      [{ kind: 'output', toolCallId: 'c1', output: 1, ...input }],
    ],
    [
      'a text as output',
      { ...pay, state: 'output-available', output: 'sunny' },
      [{ kind: 'output', toolCallId: 'c1', output: 'sunny', ...input }],
    ],
    [
      'an output that JSON dropped is null',
      { ...pay, state: 'output-available' },
      [{ kind: 'output', toolCallId: 'c1', output: null, ...input }],
    ],
    [
      'a dynamic tool',
      { type: 'dynamic-tool', toolName: 'w', toolCallId: 'c3', state: 'output-available', output: {} },
      [{ kind: 'output', toolCallId: 'c3', output: {} }],
    ],
    [
      'a failure without text',
      { ...pay, state: 'output-error' },
      [{ kind: 'failure', toolCallId: 'c1', errorText: 'The tool failed in the browser', ...input }],
    ],
    [
      'a tool-result part',
      { type: 'tool-result', toolCallId: 'c2', result: { ok: true } },
      [{ kind: 'output', toolCallId: 'c2', output: { ok: true } }],
    ],
    [
      'a tool-result part that says output',
      { type: 'tool-result', toolCallId: 'c2', output: 'x' },
      [{ kind: 'output', toolCallId: 'c2', output: 'x' }],
    ],
    [
      'a tool-result part that says nothing',
      { type: 'tool-result', toolCallId: 'c2' },
      [{ kind: 'output', toolCallId: 'c2', output: null }],
    ],
    [
      'a decision that names the approval as the call',
      {
        type: 'tool-adk_request_confirmation',
        toolName: 'adk_request_confirmation',
        toolCallId: 'a1',
        state: 'approval-responded',
        approval: { id: 'a1', approved: true, reason: 'ok' },
      },
      [decision('a1', 'a1', true, { reason: 'ok' })],
    ],
  ])('[T6a] [T6b] [T6c] %s', (_what, part, answers) => {
    expect(answersIn([part])).toEqual(answers);
  });

  test('[T6] answers keep the order of the parts', () => {
    expect(
      answersIn([
        { type: 'step-start' },
        { ...pay, toolCallId: 'b', state: 'approval-responded', approval: { id: 'x', approved: false } },
        { type: 'text', text: 'hello' },
        { type: 'tool-result', toolCallId: 'a', result: 1 },
      ]).map((answer) => answer.toolCallId),
    ).toEqual(['b', 'a']);
  });

  test.each<[string, unknown]>([
    ['a call that streams', { ...pay, state: 'input-streaming' }],
    ['a call with its input', { ...pay, state: 'input-available' }],
    ['an open card', { ...pay, state: 'approval-requested', approval: { id: 'a1' } }],
    ['a decision without approval', { ...pay, state: 'approval-responded' }],
    ['a decision without id', { ...pay, state: 'approval-responded', approval: { approved: true } }],
    [
      'a decision that is no boolean',
      { ...pay, state: 'approval-responded', approval: { id: 'a1', approved: 'yes' } },
    ],
    ['an approval that is a list', { ...pay, state: 'approval-responded', approval: ['a1', true] }],
    ['a state that does not exist', { ...pay, state: 'call' }],
    ['a part without call id', { type: 'tool-x', state: 'output-available', output: 1 }],
    ['a call id that is a number', { ...pay, toolCallId: 7, state: 'output-available', output: 1 }],
    [
      'a call id that is too long',
      { ...pay, toolCallId: 'x'.repeat(257), state: 'output-available', output: 1 },
    ],
    [
      'an approval id that is too long',
      { ...pay, state: 'approval-responded', approval: { id: 'x'.repeat(257), approved: true } },
    ],
    [
      'a dynamic tool without name',
      { type: 'dynamic-tool', toolCallId: 'c', state: 'output-available', output: 1 },
    ],
    ['a text', { type: 'text', toolCallId: 'c', state: 'output-available', output: 1 }],
    ['a part without type', { toolCallId: 'c', state: 'output-available', output: 1 }],
    ['null', null],
    ['a string', 'tool-x'],
    ['a list', [pay]],
  ])('[T6d] %s is no answer', (_what, part) => {
    expect(answersIn([part])).toEqual([]);
  });

  test('[T7a] a long reason and a long error are cut, never inside a character', () => {
    const long = `${'x'.repeat(LIMITS.reasonLength - 1)}💸${'x'.repeat(LIMITS.errorLength)}`;
    expect(
      answersIn([
        {
          ...pay,
          state: 'output-error',
          errorText: long,
          approval: { id: 'a1', approved: false, reason: long },
        },
      ]),
    ).toEqual([
      decision('c1', 'a1', false, { reason: 'x'.repeat(LIMITS.reasonLength - 1), ...input }),
      { kind: 'failure', toolCallId: 'c1', errorText: long.slice(0, LIMITS.errorLength), ...input },
    ]);
  });

  test('[T7b] an output that nests too deep is a failure, an input that nests too deep equals no arguments', () => {
    const part = (levels: number) => ({
      ...pay,
      state: 'output-available',
      input: nested(levels),
      output: nested(levels),
    });
    expect(answersIn([part(LIMITS.depth)])).toEqual([
      { kind: 'output', toolCallId: 'c1', output: nested(LIMITS.depth), input: nested(LIMITS.depth) },
    ]);
    for (const levels of [LIMITS.depth + 1, 100_000]) {
      expect(answersIn([part(levels)])).toEqual([
        {
          kind: 'failure',
          toolCallId: 'c1',
          errorText: 'The output has more than 100 nested levels',
          input: null,
        },
      ]);
    }
  });

  test('[T6] names of the prototype are ordinary ids', () => {
    const part = (id: string) => ({
      ...pay,
      toolCallId: id,
      state: 'approval-responded',
      approval: { id, approved: true },
    });
    const ids = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    expect(answersIn(ids.map(part))).toEqual(ids.map((id) => decision(id, id, true, input)));
    const polluted: unknown = JSON.parse(
      '[{"type":"tool-x","toolCallId":"c","__proto__":{"state":"output-available","output":1}}]',
    );
    expect(answersIn(polluted as unknown[])).toEqual([]);
    expect(Object.prototype).not.toHaveProperty('state');
  });

  test('[T6] whatever a client sends, reading answers never throws and gives only answers', () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('output-available', 'output-error', 'tool-x', true, 'c1'),
    );
    const part = fc.oneof(
      value,
      fc.record(
        {
          type: value,
          toolCallId: value,
          state: value,
          output: value,
          errorText: value,
          input: value,
          approval: fc.oneof(value, fc.record({ id: value, approved: value, reason: value })),
        },
        { requiredKeys: [] },
      ),
    );
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        for (const answer of answersIn(parts)) {
          expect(['decision', 'output', 'failure']).toContain(answer.kind);
          expect(typeof answer.toolCallId).toBe('string');
        }
      }),
    );
  });
});
