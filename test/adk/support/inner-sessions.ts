import { AgentTool, BaseToolset, LlmAgent } from '@google/adk';
import { expect } from 'vitest';
import type { Store } from '../../../src/server/index.ts';
import { harness, say } from '../../support/harness.ts';
import { call, ScriptedModel, type ScriptedTurn, text } from '../../support/scripted-model.ts';
import type { RowDatabase } from './matrix.ts';

const description = 'Helps.';
const AGENTS = ['banker', 'teller', 'clerk'];

const agentOf = (name: string, turns: ScriptedTurn[], tools: LlmAgent['tools'] = []) =>
  new LlmAgent({ name, description, model: new ScriptedModel(turns), tools });
const ask = (name: string) => call(name, { request: 'go' }, `${name}-1`);

/** An agent with an agent as a tool, which has one itself, and with another one that a toolset returns. */
function agentWithAgents(): LlmAgent {
  const teller = agentOf('teller', [[text('I am the teller.')]]);
  const banker = agentOf('banker', [[ask('teller')], [text('Done.')]], [new AgentTool({ agent: teller })]);
  class Office extends BaseToolset {
    override async getTools() {
      return [new AgentTool({ agent: agentOf('clerk', [[text('I am the clerk.')]]) })];
    }
    override async close() {}
  }
  return agentOf(
    'assistant',
    [[ask('banker')], [ask('clerk')], [text('Well.')]],
    [new AgentTool({ agent: banker }), new Office([])],
  );
}

/** The apps that have a session with the id of the conversation. */
async function appsIn(store: Store): Promise<string[]> {
  const found: string[] = [];
  for (const app of ['duologue', ...AGENTS]) {
    const sessions = await store.listSessions(app, 'live_user');
    if (sessions.some(({ id }) => id === 'chat-1')) found.push(app);
  }
  return found;
}

/**
 * A process dies while it deletes a conversation, before it deletes the session with the number `place`. In the next process the agents have other names.
 * The user still finds the conversation there, and deletes all that is left of it.
 */
export async function deletionThatDies(database: RowDatabase, place: number): Promise<void> {
  const first = await database.open();
  const before = harness([], [], { agent: agentWithAgents(), store: first });
  await before.post(say('go'));
  expect(await appsIn(first)).toEqual(['duologue', ...AGENTS]);

  let dies = (): void => undefined;
  const died = new Promise<void>((resolve) => {
    dies = resolve;
  });
  let count = 0;
  const remove = first.deleteSession.bind(first);
  first.deleteSession = (...given) => {
    if (count++ !== place) return remove(...given);
    dies();
    return new Promise(() => undefined);
  };
  const deletion = { method: 'DELETE' };
  before.duologue.fetch(new Request('http://localhost/sessions/chat-1', deletion)).catch(() => undefined);
  await died;
  await database.kill();

  const second = await database.open();
  const after = harness([], [], { agent: agentOf('other', []), store: second });
  const list = (await (await after.get('/sessions')).json()) as { sessions: { id: string }[] };
  expect(list.sessions.map(({ id }) => id)).toEqual(['chat-1']);
  const { status } = await after.duologue.fetch(new Request('http://localhost/sessions/chat-1', deletion));
  expect(status).toBe(204);
  expect(await appsIn(second)).toEqual([]);
  await after.duologue.close();
}
