import { JoinNode, LlmAgent, ParallelAgent, Workflow } from '@google/adk';
import { expect } from 'vitest';
import { defineTool } from '../../../../src/adk/index.ts';
import type { Chunk } from '../../../../src/protocol/index.ts';
import {
  call,
  partial,
  ScriptedModel,
  type ScriptedTurn,
  streamed,
  text,
} from '../../../support/scripted-model.ts';
import { type Row, works } from '../matrix.ts';
import { textOf, the } from '../talk.ts';

const description = 'A tool.';

/** The texts of chunks by the author that their part names. */
function textsBy(chunks: readonly Chunk[]): Record<string, string> {
  const authors = new Map<string, string>();
  const texts: Record<string, string> = {};
  for (const chunk of chunks) {
    if (chunk.type === 'text-start') authors.set(chunk.id, String(chunk.providerMetadata?.duologue?.author));
    if (chunk.type !== 'text-delta') continue;
    const author = authors.get(chunk.id) ?? '';
    texts[author] = (texts[author] ?? '') + chunk.delta;
  }
  return texts;
}

/** Two agents whose models write piece by piece, in turns. */
function poetAndCritic(): LlmAgent[] {
  const poet = new ScriptedModel([streamed('Ro', 'ses ', 'are red.')]);
  const critic = new ScriptedModel([streamed('Too ', 'sh', 'ort.')]);
  return [new LlmAgent({ name: 'poet', model: poet }), new LlmAgent({ name: 'critic', model: critic })];
}

const EACH_ITS_PART = { poet: 'Roses are red.', critic: 'Too short.' };

/** Two nodes that run in parallel and ask, and a node that needs both. */
export function bothAsk(ran: string[], turns: Record<'left' | 'right', readonly ScriptedTurn[]>) {
  const models = { left: new ScriptedModel(turns.left), right: new ScriptedModel(turns.right) };
  const act = defineTool({
    name: 'act',
    description,
    needsApproval: true,
    execute: (_input, context) => {
      ran.push(context.agentName);
      return { done: true };
    },
  });
  const node = (name: 'left' | 'right') => new LlmAgent({ name, model: models[name], tools: [act] });
  const last = () => {
    ran.push('last');
    return 'Both are done.';
  };
  const join = new JoinNode({ name: 'join' });
  const [left, right] = [node('left'), node('right')];
  const agent = new Workflow({
    name: 'flow',
    edges: [
      ['START', [left, right]],
      [left, join],
      [right, join],
      [join, last],
    ],
  });
  return { agent, requests: () => [models.left.requests.length, models.right.requests.length] };
}

/** Agents that run at the same time. */
export const PARALLEL: Row[] = [
  works(
    'text of a `ParallelAgent` with streaming models: a part for each author, with its name',
    async (place) => {
      const agent = new ParallelAgent({ name: 'both', subAgents: poetAndCritic() });
      const { say } = await place.talk({ agent });
      expect(textsBy(await say('go'))).toEqual(EACH_ITS_PART);
    },
    'yes, driven turn by turn',
  ),

  works(
    'text of parallel nodes of a `Workflow`: a part for each author, with its name',
    async (place) => {
      const agent = new Workflow({ name: 'flow', edges: [['START', poetAndCritic()]] });
      const { say } = await place.talk({ agent });
      expect(textsBy(await say('go'))).toEqual(EACH_ITS_PART);
    },
    'yes, driven turn by turn',
  ),

  works('approvals inside parallel nodes of a `Workflow`, answered after a kill', async (place) => {
    const ran: string[] = [];
    const asks = (name: string) => [partial('Well. '), call('act', {}, `call-${name}`)];
    const says = (name: string) => [text(`${name} is done.`)];
    const before = bothAsk(ran, { left: [asks('left')], right: [asks('right')] });
    // Over SSE both requests are shown together, over BIDI one after the other.
    const asked = await (await place.talk({ agent: before.agent })).say('go');
    const [first, second] = asked.filter((chunk) => chunk.type === 'tool-approval-request');
    if (!first) throw new Error('No node asked.');
    expect(ran).toEqual([]);
    const after = bothAsk(ran, { left: [says('left')], right: [says('right')] });
    const talk = await place.afterKill({ agent: after.agent });
    const then = await talk.decide(first, true);
    const answered = await talk.decide(second ?? the(then, 'tool-approval-request'), true);
    expect(ran.toSorted()).toEqual(['last', 'left', 'right']);
    expect(ran.at(-1)).toBe('last');
    expect(textOf(answered)).toContain('Both are done.');
    expect([before.requests(), after.requests()]).toEqual([
      [1, 1],
      [1, 1],
    ]);
  }),
];
