import { type Logger as AdkLogger, getLogger, LlmAgent, LogLevel, setLogger, setLogLevel } from '@google/adk';
import { expect, test } from 'vitest';
import { ScriptedModel } from '../support/scripted-model.ts';

/** What belongs to the application: handlers of the process, and everything global. */
function globals(): unknown {
  const events = process.eventNames().map((name) => [String(name), process.listenerCount(name)]);
  const values = Object.getOwnPropertyNames(globalThis)
    .sort()
    // Read, since Node makes some of them when they are first read.
    .map((name) => [name, Reflect.get(globalThis, name)]);
  return { events, values, console: { ...console }, env: { ...process.env }, limit: Error.stackTraceLimit };
}

test('importing and starting the library changes nothing of the application: no global, no handler, no log level of ADK', async () => {
  const levels: LogLevel[] = [];
  const quiet = () => undefined;
  const own: AdkLogger = {
    log: quiet,
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: quiet,
    setLogLevel: (level) => void levels.push(level),
  };
  setLogger(own);
  setLogLevel(LogLevel.DEBUG);
  const before = globals();
  const { createDuologue } = await import('../../src/server/index.ts');
  const { serve } = await import('../../src/server/adapters/node.ts');
  await import('../../src/models/index.ts');
  await import('../../src/client/index.ts');
  const agent = new LlmAgent({ name: 'assistant', model: new ScriptedModel() });
  const served = await serve(createDuologue({ agent }), { port: 0 });
  const during = globals();
  await served.close();
  expect(during).toEqual(before);
  expect(globals()).toEqual(before);
  expect(getLogger()).toBe(own);
  expect(levels).toEqual([LogLevel.DEBUG]);
});
