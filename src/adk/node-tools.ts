import {
  type BaseNode,
  BasePlugin,
  type BaseTool,
  FunctionNode,
  type InvocationContext,
  isAgentTool,
  isWorkflow,
  JoinNode,
  type NodeContext,
  ParallelWorker,
  START,
} from '@google/adk';
import { innerOf, isToolNode } from './agents.ts';
import { type ApprovalOverride, mayWait } from './run.ts';

/** Why a tool cannot be used: it is a node (`NodeTool`, or a node in `tools`) that would run an agent or a tool. Null for any other tool. */
export function nodeToolRefusal(tool: unknown): string | null {
  const node = nodeOf(tool);
  const inner = node && callerIn(node);
  return node && inner ? cannotRunInside(inner, node.name) : null;
}

/**
 * Throws for a node that is about to run and whose calls could run without the approval that they need. Workflows and functions may create such nodes
 * at run time.
 */
export function checkRunningNode(
  node: BaseNode,
  { invocationContext, nodePath }: NodeContext,
  override: ApprovalOverride,
): void {
  const [outer = ''] = nodePath.split(/[.@]/);
  if (invocationContext.nodeToolDepth > 0) {
    const inner = callerIn(node);
    if (inner) throw new Error(cannotRunInside(inner, outer));
  }
  checkToolNode(node, outer, override);
}

/** Checks the nodes of a run that has no plugins: that of an agent that is used as a tool and cannot pause. A second call for the same run changes nothing. */
export function guardNodes({ pluginManager }: InvocationContext, override: ApprovalOverride): void {
  if (!pluginManager.getPlugin(NODE_GUARD)) pluginManager.registerPlugin(new NodeGuard(override));
}

const NODE_GUARD = 'duologue_nodes';

/** The plugin that checks each node before it runs. */
class NodeGuard extends BasePlugin {
  private readonly override: ApprovalOverride;

  constructor(override: ApprovalOverride) {
    super(NODE_GUARD);
    this.override = override;
  }

  override async beforeNodeCallback(params: {
    node: BaseNode;
    nodeContext: NodeContext;
  }): Promise<undefined> {
    checkRunningNode(params.node, params.nodeContext, this.override);
  }
}

/** ADK's marks of nodes and of `NodeTool`s. They are the same in every copy of ADK. */
const NODE = Symbol.for('google.adk.workflow.baseNode');
const NODE_TOOL = Symbol.for('google.adk.workflow.nodeTool');

/** The node that a tool runs: that of a `NodeTool`, or the node itself, for which ADK makes a `NodeTool`. Null for any other tool. */
function nodeOf(tool: unknown): BaseNode | null {
  if (typeof tool !== 'object' || tool === null) return null;
  if (NODE_TOOL in tool) return (tool as unknown as { node: BaseNode }).node;
  return NODE in tool ? (tool as unknown as BaseNode) : null;
}

/** The first node that may make calls, so neither a function, a join nor the start: the node itself, or a node inside it. Null when there is none. */
function callerIn(node: BaseNode): BaseNode | null {
  if (node instanceof ParallelWorker) return callerIn(innerOf(node));
  if (isWorkflow(node)) {
    for (const one of node.graph?.nodes ?? []) {
      const found = callerIn(one);
      if (found) return found;
    }
    return null;
  }
  return node === START || node instanceof FunctionNode || node instanceof JoinNode ? null : node;
}

function cannotRunInside({ name }: BaseNode, outer: string): string {
  return `"${name}" cannot run inside "${outer}", a node that is used as a tool: its calls could not ask the user. Such a node may only run functions. Use an AgentTool for an agent, and give a tool to an agent.`;
}

/** Refuses a tool that is itself a node of a workflow and may need an approval or the browser: ADK would run it without asking the user, or drop its question. */
export function checkToolNode(node: BaseNode, workflow: string, override: ApprovalOverride): void {
  if (!isToolNode(node) || !needsUser(node.tool, override)) return;
  throw new Error(
    `The tool "${node.tool.name}" is a node of the workflow "${workflow}", where it cannot wait for a user or a browser. Give it to an agent that is a node instead.`,
  );
}

/** Whether a call of a tool, or a call inside the agent that the tool runs, may need the user or the browser. */
function needsUser(tool: BaseTool, override: ApprovalOverride): boolean {
  return isAgentTool(tool) || mayWait(tool) || override?.includes(tool.name) === true;
}
