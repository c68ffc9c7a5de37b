import { InMemorySessionService, LlmAgent, Runner } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { GatePlugin, instrument, ServerTools } from '../../src/adk/for-server.ts';
import { fourTools } from '../support/demo-tools.ts';
import { calls, ScriptedModel, type ScriptedTurn, text } from '../support/scripted-model.ts';

const tools = new ServerTools({ timeoutMs: null, concurrent: [], after: () => () => undefined });
const KEY = { appName: 'app', userId: 'ann', id: 's' };

/** Runs an agent that uses a tool, of which only the server says that it asks; `meanwhile` happens before it does. */
async function use(meanwhile: (plugin: GatePlugin, run: Parameters<GatePlugin['begin']>[1]) => void) {
  const log: string[] = [];
  const deferred: string[] = [];
  const plugin = new GatePlugin(['get_weather']);
  const run = {
    live: false,
    tools,
    defer: async (call: { id: string }) => {
      deferred.push(call.id);
    },
  };
  const turn: ScriptedTurn = async function* () {
    meanwhile(plugin, run);
    yield calls({ id: 'call-w', name: 'get_weather', args: { location: 'Oslo' } });
  };
  const agent = new LlmAgent({
    name: 'assistant',
    model: new ScriptedModel([turn, [text('Well.')]]),
    tools: [fourTools(log).weather],
  });
  instrument(agent);
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
  const runner = new Runner({ appName: 'app', agent, sessionService, plugins: [plugin] });
  plugin.begin(KEY, run);
  const events = runner.runAsync({
    userId: 'ann',
    sessionId: 's',
    newMessage: { role: 'user', parts: [{ text: 'weather' }] },
  });
  for await (const _ of events);
  return { log, deferred };
}

describe('a gate', () => {
  it('[T12] asks while its run lasts, whatever ended before', async () => {
    const earlier = new GatePlugin();
    const other = earlier.begin(KEY, {
      live: true,
      tools,
      defer: async () => undefined,
    });
    expect(await use((plugin) => plugin.end(other))).toEqual({ log: [], deferred: ['call-w'] });
  });

  it('[T12] lets nothing through when another run of the session has taken its place and ended', async () => {
    const { log } = await use((plugin, run) => plugin.end(plugin.begin(KEY, { ...run, live: true })));
    expect(log).toEqual([]);
  });
});
