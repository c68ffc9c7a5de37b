/**
 * A program of a user that has the packed library, compiled by strict TypeScript and run by `packaging.test.ts`. It uses every method of the server API
 * and what `duologue/testing` has for an agent, and prints what it saw as JSON.
 */
import { LlmAgent, LogLevel, LongRunningFunctionTool, setLogLevel } from '@google/adk';
import { defineTool } from 'duologue/adk';
import {
  createDuologue,
  type EventSubscription,
  ServerApiError,
  type ServerApiErrorCode,
  type SessionExport,
  type SessionRef,
} from 'duologue/server';
import { FakeTime, scriptModel, testClient } from 'duologue/testing';
import { z } from 'zod';

setLogLevel(LogLevel.ERROR);

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({ amount: z.number() }),
  output: z.object({ paid: z.number() }),
  needsApproval: true,
  approvalTimeoutMs: null,
  execute: ({ amount }) => ({ paid: amount }),
});
const print = new LongRunningFunctionTool({
  name: 'print',
  description: 'Prints.',
  parameters: z.object({}),
  execute: () => null,
});
const model = scriptModel([
  { call: 'pay', args: { amount: 5 } },
  'Paid.',
  { call: 'pay', args: { amount: 7 } },
  'As you wish.',
  { call: 'print', id: 'call-1' },
  'Printed.',
  'Noted.',
  'Ready.',
]);
const time = new FakeTime();
const duologue = createDuologue({
  agent: new LlmAgent({ name: 'assistant', model, tools: [pay, print] }),
  clock: time,
  logger: { info() {}, warn() {}, error() {} },
});

// Events that must not be missed: the first delivery fails, and the event comes again with its id.
const delivered: string[] = [];
const ids = new Set<string>();
const subscription: EventSubscription<'turn-finished' | 'approval-decided'> = {
  name: 'billing',
  events: ['turn-finished', 'approval-decided'],
  timeoutMs: 5_000,
  keepForMs: 24 * 3600_000,
  maxEvents: 1_000,
  deliver: async (event, { attempt, signal }) => {
    ids.add(event.id);
    if (attempt === 1 && ids.size === 1) throw new Error('The service is down.');
    if (signal.aborted) return;
    delivered.push(event.name === 'turn-finished' ? event.outcome : `${event.decision}, attempt ${attempt}`);
  },
};
const endSubscription = duologue.subscribe(subscription);

const chat = testClient(duologue);
const session: SessionRef = { user: 'live_user', id: chat.session };
const seen: unknown[] = [];

// An agent's conversation with an approval, in a test.
const asked = await chat.say('Pay 5');
seen.push(asked.approvals.map(({ toolName, input }) => [toolName, input]));
const approved = await chat.approve();
seen.push(
  approved.toolCalls.map(({ output }) => output),
  approved.text,
);

while (delivered.length < 2) {
  time.advance(1_000);
  await new Promise((resolve) => setImmediate(resolve));
}
await endSubscription();
seen.push(delivered, ids.size);

// The application decides.
const [request] = (await chat.say('Pay 7')).approvals;
const decision = { approvalId: request?.approvalId ?? '', approved: false, reason: 'too much', by: 'mia' };
await duologue.decide(decision);
seen.push((await chat.next()).text);
const codeOf = (error: unknown): ServerApiErrorCode | 'none' =>
  error instanceof ServerApiError ? error.code : 'none';
seen.push(await duologue.decide(decision).catch(codeOf));

// An output days later, a message as the user, and an agent that speaks first.
await chat.say('Print');
time.advance(3 * 24 * 3600_000);
await duologue.complete({ callId: 'call-1', output: { pages: 2 } });
seen.push((await chat.next()).text);
await duologue.send(session, 'Thank you.');
seen.push((await chat.next()).text);
await duologue.say(session, 'Anything else?');
seen.push((await chat.next()).text);
await duologue.say(session, { instruction: 'Tell that the export is ready.' });
seen.push((await chat.next()).text);

const { sessions } = duologue;
await sessions.rename(session, 'Payments');
const listed = await sessions.list({ limit: 10 });
const ofUser = await sessions.list({ user: 'live_user' });
seen.push(
  listed.sessions.map(({ title }) => title),
  ofUser.sessions.length,
);
const { messages, older } = await sessions.read(session, { limit: 2 });
seen.push(messages.length, older !== null);
const whole: SessionExport = await sessions.export(session, 'json');
seen.push(whole.approvals.flatMap(({ by }) => by ?? []));
seen.push((await sessions.export(session, 'markdown')).startsWith('# Payments\n'));
await sessions.delete(session);
seen.push(await sessions.read(session).catch(codeOf));
await duologue.close();
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
