import { describe, expect, test } from 'vitest';
import { type AnswerMemory, resumeWhen } from '../../src/client/index.ts';
import { shouldResume } from '../../src/client/resume.ts';
import type { Message } from '../../src/protocol/index.ts';
import { newestSdks } from '../support/sdks.ts';
import { LOCATE, MUSIC, PAY, WEATHER } from './support/server.ts';

type Part = Message['parts'][number];

/** A memory that knows nothing, but for what a test says. */
function remembering({
  sent = [],
  settled = [],
  open = [],
  runs = [],
}: Partial<Record<'sent' | 'settled' | 'open' | 'runs', string[]>> = {}): AnswerMemory {
  return {
    wasSent: (id, kind) => sent.includes(`${kind} ${id}`),
    isSettled: (id) => settled.includes(id),
    isOpen: (id) => open.includes(id),
    runs: (toolName) => runs.includes(toolName),
  };
}

const NOTHING = remembering();

function call(id: string, state: string, fields: object = {}): Part {
  return { type: 'tool-act', toolCallId: id, state, input: {}, ...fields } as Part;
}

const approval = (approved?: boolean) => ({ id: 'x', ...(approved === undefined ? {} : { approved }) });
const responded = (id: string, approved: boolean, facts: object = PAY) =>
  call(id, 'approval-responded', { approval: approval(approved), toolMetadata: facts });
const requested = (id: string) => call(id, 'approval-requested', { approval: approval(), toolMetadata: PAY });
const output = (id: string, facts: object = MUSIC) =>
  call(id, 'output-available', { output: 1, toolMetadata: facts });

function assistant(...parts: Part[]): Message {
  return { id: 'a1', role: 'assistant', parts };
}

const user: Message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'go' }] };
const texts: Part = { type: 'text', text: 'There.', state: 'done' };

describe.each(newestSdks)('the four scenarios with ai %s', (_name, sdk) => {
  const answer = (message: Message, memory = NOTHING) => {
    const messages = [user, message];
    return {
      approvals: sdk.lastAssistantMessageIsCompleteWithApprovalResponses({ messages }),
      toolCalls: sdk.lastAssistantMessageIsCompleteWithToolCalls({ messages }),
      ours: shouldResume(messages, memory),
    };
  };

  test.each([true, false])(
    '1: an approval alone (%s) sends with the approval helper and with our rule',
    (approved) => {
      expect(answer(assistant(responded('1', approved)))).toEqual({
        approvals: true,
        toolCalls: false,
        ours: true,
      });
    },
  );

  test('2: an output alone sends with the tool-calls helper and with our rule', () => {
    expect(answer(assistant(output('1')))).toEqual({ approvals: false, toolCalls: true, ours: true });
  });

  test.each([true, false])(
    '3: an approval (%s) beside an output sends with the approval helper and with our rule',
    (approved) => {
      expect(answer(assistant(responded('1', approved), output('2')))).toEqual({
        approvals: true,
        toolCalls: false,
        ours: true,
      });
    },
  );

  test.each([
    [
      'a card that nobody answered and a call that nobody ran',
      assistant(requested('1'), call('2', 'input-available', { toolMetadata: MUSIC })),
    ],
    ['a card that nobody answered beside an output', assistant(requested('1'), output('2'))],
    ['an approval beside a card that nobody answered', assistant(responded('1', true), requested('2'))],
    [
      'a denial beside a browser call that nobody ran',
      assistant(responded('1', false), call('2', 'input-available', { toolMetadata: MUSIC })),
    ],
  ])('4: %s sends with none', (_what, message) => {
    expect(answer(message)).toEqual({ approvals: false, toolCalls: false, ours: false });
  });

  test('an answered step that is followed by another sends with none', () => {
    expect(answer(assistant(responded('1', true), { type: 'step-start' }, texts))).toEqual({
      approvals: false,
      toolCalls: false,
      ours: false,
    });
    expect(answer(assistant(requested('1'), { type: 'step-start' }, responded('2', true)))).toEqual({
      approvals: true,
      toolCalls: false,
      ours: true,
    });
  });

  test('without step chunks the tool-calls helper sends a settled call again and again, our rule does not', () => {
    const message = assistant(output('1', WEATHER), texts);
    expect(answer(message, remembering({ settled: ['1'] }))).toEqual({
      approvals: false,
      toolCalls: true,
      ours: false,
    });
  });

  test('an answer that was sent and not yet settled: the approval helper would send it again, our rule does not', () => {
    expect(answer(assistant(responded('1', true)), remembering({ sent: ['decision 1'] }))).toEqual({
      approvals: true,
      toolCalls: false,
      ours: false,
    });
  });

  test("the provider's own calls: the approval helper counts them, our rule does not", () => {
    const own = { providerExecuted: true, approval: approval(true) };
    expect(answer(assistant(call('1', 'approval-responded', own)))).toEqual({
      approvals: true,
      toolCalls: false,
      ours: false,
    });
    expect(
      answer(assistant(call('1', 'input-available', { providerExecuted: true }), output('2'))).ours,
    ).toBe(true);
  });
});

describe('our rule', () => {
  const resumes = (parts: Part[], memory = NOTHING) => shouldResume([user, assistant(...parts)], memory);

  test('no message, a user message, or a message without calls sends nothing', () => {
    expect([shouldResume([], NOTHING), shouldResume([user], NOTHING), resumes([texts])]).toEqual([
      false,
      false,
      false,
    ]);
  });

  test('an approved browser call waits for its output, so that both go in one request', () => {
    expect(resumes([responded('1', true, LOCATE)])).toBe(false);
    expect(
      resumes([call('1', 'output-available', { output: 1, approval: approval(true), toolMetadata: LOCATE })]),
    ).toBe(true);
    expect(
      resumes([
        call('1', 'output-error', { errorText: 'no', approval: approval(true), toolMetadata: LOCATE }),
      ]),
    ).toBe(true);
  });

  test('a denied browser call waits for nothing', () => {
    expect(resumes([responded('1', false, LOCATE)])).toBe(true);
  });

  test('an approved browser call that the transport runs itself goes at once', () => {
    expect(resumes([responded('1', true, LOCATE)], remembering({ runs: ['act'] }))).toBe(true);
    const part = { ...responded('1', true, LOCATE), type: 'dynamic-tool', toolName: 'act' } as Part;
    expect(resumes([part], remembering({ runs: ['act'] }))).toBe(true);
  });

  test('a browser call whose output left by another way does not wait', () => {
    const open = call('2', 'input-available', { toolMetadata: MUSIC });
    expect(resumes([responded('1', true), open], remembering({ sent: ['output 2'] }))).toBe(true);
  });

  test('a card whose decision left by another way does not wait', () => {
    expect(resumes([responded('1', true), requested('2')], remembering({ sent: ['decision 2'] }))).toBe(true);
  });

  test('a card that the server has ended does not wait, and its answer does not count', () => {
    const memory = remembering({ settled: ['2'] });
    expect(resumes([responded('1', true), requested('2')], memory)).toBe(true);
    expect(resumes([responded('2', true)], memory)).toBe(false);
  });

  test('a server call that still runs holds nothing up', () => {
    expect(resumes([responded('1', true), call('2', 'input-available', { toolMetadata: WEATHER })])).toBe(
      true,
    );
    expect(resumes([responded('1', true), call('2', 'input-streaming')])).toBe(true);
  });

  test('an optimistic call waits for nobody', () => {
    const toolMetadata = { ...MUSIC, optimistic: true };
    expect(resumes([responded('1', true), call('2', 'input-available', { toolMetadata })])).toBe(true);
  });

  test('an output that is sent, preliminary, denied, or the end of a denial is no answer', () => {
    const denied = { approval: approval(false), toolMetadata: PAY };
    expect(resumes([output('1')], remembering({ sent: ['output 1'] }))).toBe(false);
    expect(resumes([call('1', 'output-available', { output: 1, preliminary: true })])).toBe(false);
    expect(resumes([call('1', 'output-denied', denied)], remembering({ sent: ['decision 1'] }))).toBe(false);
    expect(
      resumes(
        [call('1', 'output-error', { errorText: 'denied', ...denied })],
        remembering({ sent: ['decision 1'] }),
      ),
    ).toBe(false);
  });

  test('a decision that was sent still waits for the output of the browser', () => {
    const part = call('1', 'output-available', { output: 1, approval: approval(true), toolMetadata: LOCATE });
    expect(resumes([part], remembering({ sent: ['decision 1'] }))).toBe(true);
    expect(resumes([part], remembering({ sent: ['decision 1', 'output 1'] }))).toBe(false);
  });

  test('in an earlier message only a call that the server waits for counts', () => {
    const messages = [
      user,
      assistant(responded('1', true)),
      { ...user, id: 'u2' },
      { ...assistant(texts), id: 'a2' },
    ];
    expect(shouldResume(messages, NOTHING)).toBe(false);
    expect(shouldResume(messages, remembering({ open: ['1'] }))).toBe(true);
    expect(shouldResume(messages, remembering({ open: ['1'], sent: ['decision 1'] }))).toBe(false);
  });

  test('resumeWhen asks the memory of its transport', () => {
    const transport = { memory: NOTHING };
    const when = resumeWhen(transport);
    const messages = [user, assistant(responded('1', true))];
    expect(when({ messages })).toBe(true);
    transport.memory = remembering({ sent: ['decision 1'] });
    expect(when({ messages })).toBe(false);
  });
});
