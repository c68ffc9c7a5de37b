import { type BaseAgent, isBaseLlm, isLlmAgent, LLMRegistry } from '@google/adk';
import { AdkSafeModel, type AdkSafeOptions, adkSafe } from './adk-safe.ts';

/** Wraps the model of every LLM agent of a tree that has its own. Doing it twice changes nothing. */
export function instrumentModels(root: BaseAgent, options?: AdkSafeOptions): void {
  for (const agent of agentsIn(root)) {
    if (!isLlmAgent(agent) || !agent.model) continue;
    const { model } = agent;
    if (isBaseLlm(model)) agent.model = adkSafe(model, options);
    else if (typeof model === 'string') {
      agent.model = new AdkSafeModel({ name: model, create: () => LLMRegistry.newLlm(model) }, options);
    }
  }
}

function* agentsIn(root: BaseAgent): Generator<BaseAgent> {
  yield root;
  for (const agent of root.subAgents) yield* agentsIn(agent);
}
