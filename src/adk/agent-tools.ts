import { type BaseAgent, isAgentTool, isLlmAgent } from '@google/adk';

/** The agents that are used as tools in a tree, each with the names of the agents that lead to it. */
export function agentsUsedAsTools(root: BaseAgent): { agent: BaseAgent; path: string[] }[] {
  const found = new Map<BaseAgent, string[]>();
  const walk = (agent: BaseAgent, path: string[]): void => {
    for (const sub of agent.subAgents) walk(sub, [...path, sub.name]);
    for (const tool of isLlmAgent(agent) ? agent.tools : []) {
      if (!isAgentTool(tool)) continue;
      const { agent: inner } = tool as unknown as { agent: BaseAgent };
      if (found.has(inner)) continue;
      found.set(inner, [...path, inner.name]);
      walk(inner, [...path, inner.name]);
    }
  };
  walk(root, [root.name]);
  return [...found].map(([agent, path]) => ({ agent, path }));
}

/** The names of all agents that are used as tools in a tree: ADK keeps a session of its own for each, by that name. */
export function agentToolNames(root: BaseAgent): Set<string> {
  return new Set(agentsUsedAsTools(root).map(({ agent }) => agent.name));
}
