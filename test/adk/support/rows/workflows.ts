import { type BaseTool, FunctionTool, LlmAgent, type NodeContext, Workflow } from '@google/adk';
import { expect } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../../src/adk/index.ts';
import type { Chunk } from '../../../../src/protocol/index.ts';
import { call, calls, ScriptedModel, type ScriptedTurn, text } from '../../../support/scripted-model.ts';
import { type Place, type Row, works } from '../matrix.ts';
import { type Talk, textOf, the } from '../talk.ts';

const description = 'A tool.';

/** A kind of call that waits inside a node, and how it is answered. */
interface Kind {
  feature: string;
  tool(ran: string[]): BaseTool;
  answer(talk: Talk, asked: readonly Chunk[]): Promise<Chunk[]>;
  /** The server side of its tool. */
  effects: string[];
}

const approve: Kind['answer'] = (talk, asked) => talk.decide(the(asked, 'tool-approval-request'), true);

const KINDS: Kind[] = [
  {
    feature: 'approval inside an agent that is a node of a `Workflow`',
    tool: (ran) =>
      defineTool({
        name: 'act',
        description,
        parameters: z.object({ amount: z.number() }),
        needsApproval: true,
        execute: ({ amount }) => {
          ran.push(`act ${amount}`);
          return { acted: amount };
        },
      }),
    answer: approve,
    effects: ['act 5'],
  },
  {
    feature: '`requireConfirmation` inside an agent that is a node of a `Workflow`',
    tool: (ran) =>
      new FunctionTool({
        name: 'act',
        description,
        parameters: z.object({ amount: z.number() }),
        requireConfirmation: true,
        execute: ({ amount }) => {
          ran.push(`act ${amount}`);
          return { acted: amount };
        },
      }),
    answer: approve,
    effects: ['act 5'],
  },
  {
    feature: 'browser tool inside an agent that is a node of a `Workflow`',
    tool: () =>
      defineTool({
        name: 'act',
        description,
        parameters: z.object({ amount: z.number() }),
        runsOn: 'client',
      }),
    answer: (talk, asked) => talk.output(the(asked, 'tool-input-available'), { acted: 5 }),
    effects: [],
  },
];

/** One process with a workflow of three nodes, of which the second waits: its agent, and the requests that its model received. */
function threeNodes(ran: string[], tool: BaseTool, turns: readonly ScriptedTurn[]) {
  const first = (_: NodeContext, input: unknown) => {
    ran.push('first');
    return `first: ${String(input)}`;
  };
  const last = (_: NodeContext, input: unknown) => {
    ran.push('last');
    return `last: ${String(input)}`;
  };
  const silent = () => void ran.push('silent');
  const model = new ScriptedModel(turns);
  const banker = new LlmAgent({ name: 'banker', model, tools: [tool] });
  const agent = new Workflow({
    name: 'flow',
    edges: [['START', first, banker, last, silent]],
  });
  return { agent, model };
}

const ASKS = [call('act', { amount: 5 }, 'call-1')];
const SAYS = [text('Done.')];

/** A model request, summarised by the kinds of its contents. */
function contentsOf(model: ScriptedModel): (string | undefined)[][] {
  return model.lastContents.map(({ parts = [] }) => parts.map((part) => Object.keys(part)[0]));
}

const CONTINUED = [['text'], ['functionCall'], ['functionResponse']];

/** The node pauses once and continues there: the nodes before it do not run again, and the model is not asked again. */
async function pausesOnce(place: Place, { tool, answer, effects }: Kind): Promise<void> {
  const ran: string[] = [];
  const { agent, model } = threeNodes(ran, tool(ran), [ASKS, SAYS]);
  const talk = await place.talk({ agent });
  const answered = await answer(talk, await talk.say('go'));
  expect(ran).toEqual(['first', ...effects, 'last', 'silent']);
  expect(textOf(answered)).toContain('Done.');
  expect(textOf(answered)).toContain('last: Done.');
  expect(model.requests).toHaveLength(2);
  expect(contentsOf(model)).toEqual(CONTINUED);
}

/** The same after the process that sent the request was killed: another process receives the answer. */
async function pausesOnceAndIsKilled(place: Place, { tool, answer, effects }: Kind): Promise<void> {
  const ran: string[] = [];
  const before = threeNodes(ran, tool(ran), [ASKS]);
  const asked = await (await place.talk({ agent: before.agent })).say('go');
  expect(ran).toEqual(['first']);
  const after = threeNodes(ran, tool(ran), [SAYS]);
  const answered = await answer(await place.afterKill({ agent: after.agent }), asked);
  expect(ran).toEqual(['first', ...effects, 'last', 'silent']);
  expect(textOf(answered)).toContain('last: Done.');
  expect([before.model.requests.length, after.model.requests.length]).toEqual([1, 1]);
  expect(contentsOf(after.model)).toEqual(CONTINUED);
}

/** A workflow whose two agents each ask once, one after the other; each process has models of its own. */
function twoThatAsk(ran: string[], turns: Record<'one' | 'two', readonly ScriptedTurn[]>) {
  const act = new FunctionTool({
    name: 'act',
    description,
    requireConfirmation: true,
    execute: (_args, context) => {
      ran.push(context?.agentName ?? '');
      return { done: true };
    },
  });
  const models = { one: new ScriptedModel(turns.one), two: new ScriptedModel(turns.two) };
  const node = (name: 'one' | 'two') => new LlmAgent({ name, model: models[name], tools: [act] });
  const agent = new Workflow({ name: 'flow', edges: [['START', node('one'), node('two')]] });
  return { agent, requests: () => [models.one.requests.length, models.two.requests.length] };
}

const asksAs = (name: string) => [call('act', {}, `call-${name}`)];
const saysAs = (name: string) => [text(`${name} is done.`)];

const INNER: Row[] = [
  works(
    'two approvals of one step of a node, answered after a kill: the model continues once',
    async (place) => {
      const ran: string[] = [];
      const [kind] = KINDS;
      if (!kind) throw new Error('There is no kind of call.');
      const both = calls(
        { name: 'act', args: { amount: 1 }, id: 'call-1' },
        { name: 'act', args: { amount: 2 }, id: 'call-2' },
      );
      const before = threeNodes(ran, kind.tool(ran), [[both]]);
      const asked = await (await place.talk({ agent: before.agent })).say('go');
      const [one, two] = asked.filter((chunk) => chunk.type === 'tool-approval-request');
      if (!one) throw new Error('No call asked.');
      const after = threeNodes(ran, kind.tool(ran), [SAYS]);
      const talk = await place.afterKill({ agent: after.agent });
      const then = await talk.decide(one, true);
      await talk.decide(two ?? the(then, 'tool-approval-request'), true);
      expect(ran).toEqual(['first', 'act 1', 'act 2', 'last', 'silent']);
      expect(contentsOf(after.model)).toEqual([
        ['text'],
        ['functionCall', 'functionCall'],
        ['functionResponse', 'functionResponse'],
      ]);
      expect(after.model.requests).toHaveLength(1);
    },
  ),

  works('nodes of a `Workflow` that pause one after the other, each once', async (place) => {
    const ran: string[] = [];
    const { agent, requests } = twoThatAsk(ran, {
      one: [asksAs('one'), saysAs('one')],
      two: [asksAs('two'), saysAs('two')],
    });
    const talk = await place.talk({ agent });
    const second = await approve(talk, await talk.say('go'));
    expect(textOf(second)).toContain('one is done.');
    expect(textOf(await approve(talk, second))).toBe('two is done.');
    expect(ran).toEqual(['one', 'two']);
    expect(requests()).toEqual([2, 2]);
  }),

  works('nodes of a `Workflow` that pause one after the other, with a kill at each pause', async (place) => {
    const ran: string[] = [];
    const first = twoThatAsk(ran, { one: [asksAs('one')], two: [] });
    const asked = await (await place.talk({ agent: first.agent })).say('go');
    const second = twoThatAsk(ran, { one: [saysAs('one')], two: [asksAs('two')] });
    const askedAgain = await approve(await place.afterKill({ agent: second.agent }), asked);
    const third = twoThatAsk(ran, { one: [], two: [saysAs('two')] });
    const answered = await approve(await place.afterKill({ agent: third.agent }), askedAgain);
    expect(textOf(answered)).toBe('two is done.');
    expect(ran).toEqual(['one', 'two']);
    expect([first.requests(), second.requests(), third.requests()]).toEqual([
      [1, 0],
      [1, 1],
      [0, 1],
    ]);
  }),

  works(
    'denied call inside a node of a `Workflow`: the agent continues, and the tool does not run',
    async (place) => {
      const ran: string[] = [];
      const act = defineTool({
        name: 'act',
        description,
        needsApproval: true,
        execute: () => ran.push('act'),
      });
      const model = new ScriptedModel([[call('act', {}, 'call-1')], [text('Not done.')]]);
      const banker = new LlmAgent({ name: 'banker', model, tools: [act] });
      const talk = await place.talk({ agent: new Workflow({ name: 'flow', edges: [['START', banker]] }) });
      const asked = await talk.say('go');
      expect(textOf(await talk.decide(the(asked, 'tool-approval-request'), false))).toBe('Not done.');
      expect(ran).toEqual([]);
    },
  ),

  works(
    'approval inside a `Workflow` that is a node of another one, answered after a kill',
    async (place) => {
      const ran: string[] = [];
      const [kind] = KINDS;
      if (!kind) throw new Error('There is no kind of call.');
      const outer = (turns: readonly ScriptedTurn[]) => {
        const inner = threeNodes(ran, kind.tool(ran), turns);
        const begin = () => {
          ran.push('begin');
          return 'begun';
        };
        return new Workflow({ name: 'outer', edges: [['START', begin, inner.agent]] });
      };
      const asked = await (await place.talk({ agent: outer([ASKS]) })).say('go');
      const answered = await approve(await place.afterKill({ agent: outer([SAYS]) }), asked);
      expect(textOf(answered)).toContain('last: Done.');
      expect(ran).toEqual(['begin', 'first', 'act 5', 'last', 'silent']);
    },
  ),
];

/** Calls that wait inside nodes of a workflow. */
export const WORKFLOWS: Row[] = [
  ...KINDS.flatMap((kind) => [
    works(kind.feature, (place) => pausesOnce(place, kind)),
    works(`${kind.feature}, answered in another process after a kill`, (place) =>
      pausesOnceAndIsKilled(place, kind),
    ),
  ]),
  ...INNER,
];
