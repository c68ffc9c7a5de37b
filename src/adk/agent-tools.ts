import { type BaseAgent, isAgentTool, isLlmAgent } from '@google/adk';

/** The names of all agents that are used as tools in a tree: ADK keeps a session of its own for each, by that name. */
export function agentToolNames(root: BaseAgent, names = new Set<string>()): Set<string> {
  for (const agent of root.subAgents) agentToolNames(agent, names);
  for (const tool of isLlmAgent(root) ? root.tools : []) {
    if (!isAgentTool(tool)) continue;
    const { agent } = tool as unknown as { agent: BaseAgent };
    if (names.has(agent.name)) continue;
    names.add(agent.name);
    agentToolNames(agent, names);
  }
  return names;
}
