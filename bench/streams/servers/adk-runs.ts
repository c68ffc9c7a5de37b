import type { Event } from '@google/adk';
import { makeAgent } from '../agent.ts';
import type { Parts, Posted } from './start.ts';

/** ADK without anything of ours: each question has its own session in memory, which is removed after `take` received its events. */
export function adkRuns({
  adk,
  source,
}: Parts): (posted: Posted, take: (event: Event) => void) => Promise<void> {
  adk.setLogLevel(adk.LogLevel.ERROR);
  const sessionService = new adk.InMemorySessionService();
  const runner = new adk.Runner({ appName: 'bench', agent: makeAgent(adk, source), sessionService });
  return async ({ id: sessionId, question }, take) => {
    const session = { appName: 'bench', userId: 'live_user', sessionId };
    await sessionService.createSession(session);
    const events = runner.runAsync({
      ...session,
      newMessage: { role: 'user', parts: [{ text: question }] },
      runConfig: { streamingMode: adk.StreamingMode.SSE },
    });
    for await (const event of events) take(event);
    await sessionService.deleteSession(session);
  };
}
