import { type BaseLlm, LlmAgent } from '@google/adk';
import type { DemoTool, ToolSurroundings } from '../tools/tool.ts';

const BEFORE = `You are a friendly assistant with tools. Answer in the language of the user, briefly.
Call the tool whenever a request fits one; never only describe what you would do:`;
const AFTER =
  'Speak about results, refusals and failures exactly as they were. If a call was denied, accept it and do not call the tool again.';

/** The demo's agent, with all tools of the registry. */
export function createAgent(options: {
  model: BaseLlm;
  tools: readonly DemoTool[];
  surroundings: ToolSurroundings;
}): LlmAgent {
  const lines = options.tools.map(({ instruction }) => `- ${instruction}`);
  const instruction = [BEFORE, ...lines, AFTER].join('\n');
  return new LlmAgent({
    name: 'assistant',
    description: 'The assistant of the demo.',
    model: options.model,
    instruction,
    tools: options.tools.map(({ define }) => define(options.surroundings)),
  });
}
