import { type BaseAgent, isBaseTool, isBaseToolset, isLlmAgent, isRoutedAgent } from '@google/adk';

/** The tools of a tree of agents, as far as they are known when the server starts. */
export interface KnownTools {
  names: ReadonlySet<string>;
  /** Agents that may have further tools, which are only known when they run: those of toolsets, and of agents of another kind. */
  open: ReadonlySet<string>;
}

/** Tools that ADK gives to agents by itself. */
const OF_ADK = ['transfer_to_agent', 'set_model_response', 'finish_task', 'exit_loop'];

/** Reads the tools of a tree; throws when an agent has two tools of one name, of which ADK would call only the last. */
export function knownTools(root: BaseAgent): KnownTools {
  const names = new Set(OF_ADK);
  const open = new Set<string>();
  for (const agent of agentsIn(root)) {
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
    }
  }
  return { names, open };
}

/** Says that an option names a tool which no agent has, and which names it may have meant. */
export function unknownTool(option: string, name: string, known: ReadonlySet<string>): string {
  const near = nearest(name, known);
  const hint = near.length > 0 ? ` Did you mean ${near.map((one) => `"${one}"`).join(' or ')}?` : '';
  return `${option}: no agent has a tool named "${name}".${hint}`;
}

/** The names that differ from one in a few letters, nearest first, at most three. */
export function nearest(name: string, known: Iterable<string>): string[] {
  const most = Math.max(2, Math.floor(name.length / 3));
  return [...known]
    .map((one) => ({ one, distance: distanceOf(name.toLowerCase(), one.toLowerCase()) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ one }) => one);
}

/** How many letters must be added, removed or replaced to make one word of another. */
function distanceOf(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      line.push(Math.min(replaced, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1));
    }
    above = line;
  }
  return above[b.length] ?? 0;
}

function* agentsIn(root: BaseAgent): Generator<BaseAgent> {
  yield root;
  for (const agent of root.subAgents) yield* agentsIn(agent);
}
