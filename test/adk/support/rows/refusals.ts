import { AgentTool, App, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent, Workflow } from '@google/adk';
import { expect } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../../src/adk/index.ts';
import { call, ScriptedModel, text } from '../../../support/scripted-model.ts';
import { type Row, refused } from '../matrix.ts';
import { the } from '../talk.ts';
import { WAITING_KINDS } from '../waiting-kinds.ts';

const act = defineTool({ name: 'act', description: 'A tool.', needsApproval: true, execute: () => 'done' });

/** Features that cannot work, which the server rejects with a clear error. */
export const REFUSALS: Row[] = [
  refused(
    'approval, browser tool or confirmation inside Sequential, Parallel and Loop agents',
    'refused when called, named at start',
    async (place) => {
      const flows = [SequentialAgent, ParallelAgent, LoopAgent];
      for (const [index, Flow] of flows.entries()) {
        for (const [kind, { tool, whom }] of WAITING_KINDS.entries()) {
          const ran: string[] = [];
          const model = new ScriptedModel([[call('act', {}, 'call-1')], [text('It cannot.')]]);
          const banker = new LlmAgent({ name: 'banker', model, tools: [tool(() => `${ran.push('act')}`)] });
          const warnings: string[] = [];
          const logger = { info() {}, error() {}, warn: (line: string) => warnings.push(line) };
          const agent = new Flow({ name: 'flow', subAgents: [banker], maxIterations: 1 });
          const isFirst = index + kind === 0;
          const { say } = await (isFirst ? place.talk : place.afterKill).call(place, { agent, logger });
          expect(warnings).toEqual([
            'Calls of act by the agent "banker" are refused where they would wait: no call can wait inside the workflow "flow".',
          ]);
          const chunks = await say(`go ${Flow.name} ${kind}`);
          expect(the(chunks, 'tool-output-error').errorText).toBe(
            `act waits for ${whom}, but no call can wait inside the workflow "flow": the workflow could not continue where it stopped.`,
          );
          expect(chunks.some(({ type }) => type === 'tool-approval-request')).toBe(false);
          expect(ran).toEqual([]);
        }
      }
    },
  ),

  refused(
    'the same inside an `AgentTool` whose agent is Sequential, Parallel or Loop',
    'refused when called, named at start',
    async (place) => {
      const flows = [SequentialAgent, ParallelAgent, LoopAgent];
      for (const [index, Flow] of flows.entries()) {
        for (const [kind, { tool, inside }] of WAITING_KINDS.entries()) {
          const ran: string[] = [];
          const inner = new ScriptedModel([[call('act', {}, 'inner-1')], [text('It cannot.')]]);
          const banker = new LlmAgent({
            name: 'banker',
            description: 'A banker.',
            model: inner,
            tools: [tool(() => `${ran.push('act')}`)],
          });
          const bank = new Flow({
            name: 'bank',
            description: 'A bank.',
            subAgents: [banker],
            maxIterations: 1,
          });
          const model = new ScriptedModel([[call('bank', { request: 'go' }, 'call-1')], [text('Well.')]]);
          const agent = new LlmAgent({ name: 'assistant', model, tools: [new AgentTool({ agent: bank })] });
          const warnings: string[] = [];
          const logger = { info() {}, error() {}, warn: (line: string) => warnings.push(line) };
          const isFirst = index + kind === 0;
          const { say } = await (isFirst ? place.talk : place.afterKill).call(place, { agent, logger });
          expect(warnings).toEqual([
            'Calls of act by the agent "assistant > bank > banker" fail where they would wait: it runs inside a tool, in a place where ADK cannot resume it (in a Sequential, Parallel or Loop agent, in a node that is used as a tool, or in a tool that overrides runAsync of AgentTool).',
          ]);
          expect(the(await say(`go ${Flow.name} ${kind}`), 'tool-output-error').errorText).toBe(
            `act ${inside}, which the agent "banker" cannot get while it is used as a tool.`,
          );
          expect(ran).toEqual([]);
        }
      }
    },
  ),

  refused(
    'a model that can only be used live, of an agent inside a tool',
    'refused at start',
    async (place) => {
      const live = () => new ScriptedModel([], { connections: [] });
      const speaker = (model: ScriptedModel | string = live()) =>
        new LlmAgent({ name: 'speaker', description: 'A speaker.', model });
      const office = new LlmAgent({ name: 'office', description: 'An office.', subAgents: [speaker()] });
      const tools = [
        new AgentTool({ agent: speaker() }),
        new AgentTool({ agent: speaker('gemini-live-2.5-flash') }),
        new AgentTool({ agent: office }),
      ];
      for (const tool of tools) {
        const agent = new LlmAgent({ name: 'assistant', model: live(), tools: [tool] });
        const talk = tool === tools[0] ? place.talk({ agent }) : place.afterKill({ agent });
        await expect(talk).rejects.toThrow(
          'The agent "speaker" runs inside a tool, where ADK runs it turn by turn, but its model can only be used live.',
        );
      }
    },
  ),

  refused('a tool that asks as a node of a `Workflow`', 'refused at start', async (place) => {
    const agent = new Workflow({ name: 'flow', edges: [['START', act]] });
    await expect(place.talk({ agent })).rejects.toThrow(
      'The tool "act" is a node of the workflow "flow", where it cannot wait for a user or a browser.',
    );
  }),

  refused('an agent or a tool inside a node that is used as a tool', 'refused at start', async (place) => {
    const clerk = new LlmAgent({ name: 'clerk', model: new ScriptedModel() });
    const inputSchema = z.object({ request: z.string() });
    for (const node of [clerk, act]) {
      const shop = new Workflow({ name: 'shop', inputSchema, edges: [['START', node]] });
      const agent = new LlmAgent({ name: 'assistant', model: new ScriptedModel(), tools: [shop] });
      const start = node === clerk ? place.talk : place.afterKill;
      await expect(start.call(place, { agent })).rejects.toThrow(
        `"${node.name}" cannot run inside "shop", a node that is used as a tool`,
      );
    }
  }),

  refused(
    '`resumabilityConfig` without resumption, as an option or in an `App`',
    'refused at start',
    async (place) => {
      const rootAgent = new LlmAgent({ name: 'assistant', model: new ScriptedModel() });
      const resumabilityConfig = { isResumable: false };
      await expect(place.talk({ agent: rootAgent, resumabilityConfig } as never)).rejects.toThrow(
        'the option "resumabilityConfig" must be { isResumable: true }',
      );
      const app = new App({ name: 'shop', rootAgent, resumabilityConfig });
      await expect(place.afterKill({ agent: app })).rejects.toThrow('The App "shop" has isResumable: false');
    },
  ),
];
