import { setImmediate } from 'node:timers/promises';
import { LlmAgent, LogLevel, requestInputTool, setLogLevel } from '@google/adk';
import { afterEach, describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import {
  createDuologue,
  type Duologue,
  type DuologueOptions,
  type ServerEvent,
  type ServerEventName,
} from '../../src/server/index.ts';
import { FakeTime, type ScriptTurn, scriptModel, testClient } from '../../src/testing/index.ts';

setLogLevel(LogLevel.ERROR);

const USER = 'live_user';
const NAMES: ServerEventName[] = [
  'session-created',
  'session-deleted',
  'turn-started',
  'turn-finished',
  'approval-requested',
  'approval-decided',
  'question-asked',
  'question-answered',
  'tool-finished',
];
const PAY: ScriptTurn = { call: 'pay', args: { iban: 'SECRET-1' }, id: 'call-1' };
const END: ScriptTurn = {
  content: { role: 'model', parts: [{ text: 'SECRET-3.' }] },
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
};
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A server, everything that its listeners got, and its warnings. */
function server(turns: readonly ScriptTurn[], options: Partial<DuologueOptions> = {}) {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ iban: z.string() }),
    needsApproval: true,
    execute: () => ({ receipt: 'SECRET-2' }),
  });
  const model = scriptModel(turns);
  const agent = new LlmAgent({
    name: 'assistant',
    model,
    instruction: 'Test.',
    tools: [pay, requestInputTool],
  });
  const time = new FakeTime();
  const warnings: string[] = [];
  const logger = { info() {}, warn: (text: string) => warnings.push(text), error() {} };
  const duologue = createDuologue({ agent, logger, clock: time, driver: 'turn', ...options });
  closing.push(() => duologue.close());
  const events: ServerEvent[] = [];
  for (const name of NAMES) duologue.on(name, (event) => events.push(event));
  return { duologue, time, warnings, events };
}

/** Resolves when an event with this name has come. */
async function untilEvent(events: readonly ServerEvent[], name: ServerEventName): Promise<void> {
  while (!events.some((event) => event.name === name)) await setImmediate();
}

/** The events without ids, times and sessions. */
function reported(events: readonly ServerEvent[]): unknown[] {
  return events.map(({ id, at, session, ...rest }) => rest);
}

describe.each(['sse', 'bidi'] as const)('over %s', (over) => {
  it('listeners get each event of an approved call, in order, without arguments, outputs and texts', async () => {
    const { duologue, events, time } = server([PAY, END]);
    const chat = testClient(duologue, { over });
    const [request] = (await chat.say('SECRET-4')).approvals;
    await chat.approve();
    await duologue.sessions.delete({ user: USER, id: chat.session });
    const messageId = chat.messages.find(({ role }) => role === 'assistant')?.id;
    const call = { callId: 'call-1', toolName: 'pay' };
    const asked = { ...call, messageId, approvalId: request?.approvalId };
    const expiresAt = over === 'sse' ? null : time.now() + 30_000;
    expect(reported(events)).toEqual([
      { name: 'session-created' },
      { name: 'turn-started', messageId },
      { name: 'approval-requested', ...asked, expiresAt },
      { name: 'approval-decided', ...asked, decision: 'approved', by: { user: USER } },
      { name: 'tool-finished', ...call, outcome: 'output' },
      {
        name: 'turn-finished',
        messageId,
        outcome: 'complete',
        usage: expect.objectContaining({ input: 3, output: 2 }),
      },
      { name: 'session-deleted' },
    ]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    for (const { at, session } of events) {
      expect([at, session]).toEqual([time.now(), { user: USER, id: chat.session }]);
    }
    expect(JSON.stringify(events)).not.toContain('SECRET');
  });

  it('a decision of the application has two identities, and one of the user has one', async () => {
    const { duologue, events } = server([PAY, 'Paid.', PAY, 'Denied.']);
    const chat = testClient(duologue, { over });
    const [request] = (await chat.say('Pay')).approvals;
    await duologue.decide({ approvalId: request?.approvalId ?? '', approved: true, by: 'mia' });
    await chat.next();
    await chat.say('Pay again');
    await chat.deny({ reason: 'SECRET-5' });
    expect(
      events.flatMap((event) => (event.name === 'approval-decided' ? [[event.decision, event.by]] : [])),
    ).toEqual([
      ['approved', { application: 'duologue', person: 'mia' }],
      ['denied', { user: USER }],
    ]);
    const { approvals } = await duologue.sessions.export({ user: USER, id: chat.session }, 'json');
    // A person who decided has no `by`: only these lines count for a rule of several approvers.
    expect(
      approvals.filter(({ kind }) => kind === 'approved' || kind === 'denied').map(({ by }) => by),
    ).toEqual([{ application: 'duologue', person: 'mia' }, undefined]);
    expect(JSON.stringify(events)).not.toContain('SECRET');
  });

  it('a listener that throws, rejects or never ends changes nothing', async () => {
    const { duologue, events, warnings } = server([PAY, 'Paid.']);
    const fail = (): never => {
      throw new Error('no');
    };
    for (const name of NAMES) {
      duologue.on(name, fail);
      duologue.on(name, async () => fail());
      duologue.on(name, () => new Promise(() => undefined));
      duologue.on(name, (event) => Object.assign(event, { name: 'forged' }));
    }
    const chat = testClient(duologue, { over });
    await chat.say('Pay');
    expect((await chat.approve()).text).toBe('Paid.');
    expect(events.map(({ name }) => name)).not.toContain('forged');
    // Two that fail, and one that cannot change the event that all of them share.
    const failed = warnings.filter((text) => text.startsWith('a listener of the application failed'));
    expect(failed).toHaveLength(3 * events.length);
  });

  it('a question and its answer are events, and so is a question that nobody answers', async () => {
    const ask: ScriptTurn = { call: 'adk_request_input', args: { message: 'SECRET-6' } };
    const { duologue, events, time } = server([ask, 'Thanks.', ask, 'Pity.'], { questionTimeoutMs: 60_000 });
    const chat = testClient(duologue, { over });
    const [first] = (await chat.say('Book')).toolCalls;
    await chat.answer(first?.toolCallId ?? '', { result: 'SECRET-7' });
    await chat.say('Again');
    // The timer of the question may be set after the page has the question.
    while (events.filter(({ name }) => name === 'question-answered').length < 2) {
      time.advance(10_000);
      await setImmediate();
    }
    const questions = events.filter(({ name }) => name.startsWith('question'));
    expect(reported(questions)).toMatchObject([
      {
        name: 'question-asked',
        callId: first?.toolCallId,
        toolName: 'adk_request_input',
        expiresAt: expect.any(Number),
      },
      { name: 'question-answered', callId: first?.toolCallId, outcome: 'answered' },
      { name: 'question-asked' },
      { name: 'question-answered', outcome: 'expired' },
    ]);
    expect(JSON.stringify(events)).not.toContain('SECRET');
  });
});

it('over sse a turn whose approval request is left for another message is interrupted, once', async () => {
  const { duologue, events } = server([PAY, 'Hello.']);
  const chat = testClient(duologue);
  await chat.say('Pay');
  await chat.say('Hi');
  const ends = events.flatMap((event) => (event.name === 'turn-finished' ? [event.outcome] : []));
  expect(ends).toEqual(['interrupted', 'complete']);
  expect(
    events.flatMap((event) => (event.name === 'approval-decided' ? [[event.decision, event.by]] : [])),
  ).toEqual([['expired', null]]);
});

it('a turn that fails is an event, and a text of the application is no turn', async () => {
  const { duologue, events } = server([new Error('SECRET-8')], { retryPolicy: { retries: 0 } });
  await duologue.say({ user: USER, id: 'chat-1' }, 'Welcome.');
  await testClient(duologue, { session: 'chat-1' }).say('Hi');
  await untilEvent(events, 'turn-finished');
  expect(reported(events)).toMatchObject([
    { name: 'session-created' },
    { name: 'turn-started' },
    { name: 'turn-finished', outcome: 'failed' },
  ]);
  expect(JSON.stringify(events)).not.toContain('SECRET');
});

it('a listener that was removed gets nothing, and the others go on', async () => {
  const { duologue, events } = server(['One.', 'Two.']);
  const own: string[] = [];
  const off = duologue.on('turn-finished', ({ messageId }) => own.push(messageId));
  const chat = testClient(duologue);
  await chat.say('Hi');
  off();
  off();
  await chat.say('Hi');
  expect(own).toHaveLength(1);
  expect(events.filter(({ name }) => name === 'turn-finished')).toHaveLength(2);
});

it('a name that is no event is refused with the names that are', () => {
  const { duologue } = server([]);
  expect(() => duologue.on('turn-ended' as 'turn-finished', () => undefined)).toThrow(
    'There is no event "turn-ended". There are: session-created, ',
  );
});

it('the name of an event gives the type of its fields', () => {
  const on: Duologue['on'] = () => () => undefined;
  on('approval-decided', (event) => {
    expectTypeOf(event.decision).toEqualTypeOf<'approved' | 'denied' | 'expired'>();
    // @ts-expect-error: this event has no outcome.
    event.outcome;
  });
  const nameOf = (event: ServerEvent) => (event.name === 'tool-finished' ? event.outcome : event.id);
  expectTypeOf(nameOf).returns.toEqualTypeOf<string>();
});
