import { rmSync } from 'node:fs';
import {
  FunctionNode,
  FunctionTool,
  getUserChoiceTool,
  LlmAgent,
  type NodeContext,
  RequestInput,
  requestInputTool,
  Workflow,
} from '@google/adk';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { createMemoryStore } from '../../src/server/store/memory/memory-store.ts';
import type { Store } from '../../src/server/store/store.ts';
import { auditLines } from '../../src/testing/store/setup.ts';
import { createFolder } from '../store/support/stores.ts';
import { ManualClock } from '../support/clock.ts';
import { live } from '../support/live.ts';
import { MemoryDatabase } from '../support/memory-nodes.ts';
import { call, calls, ScriptedModel, text } from '../support/scripted-model.ts';
import { MODES, talk, textOf, the } from './support/talk.ts';

const description = 'A tool.';
const key = { app: 'duologue', user: 'live_user', id: 'chat-1' };

/** A workflow that greets, asks for a size, and orders it. `ran` has the nodes that ran, with their inputs. */
function shop(ran: unknown[]): Workflow {
  const greet = (_: NodeContext, input: unknown) => {
    ran.push(['greet', input]);
    return `Hello, ${String(input)}.`;
  };
  const ask = (_: NodeContext, input: unknown) => {
    ran.push(['ask', input]);
    return new RequestInput({
      message: 'Which size?',
      payload: { price: 5 },
      responseSchema: z.object({ size: z.enum(['S', 'M']) }),
    });
  };
  const order = (_: NodeContext, input: unknown) => {
    ran.push(['order', input]);
    return `Ordered ${JSON.stringify(input)}.`;
  };
  return new Workflow({ name: 'flow', edges: [['START', greet, ask, order]] });
}

const kinds = async (store: Store) => (await auditLines(store, key)).map(({ kind }) => kind);

describe.each(MODES)('over %s', (mode) => {
  it('[T34] [T34a] [T35] a RequestInput of a node is a question, and its answer continues there, once', async () => {
    const ran: unknown[] = [];
    const store = createMemoryStore();
    const { say, output } = await talk(mode, { agent: shop(ran), store });
    const asked = await say('Ann');
    const question = the(asked, 'tool-input-available');
    expect(question).toMatchObject({
      toolName: 'adk_request_input',
      input: { message: 'Which size?', payload: { price: 5 } },
      toolMetadata: {
        runsOn: 'client',
        asks: false,
        question: {
          kind: 'answer',
          message: 'Which size?',
          payload: { price: 5 },
          schema: { type: 'object', properties: { size: { enum: ['S', 'M'] } } },
        },
      },
    });
    expect(await store.listSessions('duologue', 'live_user')).toMatchObject([{ isWaiting: true }]);
    const answered = await output(question, { size: 'M' });
    expect(the(answered, 'tool-output-available').output).toEqual({ size: 'M' });
    expect(textOf(answered)).toBe('Ordered {"size":"M"}.');
    expect(ran).toEqual([
      ['greet', 'Ann'],
      ['ask', 'Hello, Ann.'],
      ['order', { size: 'M' }],
    ]);
    expect(await kinds(store)).toEqual(['issued', 'answered']);
    expect(await store.listSessions('duologue', 'live_user')).toMatchObject([{ isWaiting: false }]);
  });

  it('[T34b] an answer that does not fit the schema is refused, and the question stays open', async () => {
    const ran: unknown[] = [];
    const store = createMemoryStore();
    const { say, output, refused } = await talk(mode, { agent: shop(ran), store });
    const question = the(await say('Ann'), 'tool-input-available');
    const error = await refused(question, { size: 'XL' });
    expect(error).toMatchObject({ code: 'answer_refused' });
    expect(error.message).toContain('does not fit the question');
    expect(error.message).toContain('at size');
    expect(textOf(await output(question, { size: 'S' }))).toBe('Ordered {"size":"S"}.');
    expect(ran.filter((one) => Array.isArray(one) && one[0] === 'order')).toHaveLength(1);
    expect(await kinds(store)).toEqual(['issued', 'refused', 'answered']);
  });

  it('[T34c] [T35b] a question that the user declines ends in words, and the workflow does not go on', async () => {
    const ran: unknown[] = [];
    const store = createMemoryStore();
    const { say, decline } = await talk(mode, { agent: shop(ran), store });
    const question = the(await say('Ann'), 'tool-input-available');
    const declined = await decline(question, 'too dear');
    expect(the(declined, 'tool-output-error').errorText).toBe('The user declined to answer: too dear');
    expect(textOf(declined)).toBe('The user declined to answer: too dear.');
    expect(ran).toHaveLength(2);
    expect(await kinds(store)).toEqual(['issued', 'denied']);
    expect(textOf(await say('Bob'))).toBe('Hello, Bob.');
  });

  it('[T35a] the answer to a question continues at its node after a restart', async () => {
    const folder = createFolder();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const ran: unknown[] = [];
    const killed = await openSqliteStore(folder);
    const asked = await (await talk(mode, { agent: shop(ran), store: killed })).say('Ann');
    const { messageId } = the(asked, 'start');
    // The first server does not close, and writes nothing more.
    await killed.close();
    const after = await talk(mode, { agent: shop(ran), store: await openSqliteStore(folder) }, messageId);
    const answered = await after.output(the(asked, 'tool-input-available'), { size: 'M' });
    expect(textOf(answered)).toBe('Ordered {"size":"M"}.');
    expect(ran).toEqual([
      ['greet', 'Ann'],
      ['ask', 'Hello, Ann.'],
      ['order', { size: 'M' }],
    ]);
  });

  it('[T35] nodes that ask with one id again and again, and in turn, each get their own answer', async () => {
    const ran: string[] = [];
    const asking = (name: string) =>
      new FunctionNode<unknown, unknown>(
        name,
        (context) => {
          const answer = context.resumeInputs.it;
          if (answer === undefined) return new RequestInput({ interruptId: 'it', message: `${name}?` });
          ran.push(`${name} ${String(answer)}`);
          return `${name} ${String(answer)}`;
        },
        { rerunOnResume: true },
      );
    const agent = new Workflow({ name: 'flow', edges: [['START', asking('one')]] });
    const { say, output } = await talk(mode, { agent });
    const first = the(await say('go'), 'tool-input-available');
    expect(textOf(await output(first, 'a'))).toBe('one a');
    const second = the(await say('again'), 'tool-input-available');
    expect(second.toolCallId).not.toBe(first.toolCallId);
    expect(textOf(await output(second, 'b'))).toBe('one b');
    expect(ran).toEqual(['one a', 'one b']);
  });

  it('[T34] requestInputTool and getUserChoiceTool of an agent are questions, and the model gets the answers', async () => {
    const model = new ScriptedModel([
      [call('adk_request_input', { message: 'Your name?', response_schema: { type: 'STRING' } }, 'call-1')],
      [call('get_user_choice', { options: ['red', 'blue'] }, 'call-2')],
      [text('Ann takes blue.')],
    ]);
    const agent = new LlmAgent({ name: 'assistant', model, tools: [requestInputTool, getUserChoiceTool] });
    const { say, output, refused } = await talk(mode, { agent });
    const name = the(await say('go'), 'tool-input-available');
    expect(name.toolMetadata).toEqual({
      runsOn: 'client',
      asks: false,
      question: { kind: 'answer', message: 'Your name?', schema: { type: 'string' } },
    });
    const choice = the(await output(name, 'Ann'), 'tool-input-available');
    expect(choice.toolMetadata).toMatchObject({
      question: { kind: 'answer', schema: { type: 'string', enum: ['red', 'blue'] } },
    });
    expect(await refused(choice, 'green')).toMatchObject({ code: 'answer_refused' });
    expect(textOf(await output(choice, 'blue'))).toBe('Ann takes blue.');
    const parts = model.lastContents.flatMap((content) => content.parts ?? []);
    expect(parts.flatMap(({ functionResponse }) => functionResponse ?? [])).toMatchObject([
      { name: 'adk_request_input', response: { result: 'Ann' } },
      { name: 'get_user_choice', response: { result: 'blue' } },
    ]);
    expect(parts.flatMap(({ functionCall }) => functionCall?.name ?? [])).toEqual([
      'adk_request_input',
      'get_user_choice',
    ]);
  });

  it('[T31] [T31a] a tool that calls requestConfirmation shows hint and payload, and gets the payload of the user', async () => {
    const seen: unknown[] = [];
    const book = new FunctionTool({
      name: 'book',
      description,
      execute: (_args, context) => {
        if (!context?.toolConfirmation) {
          context?.requestConfirmation({ hint: 'How many seats?', payload: { seats: 0 } });
          return { status: 'asked' };
        }
        seen.push(context.toolConfirmation.payload);
        return { booked: context.toolConfirmation.payload };
      },
    });
    const model = new ScriptedModel([[call('book', {}, 'call-1')], [text('Booked.')]]);
    const agent = new LlmAgent({ name: 'assistant', model, tools: [book] });
    const { say, decide } = await talk(mode, { agent });
    const request = the(await say('go'), 'tool-approval-request');
    expect(request.approvalDescriptor).toEqual({ message: 'How many seats?', payload: { seats: 0 } });
    const answered = await decide(request, true, { payload: { seats: 3 } });
    expect(the(answered, 'tool-output-available').output).toEqual({ booked: { seats: 3 } });
    expect(textOf(answered)).toBe('Booked.');
    expect(seen).toEqual([{ seats: 3 }]);
  });

  it('[T31a] an approval without a payload still runs a tool that calls requestConfirmation', async () => {
    const wipe = new FunctionTool({
      name: 'wipe',
      description,
      execute: (_args, context) => {
        if (!context?.toolConfirmation) context?.requestConfirmation({ hint: 'Really?' });
        return { wiped: context?.toolConfirmation?.confirmed ?? false };
      },
    });
    const model = new ScriptedModel([[call('wipe', {}, 'call-1')], [text('Done.')]]);
    const agent = new LlmAgent({ name: 'assistant', model, tools: [wipe] });
    const { say, decide } = await talk(mode, { agent });
    const request = the(await say('go'), 'tool-approval-request');
    expect(request.approvalDescriptor).toEqual({ message: 'Really?' });
    expect(the(await decide(request, true), 'tool-output-available').output).toEqual({ wiped: true });
  });
});

describe('over BIDI', () => {
  it('[T18a] [T34] the next message is answered beside an open question, which stays answerable', async () => {
    const model = new ScriptedModel([
      [call('adk_request_input', { message: 'Your name?' }, 'call-1')],
      [text('It is noon.')],
      [text('Hello Ann.')],
    ]);
    const agent = new LlmAgent({ name: 'assistant', model, tools: [requestInputTool] });
    const socket = await (await live([], [], { agent })).connect('?session=chat-1');
    socket.say('hi');
    const question = await socket.chunk('tool-input-available');
    socket.say('What time is it?');
    await socket.until(() => textOf(socket.chunks).includes('It is noon.'), 'the answer beside it');
    socket.send('tool_result', { toolCallId: question.toolCallId, result: 'Ann' });
    await socket.until(() => textOf(socket.chunks).includes('Hello Ann.'), 'the answer');
  });

  it('[T18a] [T35] a workflow answers the next message beside an open question', async () => {
    const ran: unknown[] = [];
    const socket = await (await live([], [], { agent: shop(ran) })).connect('?session=chat-1');
    socket.say('Ann');
    const first = await socket.chunk('tool-input-available');
    socket.say('Bob');
    const second = await socket.chunk('tool-input-available', 2);
    socket.send('tool_result', { toolCallId: first.toolCallId, result: { size: 'S' } });
    await socket.until(() => textOf(socket.chunks).includes('Ordered {"size":"S"}.'), 'the first order');
    socket.send('tool_result', { toolCallId: second.toolCallId, result: { size: 'M' } });
    await socket.until(() => textOf(socket.chunks).includes('Ordered {"size":"M"}.'), 'the second order');
    expect(ran).toEqual([
      ['greet', 'Ann'],
      ['ask', 'Hello, Ann.'],
      ['greet', 'Bob'],
      ['ask', 'Hello, Bob.'],
      ['order', { size: 'S' }],
      ['order', { size: 'M' }],
    ]);
  });

  it('[T16e] [T5] [T35b] a question waits without limit, or as long as the server says', async () => {
    const clock = new ManualClock();
    const store = createMemoryStore({ now: () => clock.now() });
    const options = { agent: shop([]), clock, store, questionTimeoutMs: 5_000 };
    const socket = await (await live([], [], options)).connect('?session=chat-1');
    socket.say('Ann');
    await socket.chunk('tool-input-available');
    const [open] = await store.openCalls(key);
    expect(open).toMatchObject({ status: 'requested', expiresAt: clock.now() + 5_000 });
    clock.advance(5_000);
    expect((await socket.chunk('tool-output-error')).errorText).toBe('The question was not answered in time');
    await socket.done();
    expect(textOf(socket.chunks)).toContain('The question was not answered in time.');
    expect(await kinds(store)).toEqual(['issued', 'expired']);

    const endless = createMemoryStore();
    const { say } = await talk('BIDI', { agent: shop([]), store: endless });
    the(await say('Ann'), 'tool-input-available');
    expect(await endless.openCalls(key)).toMatchObject([{ status: 'requested', expiresAt: null }]);
  });

  it('[T35a] the answer to a question continues at its node on another node of the cluster', async () => {
    const ran: unknown[] = [];
    const clock = new ManualClock();
    const database = new MemoryDatabase(clock);
    const start = (port: number) => {
      const node = { address: `http://127.0.0.1:${port}`, leaseMs: 5000 };
      return live([], [], { agent: shop(ran), clock, store: database.open(), node });
    };
    const one = await start(1);
    const first = await one.connect('?session=moves');
    first.say('Ann');
    const { toolCallId } = await first.chunk('tool-input-available');
    await one.served.close();
    const second = await (await start(2)).connect('?session=moves');
    second.send('tool_result', { toolCallId, result: { size: 'M' } });
    await second.until(() => textOf(second.chunks).includes('Ordered {"size":"M"}.'), 'the order');
    expect(ran).toEqual([
      ['greet', 'Ann'],
      ['ask', 'Hello, Ann.'],
      ['order', { size: 'M' }],
    ]);
  });

  it('[T34d] a question is asked and answered beside an open approval request, and the other way round', async () => {
    const pay = defineTool({ name: 'pay', description, needsApproval: true, execute: () => 'paid' });
    const model = new ScriptedModel([
      [
        calls(
          { id: 'call-1', name: 'pay', args: {} },
          { id: 'call-2', name: 'adk_request_input', args: { message: 'Your name?' } },
        ),
      ].flat(),
      [text('Paid by Ann.')],
    ]);
    const agent = new LlmAgent({ name: 'assistant', model, tools: [pay, requestInputTool] });
    const socket = await (await live([], [], { agent, approvalTimeoutMs: null })).connect('?session=chat-1');
    socket.say('hi');
    await socket.chunk('tool-approval-request');
    await socket.until(
      () =>
        socket.chunks.some((chunk) => chunk.type === 'tool-input-available' && chunk.toolCallId === 'call-2'),
      'the question',
    );
    socket.send('tool_result', { toolCallId: 'call-2', result: 'Ann' });
    expect((await socket.chunk('tool-output-available')).toolCallId).toBe('call-2');
    socket.send('tool_result', { toolCallId: 'call-1', status: 'approved' });
    await socket.until(() => textOf(socket.chunks).includes('Paid by Ann.'), 'the answer');
  });
});
