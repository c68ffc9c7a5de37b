import { type BaseLlm, isBaseLlm, isLlmAgent } from '@google/adk';
import { type AgentRoot, agentsIn } from '../adk/agents.ts';
import { AdkSafeModel } from './adk-safe.ts';

/** What a model accepts and produces besides text. */
export interface ModelCapabilities {
  /** It understands speech. */
  audioIn: boolean;
  /** It understands pictures. */
  imageIn: boolean;
  /** It answers in speech. */
  audioOut: boolean;
}

const NONE: ModelCapabilities = { audioIn: false, imageIn: false, audioOut: false };

/**
 * The capabilities of an agent's model. A model may state them in a property `capabilities`; otherwise a live model has audio
 * in both directions, and every model accepts pictures.
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
    // A model given by name cannot be created without its key. Ignore that here: the first request reports it.
    return NONE;
  }
}

/** Whether a model of the tree can only be used live, so that its agent could not answer turn by turn. */
export function isLiveOnly(root: AgentRoot): boolean {
  return [...agentsIn(root)].some(
    (agent) => isLlmAgent(agent) && agent.model instanceof AdkSafeModel && agent.model.liveOnly,
  );
}

/** The model of the first agent of the tree that has one. */
function modelOf(root: AgentRoot): BaseLlm | null {
  for (const agent of agentsIn(root)) if (isLlmAgent(agent) && isBaseLlm(agent.model)) return agent.model;
  return null;
}
