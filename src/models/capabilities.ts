import { type BaseAgent, type BaseLlm, isBaseLlm, isLlmAgent } from '@google/adk';
import type { ModelSenses } from '../protocol/index.ts';
import { AdkSafeModel } from './adk-safe.ts';

/**
 * What the model of an agent takes and gives beside text. A model may say so itself, in a property `senses`; otherwise one that
 * is live hears and speaks, and every one takes pictures.
 */
export function sensesOf(root: BaseAgent): ModelSenses {
  try {
    const model = modelOf(root);
    if (!model) return { hears: false, sees: false, speaks: false };
    const inner = model instanceof AdkSafeModel ? model.inner : model;
    const { senses } = inner as BaseLlm & { senses?: ModelSenses };
    if (senses) return { hears: senses.hears, sees: senses.sees, speaks: senses.speaks };
    const isLive = model instanceof AdkSafeModel && model.nativeLive;
    return { hears: isLive, sees: true, speaks: isLive };
  } catch {
    // A model that is named may lack its key: whoever speaks to it is told.
    return { hears: false, sees: false, speaks: false };
  }
}

/** Whether a model of the tree can only be used live: driven turn by turn, its agent could not answer. */
export function isLiveOnly(root: BaseAgent): boolean {
  const isOwn = isLlmAgent(root) && root.model instanceof AdkSafeModel && root.model.liveOnly;
  return isOwn || root.subAgents.some(isLiveOnly);
}

/** The model of the agent, or of the first below it that has one. */
function modelOf(agent: BaseAgent): BaseLlm | null {
  if (isLlmAgent(agent) && isBaseLlm(agent.model)) return agent.model;
  for (const inner of agent.subAgents) {
    const model = modelOf(inner);
    if (model) return model;
  }
  return null;
}
