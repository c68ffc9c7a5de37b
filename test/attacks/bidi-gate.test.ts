import { InMemorySessionService, LlmAgent, Runner } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { GatePlugin, instrument } from '../../src/adk/engine.ts';
import { fourTools } from '../support/demo-tools.ts';
import { calls, ScriptedModel, type ScriptedTurn, text } from '../support/scripted-model.ts';

const KEY = { appName: 'app', userId: 'ann', id: 's' };

/** Runs an agent that pays in the middle of its turn; `meanwhile` happens before it does. */
async function pay(meanwhile: (plugin: GatePlugin, run: Parameters<GatePlugin['begin']>[1]) => void) {
  const log: string[] = [];
  const deferred: string[] = [];
  const plugin = new GatePlugin();
  const run = {
    live: false,
    defer: async (call: { id: string }) => {
      deferred.push(call.id);
    },
    openCalls: () => [],
  };
  const turn: ScriptedTurn = async function* () {
    meanwhile(plugin, run);
    yield calls({ id: 'call-a', name: 'process_payment', args: { amount: 1, recipient: 'Alice' } });
  };
  const agent = new LlmAgent({
    name: 'assistant',
    model: new ScriptedModel([turn, [text('Well.')]]),
    tools: [fourTools(log).payment],
  });
  instrument(agent);
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
  const runner = new Runner({ appName: 'app', agent, sessionService, plugins: [plugin] });
  plugin.begin(KEY, run);
  const events = runner.runAsync({
    userId: 'ann',
    sessionId: 's',
    newMessage: { role: 'user', parts: [{ text: 'pay' }] },
  });
  for await (const _ of events);
  return { log, deferred };
}

describe('a gate', () => {
  it('[T12] asks while its run lasts, whatever ended before', async () => {
    const earlier = new GatePlugin();
    const other = earlier.begin(KEY, { live: true, defer: async () => undefined, openCalls: () => [] });
    expect(await pay((plugin) => plugin.end(other))).toEqual({ log: [], deferred: ['call-a'] });
  });

  it('[T12] lets nothing through when another run of the session has taken its place and ended', async () => {
    const { log } = await pay((plugin, run) => plugin.end(plugin.begin(KEY, { ...run, live: true })));
    expect(log).toEqual([]);
  });
});
