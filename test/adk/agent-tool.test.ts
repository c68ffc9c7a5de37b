import { AgentTool, type BaseTool, FunctionTool, LlmAgent, LongRunningFunctionTool } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import type { Chunk } from '../../src/protocol/index.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { harness, say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';

const WAYS = ['SSE', 'live', 'turn'] as const;
const name = 'act';
const description = 'Acts.';
const APPROVAL = 'act asks for an approval';
const OUTSIDE = 'act waits for an answer from outside';

/** Tools that wait, each with how its call is refused. */
const KINDS: Record<string, { tool: (run: () => object) => BaseTool; why: string; names?: string[] }> = {
  needsApproval: {
    tool: (run) => defineTool({ name, description, needsApproval: true, execute: run }),
    why: APPROVAL,
  },
  requireConfirmation: {
    tool: (run) => new FunctionTool({ name, description, requireConfirmation: true, execute: run }),
    why: APPROVAL,
  },
  'a confirmation that the tool asks for itself': {
    tool: (run) =>
      new FunctionTool({
        name,
        description,
        execute: (_args, context) => {
          if (context?.toolConfirmation) return run();
          context?.requestConfirmation({ hint: 'Sure?' });
          return { error: 'Not yet.' };
        },
      }),
    why: APPROVAL,
  },
  toolsRequiringApproval: {
    tool: (run) => defineTool({ name, description, execute: run }),
    why: APPROVAL,
    names: [name],
  },
  browser: { tool: () => defineTool({ name, description, runsOn: 'client' }), why: OUTSIDE },
  'long-running': {
    tool: () => new LongRunningFunctionTool({ name, description, execute: () => undefined }),
    why: OUTSIDE,
  },
};

/** A tool of an application that changes what ADK's own does, so that its agent cannot be resumed. */
class OwnAgentTool extends AgentTool {
  override runAsync(request: Parameters<AgentTool['runAsync']>[0]): Promise<unknown> {
    return super.runAsync(request);
  }
}

/** An agent that uses another one as a tool, so many times over. */
function nested(tool: BaseTool, depth: number, own: BaseTool[] = []) {
  const inner = new ScriptedModel([[call(name)], [text('I did it.')]]);
  let agent = new LlmAgent({ name: 'banker', description, model: inner, tools: [tool] });
  const outer = new ScriptedModel([]);
  for (let level = 1; level <= depth; level++) {
    const model =
      level === depth ? outer : new ScriptedModel([[call(agent.name, { request: 'go' })], [text('So.')]]);
    if (level === depth) outer.add([call(agent.name, { request: 'go' }, 'call-1')], [text('Well.')]);
    agent = new LlmAgent({
      name: level === depth ? 'assistant' : 'office',
      description,
      model,
      tools: [new OwnAgentTool({ agent }), ...(level === depth ? own : [])],
    });
  }
  return { agent, outer, inner };
}

async function answer(way: (typeof WAYS)[number], options: Partial<DuologueOptions>): Promise<Chunk[]> {
  if (way === 'SSE') return (await harness([], [], options).post(say('go'))).chunks;
  const socket = await (await live([], [], { ...options, driver: way })).connect();
  socket.say('go');
  await socket.done();
  return socket.chunks;
}

function responseIn(model: ScriptedModel): unknown {
  const parts = model.lastContents.flatMap((content) => content.parts ?? []);
  return parts.flatMap(({ functionResponse }) => functionResponse?.response ?? [])[0];
}

describe.each(WAYS)(
  'a tool that waits inside an agent that is used as a tool and cannot be resumed: %s',
  (way) => {
    const cases = Object.entries(KINDS).flatMap(([kind, made]) =>
      [1, 2].map((depth) => ({ kind, depth, ...made })),
    );

    it.each(cases)(
      '[T27c] $kind, depth $depth: person and model get the reason',
      async ({ tool, why, names, depth }) => {
        let ran = 0;
        const run = () => {
          ran++;
          return {};
        };
        // The server refuses a name that none of the agent's own tools has.
        const own = names ? [tool(run)] : [];
        const { agent, outer } = nested(tool(run), depth, own);
        const chunks = await answer(way, { agent, ...(names ? { toolsRequiringApproval: names } : {}) });
        const errorText = `${why}, which the agent "banker" cannot get while it is used as a tool.`;
        expect(chunks.filter(({ type }) => type.startsWith('tool-output-'))).toEqual([
          { type: 'tool-output-error', toolCallId: 'call-1', errorText },
        ]);
        expect(responseIn(outer)).toEqual({ error: errorText });
        expect(chunks.some((chunk) => chunk.type === 'text-delta' && chunk.delta === 'Well.')).toBe(true);
        expect(ran).toBe(0);
      },
    );

    it('[T27c] a tool that waits for nothing runs, also when an option says that it does not ask', async () => {
      const seen: string[] = [];
      const run = () => {
        seen.push('ran');
        return {};
      };
      const plain = nested(defineTool({ name, description, execute: run }), 1);
      const waived = nested(
        new FunctionTool({ name, description, requireConfirmation: true, execute: run }),
        1,
      );
      const outputs = [
        ...(await answer(way, { agent: plain.agent })),
        ...(await answer(way, { agent: waived.agent, toolsRequiringApproval: [] })),
      ].filter(({ type }) => type.startsWith('tool-output-'));
      expect(outputs).toMatchObject([{ output: 'I did it.' }, { output: 'I did it.' }]);
      expect(seen).toEqual(['ran', 'ran']);
    });
  },
);

describe('a server whose agent is used as a tool', () => {
  it('[T27c] says at its start which tools cannot be called there', () => {
    const warnings: string[] = [];
    const logger = { info() {}, error() {}, warn: (line: string) => warnings.push(line) };
    const { agent } = nested(defineTool({ name, description, needsApproval: true, execute: () => ({}) }), 2);
    harness([], [], { agent, logger });
    expect(warnings).toEqual([
      'Calls of act by the agent "assistant > office > banker" fail where they would wait: it runs inside a tool, in a place where ADK cannot resume it (in a Sequential, Parallel or Loop agent, in a node that is used as a tool, or in a tool that overrides runAsync of AgentTool).',
    ]);
  });
});
