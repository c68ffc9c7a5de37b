import { type BaseAgent, type BaseLlm, isBaseLlm, isLlmAgent } from '@google/adk';
import { agentsInTools } from '../adk/agent-tree.ts';
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

/** Whether a model of the tree can only be used live. The agent of such a model cannot answer turn by turn. Agents inside tools do not count. */
export function isLiveOnly(root: AgentRoot): boolean {
  return [...agentsIn(root)].some(hasLiveOnlyModel);
}

/** Throws when the model of an agent that runs inside a tool can only be used live: ADK runs such an agent turn by turn, so it could never answer. */
export function checkModelsInTools(root: AgentRoot): void {
  for (const agent of agentsInTools(root)) checkTurnModel(agent);
}

/** Throws when a model of an agent that is used as a tool can only be used live. */
export function checkModelsOfTool(agent: BaseAgent): void {
  for (const one of agentsIn(agent)) checkTurnModel(one);
  checkModelsInTools(agent);
}

function checkTurnModel(agent: BaseAgent): void {
  if (!hasLiveOnlyModel(agent)) return;
  throw new Error(
    `The agent "${agent.name}" runs inside a tool, where ADK runs it turn by turn, but its model can only be used live. Give that agent another model.`,
  );
}

function hasLiveOnlyModel(agent: BaseAgent): boolean {
  return isLlmAgent(agent) && agent.model instanceof AdkSafeModel && agent.model.liveOnly;
}

/** The model of the first agent in the tree that has a model object. */
function modelOf(root: AgentRoot): BaseLlm | null {
  for (const agent of agentsIn(root)) if (isLlmAgent(agent) && isBaseLlm(agent.model)) return agent.model;
  return null;
}
