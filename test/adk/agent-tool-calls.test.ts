import {
  AgentTool,
  type BaseTool,
  type Context,
  FunctionTool,
  getUserChoiceTool,
  LlmAgent,
  LongRunningFunctionTool,
  requestInputTool,
} from '@google/adk';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { type Chunk, INTERRUPTED, OUTCOME_UNKNOWN, SUPERSEDED } from '../../src/protocol/index.ts';
import { harness, say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { call, calls, hanging, ScriptedModel, text } from '../support/scripted-model.ts';
import {
  Conversation,
  input,
  outputs,
  PROCESSES,
  responses,
  tree,
  WAYS,
  type Way,
} from './support/agent-tool-conversation.ts';
import { Place } from './support/matrix.ts';
import { sqliteDatabase } from './support/sqlite-database.ts';
import { type Talk, textOf, the } from './support/talk.ts';

const description = 'Does it.';

/** A kind of tool that waits, how it is answered, and what its call gives. */
interface Kind {
  tool: (ran: () => object) => BaseTool;
  answer: (talk: Talk, asked: Chunk[], mode: Way['mode']) => Promise<Chunk[]>;
  output?: unknown;
  runs?: number;
  asks?: boolean;
}

const approve: Kind['answer'] = (talk, asked) => talk.decide(the(asked, 'tool-approval-request'), true);
const give: Kind['answer'] = (talk, asked) => talk.output(input(asked, 'act'), { done: 1 });
const name = 'act';

const KINDS: Record<string, Kind> = {
  needsApproval: {
    tool: (execute) => defineTool({ name, description, needsApproval: true, execute }),
    answer: approve,
  },
  requireConfirmation: {
    tool: (execute) => new FunctionTool({ name, description, requireConfirmation: true, execute }),
    answer: approve,
  },
  'a confirmation that the tool asks for itself': {
    tool: (ran) =>
      new FunctionTool({
        name,
        description,
        execute: (_args, context) => {
          if (context?.toolConfirmation) return ran();
          context?.requestConfirmation({ hint: 'Sure?' });
          return { error: 'Not yet.' };
        },
      }),
    answer: approve,
  },
  'a tool in the browser': {
    tool: () => defineTool({ name, description, runsOn: 'client' }),
    answer: give,
    runs: 0,
    asks: false,
  },
  'a tool in the browser that needs approval': {
    tool: () => defineTool({ name, description, runsOn: 'client', needsApproval: true }),
    answer: async (talk, asked, mode) => {
      const approved = approve(talk, asked, mode);
      // Over a socket the page hears of the approval by its own request alone, and sends the output.
      if (mode === 'SSE') return [...(await approved), ...(await give(talk, asked, mode))];
      return (await Promise.all([approved, give(talk, asked, mode)])).flat();
    },
    runs: 0,
  },
  'a long-running tool': {
    tool: () => new LongRunningFunctionTool({ name, description, execute: () => undefined }),
    answer: give,
    runs: 0,
    asks: false,
  },
};

describe.each(Object.entries(WAYS))('over %s', (_way, way) => {
  describe.each(PROCESSES)('%s', (processes) => {
    const isKilled = processes !== PROCESSES[0];

    it.each(Object.entries(KINDS))(
      '[T27] [T27d] a call of %s inside an agent that is used as a tool waits as a call of the conversation',
      async (_kind, { tool, answer, output = { done: 1 }, runs = 1, asks = true }) => {
        let ran = 0;
        const act = tool(() => ({ done: ++ran }));
        const { agent, inner, outer } = tree([act], [[call(name, {}, 'act-1')], [text('I did it.')]]);
        const conversation = new Conversation(way, agent, isKilled);
        const asked = await conversation.say('go');
        expect(input(asked, name).toolMetadata).toMatchObject({
          agents: ['assistant', 'banker'],
          within: 'banker-1',
        });
        expect(input(asked, 'banker').toolMetadata).toEqual({ runsOn: 'server', asks: false });
        expect(asked.some(({ type }) => type === 'tool-approval-request')).toBe(asks);
        expect(ran).toBe(0);
        await conversation.answer((talk) => answer(talk, asked, way.mode));
        expect(outputs(conversation.chunks)).toEqual([{ 'act-1': output }, { 'banker-1': 'I did it.' }]);
        expect(textOf(conversation.chunks)).toBe('Well.');
        expect(ran).toBe(runs);
        expect(responses(inner)).toEqual([{ 'act-1': output }]);
        expect(responses(outer)).toEqual([{ 'banker-1': { result: 'I did it.' } }]);
      },
    );

    it('[T27] [T34] questions inside the agent are questions of the conversation', async () => {
      const { agent, inner, outer } = tree(
        [requestInputTool, getUserChoiceTool],
        [
          [
            call(
              'adk_request_input',
              { message: 'Your name?', response_schema: { type: 'STRING' } },
              'ask-1',
            ),
          ],
          [call('get_user_choice', { options: ['red', 'blue'] }, 'ask-2')],
          [text('Ann takes blue.')],
        ],
      );
      const conversation = new Conversation(way, agent, isKilled);
      const named = input(await conversation.say('go'), 'adk_request_input');
      expect(named.toolMetadata).toEqual({
        runsOn: 'client',
        asks: false,
        agents: ['assistant', 'banker'],
        within: 'banker-1',
        question: { kind: 'answer', message: 'Your name?', schema: { type: 'string' } },
      });
      const chosen = input(await conversation.answer((talk) => talk.output(named, 'Ann')), 'get_user_choice');
      expect(chosen.toolMetadata).toMatchObject({
        agents: ['assistant', 'banker'],
        question: { kind: 'answer', schema: { type: 'string', enum: ['red', 'blue'] } },
      });
      await conversation.answer(async (talk) => {
        expect(await talk.refused(chosen, 'green')).toMatchObject({ code: 'answer_refused' });
        return talk.output(chosen, 'blue');
      });
      expect(responses(inner)).toEqual([{ 'ask-1': { result: 'Ann' } }, { 'ask-2': { result: 'blue' } }]);
      expect(responses(outer)).toEqual([{ 'banker-1': { result: 'Ann takes blue.' } }]);
      expect(textOf(conversation.chunks)).toBe('Well.');
    });

    it('[T27] [T34c] a question inside the agent that the user declines reaches the agent as an error', async () => {
      const { agent, inner, outer } = tree(
        [requestInputTool],
        [[call('adk_request_input', { message: 'Your name?' }, 'ask-1')], [text('No name.')]],
      );
      const conversation = new Conversation(way, agent, isKilled);
      const asked = input(await conversation.say('go'), 'adk_request_input');
      await conversation.answer((talk) => talk.decline(asked, 'private'));
      expect(responses(inner)).toEqual([{ 'ask-1': { error: 'The user declined to answer: private' } }]);
      expect(responses(outer)).toEqual([{ 'banker-1': { result: 'No name.' } }]);
    });

    it('[T27a] tools that have run inside the agent do not run again, and each call of a step gets its own outcome', async () => {
      const ran: string[] = [];
      const run = (one: string) => () => {
        ran.push(one);
        return { one };
      };
      const tools = [
        defineTool({ name: 'read', description, execute: run('read') }),
        defineTool({ name: 'pay', description, needsApproval: true, execute: run('pay') }),
        defineTool({ name: 'close', description, needsApproval: true, execute: run('close') }),
      ];
      const { agent, inner, outer } = tree(tools, [
        [call('read', {}, 'read-1')],
        [
          calls(
            { name: 'read', id: 'read-2' },
            { name: 'pay', id: 'pay-1' },
            { name: 'close', id: 'close-1' },
          ),
        ],
        [call('pay', {}, 'pay-2')],
        [text('All done.')],
      ]);
      const conversation = new Conversation(way, agent, isKilled);
      let asked = await conversation.say('go');
      if (way.mode === 'SSE') {
        const [pay, close] = asked.filter((chunk) => chunk.type === 'tool-approval-request');
        await conversation.answer((talk) => talk.decide(pay as never, true));
        asked = await conversation.answer((talk) => talk.decide(close as never, false, { reason: 'no' }));
      } else {
        asked = await conversation.answer((talk) => talk.decide(the(asked, 'tool-approval-request'), true));
        asked = await conversation.answer((talk) =>
          talk.decide(the(asked, 'tool-approval-request'), false, { reason: 'no' }),
        );
      }
      expect(ran).toEqual(['read', 'read', 'pay']);
      await conversation.answer((talk) => talk.decide(the(asked, 'tool-approval-request'), true));
      expect(ran).toEqual(['read', 'read', 'pay', 'pay']);
      expect(outputs(conversation.chunks)).toEqual([
        { 'pay-1': { one: 'pay' } },
        { 'close-1': 'User denied the tool call: no' },
        { 'pay-2': { one: 'pay' } },
        { 'banker-1': 'All done.' },
      ]);
      expect(responses(inner)).toEqual([
        { 'read-1': { one: 'read' } },
        { 'read-2': { one: 'read' } },
        { 'pay-1': { one: 'pay' } },
        { 'close-1': { error: 'User denied the tool call: no' } },
        { 'pay-2': { one: 'pay' } },
      ]);
      expect(responses(outer)).toEqual([{ 'banker-1': { result: 'All done.' } }]);
    });

    it('[T27] an agent inside an agent waits too, and the path names all of them', async () => {
      let ran = 0;
      const act = defineTool({ name, description, needsApproval: true, execute: () => ({ done: ++ran }) });
      const low = new ScriptedModel([[call(name, {}, 'act-1')], [text('I did it.')]]);
      const clerk = new LlmAgent({ name: 'clerk', description, model: low, tools: [act] });
      const { agent, inner, outer } = tree(
        [new AgentTool({ agent: clerk })],
        [[call('clerk', { request: 'pay' }, 'clerk-1')], [text('The clerk did it.')]],
      );
      const conversation = new Conversation(way, agent, isKilled);
      const asked = await conversation.say('go');
      expect(input(asked, name).toolMetadata?.agents).toEqual(['assistant', 'banker', 'clerk']);
      await conversation.answer((talk) => approve(talk, asked, way.mode));
      expect(outputs(conversation.chunks)).toEqual([
        { 'act-1': { done: 1 } },
        { 'clerk-1': 'I did it.' },
        { 'banker-1': 'The clerk did it.' },
      ]);
      expect(responses(inner)).toEqual([{ 'clerk-1': { result: 'I did it.' } }]);
      expect(responses(outer)).toEqual([{ 'banker-1': { result: 'The clerk did it.' } }]);
      expect(textOf(conversation.chunks)).toBe('Well.');
    });

    it.each([
      ['two agents', ['banker', 'broker']],
      ['one agent twice', ['banker', 'banker']],
    ])('[T27a] %s that are used as tools in one step wait side by side', async (_, names) => {
      const ran: unknown[] = [];
      const act = defineTool({
        name,
        description,
        parameters: z.object({ n: z.number() }),
        needsApproval: true,
        execute: ({ n }) => {
          ran.push(n);
          return { done: n };
        },
      });
      const models = new Map(
        names.map((one) => [
          one,
          new ScriptedModel(
            names[0] === names[1]
              ? [
                  [call(name, { n: 1 }, 'act-1')],
                  [call(name, { n: 2 }, 'act-2')],
                  [text('One.')],
                  [text('Two.')],
                ]
              : one === 'banker'
                ? [[call(name, { n: 1 }, 'act-1')], [text('One.')]]
                : [[call(name, { n: 2 }, 'act-2')], [text('Two.')]],
          ),
        ]),
      );
      const tools = [...models].map(
        ([one, model]) =>
          new AgentTool({ agent: new LlmAgent({ name: one, description, model, tools: [act] }) }),
      );
      const outer = new ScriptedModel([
        [calls(...names.map((one, n) => ({ name: one, args: { request: `${n}` }, id: `agent-${n}` })))],
        [text('Well.')],
      ]);
      const agent = new LlmAgent({ name: 'assistant', model: outer, tools });
      const conversation = new Conversation(way, agent, isKilled);
      const asked = await conversation.say('go');
      const requests = asked.filter((chunk) => chunk.type === 'tool-approval-request');
      if (way.mode === 'SSE') {
        for (const one of requests) await conversation.answer((talk) => talk.decide(one as never, true));
      } else {
        const next = await conversation.answer((talk) => talk.decide(requests[0] as never, true));
        await conversation.answer((talk) => talk.decide(the(next, 'tool-approval-request'), true));
      }
      expect(ran).toEqual([1, 2]);
      expect(outputs(conversation.chunks)).toEqual([
        { 'act-1': { done: 1 } },
        { 'agent-0': 'One.' },
        { 'act-2': { done: 2 } },
        { 'agent-1': 'Two.' },
      ]);
      expect(responses(outer)).toEqual([
        { 'agent-0': { result: 'One.' } },
        { 'agent-1': { result: 'Two.' } },
      ]);
      // The second run sees its own call and the run that ended before it, not the one that was waiting beside it.
      const last = models.get(names[1] as string) as ScriptedModel;
      expect(responses(last).at(-1)).toEqual({ 'act-2': { done: 2 } });
      expect(textOf(conversation.chunks)).toBe('Well.');
    });

    it('[T27a] an agent whose own call was approved waits for calls inside it', async () => {
      let ran = 0;
      const act = defineTool({ name, description, needsApproval: true, execute: () => ({ done: ++ran }) });
      const { agent } = tree([act], [[call(name, {}, 'act-1')], [text('I did it.')]]);
      const conversation = new Conversation(way, agent, isKilled, {
        toolsRequiringApproval: ['banker', name],
      });
      const outer = await conversation.say('go');
      const asked = await conversation.answer((talk) => approve(talk, outer, way.mode));
      await conversation.answer((talk) => approve(talk, asked, way.mode));
      expect(outputs(conversation.chunks)).toEqual([{ 'act-1': { done: 1 } }, { 'banker-1': 'I did it.' }]);
      expect(ran).toBe(1);
    });

    it('[T27a] state that tools inside the agent change reaches the conversation', async () => {
      const set = (key: string) => (_: object, context?: Context) => {
        context?.state.set(key, `${key} of ${String(context.state.get('plain') ?? 'nobody')}`);
        return {};
      };
      const tools = [
        defineTool({ name: 'plain', description, execute: set('plain') }),
        defineTool({ name: 'asked', description, needsApproval: true, execute: set('asked') }),
      ];
      const { agent, outer } = tree(tools, [
        [call('plain', {}, 'plain-1')],
        [call('asked', {}, 'asked-1')],
        [text('Set.')],
      ]);
      const seen: unknown[] = [];
      agent.beforeModelCallback = ({ context }) => {
        seen.push([context.state.get('plain'), context.state.get('asked')]);
        return undefined;
      };
      const conversation = new Conversation(
        way.mode === 'BIDI' ? WAYS['BIDI turn by turn'] : way,
        agent,
        isKilled,
      );
      const asked = await conversation.say('go');
      await conversation.answer((talk) => approve(talk, asked, way.mode));
      expect(seen.at(-1)).toEqual(['plain of nobody', 'asked of plain of nobody']);
      expect(responses(outer)).toEqual([{ 'banker-1': { result: 'Set.' } }]);
    });
  });
});

/** A conversation in which the agent is called twice: the first time, a call inside it waits. */
function twice() {
  let ran = 0;
  const act = defineTool({ name, description, needsApproval: true, execute: () => ({ done: ++ran }) });
  const { agent, inner } = tree(
    [act],
    [[call(name, {}, 'act-1')], [text('Hello.')]],
    [[call('banker', { request: 'greet' }, 'banker-2')], [text('Well.')]],
  );
  return { agent, inner, ran: () => ran };
}

const requests = (model: ScriptedModel) =>
  model.lastContents.flatMap(({ parts }) => (parts ?? []).flatMap((part) => part.text ?? []));

it('[T27b] over SSE a new message ends the calls inside the agent with the call of the agent', async () => {
  const { agent, inner, ran } = twice();
  const { post, get } = harness([], [], { agent });
  await post(say('go'));
  const { chunks } = await post(say('leave it'));
  expect(outputs(chunks).filter((one) => 'banker-2' in one)).toEqual([{ 'banker-2': 'Hello.' }]);
  const { messages } = (await (await get('/sessions/chat-1')).json()) as {
    messages: { parts: { toolCallId?: string; state?: string; errorText?: string }[] }[];
  };
  const ended = messages.flatMap(({ parts }) =>
    parts.flatMap(({ toolCallId: id, state, errorText }) =>
      state === 'output-error' ? [{ id, errorText }] : [],
    ),
  );
  expect(ended).toEqual([
    { id: 'banker-1', errorText: SUPERSEDED },
    { id: 'act-1', errorText: SUPERSEDED },
  ]);
  expect(ran()).toBe(0);
  // The agent does not see the run that never ended.
  expect(requests(inner)).toEqual(['greet']);
});

it.each(['live', 'turn'] as const)(
  '[T27b] over BIDI, driven %s, a stop ends the calls inside the agent with the call of the agent',
  async (driver) => {
    const { agent, inner, ran } = twice();
    const socket = await (await live([], [], { agent, driver })).connect('?session=chat-1');
    socket.say('go');
    await socket.until(() => socket.chunks.some(({ type }) => type === 'finish-step'), 'the request');
    socket.send('interrupt');
    await socket.done();
    expect(outputs(socket.chunks)).toEqual([{ 'banker-1': INTERRUPTED }, { 'act-1': INTERRUPTED }]);
    socket.say('again');
    await socket.until(() => textOf(socket.chunks) === 'Well.', 'the answer');
    expect(outputs(socket.chunks).at(-1)).toEqual({ 'banker-2': 'Hello.' });
    expect(ran()).toBe(0);
    expect(requests(inner)).toEqual(['greet']);
  },
);

it.each(['live', 'turn'] as const)(
  '[T27a] over BIDI, driven %s, a tool inside the agent whose process died while it ran is unknown, and does not run again',
  async (driver) => {
    const started: string[] = [];
    let begun = (): void => undefined;
    const isRunning = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const pay = defineTool({
      name,
      description,
      needsApproval: true,
      execute: () => {
        started.push('pay');
        begun();
        return new Promise(() => undefined);
      },
    });
    const { agent, inner, outer } = tree([pay], [[call(name, {}, 'act-1')], [text('I do not know.')]]);
    const place = new Place('BIDI', sqliteDatabase());
    const before = await place.talk({ agent, driver });
    const asked = await before.say('go');
    before.decide(the(asked, 'tool-approval-request'), true).catch(() => undefined);
    await isRunning;
    const after = await place.afterKill({ agent, driver });
    await after.say('and?');
    expect(started).toEqual(['pay']);
    expect(responses(inner)).toEqual([{ 'act-1': { error: OUTCOME_UNKNOWN } }]);
    expect(responses(outer)).toEqual([{ 'banker-1': { result: 'I do not know.' } }]);
  },
);

it('[T27a] an agent whose process died between two steps continues from the step before', async () => {
  const ran: string[] = [];
  const read = defineTool({ name: 'read', description, execute: () => void ran.push('read') });
  const hung = hanging();
  const { agent, inner, outer } = tree(
    [read],
    [[call('read', {}, 'read-1')], hung.turn, [text('I read it.')]],
  );
  const place = new Place('BIDI', sqliteDatabase());
  const before = await place.talk({ agent, driver: 'live' });
  before.say('go').catch(() => undefined);
  await vi.waitFor(() => expect(inner.requests).toHaveLength(2));
  const after = await place.afterKill({ agent, driver: 'live' });
  await after.say('and?');
  expect(ran).toEqual(['read']);
  expect(responses(inner)).toEqual([{ 'read-1': {} }]);
  expect(responses(outer)).toEqual([{ 'banker-1': { result: 'I read it.' } }]);
});

it('[T27a] a tool without approval inside an agent whose process died while it ran is unknown, and does not run again', async () => {
  const ran: string[] = [];
  const read = defineTool({
    name: 'read',
    description,
    execute: () => {
      ran.push('read');
      return new Promise(() => undefined);
    },
  });
  const { agent, inner, outer } = tree([read], [[call('read', {}, 'read-1')], [text('I do not know.')]]);
  const place = new Place('BIDI', sqliteDatabase());
  const before = await place.talk({ agent, driver: 'live' });
  before.say('go').catch(() => undefined);
  await vi.waitFor(() => expect(ran).toHaveLength(1));
  const after = await place.afterKill({ agent, driver: 'live' });
  await after.say('and?');
  expect(ran).toEqual(['read']);
  expect(responses(inner)).toEqual([{ 'read-1': { error: OUTCOME_UNKNOWN } }]);
  expect(responses(outer)).toEqual([{ 'banker-1': { result: 'I do not know.' } }]);
});
