import { type BaseLlm, isBaseLlm, isLlmAgent } from '@google/adk';
import { type AgentRoot, agentsIn } from '../adk/agents.ts';
import { AdkSafeModel } from './adk-safe.ts';

/** What a model accepts and produces besides text. */
export interface ModelCapabilities {
  /** The model understands speech. */
  audioIn: boolean;
  /** The model understands pictures. */
  imageIn: boolean;
  /** The model answers in speech. */
  audioOut: boolean;
}

const NONE: ModelCapabilities = { audioIn: false, imageIn: false, audioOut: false };

/**
 * The capabilities of the first model in a tree of agents. A model may declare them in a property `capabilities`. Otherwise a model with a live connection
 * of its own has audio in both directions, and every model accepts pictures. All are false when the tree has no model, or when the model cannot be
 * created.
 */
export function capabilitiesOf(root: AgentRoot): ModelCapabilities {
  try {
    const model = modelOf(root);
    if (!model) return NONE;
    const inner = model instanceof AdkSafeModel ? model.inner : model;
    const { capabilities } = inner as BaseLlm & { capabilities?: ModelCapabilities };
    if (capabilities) return capabilities;
    const isLive = model instanceof AdkSafeModel && model.nativeLive;
    return { audioIn: isLive, imageIn: true, audioOut: isLive };
  } catch {
    // A model given by name cannot be created without its key. Ignore the error here: the first call of the model reports it.
    return NONE;
  }
}

/** Whether a model of the tree can only be used live. The agent of such a model cannot answer turn by turn. */
export function isLiveOnly(root: AgentRoot): boolean {
  return [...agentsIn(root)].some(
    (agent) => isLlmAgent(agent) && agent.model instanceof AdkSafeModel && agent.model.liveOnly,
  );
}

/** The model of the first agent in the tree that has a model object. */
function modelOf(root: AgentRoot): BaseLlm | null {
  for (const agent of agentsIn(root)) if (isLlmAgent(agent) && isBaseLlm(agent.model)) return agent.model;
  return null;
}
