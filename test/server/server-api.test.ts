import { setImmediate } from 'node:timers/promises';
import { LlmAgent, LogLevel, LongRunningFunctionTool, setLogLevel } from '@google/adk';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import {
  createDuologue,
  createMemoryStore,
  type Duologue,
  type DuologueOptions,
  type Store,
} from '../../src/server/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { FakeTime, type ScriptTurn, scriptModel, testClient } from '../../src/testing/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

setLogLevel(LogLevel.ERROR);

const USER = 'live_user';
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A server with a tool that asks and a long-running tool; `paid` has the payments that were made. */
function server(turns: readonly ScriptTurn[], options: Partial<DuologueOptions> = {}) {
  const paid: number[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }) => {
      paid.push(amount);
      return { paid: amount };
    },
  });
  const upload = new LongRunningFunctionTool({
    name: 'upload',
    description: 'Starts an upload.',
    parameters: z.object({}),
    execute: () => null,
  });
  const model = scriptModel(turns);
  const agent = new LlmAgent({ name: 'assistant', model, instruction: 'Test.', tools: [pay, upload] });
  const logger = { info() {}, warn() {}, error() {} };
  const time = new FakeTime();
  const duologue = createDuologue({ agent, logger, clock: time, ...options });
  closing.push(() => duologue.close());
  return { duologue, model, paid, time };
}

const PAY: ScriptTurn = { call: 'pay', args: { amount: 5 } };
const UPLOAD: ScriptTurn = { call: 'upload', id: 'call-1' };

/** The text of the messages of a session, with who said it. */
async function textsOf(duologue: Duologue, id: string): Promise<string[]> {
  const { messages } = await duologue.sessions.read({ user: USER, id });
  return messages.map(({ role, parts }) =>
    [role, ...parts.flatMap((part) => (part.type === 'text' ? part.text : []))].join(': '),
  );
}

/** The code of the error with which a call of the API is rejected. */
function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'resolved',
    (error: { name: string; code: string }) => `${error.name} ${error.code}`,
  );
}

const stores: [string, () => Promise<Store>][] = [
  ['memory', async () => createMemoryStore()],
  ['sqlite', () => openSqliteStore(temporaryFolder())],
];

describe.each(stores)('sessions, in the %s store', (_, open) => {
  it('are listed by user and over all users, page by page', async () => {
    const { duologue } = server(['One.', 'Two.', 'Three.'], {
      store: await open(),
      authenticate: (request) => request.headers.get('x-user') ?? '',
    });
    for (const user of ['ann', 'bob', 'ann']) {
      const chat = testClient(duologue, { headers: { 'x-user': user } });
      await chat.say('Hello');
      chat.close();
    }
    const { sessions } = duologue;
    const pages: number[] = [];
    const users: string[] = [];
    for (let cursor: string | undefined, isMore = true; isMore; ) {
      const page = await sessions.list({ limit: 2, ...(cursor && { cursor }) });
      pages.push(page.sessions.length);
      users.push(...page.sessions.map(({ user }) => user));
      cursor = page.next ?? undefined;
      isMore = page.next !== null;
    }
    expect([pages, users.sort()]).toEqual([
      [2, 1],
      ['ann', 'ann', 'bob'],
    ]);
    const first = await sessions.list({ user: 'ann', limit: 1 });
    const second = await sessions.list({ user: 'ann', limit: 1, cursor: first.next ?? '' });
    const ids = [...first.sessions, ...second.sessions].map(({ id }) => id);
    expect([new Set(ids).size, second.next]).toEqual([2, null]);
    expect((await sessions.list({ user: 'cid' })).sessions).toEqual([]);
    expect(await codeOf(sessions.list({ limit: 0 }))).toBe('ServerApiError bad_request');
    expect(await codeOf(sessions.list({ user: 'ann', cursor: 'x' }))).toBe('ServerApiError bad_request');
  });

  it('are read, exported, renamed and deleted while a page is open', async () => {
    const { duologue } = server([PAY, 'Paid.'], { store: await open() });
    const chat = testClient(duologue, { over: 'bidi' });
    await chat.say('Pay 5');
    await chat.approve();
    const session = { user: USER, id: chat.session };
    await duologue.sessions.rename(session, 'Payments');
    const read = await duologue.sessions.read(session);
    expect([read.title, read.older, read.messages.length]).toEqual(['Payments', null, 2]);
    const whole = await duologue.sessions.export(session, 'json');
    expect(whole.approvals.map(({ kind }) => kind)).toEqual(['issued', 'approved', 'consumed']);
    const markdown = await duologue.sessions.export(session, 'markdown');
    for (const part of [
      '# Payments',
      '## User',
      'Pay 5',
      '**Tool `pay`**',
      '"amount": 5',
      'Approved.',
      'Paid.',
    ])
      expect(markdown).toContain(part);
    await duologue.sessions.delete(session);
    expect(await codeOf(duologue.sessions.read(session))).toBe('ServerApiError not_found');
    expect(await codeOf(duologue.sessions.delete(session))).toBe('ServerApiError not_found');
    expect(await codeOf(duologue.sessions.rename(session, 'x'))).toBe('ServerApiError not_found');
  });
});

describe.each(['sse', 'bidi'] as const)('over %s', (over) => {
  it('the application decides for a person, once, and the page follows', async () => {
    const { duologue, paid } = server([PAY, 'Paid.'], { approvalTimeoutMs: null });
    const chat = testClient(duologue, { over });
    const [request] = (await chat.say('Pay 5')).approvals;
    const decision = { approvalId: request?.approvalId ?? '', approved: true, by: 'mia@example.com' };
    await duologue.decide(decision);
    expect((await chat.next()).text).toBe('Paid.');
    expect(paid).toEqual([5]);
    expect(await codeOf(duologue.decide(decision))).toBe('ServerApiError already_decided');
    const { approvals } = await duologue.sessions.export({ user: USER, id: chat.session }, 'json');
    const by = { application: 'duologue', person: 'mia@example.com' };
    expect(approvals.map((line) => [line.kind, line.by])).toEqual([
      ['issued', undefined],
      ['approved', by],
      ['consumed', undefined],
    ]);
  });

  it('an approval that expired, that the user went on from, or that no session has is refused by its code', async () => {
    const { duologue, paid, time } = server([PAY, 'Late.', 'Sure.'], { approvalTimeoutMs: 30_000 });
    const chat = testClient(duologue, { over });
    const [request] = (await chat.say('Pay 5')).approvals;
    const decision = { approvalId: request?.approvalId ?? '', approved: true, by: 'mia' };
    time.advance(30_001);
    expect(await codeOf(duologue.decide(decision))).toBe('ServerApiError expired');
    const unknown = { ...decision, approvalId: 'approval_none' };
    expect(await codeOf(duologue.decide(unknown))).toBe('ServerApiError unknown_approval');
    expect(await codeOf(duologue.decide({ ...decision, by: '' }))).toBe('ServerApiError bad_request');
    expect(paid).toEqual([]);
  });

  it('a denial of the application gives its reason to the model', async () => {
    const { duologue, model, paid } = server([PAY, 'As you wish.'], { approvalTimeoutMs: null });
    const chat = testClient(duologue, { over });
    const [request] = (await chat.say('Pay 5')).approvals;
    await duologue.decide({
      approvalId: request?.approvalId ?? '',
      approved: false,
      reason: 'over budget',
      by: 'mia',
    });
    expect((await chat.next()).text).toBe('As you wish.');
    expect(JSON.stringify(model.lastContents)).toContain('over budget');
    expect(paid).toEqual([]);
  });

  it('the application says a text, and the page follows; the model finds it in its history', async () => {
    const { duologue, model } = server(['Hello.', 'Yes.']);
    const chat = testClient(duologue, { over });
    await chat.say('Hi');
    const session = { user: USER, id: chat.session };
    const { messageId } = await duologue.say(session, 'Your parcel has arrived.');
    expect((await chat.next()).text).toBe('Your parcel has arrived.');
    expect(chat.messages.at(-1)?.id).toBe(messageId);
    expect((await chat.say('Really?')).text).toBe('Yes.');
    expect(JSON.stringify(model.lastContents)).toContain('Your parcel has arrived.');
    expect(await textsOf(duologue, chat.session)).toEqual([
      'user: Hi',
      'assistant: Hello.',
      'assistant: Your parcel has arrived.',
      'user: Really?',
      'assistant: Yes.',
    ]);
  });

  it('the model finds each text that the application says, also one that was said just before', async () => {
    const { duologue, model } = server(['Hello.', 'Yes.']);
    const chat = testClient(duologue, { over });
    await chat.say('Hi');
    const session = { user: USER, id: chat.session };
    for (const text of ['Hello.', 'The parcel is late.', 'The parcel is late.']) {
      await duologue.say(session, text);
      await chat.next();
    }
    await chat.say('Really?');
    const history = JSON.stringify(model.lastContents);
    expect(history.split('Hello.')).toHaveLength(3);
    expect(history.split('The parcel is late.')).toHaveLength(3);
  });

  it('an instruction starts a turn that the page follows, and no client sees the instruction', async () => {
    const { duologue, model } = server(['Hello.', 'Your export is ready.']);
    const chat = testClient(duologue, { over });
    await chat.say('Hi');
    await duologue.say({ user: USER, id: chat.session }, { instruction: 'Tell that the export is ready.' });
    expect((await chat.next()).text).toBe('Your export is ready.');
    expect(JSON.stringify(model.lastContents)).toContain('Tell that the export is ready.');
    expect(await textsOf(duologue, chat.session)).toEqual([
      'user: Hi',
      'assistant: Hello.',
      'assistant: Your export is ready.',
    ]);
  });

  it('a message of the application as the user is answered, and the page follows', async () => {
    const { duologue } = server(['Hello.', 'Noted.']);
    const chat = testClient(duologue, { over });
    await chat.say('Hi');
    const sent = await duologue.send({ user: USER, id: chat.session }, 'I am at the door.');
    expect((await chat.next()).text).toBe('Noted.');
    expect(chat.messages.at(-1)?.id).toBe(sent.messageId);
    expect((await textsOf(duologue, chat.session)).slice(2)).toEqual([
      'user: I am at the door.',
      'assistant: Noted.',
    ]);
  });

  it('a message that the application sends again, with the same id and text, gets no second answer', async () => {
    const { duologue } = server(['Hello.', 'Noted.', 'Noted again.']);
    const chat = testClient(duologue, { over });
    await chat.say('Hi');
    const session = { user: USER, id: chat.session };
    const message = { id: 'door-1', parts: [{ type: 'text', text: 'I am at the door.' }] };
    const sent = await duologue.send(session, message);
    expect((await chat.next()).text).toBe('Noted.');
    expect(sent.messageId).toBe(chat.messages.at(-1)?.id);
    expect(await duologue.send(session, message)).toEqual({ messageId: null });
    expect((await textsOf(duologue, chat.session)).slice(2)).toEqual([
      'user: I am at the door.',
      'assistant: Noted.',
    ]);
  });

  it('a message that the application sends twice at the same time gets one answer', async () => {
    const { duologue } = server(['Hello.', 'Noted.', 'Noted again.']);
    const chat = testClient(duologue, { over });
    await chat.say('Hi');
    const session = { user: USER, id: chat.session };
    const message = { id: 'door-1', parts: [{ type: 'text', text: 'I am at the door.' }] };
    const sent = Promise.all([duologue.send(session, message), duologue.send(session, message)]);
    expect((await chat.next()).text).toBe('Noted.');
    expect(await sent).toEqual([{ messageId: chat.messages.at(-1)?.id }, { messageId: null }]);
    expect((await textsOf(duologue, chat.session)).slice(2)).toEqual([
      'user: I am at the door.',
      'assistant: Noted.',
    ]);
  });

  it('a long-running call gets its output, once', async () => {
    const { duologue } = server([UPLOAD, 'Uploaded.', 'Sure.'], { clientTimeoutMs: null });
    const chat = testClient(duologue, { over });
    if (over === 'sse') await chat.say('Upload');
    else {
      await chat.open();
      await duologue.send({ user: USER, id: chat.session }, 'Upload');
      await untilParked(duologue, chat.session);
    }
    await duologue.complete({ callId: 'call-1', output: { ok: true } });
    expect((await chat.next()).toolCalls).toMatchObject([{ toolName: 'upload', output: { ok: true } }]);
    expect(await codeOf(duologue.complete({ callId: 'call-1', output: 1 }))).toBe(
      'ServerApiError not_waiting',
    );
    expect(await codeOf(duologue.complete({ callId: 'none', output: 1 }))).toBe(
      'ServerApiError unknown_call',
    );
    expect(await codeOf(duologue.complete({ callId: 'call-1', output: 1n }))).toBe(
      'ServerApiError not_waiting',
    );
  });
});

/** Resolves when a message of a session ends with a text. Nothing sleeps: each look is a read of the store. */
async function untilText(duologue: Duologue, id: string, text: string): Promise<void> {
  while (!(await textsOf(duologue, id)).some((one) => one.endsWith(text))) await setImmediate();
}

/** Resolves when the call of a session waits for its output from outside. */
async function untilParked(duologue: Duologue, id: string): Promise<void> {
  for (;;) {
    const { messages } = await duologue.sessions.read({ user: USER, id });
    if (JSON.stringify(messages).includes('"input-available"')) return;
    await setImmediate();
  }
}

describe('with no client there', () => {
  it('what the application says waits in the session, which is created', async () => {
    const { duologue } = server(['Good morning.', 'Fine.']);
    await duologue.say({ user: USER, id: 'chat-1' }, { text: 'Welcome.' });
    await duologue.say({ user: USER, id: 'chat-1' }, { instruction: 'Greet the user.' });
    const chat = testClient(duologue, { session: 'chat-1' });
    await untilText(duologue, 'chat-1', 'Good morning.');
    expect((await chat.say('How are you?')).text).toBe('Fine.');
    expect(await textsOf(duologue, 'chat-1')).toEqual([
      'assistant: Welcome.',
      'assistant: Good morning.',
      'user: How are you?',
      'assistant: Fine.',
    ]);
  });

  it('a decision runs the tool, and an output days later and after a restart continues the turn', async () => {
    const folder = temporaryFolder();
    const first = server([PAY, UPLOAD], { store: await openSqliteStore(folder) });
    const chat = testClient(first.duologue, { session: 'chat-1' });
    const [request] = (await chat.say('Pay 5')).approvals;
    chat.close();
    await first.duologue.decide({ approvalId: request?.approvalId ?? '', approved: true, by: 'mia' });
    await untilParked(first.duologue, 'chat-1');
    expect(first.paid).toEqual([5]);
    await closing.pop()?.();
    const second = server(['Uploaded.'], { store: await openSqliteStore(folder) });
    second.time.advance(3 * 24 * 3600_000);
    await second.duologue.complete({ callId: 'call-1', output: { ok: true } });
    await untilText(second.duologue, 'chat-1', 'Uploaded.');
    expect(second.model.lastContents.length).toBeGreaterThan(0);
  });

  it('an instruction does not end calls that wait for the user', async () => {
    const { duologue } = server([PAY, 'Paid.']);
    const chat = testClient(duologue);
    await chat.say('Pay 5');
    const session = { user: USER, id: chat.session };
    expect(await codeOf(duologue.say(session, { instruction: 'Hurry.' }))).toBe('ServerApiError busy');
    await duologue.say(session, 'Please decide.');
    expect((await chat.approve()).text).toBe('Paid.');
  });

  it('a sign-in is not asked about when the application decides', async () => {
    const { duologue, paid } = server([PAY, 'Paid.'], {
      authenticate: () => ({ user: USER, application: 'forged' }),
      stillSignedIn: () => false,
    });
    const chat = testClient(duologue);
    const [request] = (await chat.say('Pay 5')).approvals;
    await duologue.decide({ approvalId: request?.approvalId ?? '', approved: true, by: 'mia' });
    await untilText(duologue, chat.session, 'Paid.');
    expect(paid).toEqual([5]);
  });

  it('a command of another node is not taken without its id', async () => {
    const { duologue } = server([]);
    for (const body of ['{}', '{"id":7}', `{"id":"${'0'.repeat(64)}"}`]) {
      const headers = { 'content-type': 'application/json' };
      const request = new Request('http://localhost/cluster/commands', { method: 'POST', headers, body });
      expect((await duologue.fetch(request)).status).toBe(404);
    }
  });
});
