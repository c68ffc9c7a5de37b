import {
  type App,
  type BaseAgent,
  type BaseNode,
  isApp,
  isBaseAgent,
  isBaseTool,
  isBaseToolset,
  isLlmAgent,
  isRoutedAgent,
  isWorkflow,
  type LlmAgent,
  NodeTool,
  ParallelWorker,
  type RunnableRoot,
  type ToolNode,
} from '@google/adk';

/** The root of a conversation: an agent, or a workflow of ADK 2. */
export type AgentRoot = RunnableRoot;

/** The root agent of the option `agent`: for an `App`, the root that the app names. */
export function rootOf(given: AgentRoot | App): AgentRoot {
  return isApp(given) ? given.rootAgent : given;
}

/** The nodes of a workflow, including those of nested workflows and the nodes that parallel nodes run. */
export function* nodesIn(root: AgentRoot): Generator<BaseNode> {
  if (!isWorkflow(root)) return;
  for (const node of root.graph?.nodes ?? []) {
    const inner = node instanceof ParallelWorker ? innerOf(node) : node;
    yield inner;
    if (isWorkflow(inner)) yield* nodesIn(inner);
  }
}

/** The agents of a tree: the root, its sub-agents, and the agents that are nodes of workflows. Agents used as tools are not among them. */
export function* agentsIn(root: AgentRoot): Generator<BaseAgent> {
  const tops = isWorkflow(root) ? [...nodesIn(root)].filter(isAgentNode) : [root];
  for (const agent of tops) {
    yield agent;
    for (const sub of agent.subAgents) yield* agentsIn(sub);
  }
}

/** The agents that a node runs: the node itself with its sub-agents, or the agents of the workflow that it is. A `ParallelWorker` runs another node. */
export function* agentsInNode(node: BaseNode): Generator<BaseAgent> {
  const inner = node instanceof ParallelWorker ? innerOf(node) : node;
  if (isWorkflow(inner) || isAgentNode(inner)) yield* agentsIn(inner);
}

/** A node that an LLM agent uses as a tool, and the name of the tool. */
export interface NodeAsTool {
  name: string;
  node: BaseNode;
}

/** The nodes that an agent uses as tools: those in `NodeTool`s, and those that stand in `tools` themselves. */
export function nodeToolsOf({ tools }: LlmAgent): NodeAsTool[] {
  return tools.flatMap((tool): NodeAsTool[] => {
    if (tool instanceof NodeTool) return [{ name: tool.name, node: tool.node }];
    return isBaseTool(tool) || isBaseToolset(tool) ? [] : [{ name: tool.name, node: tool }];
  });
}

export function findAgent(root: AgentRoot, name: string): BaseAgent | undefined {
  for (const agent of agentsIn(root)) if (agent.name === name) return agent;
  return undefined;
}

/** Whether every agent of a tree talks with the user itself, or routes the user to an agent that does. ADK can run such a tree live, and resume it. */
export function isConversable(agent: BaseAgent): boolean {
  return converses(agent) && agent.subAgents.every(isConversable);
}

/** Whether an agent talks with the user itself, or routes the user to an agent that does. */
export function converses(agent: BaseAgent): boolean {
  return isLlmAgent(agent) || isRoutedAgent(agent);
}

/** Whether a node is a tool that runs without an agent. */
export function isToolNode(node: BaseNode): node is ToolNode {
  return 'tool' in node;
}

function isAgentNode(node: BaseNode): node is BaseAgent & BaseNode {
  return isBaseAgent(node);
}

/** The node that a `ParallelWorker` runs for each item of its input. */
export function innerOf(worker: ParallelWorker): BaseNode {
  return (worker as unknown as { inner: BaseNode }).inner;
}
