import { AdkApiServer } from '@google/adk-devtools';
import { type Adk, makeAgent } from '../agent.ts';
import type { Start } from '../servers/start.ts';

/** ADK's own server. It runs on the ADK that came with it. */
export const start: Start = async ({ source }) => {
  const entry = import.meta.resolve('@google/adk-devtools');
  const adk = (await import(
    new URL('../../node_modules/@google/adk/dist/esm/index.js', entry).href
  )) as unknown as Adk;
  const agent = makeAgent(adk, source);
  const file = { load: async () => agent, [Symbol.asyncDispose]: async () => undefined };
  const agentLoader = {
    listAgents: async () => ['bench'],
    getAgentFile: async () => file,
    getAppFile: async () => file,
    disposeAll: async () => undefined,
  };
  const port = 20_000 + (process.pid % 30_000);
  const server = new AdkApiServer({
    host: '127.0.0.1',
    port,
    agentLoader: agentLoader as never,
    logLevel: adk.LogLevel.ERROR as never,
  });
  adk.setLogLevel(adk.LogLevel.ERROR);
  await server.start();
  return { port };
};
