import {
  BaseAgent,
  BaseLlm,
  type BaseNode,
  BasePlugin,
  BaseTool,
  BaseToolset,
  isAgentTool,
  isBaseAgent,
  isBaseLlm,
  isBaseTool,
  isBaseToolset,
  isLlmAgent,
  isRoutedAgent,
  isWorkflow,
  Workflow,
} from '@google/adk';
import { nearest } from '../protocol/options.ts';
import { pausableAgent } from './agent-tools.ts';
import {
  type AgentRoot,
  agentsIn,
  agentsInNode,
  converses,
  isToolNode,
  nodesIn,
  nodeToolsOf,
} from './agents.ts';
import { checkToolNode, nodeToolRefusal } from './node-tools.ts';
import { type ApprovalOverride, mayWait } from './run.ts';
import { DuologueTool } from './tools.ts';

interface UsedAsTool {
  agent: BaseAgent;
  /** The names of the agents on the path from the root to this agent. */
  path: string[];
  /** Whether a call inside this agent can wait: ADK can resume each agent on the path, and no `AgentTool` on the path overrides `runAsync`. */
  canPause: boolean;
}

/** The agents that run inside tools of a tree. */
interface InsideTools {
  /** The agents in an `AgentTool`. */
  asTools: UsedAsTool[];
  /** The agents that run inside a node that is used as a tool, each with the names on the path from the root to it. */
  inNodes: Pick<UsedAsTool, 'agent' | 'path'>[];
}

/** Finds the agents that run inside tools of a tree, at any depth. */
function insideTools(root: AgentRoot): InsideTools {
  const found = new Map<BaseAgent, UsedAsTool>();
  const inNodes = new Map<BaseAgent, InsideTools['inNodes'][number]>();
  const walk = (agent: BaseAgent, path: string[], canPause: boolean): void => {
    for (const sub of agent.subAgents) walk(sub, [...path, sub.name], canPause);
    for (const tool of isLlmAgent(agent) ? agent.tools : []) {
      if (!isAgentTool(tool)) continue;
      const { agent: inner } = tool as unknown as { agent: BaseAgent };
      if (found.has(inner)) continue;
      const pauses = canPause && workflowAround(agent) === null && pausableAgent(tool) !== null;
      found.set(inner, { agent: inner, path: [...path, inner.name], canPause: pauses });
      walk(inner, [...path, inner.name], pauses);
    }
    for (const { name, node } of isLlmAgent(agent) ? nodeToolsOf(agent) : []) {
      for (const inner of agentsInNode(node)) {
        if (inNodes.has(inner)) continue;
        const innerPath = [...path, name, ...(inner === node ? [] : [inner.name])];
        inNodes.set(inner, { agent: inner, path: innerPath });
        walk(inner, innerPath, false);
      }
    }
  };
  if (isWorkflow(root)) for (const agent of agentsIn(root)) walk(agent, [root.name, agent.name], true);
  else walk(root, [root.name], true);
  return { asTools: [...found.values()], inNodes: [...inNodes.values()] };
}

/** The agents that are used as tools in a tree (`AgentTool`). */
function agentsUsedAsTools(root: AgentRoot): UsedAsTool[] {
  return insideTools(root).asTools;
}

/** The agents that run inside tools of a tree: those that are used as tools with their sub-agents, and those inside nodes that are used as tools. */
export function agentsInTools(root: AgentRoot): Set<BaseAgent> {
  const { asTools, inNodes } = insideTools(root);
  return new Set([...asTools, ...inNodes].flatMap(({ agent }) => [...agentsIn(agent)]));
}

/** All agents that ADK may run in a tree: those of the conversation, and those that run inside tools. */
export function allAgentsIn(root: AgentRoot): Set<BaseAgent> {
  return new Set([...agentsIn(root), ...agentsInTools(root)]);
}

/** The names of all agents that are used as tools in a tree. ADK keeps a separate session for each, under that name. */
export function agentToolNames(root: AgentRoot): Set<string> {
  return new Set(agentsUsedAsTools(root).map(({ agent }) => agent.name));
}

/** The tools of a tree of agents, as far as they are known when the server starts. */
export interface KnownTools {
  names: ReadonlySet<string>;
  /**
   * The names of agents whose tools are known only when they run: LLM agents with toolsets, agents of other classes without sub-agents (except routed
   * agents), and a root workflow without a graph.
   */
  open: ReadonlySet<string>;
  /** The data parts that the definitions of tools name (`data`): the name of each part, and of its tool. */
  data: readonly { name: string; tool: string }[];
  /** Whether a tool has `onApproved` or `onDenied`, or may have one. It may when `open` is not empty, and when an agent is used as a tool. */
  hearsDecisions: boolean;
}

const PLUGINS = 'a list of plugins of @google/adk, such as [new LoggingPlugin()]';

/** Tools of ADK itself. ADK gives them to agents that do not list them in `tools`, except `exit_loop`. */
const OF_ADK = ['transfer_to_agent', 'set_model_response', 'finish_task', 'exit_loop'];

/** Reads the tools of a tree. Throws when an agent has two tools with the same name, because ADK would only ever call the last one. */
export function knownTools(root: AgentRoot): KnownTools {
  const names = new Set(OF_ADK);
  const open = new Set<string>();
  const data: { name: string; tool: string }[] = [];
  let hears = false;
  if (isWorkflow(root) && !root.graph) open.add(root.name);
  for (const agent of allAgentsIn(root)) {
    if (!isLlmAgent(agent)) {
      if (agent.subAgents.length === 0 && !isRoutedAgent(agent)) open.add(agent.name);
      continue;
    }
    const own = new Set<string>();
    for (const tool of agent.tools as readonly unknown[]) {
      if (isBaseToolset(tool)) open.add(agent.name);
      const { name } = tool as { name?: unknown };
      if (isBaseToolset(tool) || typeof name !== 'string') continue;
      if (isBaseTool(tool) && own.has(name)) {
        throw new Error(
          `The agent "${agent.name}" has two tools named "${name}": ADK would call only one of them. Rename one.`,
        );
      }
      own.add(name);
      names.add(name);
      if (!(tool instanceof DuologueTool)) continue;
      hears ||= tool.hears(true) || tool.hears(false);
      data.push(...tool.dataNames.map((part) => ({ name: part, tool: name })));
    }
  }
  return { names, open, data, hearsDecisions: hears || open.size > 0 || agentsUsedAsTools(root).length > 0 };
}

/** The error for an option that names a tool which no agent has, with names that it may have meant. */
export function unknownTool(option: string, name: string, known: ReadonlySet<string>): string {
  const near = nearest(name, known).slice(0, 3);
  const hint = near.length > 0 ? ` Did you mean ${near.map((one) => `"${one}"`).join(' or ')}?` : '';
  return `${option}: no agent has a tool named "${name}".${hint}`;
}

/**
 * Throws when an agent, a model, a tool or a toolset of a tree was made by another copy of ADK: tools would bypass the gates, or never run. Also throws when
 * a node of the tree asks for a credential itself (`checkAuthNode`), and when `root` is no agent.
 */
export function checkCopy(root: unknown): void {
  const seen = new Set<unknown>();
  const waiting: unknown[] = [root];
  for (let agent = waiting.pop(); agent !== undefined; agent = waiting.pop()) {
    if (seen.has(agent)) continue;
    seen.add(agent);
    if (isWorkflow(agent)) {
      if (!(agent instanceof Workflow)) throw foreign(`The workflow ${nameOf(agent)}`);
      for (const node of nodesIn(agent)) {
        if (isBaseAgent(node as never)) waiting.push(node);
        checkNode(node, `of the workflow "${agent.name}"`);
      }
      continue;
    }
    if (!isBaseAgent(agent as never))
      throw new TypeError('"agent" must be an agent, a Workflow or an App of @google/adk.');
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
    for (const { node } of nodeToolsOf(agent)) {
      if (isWorkflow(node) || isBaseAgent(node as never)) waiting.push(node);
      else checkNode(node, `that the agent "${agent.name}" uses as a tool`);
    }
  }
}

/**
 * Returns null for a list of plugins; for any other value, a phrase that says what it must be, for an error text. The server compares the callbacks of a plugin
 * with those of `BasePlugin` to see which ones it defines, so each plugin must come from the copy of ADK that this module imports.
 */
export function pluginFault(plugins: unknown): string | null {
  if (!Array.isArray(plugins)) return PLUGINS;
  const wrong = plugins.findIndex((one) => !(one instanceof BasePlugin));
  if (wrong < 0) return null;
  const plugin = plugins[wrong] as Partial<BasePlugin> | null | undefined;
  if (typeof plugin?.beforeToolCallback !== 'function') return PLUGINS;
  return (
    `a list of plugins of the copy of @google/adk that duologue imports, which ${nameOf(plugin)} is not ` +
    '(check that "npm ls @google/adk" shows one copy)'
  );
}

/**
 * Throws when a node of a tree could make calls without the approval that they need: a tool that is itself a node of a workflow, or an agent or a tool
 * inside a node that is used as a tool. `checkRunningNode` checks nodes again when they run, because some exist only then.
 */
export function checkNodes(root: AgentRoot, override: ApprovalOverride): void {
  for (const node of nodesIn(root)) checkToolNode(node, root.name, override);
  for (const agent of allAgentsIn(root)) {
    for (const tool of isLlmAgent(agent) ? agent.tools : []) {
      const refusal = nodeToolRefusal(tool);
      if (refusal !== null) throw new Error(refusal);
    }
  }
}

/**
 * Throws when names of agents are ambiguous. The server finds the agent of a stored call by its name in one tree, so agents of one tree need different
 * names. ADK names the session of an agent that is used as a tool after the agent, so all these agents need different names, and none may have the name of
 * the app.
 */
export function checkNames(root: AgentRoot, appName: string): void {
  const used = agentsUsedAsTools(root).map(({ agent }) => agent);
  checkUnique(used, 'are used as tools, and would share one session');
  for (const agent of used) checkAppName(agent, appName);
  const why = 'are in one tree, so that an approved call could run the tool of the wrong one';
  for (const tree of [root, ...used]) checkUnique([...agentsIn(tree)], why);
}

function checkUnique(agents: readonly BaseAgent[], why: string): void {
  const named = new Map<string, BaseAgent>();
  for (const agent of agents) {
    const known = named.get(agent.name);
    if (known && known !== agent) throw new Error(`Two agents named "${agent.name}" ${why}. Rename one.`);
    named.set(agent.name, agent);
  }
}

function checkAppName({ name }: BaseAgent, appName: string): void {
  if (name !== appName) return;
  throw new Error(
    `The agent "${name}" is used as a tool and has the name of the app, so it would write to the session of the conversation. Rename the agent, or set the option appName.`,
  );
}

/**
 * Checks an agent that is about to run as a tool, because a toolset may have returned it just now. Throws when it has the name of the app or of another agent
 * that is used as a tool, when names inside its own tree are ambiguous (`checkNames`), and when it comes from another copy of ADK.
 */
export function checkAgentTool(agent: BaseAgent, root: AgentRoot, appName: string): void {
  checkCopy(agent);
  checkAppName(agent, appName);
  const used = agentsUsedAsTools(root).map((one) => one.agent);
  if (!used.includes(agent)) checkUnique([...used, agent], 'are used as tools, and would share one session');
  checkNames(agent, appName);
}

/**
 * Throws when a node is a tool of another copy of ADK, and when it asks for a credential. `where` names the workflow or the agent that runs the node, for the
 * error text.
 */
function checkNode(node: BaseNode, where: string): void {
  if (isToolNode(node) && !((node.tool as unknown) instanceof BaseTool)) {
    throw foreign(`The tool ${nameOf(node.tool)}`);
  }
  checkAuthNode(node, where);
}

/** Refuses a node that asks for a credential itself. Only the call of a tool can wait for a sign-in, so the request of a node could not be answered. */
function checkAuthNode(node: BaseNode, where: string): void {
  if (!('authConfig' in node) || node.authConfig === undefined || node.authConfig === null) return;
  throw new Error(
    `The node "${node.name}" ${where} has authConfig, and a node cannot wait for a sign-in. Use an agent whose tool calls requestCredential instead.`,
  );
}

function nameOf(thing: unknown): string {
  return JSON.stringify((thing as { name?: unknown }).name ?? '');
}

function foreign(what: string): Error {
  return new Error(
    `${what} was made by another copy of @google/adk than the one duologue imports, so its calls could not be guarded. ` +
      'Load ADK with import, not with require, and check that "npm ls @google/adk" shows one copy.',
  );
}

/**
 * The workflow agent (such as a `SequentialAgent`) that an agent is a step of, or null. When a call is answered, ADK can resume an LLM agent but not
 * a workflow agent, so inside one no call can wait for a user or a browser. Agents that are nodes of a `Workflow` can wait: see `workflow-runs.ts`.
 */
export function workflowAround(agent: BaseAgent): BaseAgent | null {
  for (let outer = agent.parentAgent; outer; outer = outer.parentAgent) {
    if (!converses(outer)) return outer;
  }
  return null;
}

/** The error text for a call that would have to wait inside a workflow agent. */
export function cannotWait(tool: string, asks: boolean, workflow: BaseAgent): string {
  const whom = asks ? 'an approval' : 'an answer from outside';
  return `${tool} waits for ${whom}, but no call can wait inside the workflow "${workflow.name}": the workflow could not continue where it stopped.`;
}

/**
 * A warning for each tool whose calls may wait although its agent is a step of a workflow agent. The server logs them at its start, before a call is
 * refused.
 */
export function waitsInWorkflows(root: AgentRoot, override: ApprovalOverride): string[] {
  return [...agentsIn(root)].flatMap((agent) => {
    const workflow = workflowAround(agent);
    const tools = workflow && isLlmAgent(agent) ? agent.tools.filter(isBaseTool) : [];
    return tools
      .filter((tool) => mayWaitHere(tool, override))
      .map(
        ({ name }) =>
          `Calls of ${name} by the agent "${agent.name}" are refused where they would wait: no call can wait inside the workflow "${workflow?.name}".`,
      );
  });
}

/** A warning for each tool whose calls may wait although its agent runs inside a tool and cannot be resumed: such calls fail. */
export function waitsInTools(root: AgentRoot, override: ApprovalOverride): string[] {
  const own = (agent: BaseAgent, path: string): string[] =>
    (isLlmAgent(agent) ? agent.tools.filter(isBaseTool) : [])
      .filter((tool) => mayWaitHere(tool, override))
      .map(
        ({ name }) =>
          `Calls of ${name} by the agent "${path}" fail where they would wait: it runs inside a tool, in a place where ADK cannot resume it (in a Sequential, Parallel or Loop agent, in a node that is used as a tool, or in a tool that overrides runAsync of AgentTool).`,
      );
  const inside = (agent: BaseAgent, path: string): string[] => [
    ...own(agent, path),
    ...agent.subAgents.flatMap((sub) => inside(sub, `${path} > ${sub.name}`)),
  ];
  const { asTools, inNodes } = insideTools(root);
  return [
    ...asTools.flatMap(({ agent, path, canPause }) => (canPause ? [] : inside(agent, path.join(' > ')))),
    ...inNodes.flatMap(({ agent, path }) => own(agent, path.join(' > '))),
  ];
}

function mayWaitHere(tool: BaseTool, override: ApprovalOverride): boolean {
  const isOutside = tool instanceof DuologueTool && tool.runsOn === 'client';
  return override && !isOutside ? override.includes(tool.name) : mayWait(tool);
}
