/**
 * A program of a user that has the packed library, compiled by strict TypeScript and run by `packaging.test.ts`. In both modes it uses every method of the
 * server API and what `duologue/testing` has for an agent, before and after a restart on the same store, and prints what it saw as JSON.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LlmAgent, LogLevel, LongRunningFunctionTool, requestInputTool, setLogLevel } from '@google/adk';
import { defineTool } from 'duologue/adk';
import {
  createDuologue,
  type Duologue,
  type EventSubscription,
  ServerApiError,
  type ServerApiErrorCode,
  type ServerEvent,
  type ServerEventName,
  type SessionExport,
  type SessionRef,
} from 'duologue/server';
import { openSqliteStore } from 'duologue/server/sqlite';
import {
  FakeTime,
  type ScriptedModel,
  type ScriptFunction,
  type ScriptTurn,
  scriptModel,
  type TestTurn,
  testClient,
} from 'duologue/testing';
import { z } from 'zod';
import { createReceiver } from '../../../../examples/webhook/receiver.ts';
import { webhook } from '../../../../examples/webhook/webhook.ts';

setLogLevel(LogLevel.ERROR);

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({ amount: z.number() }),
  output: z.object({ paid: z.number(), user: z.string(), by: z.unknown(), shop: z.string().nullable() }),
  needsApproval: true,
  approvalTimeoutMs: null,
  execute: ({ amount }, { user, decidedBy, request }) => ({
    paid: amount,
    user,
    by: decidedBy,
    shop: request?.headers['x-shop'] ?? null,
  }),
});

/** A tool whose output comes from outside. `onPrint` is called when it is started. */
let onPrint = (): void => undefined;
const print = new LongRunningFunctionTool({
  name: 'print',
  description: 'Prints.',
  parameters: z.object({}),
  execute: () => onPrint(),
});

/** A model that writes until it is stopped. */
const endless: ScriptFunction = async function* (_request, _stream, signal) {
  yield { content: { role: 'model', parts: [{ text: 'Once upon' }] }, partial: true };
  await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
};

const payment = (amount: number): ScriptTurn => ({ call: 'pay', args: { amount } });
const ask: ScriptTurn = { call: 'adk_request_input', args: { message: 'When?' } };
const before: ScriptTurn[] = [
  ...[payment(5), [{ thinks: 'It is paid.' }, 'Paid.']],
  ...[payment(6), 'A pity.', payment(7), 'As you wish.'],
  ...[ask, 'Booked.', ask, 'Never mind.', endless],
  ...[({ contents }: { contents: unknown[] }) => `I read ${contents.length > 0}.`, new Error('It is down.')],
  ...[{ content: { role: 'model', parts: [{ text: 'Ready.' }] } }],
  ...[payment(8), { call: 'print', id: 'call-1' }],
];
const after: ScriptTurn[] = ['Paid late.', 'Printed.', 'Noted.', 'Is all well?'];

const folder = mkdtempSync(join(tmpdir(), 'outside-'));
const EVENTS: ServerEventName[] = [
  ...(['session-created', 'session-deleted', 'turn-started', 'turn-finished', 'tool-finished'] as const),
  ...(['approval-requested', 'approval-decided', 'question-asked', 'question-answered'] as const),
];
const codeOf = (error: unknown): ServerApiErrorCode | 'none' =>
  error instanceof ServerApiError ? error.code : 'none';

/** Waits until something is true, and lets the time of the server pass meanwhile. */
async function until(isTrue: () => boolean, time: FakeTime): Promise<void> {
  while (!isTrue()) {
    time.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function play(over: 'sse' | 'bidi'): Promise<unknown[]> {
  const seen: unknown[] = [];
  const time = new FakeTime();
  const start = async (script: ScriptTurn[]): Promise<{ duologue: Duologue; model: ScriptedModel }> => {
    const model = scriptModel(script);
    const duologue = createDuologue({
      agent: new LlmAgent({ name: 'assistant', model, tools: [pay, print, requestInputTool] }),
      store: await openSqliteStore(join(folder, over), { now: () => time.now() }),
      questionTimeoutMs: 60_000,
      toolRequest: { headers: ['x-shop'] },
      retryPolicy: { retries: 0 },
      clock: time,
      logger: { info() {}, warn() {}, error() {} },
    });
    return { duologue, model };
  };
  const { duologue, model } = await start(before);
  const names = new Set<ServerEventName>();
  for (const name of EVENTS) duologue.on(name, (event: ServerEvent) => names.add(event.name));
  const questions: string[] = [];
  duologue.on('question-answered', ({ toolName, outcome }) => questions.push(`${toolName}: ${outcome}`));
  const deadlines: (number | null)[] = [];
  const off = duologue.on('approval-requested', ({ expiresAt }) => deadlines.push(expiresAt));

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
      delivered.push(
        event.name === 'turn-finished' ? event.outcome : `${event.decision}, attempt ${attempt}`,
      );
    },
  };
  const endSubscription = duologue.subscribe(subscription);

  // The webhook of the examples, and its receiver, which checks the signature.
  const posted: string[] = [];
  const receiver = createReceiver(
    'a secret',
    async ({ name }) => void posted.push(name),
    () => time.now(),
  );
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const deliver = webhook(url, 'a secret', () => time.now());
  const endWebhook = duologue.subscribe({ name: 'webhook', events: ['approval-requested'], deliver });
  const forged: string[] = [];
  const forge = webhook(url, 'another secret', () => time.now());
  const endForged = duologue.subscribe({
    name: 'forged',
    events: ['approval-requested'],
    deliver: (event, info) => forge(event, info).catch((error: Error) => void forged.push(error.message)),
  });

  // An agent's conversation with an approval, in a test.
  const headers = { 'x-shop': 'Kyoto' };
  const chat = testClient(duologue, { over, headers });
  const session: SessionRef = { user: 'live_user', id: chat.session };
  const asked = await chat.say('Pay 5');
  seen.push(asked.approvals.map(({ toolName, input, expiresAt }) => [toolName, input, expiresAt]));
  const approved = await chat.approve();
  seen.push(outputs(approved), approved.reasoning, approved.text);
  await until(() => delivered.length >= 2 && posted.length > 0 && forged.length > 0, time);
  await Promise.all([endSubscription(), endWebhook(), endForged()]);
  receiver.close();
  seen.push(delivered, ids.size, posted, forged);

  // Another page of the session denies; then the application does.
  const there = testClient(duologue, { over, session: chat.session });
  await there.open();
  await chat.say('Pay 6');
  await there.next();
  seen.push((await there.deny({ reason: 'too much', toolName: 'pay' })).text, (await chat.next()).text);
  there.close();
  const [request] = (await chat.say('Pay 7')).approvals;
  const decision = { approvalId: request?.approvalId ?? '', approved: false, reason: 'too much', by: 'mia' };
  await duologue.decide(decision);
  seen.push((await chat.next()).text, await duologue.decide(decision).catch(codeOf));

  // Questions: one that is answered, and one that expires.
  const [question] = (await chat.say('Book')).toolCalls;
  seen.push((await chat.answer(question?.toolCallId ?? '', { result: 'Monday' })).text);
  await chat.say('Book again');
  await until(() => questions.length === 2, time);
  seen.push((await chat.next()).text, questions);

  // An agent that is stopped, that computes its text, that fails, and that gives a response as it is.
  const story = chat.say('Tell a story');
  await until(
    () => chat.messages.at(-1)?.parts.some((part) => 'text' in part && part.text === 'Once upon') === true,
    time,
  );
  await chat.stop();
  seen.push((await story).text);
  seen.push(
    (await chat.say('Read')).text,
    (await chat.say('Fail')).error !== null,
    (await chat.say('Go on')).text,
  );

  // A payment waits for a decision, and a printer works, while the server starts again.
  const [late] = (await chat.say('Pay 8')).approvals;
  const printer = testClient(duologue, { over });
  const isPrinting = new Promise<void>((resolve) => {
    onPrint = resolve;
  });
  const printing = printer.say('Print').catch(() => null);
  await isPrinting;
  if (over === 'sse') await printing;
  seen.push(model.left, model.requests.length === before.length, model.lastContents.at(-1)?.role);
  off();
  await duologue.close();
  seen.push(deadlines);

  time.advance(3 * 24 * 3600_000);
  const { duologue: again } = await start(after);
  for (const name of EVENTS) again.on(name, (event: ServerEvent) => names.add(event.name));
  const page = testClient(again, { over, headers, session: chat.session });
  await page.open();
  await again.decide({ approvalId: late?.approvalId ?? '', approved: true, by: 'mia' });
  seen.push((await page.next()).text);
  // The tool saw who asked and who decided, and no request: headers are never stored.
  const stored = (await again.sessions.read(session)).messages.flatMap(({ parts }) => parts);
  seen.push(stored.flatMap((part) => ('output' in part ? [part.output] : [])).at(-1));
  const printed = testClient(again, { over, session: printer.session });
  await printed.open();
  await again.complete({
    callId: 'call-1',
    output: { pages: 2 },
    session: { ...session, id: printer.session },
  });
  seen.push((await printed.next()).text);

  // A message as the user, and an agent that speaks first: to a page, and to no page.
  await again.send(session, 'Thank you.');
  seen.push((await page.next()).text);
  await again.say(session, 'Anything else?');
  seen.push((await page.next()).text);
  await again.say(session, { instruction: 'Ask whether all is well.' });
  seen.push((await page.next()).text);
  const { sessions } = again;
  const other = { user: 'live_user', id: 'other' };
  await again.say(other, { text: 'Welcome.' });
  seen.push((await sessions.read(other)).messages.map(({ role, parts }) => [role, parts.length]));

  await sessions.rename(session, 'Payments');
  const titles: (string | null)[] = [];
  for (const user of [{}, { user: 'live_user' }]) {
    const first = await sessions.list({ ...user, limit: 2 });
    const rest = await sessions.list({ ...user, limit: 2, cursor: first.next ?? '' });
    titles.push(
      [...first.sessions, ...rest.sessions]
        .map(({ title }) => title)
        .sort()
        .join(', '),
      rest.next,
    );
  }
  seen.push(titles);
  const { messages, older } = await sessions.read(session, { limit: 2 });
  const earlier = await sessions.read(session, { limit: 2, before: older ?? '' });
  seen.push(
    messages.length,
    earlier.messages.map(({ role }) => role),
  );
  const whole: SessionExport = await sessions.export(session, 'json');
  seen.push(whole.approvals.flatMap(({ kind, by }) => (by ? [[kind, by]] : [])));
  seen.push((await sessions.export(session, 'markdown')).startsWith('# Payments\n'));
  await sessions.delete(session);
  seen.push(
    await sessions.read(session).catch(codeOf),
    EVENTS.filter((name) => !names.has(name)),
  );
  await again.close();
  return seen;
}

/** The outputs of the calls of a turn. */
function outputs({ toolCalls }: TestTurn): unknown[] {
  return toolCalls.map(({ output }) => output);
}

const result = { sse: await play('sse'), bidi: await play('bidi') };
rmSync(folder, { recursive: true, force: true });
process.stdout.write(JSON.stringify(result), () => process.exit(0));
