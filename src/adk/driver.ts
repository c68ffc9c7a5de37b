import { type BaseAgent, isLlmAgent, isRoutedAgent } from '@google/adk';

/** What drives an agent: one live run for everything that is said (`runLive`), or one run for each answer (`runAsync`). */
export type Driver = 'live' | 'turn';

/**
 * What an agent is driven by behind a socket. ADK runs LLM agents live; of the others it runs some not at all and some for one step
 * only, and of those that somebody else wrote nobody knows: they go turn by turn.
 */
export function driverOf(root: BaseAgent): Driver {
  return converses(root) && root.subAgents.every((agent) => driverOf(agent) === 'live') ? 'live' : 'turn';
}

/** Whether an agent talks with the person itself, or hands over to one that does. */
export function converses(agent: BaseAgent): boolean {
  return isLlmAgent(agent) || isRoutedAgent(agent);
}
