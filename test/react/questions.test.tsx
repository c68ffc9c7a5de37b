// @vitest-environment jsdom
import './support/native-abort.ts';
import { rmSync } from 'node:fs';
import { useChat } from '@ai-sdk/react';
import {
  AgentTool,
  type BaseTool,
  FunctionTool,
  getUserChoiceTool,
  LlmAgent,
  type NodeContext,
  RequestInput,
  requestInputTool,
  Workflow,
} from '@google/adk';
import { useEffect } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { DuologueSseTransport, DuologueTransport, resumeWhen } from '../../src/client/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { pendingApprovals, pendingQuestions, type UseDuologueHelpers } from '../../src/react/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { createFolder } from '../store/support/stores.ts';
import { ManualClock } from '../support/clock.ts';
import { live } from '../support/live.ts';
import { call, calls, ScriptedModel, text } from '../support/scripted-model.ts';
import { hooks } from '../support/sdks.ts';
import { firstApproval, mount, type Page, story } from './support/page.tsx';

const modes = ['sse', 'bidi'] as const;

/** A workflow whose node asks for a size, and orders it. */
function shop(): Workflow {
  const ask = () =>
    new RequestInput({
      message: 'Which size?',
      payload: { price: 5 },
      responseSchema: z.object({ size: z.enum(['S', 'M']) }),
    });
  const order = (_: NodeContext, input: unknown) => `Ordered ${JSON.stringify(input)}.`;
  return new Workflow({ name: 'flow', edges: [['START', ask, order]] });
}

/** An agent that asks for a name with ADK's own tool. */
function questioner(...last: string[]): LlmAgent {
  const model = new ScriptedModel([
    [call('adk_request_input', { message: 'Your name?' }, 'call-1')],
    ...last.map((words) => [text(words)]),
  ]);
  return new LlmAgent({ name: 'assistant', model, tools: [requestInputTool, getUserChoiceTool] });
}

const questioned = (page: Page) => page.until(({ questions }) => questions.length > 0);

function first({ questions }: UseDuologueHelpers) {
  const [question] = questions;
  if (!question) throw new Error('No question is open.');
  return question;
}

describe.each(modes)(`questions of useDuologue on ${hooks}, over %s`, (mode) => {
  test('[T34] [T34e] an open question has what the user needs, and its answer continues the conversation', async () => {
    const clock = new ManualClock();
    const options = { agent: shop(), clock, questionTimeoutMs: 60_000 };
    const { served } = await live([], [], options);
    const page = mount({ url: served.url, mode });
    void page.now.sendMessage({ text: 'hi' });
    const question = first(await questioned(page));
    expect(question).toMatchObject({
      kind: 'answer',
      message: 'Which size?',
      payload: { price: 5 },
      schema: { type: 'object', properties: { size: { enum: ['S', 'M'] } } },
      toolName: 'adk_request_input',
      messageId: page.now.messages.at(-1)?.id,
      expiresAt: clock.now() + 60_000,
    });
    await page.now.answer(question, { size: 'M' });
    const { questions, messages } = await page.texts('Ordered {"size":"M"}.');
    expect(questions).toEqual([]);
    expect(story({ messages } as UseDuologueHelpers).at(-1)).toEqual([
      'assistant',
      ['adk_request_input', 'output-available', { size: 'M' }],
      'Ordered {"size":"M"}.',
    ]);
    expect(page.now.error).toBeUndefined();
  });

  test('[T34b] a refused answer says why, leaves the question open, and the next answer counts', async () => {
    const { served } = await live([], [], { agent: shop() });
    const page = mount({ url: served.url, mode });
    void page.now.sendMessage({ text: 'hi' });
    const question = first(await questioned(page));
    await page.rest();
    const refused = await page.now.answer(question, { size: 'XL' }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'answer_refused' });
    expect(String(refused)).toContain('at size');
    expect(page.now.questions).toEqual([question]);
    expect(page.now.error).toBeUndefined();
    await page.now.answer(question, { size: 'S' });
    await page.texts('Ordered {"size":"S"}.');
  });

  test('[T34c] a question can be declined, with and without a reason', async () => {
    for (const [reason, end] of [
      ['too dear', 'The user declined to answer: too dear'],
      [undefined, 'The user declined to answer'],
    ] as const) {
      const { served } = await live([], [], { agent: questioner('Never mind.') });
      const page = mount({ url: served.url, mode });
      void page.now.sendMessage({ text: 'hi' });
      await page.now.decline(first(await questioned(page)), reason);
      const now = await page.texts('Never mind.');
      expect(story(now).at(-1)).toEqual([
        'assistant',
        ['adk_request_input', 'output-error', end],
        'Never mind.',
      ]);
      expect(now.questions).toEqual([]);
    }
  });

  test('[T35a] a reloaded page has the question, also after a restart of the server, and answers it', async () => {
    const folder = createFolder();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const before = await live([], [], { agent: shop(), store: await openSqliteStore(folder) });
    const asked = mount({ url: before.served.url, mode });
    void asked.now.sendMessage({ text: 'hi' });
    const question = first(await questioned(asked));
    const sessionId = asked.now.session.id;
    asked.unmount();
    const again = mount({ url: before.served.url, mode, sessionId });
    expect(first(await questioned(again))).toEqual(question);
    again.unmount();
    await before.served.close();
    const after = await live([], [], { agent: shop(), store: await openSqliteStore(folder) });
    const page = mount({ url: after.served.url, mode, sessionId });
    expect(first(await questioned(page))).toEqual(question);
    await page.now.answer(question, { size: 'M' });
    await page.texts('Ordered {"size":"M"}.');
  });

  test('another page has the question too, until one of them answers', async () => {
    const { served } = await live([], [], { agent: shop() });
    const page = mount({ url: served.url, mode });
    void page.now.sendMessage({ text: 'hi' });
    const question = first(await questioned(page));
    const other = mount({ url: served.url, mode, sessionId: page.now.session.id });
    await questioned(other);
    await other.now.answer(question, { size: 'S' });
    for (const one of [page, other]) {
      const { questions } = await one.texts('Ordered {"size":"S"}.');
      expect(questions).toEqual([]);
    }
  });

  test('[T34d] a question beside an approval request is answered first or last', async () => {
    for (const isFirst of [true, false]) {
      const pay = defineTool({
        name: 'pay',
        description: 'Pays.',
        needsApproval: true,
        execute: () => 'paid',
      });
      const model = new ScriptedModel([
        calls(
          { id: 'call-1', name: 'pay', args: {} },
          { id: 'call-2', name: 'get_user_choice', args: { options: ['red', 'blue'] } },
        ),
        [text('Paid in blue.')],
      ]);
      const agent = new LlmAgent({ name: 'assistant', model, tools: [pay, getUserChoiceTool] });
      const { served } = await live([], [], { agent });
      const page = mount({ url: served.url, mode });
      void page.now.sendMessage({ text: 'go' });
      const now = await page.until(
        ({ questions, approvals }) => questions.length > 0 && approvals.length > 0,
      );
      expect(first(now)).toMatchObject({
        toolName: 'get_user_choice',
        schema: { enum: ['red', 'blue'] },
      });
      const [answer, approve] = [
        () => page.now.answer(first(now), 'blue'),
        () => page.now.approve(firstApproval(now)),
      ];
      for (const act of isFirst ? [answer, approve] : [approve, answer]) await act();
      const ended = await page.texts('Paid in blue.');
      expect([ended.questions, ended.approvals]).toEqual([[], []]);
    }
  });

  test('[T31] [T31a] an approval sends a changed payload back to the tool', async () => {
    const seen: unknown[] = [];
    const book = new FunctionTool({
      name: 'book',
      description: 'Books.',
      execute: (_args, context) => {
        if (!context?.toolConfirmation) {
          context?.requestConfirmation({ hint: 'How many seats?', payload: { seats: 1 } });
          return { status: 'asked' };
        }
        seen.push(context.toolConfirmation.payload);
        return { booked: context.toolConfirmation.payload };
      },
    });
    const model = new ScriptedModel([[call('book', {}, 'call-1')], [text('Booked.')]]);
    const agent = new LlmAgent({ name: 'assistant', model, tools: [book] });
    const { served } = await live([], [], { agent });
    const page = mount({ url: served.url, mode });
    void page.now.sendMessage({ text: 'go' });
    const approval = firstApproval(await page.asked());
    expect(approval).toMatchObject({ message: 'How many seats?', payload: { seats: 1 } });
    await page.rest();
    await page.now.approve(approval, undefined, { seats: 3 });
    const now = await page.texts('Booked.');
    expect(story(now).at(-1)).toEqual([
      'assistant',
      ['book', 'output-available', { booked: { seats: 3 } }],
      'Booked.',
    ]);
    expect(seen).toEqual([{ seats: 3 }]);
  });

  test('[T27] an approval and a question of an agent that is used as a tool name the agents on the way', async () => {
    for (const confirmations of ['approval', 'tool'] as const) {
      const pay = defineTool({
        name: 'pay',
        description: 'Pays.',
        needsApproval: true,
        execute: () => 'paid',
      });
      const agentOf = (
        name: string,
        steps: ConstructorParameters<typeof ScriptedModel>[0],
        tools: BaseTool[],
      ) => new LlmAgent({ name, description: 'Works.', model: new ScriptedModel(steps), tools });
      const teller = agentOf(
        'teller',
        [
          [call('pay', {}, 'call-3')],
          [call('adk_request_input', { message: 'Your name?' }, 'call-4')],
          [text('Paid.')],
        ],
        [pay, requestInputTool],
      );
      const banker = agentOf(
        'banker',
        [[call('teller', { request: 'pay' }, 'call-2')], [text('Paid.')]],
        [new AgentTool({ agent: teller })],
      );
      const agent = agentOf(
        'assistant',
        [
          [call('banker', { request: 'pay' }, 'call-1')],
          [call('pay', {}, 'call-5')],
          [call('adk_request_input', { message: 'And now?' }, 'call-6')],
          [text('That is all.')],
        ],
        [new AgentTool({ agent: banker }), pay, requestInputTool],
      );
      const { served } = await live([], [], { agent, confirmations });
      const page = mount({ url: served.url, mode });
      void page.now.sendMessage({ text: 'go' });
      for (const agents of [['assistant', 'banker', 'teller'], undefined]) {
        const approval = firstApproval(await page.asked());
        expect([approval.toolName, approval.agents]).toEqual(['pay', agents]);
        await page.now.approve(approval);
        const question = first(await questioned(page));
        expect([question.toolName, question.agents]).toEqual(['adk_request_input', agents]);
        await page.now.answer(question, 'Ann');
      }
      await page.texts('That is all.');
    }
  });

  test('a question that the server cannot be asked about any more rejects the answer', async () => {
    const { served } = await live([], [], { agent: shop() });
    const page = mount({ url: served.url, mode });
    void page.now.sendMessage({ text: 'hi' });
    const question = first(await questioned(page));
    await page.rest();
    await page.now.answer(question, { size: 'S' });
    await page.texts('Ordered {"size":"S"}.');
    const error = await page.now.answer(question, { size: 'M' }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'nothing_to_answer' });
  });
});

/** A page with the stock hook and our transport. `until` resolves with what the hook returned when the condition holds. */
function mountStock(url: string, mode: (typeof modes)[number]) {
  const transport =
    mode === 'bidi'
      ? new DuologueTransport<Message>({ url, WebSocket })
      : new DuologueSseTransport<Message>({ url });
  let now: ReturnType<typeof useChat<Message>> | undefined;
  const waiting = new Set<() => void>();
  function Stock(): null {
    const chat = useChat<Message>({
      id: 'chat-1',
      transport,
      sendAutomaticallyWhen: resumeWhen(transport),
    });
    useEffect(() => {
      now = chat;
      for (const check of [...waiting]) check();
    });
    return null;
  }
  const root = createRoot(document.createElement('div'));
  onTestFinished(() => {
    root.unmount();
    transport.close();
  });
  flushSync(() => root.render(<Stock />));
  const until = (isSo: (chat: NonNullable<typeof now>) => boolean) =>
    new Promise<NonNullable<typeof now>>((resolve) => {
      const check = () => {
        if (!now || !isSo(now)) return;
        waiting.delete(check);
        resolve(now);
      };
      waiting.add(check);
      check();
    });
  return until;
}

describe.each(modes)(`questions on the stock hook of ${hooks}, over %s`, (mode) => {
  test('[T34] [T34b] addToolOutput answers a question, also after an answer that was refused', async () => {
    const { served } = await live([], [], { agent: shop() });
    const until = mountStock(served.url, mode);
    void (await until(() => true)).sendMessage({ text: 'hi' });
    const asked = await until(
      ({ status, messages }) => status === 'ready' && pendingQuestions(messages).length > 0,
    );
    const [question] = pendingQuestions(asked.messages);
    const answer = (output: unknown) =>
      asked.addToolOutput({
        tool: 'adk_request_input' as never,
        toolCallId: String(question?.toolCallId),
        output: output as never,
      });
    void answer({ size: 'XL' });
    const { error } = await until(({ status }) => status === 'error');
    expect(error).toMatchObject({ code: 'answer_refused' });
    void answer({ size: 'S' });
    await until(
      ({ status, messages }) =>
        status === 'ready' && JSON.stringify(messages).includes('Ordered {\\"size\\":\\"S\\"}.'),
    );
  });

  test('[T27] [B12d] a decision about a call inside an agent that is used as a tool is sent', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => 'paid' });
    const inner = new ScriptedModel([[call('pay', {}, 'call-2')], [text('Paid.')]]);
    const banker = new LlmAgent({ name: 'banker', description: 'Pays.', model: inner, tools: [pay] });
    const model = new ScriptedModel([[call('banker', { request: 'pay' }, 'call-1')], [text('All is done.')]]);
    const agent = new LlmAgent({ name: 'assistant', model, tools: [new AgentTool({ agent: banker })] });
    const { served } = await live([], [], { agent });
    const until = mountStock(served.url, mode);
    void (await until(() => true)).sendMessage({ text: 'hi' });
    const asked = await until(
      ({ status, messages }) => status === 'ready' && pendingApprovals(messages).length > 0,
    );
    const [approval] = pendingApprovals(asked.messages);
    void asked.addToolApprovalResponse({ id: String(approval?.id), approved: true });
    await until(
      ({ status, messages }) => status === 'ready' && JSON.stringify(messages).includes('All is done.'),
    );
  });
});
