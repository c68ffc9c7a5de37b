import {
  BaseAgent,
  BaseLlm,
  BaseTool,
  BaseToolset,
  isAgentTool,
  isBaseAgent,
  isBaseLlm,
  isBaseTool,
  isBaseToolset,
  isLlmAgent,
} from '@google/adk';

/** Throws when something in a tree of agents was made by another copy of ADK: its tools would run around the gates, or never. */
export function checkCopy(root: unknown): void {
  const seen = new Set<unknown>();
  const waiting: unknown[] = [root];
  for (let agent = waiting.pop(); agent !== undefined; agent = waiting.pop()) {
    if (seen.has(agent)) continue;
    seen.add(agent);
    if (!isBaseAgent(agent as never)) throw new TypeError('"agent" must be an agent of @google/adk.');
    if (!(agent instanceof BaseAgent)) throw foreign(`The agent ${nameOf(agent)}`);
    waiting.push(...agent.subAgents);
    if (!isLlmAgent(agent)) continue;
    if (isBaseLlm(agent.model) && !((agent.model as unknown) instanceof BaseLlm)) {
      throw foreign(`The model of the agent ${nameOf(agent)}`);
    }
    for (const tool of agent.tools as unknown[]) {
      if (isBaseTool(tool) && !((tool as unknown) instanceof BaseTool))
        throw foreign(`The tool ${nameOf(tool)}`);
      if (isBaseToolset(tool) && !((tool as unknown) instanceof BaseToolset)) {
        throw foreign(`A toolset of the agent ${nameOf(agent)}`);
      }
      if (isAgentTool(tool)) waiting.push((tool as unknown as { agent: unknown }).agent);
    }
  }
}

function nameOf(thing: unknown): string {
  return JSON.stringify((thing as { name?: unknown }).name ?? '');
}

function foreign(what: string): Error {
  return new Error(
    `${what} was made by another copy of @google/adk than the one duologue imports, so its calls could not be guarded. ` +
      'Load ADK with import, not with require, and see that "npm ls @google/adk" shows one copy.',
  );
}
