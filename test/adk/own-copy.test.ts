import { createRequire } from 'node:module';
import { AgentTool, BaseAgent, LlmAgent, SequentialAgent } from '@google/adk';
import { describe, expect, test } from 'vitest';
import { createDuologue } from '../../src/server/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { ScriptedModel } from '../support/scripted-model.ts';

/** ADK once more, as a program gets it that uses `require`. */
const other = createRequire(import.meta.url)('@google/adk') as typeof import('@google/adk');

class OtherModel extends other.BaseLlm {
  override async *generateContentAsync(): AsyncGenerator<never, void> {}
  override connect(): never {
    throw new Error('not live');
  }
}

const model = new ScriptedModel();
const otherTool = new other.FunctionTool({ name: 'pay', description: 'Pays', execute: () => ({}) });
const good = () => new LlmAgent({ name: 'good', model, tools: [fourTools().payment] });
const withTool = () => new LlmAgent({ name: 'a', model, tools: [otherTool as never] });

describe('an agent of another copy of ADK is refused, in words:', () => {
  test.each<[string, () => BaseAgent, string]>([
    ['the agent itself', () => new other.LlmAgent({ name: 'a', model }) as never, 'The agent "a"'],
    ['a tool', withTool, 'The tool "pay"'],
    [
      'a model',
      () => new LlmAgent({ name: 'a', model: new OtherModel({ model: 'x' }) as never }),
      'The model of the agent "a"',
    ],
    [
      'a tool deep down',
      () => new SequentialAgent({ name: 's', subAgents: [good(), withTool()] }),
      'The tool "pay"',
    ],
    [
      'a tool of an agent that is a tool',
      () => new LlmAgent({ name: 'b', model, tools: [new AgentTool({ agent: withTool() })] }),
      'The tool "pay"',
    ],
  ])('%s', (_what, agent, says) => {
    expect(other.BaseAgent).not.toBe(BaseAgent);
    expect(() => createDuologue({ agent: agent() })).toThrow(
      `${says} was made by another copy of @google/adk than the one duologue imports`,
    );
  });

  test('what is no agent at all is told apart', () => {
    expect(() => createDuologue({ agent: {} as never })).toThrow(
      '"agent" must be an agent, a Workflow or an App of @google/adk.',
    );
  });

  test('one copy is fine', async () => {
    await createDuologue({ agent: good() }).close();
  });
});
