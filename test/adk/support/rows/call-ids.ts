import { randomUUID } from 'node:crypto';
import { AgentTool, LlmAgent } from '@google/adk';
import { expect } from 'vitest';
import { defineTool } from '../../../../src/adk/index.ts';
import type { Chunk } from '../../../../src/protocol/index.ts';
import type { DuologueOptions } from '../../../../src/server/index.ts';
import { call, ScriptedModel, type ScriptedTurn, text } from '../../../support/scripted-model.ts';
import { type Place, type Row, works } from '../matrix.ts';
import { type Talk, textOf, the } from '../talk.ts';
import { bothAsk } from './parallel.ts';

const description = 'A tool.';

/** A call of a model that numbers the calls of each response from 0. */
const first = (name: string, args: Record<string, unknown> = {}) => [call(name, args, 'call_0')];

function act(ran: string[]) {
  return defineTool({
    name: 'act',
    description,
    needsApproval: true,
    execute: (_input, context) => {
      ran.push(context.agentName);
      return { done: true };
    },
  });
}

/** An agent that asks itself, and uses an agent that asks as a tool. */
function bank(
  ran: string[],
  turns: Record<'inner' | 'outer', readonly ScriptedTurn[]>,
): Partial<DuologueOptions> {
  const banker = new LlmAgent({
    name: 'banker',
    description,
    model: new ScriptedModel(turns.inner),
    tools: [act(ran)],
  });
  const model = new ScriptedModel(turns.outer);
  return {
    agent: new LlmAgent({ name: 'assistant', model, tools: [new AgentTool({ agent: banker }), act(ran)] }),
    newId: randomUUID,
  };
}

const approve = (talk: Talk, asked: readonly Chunk[]) =>
  talk.decide(the(asked, 'tool-approval-request'), true);

/** Plays two turns, each with a call inside the `AgentTool`, and a third with a call of the outer agent. `next`: the process of the next answer. */
async function insideAndOutside(
  place: Place,
  next: (talk: Talk, options: Partial<DuologueOptions>) => Promise<Talk>,
): Promise<void> {
  const ran: string[] = [];
  const asks = first('banker', { request: 'go' });
  const options = bank(ran, {
    inner: [first('act'), [text('I did it.')], first('act'), [text('I did it again.')]],
    outer: [asks, [text('One.')], asks, [text('Two.')], first('act'), [text('Three.')]],
  });
  let talk = await place.talk(options);
  const answers: string[] = [];
  const ids = new Set<string>();
  for (const words of ['once', 'twice', 'a third time']) {
    const asked = await talk.say(words);
    ids.add(the(asked, 'tool-approval-request').toolCallId);
    talk = await next(talk, options);
    answers.push(textOf(await approve(talk, asked)));
  }
  expect(answers).toEqual(['One.', 'Two.', 'Three.']);
  expect(ran).toEqual(['banker', 'banker', 'assistant']);
  expect(ids.size).toBe(3);
}

/** Models whose ids of calls are unique in one response only. */
export const CALL_IDS: Row[] = [
  works('calls that models number from 0 each time, inside an `AgentTool` and outside', (place) =>
    insideAndOutside(place, async (talk) => talk),
  ),
  works('the same, with a kill at each pause', (place) =>
    insideAndOutside(place, (_talk, options) => place.afterKill(options)),
  ),
  works('calls with one id in parallel nodes of a `Workflow`, answered after a kill', async (place) => {
    const ran: string[] = [];
    const before = bothAsk(ran, { left: [first('act')], right: [first('act')] });
    const asked = await (await place.talk({ agent: before.agent })).say('go');
    const [one, two] = asked.filter((chunk) => chunk.type === 'tool-approval-request');
    if (!one) throw new Error('No node asked.');
    const after = bothAsk(ran, { left: [[text('Left.')]], right: [[text('Right.')]] });
    const talk = await place.afterKill({ agent: after.agent });
    const then = await talk.decide(one, true);
    const answered = await talk.decide(two ?? the(then, 'tool-approval-request'), true);
    expect(ran.toSorted()).toEqual(['last', 'left', 'right']);
    expect(textOf(answered)).toContain('Both are done.');
  }),
  works(
    'calls with one id in several turns, of an agent that sees no earlier turn (`includeContents`)',
    async (place) => {
      const ran: string[] = [];
      const model = new ScriptedModel([first('act'), [text('One.')], first('act'), [text('Two.')]]);
      const agent = new LlmAgent({ name: 'banker', model, tools: [act(ran)], includeContents: 'none' });
      const talk = await place.talk({ agent });
      expect(textOf(await approve(talk, await talk.say('once')))).toBe('One.');
      expect(textOf(await approve(talk, await talk.say('twice')))).toBe('Two.');
      expect(ran).toEqual(['banker', 'banker']);
    },
  ),
];
