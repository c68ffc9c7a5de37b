import { type BaseAgent, type BaseTool, isBaseTool, isLlmAgent } from '@google/adk';
import { agentsUsedAsTools } from './agent-tools.ts';
import { converses } from './driver.ts';
import { type ApprovalOverride, mayWait } from './run.ts';
import { DuologueTool } from './tools.ts';

/**
 * The workflow that an agent is a step of, or null. ADK goes on with an agent when a call of it is answered, never with a workflow: inside of
 * one nothing can wait for a person or a browser.
 */
export function workflowAround(agent: BaseAgent): BaseAgent | null {
  for (let outer = agent.parentAgent; outer; outer = outer.parentAgent) {
    if (!converses(outer)) return outer;
  }
  return null;
}

/** Why a call inside a workflow is refused. */
export function cannotWait(tool: string, asks: boolean, workflow: BaseAgent): string {
  const whom = asks ? 'an approval' : 'an answer from outside';
  return `${tool} waits for ${whom}, which nothing can inside the workflow "${workflow.name}": it would not go on where it stopped.`;
}

/** The tools of a tree that stand inside a workflow and may wait, in words: whoever starts the server is told before a call is refused. */
export function waitsInWorkflows(root: BaseAgent, override: ApprovalOverride): string[] {
  const workflow = workflowAround(root);
  const tools = workflow && isLlmAgent(root) ? root.tools.filter(isBaseTool) : [];
  return [
    ...tools
      .filter((tool) => mayWaitHere(tool, override))
      .map(
        ({ name }) =>
          `Calls of ${name} by the agent "${root.name}" are refused where they would wait: nothing can inside the workflow "${workflow?.name}".`,
      ),
    ...root.subAgents.flatMap((agent) => waitsInWorkflows(agent, override)),
  ];
}

/** Warnings about the tools inside agents that are used as tools which may wait: their calls fail. */
export function waitsInAgentTools(root: BaseAgent, override: ApprovalOverride): string[] {
  const inside = (agent: BaseAgent, path: string): string[] => [
    ...(isLlmAgent(agent) ? agent.tools.filter(isBaseTool) : [])
      .filter((tool) => mayWaitHere(tool, override))
      .map(
        ({ name }) =>
          `Calls of ${name} by the agent "${path}" fail where they would wait: an agent that is used as a tool can wait neither for an approval nor for the browser.`,
      ),
    ...agent.subAgents.flatMap((sub) => inside(sub, `${path} > ${sub.name}`)),
  ];
  return agentsUsedAsTools(root).flatMap(({ agent, path }) => inside(agent, path.join(' > ')));
}

function mayWaitHere(tool: BaseTool, override: ApprovalOverride): boolean {
  const isOutside = tool instanceof DuologueTool && tool.runsOn === 'client';
  return override && !isOutside ? override.includes(tool.name) : mayWait(tool);
}
