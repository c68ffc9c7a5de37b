import {
  createEvent,
  FunctionNode,
  LlmAgent,
  type NodeContext,
  ParallelWorker,
  RequestInput,
  RoutedAgent,
  Workflow,
} from '@google/adk';
import { expect } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../../src/adk/index.ts';
import type { Chunk } from '../../../../src/protocol/index.ts';
import { call, ScriptedModel, type ScriptedTurn, text } from '../../../support/scripted-model.ts';
import { type Row, works } from '../matrix.ts';
import { type Talk, textOf, the } from '../talk.ts';

const description = 'A tool.';

/** A tool that asks. It writes down which agent paid how much. */
function payInto(ran: string[]) {
  return defineTool({
    name: 'pay',
    description,
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }, { agentName }) => {
      ran.push(`${agentName} pays ${amount}`);
      return { paid: amount };
    },
  });
}

/** A node that writes down its input, as the last one of a workflow. */
function lastOf(ran: string[]) {
  return new FunctionNode('last', (_: NodeContext, input: unknown) => {
    ran.push(`last: ${JSON.stringify(input)}`);
    return `last: ${JSON.stringify(input)}`;
  });
}

const pays = (amount: number): ScriptedTurn => [call('pay', { amount }, `call-${amount}`)];
const approve = (talk: Talk, asked: readonly Chunk[]): Promise<Chunk[]> =>
  talk.decide(the(asked, 'tool-approval-request'), true);

/** A workflow that returns to its agent until the agent has said that it is done. Each process has a model of its own. */
function payingLoop(ran: string[], turns: readonly ScriptedTurn[]): Workflow {
  const banker = new LlmAgent({ name: 'banker', model: new ScriptedModel(turns), tools: [payInto(ran)] });
  const check = new FunctionNode('check', (_: NodeContext, output: unknown) =>
    createEvent({ author: 'check', route: output === 'Done.' ? 'end' : 'again', output }),
  );
  return new Workflow({
    name: 'flow',
    edges: [
      ['START', banker, check],
      [check, { again: banker, end: lastOf(ran) }],
    ],
  });
}

/** A workflow that asks for a city until it is Kyoto, always with the same id. */
function askingLoop(ran: string[]): Workflow {
  const ask = new FunctionNode<unknown, unknown>(
    'ask',
    ({ resumeInputs: { city } }) => {
      if (city === undefined) return new RequestInput({ interruptId: 'city', message: 'Which city?' });
      // A loop without an end would stop the test runner.
      if (ran.push(`heard ${String(city)}`) > 3) throw new Error('The node heard an answer again and again.');
      return createEvent({ author: 'ask', route: city === 'Kyoto' ? 'end' : 'again', output: city });
    },
    { rerunOnResume: true },
  );
  return new Workflow({
    name: 'flow',
    edges: [
      ['START', ask],
      [ask, { again: ask, end: lastOf(ran) }],
    ],
  });
}

/** An agent that transfers to another one, which asks. */
function transferring(ran: string[], turns: Record<'boss' | 'clerk', readonly ScriptedTurn[]>): LlmAgent {
  const model = { boss: new ScriptedModel(turns.boss), clerk: new ScriptedModel(turns.clerk) };
  const clerk = new LlmAgent({ name: 'clerk', description, model: model.clerk, tools: [payInto(ran)] });
  return new LlmAgent({ name: 'boss', model: model.boss, subAgents: [clerk] });
}

/** An agent that lets a clerk answer, who asks. */
function routing(ran: string[], turns: readonly ScriptedTurn[]): RoutedAgent {
  const clerk = new LlmAgent({ name: 'clerk', model: new ScriptedModel(turns), tools: [payInto(ran)] });
  return new RoutedAgent({ name: 'router', agents: [clerk], router: () => 'clerk' });
}

/** What a graph or an agent in it may do around a call that waits. */
export const GRAPHS: Row[] = [
  works('approvals in a loop of a `Workflow`, with a kill at each pause', async (place) => {
    const ran: string[] = [];
    const first = await place.talk({ agent: payingLoop(ran, [pays(1)]) });
    const asked = await first.say('go');
    const second = await place.afterKill({ agent: payingLoop(ran, [[text('More.')], pays(2)]) });
    const askedAgain = await approve(second, asked);
    const third = await place.afterKill({ agent: payingLoop(ran, [[text('Done.')]]) });
    expect(textOf(await approve(third, askedAgain))).toContain('last: "Done."');
    expect(ran).toEqual(['banker pays 1', 'banker pays 2', 'last: "Done."']);
  }),

  works('`RequestInput` in a loop of a `Workflow`, with a kill at each pause', async (place) => {
    const ran: string[] = [];
    const first = await place.talk({ agent: askingLoop(ran) });
    const question = the(await first.say('go'), 'tool-input-available');
    const second = await place.afterKill({ agent: askingLoop(ran) });
    const again = the(await second.output(question, 'Rome'), 'tool-input-available');
    const third = await place.afterKill({ agent: askingLoop(ran) });
    expect(textOf(await third.output(again, 'Kyoto'))).toContain('last: "Kyoto"');
    expect(ran).toEqual(['heard Rome', 'heard Kyoto', 'last: "Kyoto"']);
  }),

  works(
    'approval of an agent to which the agent of a node has transferred, answered after a kill: that agent continues',
    async (place) => {
      const ran: string[] = [];
      const flow = (boss: ScriptedTurn[], clerk: ScriptedTurn[]) =>
        new Workflow({ name: 'flow', edges: [['START', transferring(ran, { boss, clerk }), lastOf(ran)]] });
      const transfer = call('transfer_to_agent', { agentName: 'clerk' }, 'call-0');
      const asked = await (await place.talk({ agent: flow([[transfer]], [pays(5)]) })).say('go');
      const after = await place.afterKill({ agent: flow([], [[text('Paid.')]]) });
      expect(textOf(await approve(after, asked))).toContain('Paid.');
      expect(ran).toEqual(['clerk pays 5', 'last: "Paid."']);
    },
  ),

  works('approvals of a node that runs for each item (`ParallelWorker`), after a kill', async (place) => {
    const ran: string[] = [];
    const flow = (turns: readonly ScriptedTurn[]) => {
      const banker = new LlmAgent({ name: 'banker', model: new ScriptedModel(turns), tools: [payInto(ran)] });
      const list = () => ['a', 'b'];
      return new Workflow({
        name: 'flow',
        edges: [['START', list, new ParallelWorker(banker), lastOf(ran)]],
      });
    };
    const asked = await (await place.talk({ agent: flow([pays(1), pays(2)]) })).say('go');
    const [one, two] = asked.filter((chunk) => chunk.type === 'tool-approval-request');
    if (!one) throw new Error('No call asked.');
    const after = await place.afterKill({ agent: flow([[text('Paid.')], [text('Paid.')]]) });
    const then = await after.decide(one, true);
    await after.decide(two ?? the(then, 'tool-approval-request'), true);
    expect(ran.toSorted()).toEqual(['banker pays 1', 'banker pays 2', 'last: ["Paid.","Paid."]']);
  }),

  works("approval of a node's agent with `mode: 'task'`, answered after a kill", async (place) => {
    const ran: string[] = [];
    const flow = (turns: readonly ScriptedTurn[]) => {
      const outputSchema = z.object({ isPaid: z.boolean() });
      const tools = [payInto(ran)];
      const model = new ScriptedModel(turns);
      const banker = new LlmAgent({ name: 'banker', model, mode: 'task', tools, outputSchema });
      return new Workflow({ name: 'flow', edges: [['START', banker, lastOf(ran)]] });
    };
    const asked = await (await place.talk({ agent: flow([pays(5)]) })).say('go');
    const finish = call('finish_task', { isPaid: true }, 'call-2');
    const after = await place.afterKill({ agent: flow([[finish]]) });
    expect(textOf(await approve(after, asked))).toBe('last: {"isPaid":true}');
    expect(ran).toEqual(['banker pays 5', 'last: {"isPaid":true}']);
  }),

  works('approval of an agent that a `RoutedAgent` has chosen, answered after a kill', async (place) => {
    const ran: string[] = [];
    const asked = await (await place.talk({ agent: routing(ran, [pays(5)]) })).say('go');
    const after = await place.afterKill({ agent: routing(ran, [[text('Paid.')]]) });
    expect(textOf(await approve(after, asked))).toBe('Paid.');
    expect(ran).toEqual(['clerk pays 5']);
  }),

  works('the same, where the `RoutedAgent` is a node of a `Workflow`', async (place) => {
    const ran: string[] = [];
    const flow = (turns: readonly ScriptedTurn[]) =>
      new Workflow({ name: 'flow', edges: [['START', routing(ran, turns), lastOf(ran)]] });
    const asked = await (await place.talk({ agent: flow([pays(5)]) })).say('go');
    expect(ran).toEqual([]);
    const after = await place.afterKill({ agent: flow([[text('Paid.')]]) });
    expect(textOf(await approve(after, asked))).toContain('Paid.');
    expect(ran[0]).toBe('clerk pays 5');
    expect(ran).toHaveLength(2);
  }),
];
