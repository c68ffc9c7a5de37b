// @vitest-environment jsdom
import './support/native-abort.ts';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  AgentTool,
  type BaseCredentialService,
  FunctionTool,
  InMemoryCredentialService,
  LlmAgent,
} from '@google/adk';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DuologueOptions } from '../../src/server/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { auditLines } from '../../src/testing/store/setup.ts';
import { sqliteDatabase } from '../adk/support/sqlite-database.ts';
import { createFolder } from '../store/support/stores.ts';
import { ManualClock } from '../support/clock.ts';
import { live } from '../support/live.ts';
import { OAuthProvider } from '../support/oauth-provider.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';
import { hooks } from '../support/sdks.ts';
import { firstApproval, mount, type Page, story } from './support/page.tsx';

const modes = ['sse', 'bidi'] as const;
const CALLBACK = 'http://chat.example/sign-in/callback';

/** An agent whose tool needs a token of the provider, and counts the tokens that it worked with. */
function calendar(provider: OAuthProvider, used: string[], turns = 1, name = 'assistant') {
  const config = provider.config();
  const tool = new FunctionTool({
    name: 'read_calendar',
    description: 'Reads the calendar.',
    execute: (_args, context) => {
      const token = context?.getAuthResponse(config)?.oauth2?.accessToken;
      if (token === undefined) {
        context?.requestCredential(config);
        return { status: 'a sign-in is needed' };
      }
      used.push(token);
      return { events: 3 };
    },
  });
  const steps = Array.from({ length: turns }, (_, n) => [
    [call('read_calendar', {}, `call-${n}`)],
    [text(`You have 3 events (${n}).`)],
  ]).flat();
  const model = new ScriptedModel(steps);
  return { model, agent: new LlmAgent({ name, description: 'Knows the calendar.', model, tools: [tool] }) };
}

const options = (agent: LlmAgent, more: Partial<DuologueOptions> = {}): Partial<DuologueOptions> => ({
  agent,
  toolSignIn: { callbackUrl: CALLBACK, secret: 'the key of this server' },
  authenticate: (request) => request.headers.get('x-user') ?? 'ann',
  ...more,
});

async function asked(page: Page) {
  const { questions } = await page.until(({ questions }) => questions.length > 0);
  const [question] = questions;
  if (question?.url === undefined) throw new Error('Nothing asks for a sign-in.');
  return { ...question, url: question.url };
}

/** What the page of the callback posts. */
async function comeBack(served: { url: string }, back: URL, user = 'ann', change: object = {}) {
  const { searchParams: given } = back;
  const answer = await fetch(`${served.url}/sign-in/callback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': user },
    body: JSON.stringify({
      state: given.get('state'),
      code: given.get('code'),
      error: given.get('error'),
      ...change,
    }),
  });
  const body = (await answer.json()) as { message?: string; error?: { code: string; message: string } };
  return { status: answer.status, ...body };
}

describe.each(modes)(`a sign-in that a tool asks for, ${hooks}, over %s`, (mode) => {
  test('[T36] [T36a] [T36b] [A13b] the user signs in at the provider, and the tool continues with the token', async () => {
    const provider = await OAuthProvider.start();
    const used: string[] = [];
    const folder = createFolder();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const store = await openSqliteStore(folder);
    const { agent, model } = calendar(provider, used);
    const logged: unknown[] = [];
    const log = (...line: unknown[]) => void logged.push(line);
    const logger = { info: log, warn: log, error: log };
    const { served, duologue } = await live([], [], options(agent, { store, logger }));
    const events: string[] = [];
    const names = ['approval-requested', 'approval-decided', 'question-asked', 'question-answered'] as const;
    for (const name of names) duologue.on(name, () => void events.push(name));
    const page = mount({ url: served.url, mode });
    void page.now.sendMessage({ text: 'What is on?' });
    const question = await asked(page);
    expect(page.now.approvals).toEqual([]);
    expect(question).toMatchObject({ kind: 'sign-in', toolName: 'read_calendar' });
    expect(question.message).toContain(new URL(provider.url).host);
    const url = new URL(question.url);
    expect(url.origin + url.pathname).toBe(`${provider.url}/authorize`);
    expect(url.searchParams.get('redirect_uri')).toBe(CALLBACK);
    const back = await provider.consent(question.url);
    expect(back.origin + back.pathname).toBe(CALLBACK);
    const opened = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', referer: provider.url };
    const landing = `${served.url}/sign-in/callback${back.search}`;
    const statusAs = async (dest: string) =>
      (await duologue.fetch(new Request(landing, { headers: { ...opened, 'sec-fetch-dest': dest } }))).status;
    expect([await statusAs('document'), await statusAs('iframe')]).toEqual([200, 403]);
    expect(await comeBack(served, back)).toEqual({ status: 200, message: 'You are signed in.' });
    const now = await page.texts('You have 3 events (0).');
    expect(events).toEqual(['question-asked', 'question-answered']);
    expect(now.questions).toEqual([]);
    expect(story(now).at(-1)).toEqual([
      'assistant',
      ['read_calendar', 'output-available', { events: 3 }],
      'You have 3 events (0).',
    ]);
    expect(used).toEqual(provider.tokens);
    expect(provider.exchanges).toEqual(['token']);
    const key = { app: 'duologue', user: 'ann', id: page.now.session.id };
    const lines = await auditLines(store, key);
    expect(lines.map(({ kind }) => kind)).toEqual(['issued', 'approved', 'consumed']);
    expect(logged.length).toBeGreaterThan(0);
    const seen = JSON.stringify([
      now.messages,
      lines,
      logged,
      model.lastContents,
      ...readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1')),
      await (await fetch(`${served.url}/sessions/${key.id}`)).text(),
    ]);
    for (const secret of [...provider.secrets, String(back.searchParams.get('code'))])
      expect(seen).not.toContain(secret);
  });

  test.each(['has expired', 'is gone'])(
    '[T36c] a later call uses the credential of the user, and asks again when it %s',
    async (end) => {
      const provider = await OAuthProvider.start();
      const used: string[] = [];
      const { agent } = calendar(provider, used, 3);
      const clock = new ManualClock();
      const saved = { service: new InMemoryCredentialService() };
      const credentialService: BaseCredentialService = {
        loadCredential: (config, context) => saved.service.loadCredential(config, context),
        saveCredential: (config, context) => saved.service.saveCredential(config, context),
      };
      const { served } = await live([], [], options(agent, { clock, credentialService }));
      const page = mount({ url: served.url, mode });
      void page.now.sendMessage({ text: 'What is on?' });
      await comeBack(served, await provider.consent((await asked(page)).url));
      await page.texts('You have 3 events (0).');
      void page.now.sendMessage({ text: 'And now?' });
      await page.texts('You have 3 events (1).');
      expect(used).toEqual([provider.tokens[0], provider.tokens[0]]);
      expect(provider.exchanges).toEqual(['token']);

      if (end === 'is gone') saved.service = new InMemoryCredentialService();
      else clock.advance(3_600_000);
      void page.now.sendMessage({ text: 'And then?' });
      await comeBack(served, await provider.consent((await asked(page)).url));
      await page.texts('You have 3 events (2).');
      expect(provider.exchanges).toEqual(['token', 'token']);
      expect(used).toEqual([provider.tokens[0], provider.tokens[0], provider.tokens[1]]);
    },
  );

  test('[T36d] the sign-in is completed after a restart', async () => {
    const provider = await OAuthProvider.start();
    const folder = createFolder();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const used: string[] = [];
    const { agent } = calendar(provider, used);
    const before = await live([], [], options(agent, { store: await openSqliteStore(folder) }));
    const first = mount({ url: before.served.url, mode });
    void first.now.sendMessage({ text: 'What is on?' });
    const { url } = await asked(first);
    const sessionId = first.now.session.id;
    first.unmount();
    await before.served.close();
    const after = await live([], [], options(agent, { store: await openSqliteStore(folder) }));
    const page = mount({ url: after.served.url, mode, sessionId });
    expect((await asked(page)).url).toBe(url);
    expect(await comeBack(after.served, await provider.consent(url))).toMatchObject({ status: 200 });
    await page.texts('You have 3 events (0).');
    expect(used).toEqual(provider.tokens);
  });

  test('[T36p] a stored answer that another secret encrypted counts as nothing: the call ends in words, and the next one asks', async () => {
    const provider = await OAuthProvider.start();
    const database = sqliteDatabase();
    const used: string[] = [];
    const store = await database.open();
    const moveCall = store.moveCall.bind(store);
    let die: () => void = () => undefined;
    const isDead = new Promise<void>((resolve) => {
      die = resolve;
    });
    // The process dies when the approval is stored, before the code of the provider is exchanged.
    store.moveCall = (key, move, ...rest) => {
      if (move.from !== 'approved') return moveCall(key, move, ...rest);
      die();
      return new Promise(() => undefined);
    };
    const before = await live([], [], options(calendar(provider, used).agent, { store }));
    const first = mount({ url: before.served.url, mode });
    void first.now.sendMessage({ text: 'What is on?' });
    const { url } = await asked(first);
    const sessionId = first.now.session.id;
    comeBack(before.served, await provider.consent(url)).catch(() => undefined);
    await isDead;
    await database.kill();
    first.unmount();

    const { agent } = calendar(provider, used);
    agent.model = new ScriptedModel([
      [call('read_calendar', {}, 'call-again')],
      [text('You have 3 events.')],
    ]);
    const toolSignIn = { callbackUrl: CALLBACK, secret: 'another key of this server' };
    const after = await live([], [], options(agent, { store: await database.open(), toolSignIn }));
    const page = mount({ url: after.served.url, mode, sessionId });
    const again = await asked(page);
    expect(again.toolCallId).toBe('call-again');
    expect([used, provider.exchanges]).toEqual([[], []]);
    expect(await comeBack(after.served, await provider.consent(again.url))).toMatchObject({ status: 200 });
    const now = await page.texts('You have 3 events.');
    expect(story(now).at(-1)).toEqual([
      'assistant',
      ['read_calendar', 'output-error', expect.stringMatching(/sign-in for read_calendar is lost/)],
      ['read_calendar', 'output-available', { events: 3 }],
      'You have 3 events.',
    ]);
    expect(used).toEqual(provider.tokens);
    expect(provider.exchanges).toEqual(['token']);
  });

  test('[T36e] a sign-in is declined on the page, or at the provider, in words', async () => {
    for (const where of ['page', 'provider']) {
      const provider = await OAuthProvider.start();
      const used: string[] = [];
      const { agent } = calendar(provider, used);
      const { served } = await live([], [], options(agent));
      const page = mount({ url: served.url, mode });
      void page.now.sendMessage({ text: 'What is on?' });
      const question = await asked(page);
      const back = await provider.consent(question.url);
      if (where === 'page') await page.now.decline(question, 'not now');
      else
        expect(await comeBack(served, back, 'ann', { code: null, error: 'access_denied' })).toEqual({
          status: 200,
          message: 'You did not sign in.',
        });
      const now = await page.texts('You have 3 events (0).');
      const why = where === 'page' ? 'not now' : 'the provider answered "access_denied"';
      expect(JSON.stringify(story(now))).toContain(JSON.stringify(why).slice(1, -1));
      expect(used).toEqual([]);
      // The address is of no use any more.
      expect(await comeBack(served, back)).toMatchObject({ status: 409 });
      expect(provider.exchanges).toEqual([]);
    }
  });

  test('[T27] a sign-in of an agent that is used as a tool names the agents on the way', async () => {
    const provider = await OAuthProvider.start();
    const used: string[] = [];
    const { agent: secretary } = calendar(provider, used, 1, 'secretary');
    const model = new ScriptedModel([[call('secretary', { request: 'go' }, 'call-a')], [text('Done.')]]);
    const tools = [new AgentTool({ agent: secretary })];
    const { served } = await live([], [], options(new LlmAgent({ name: 'assistant', model, tools })));
    const page = mount({ url: served.url, mode });
    void page.now.sendMessage({ text: 'What is on?' });
    const question = await asked(page);
    expect(question.agents).toEqual(['assistant', 'secretary']);
    await comeBack(served, await provider.consent(question.url));
    await page.texts('Done.');
    expect(used).toEqual(provider.tokens);
  });

  test('[T36f] no client can approve a sign-in: only the callback does', async () => {
    const provider = await OAuthProvider.start();
    const used: string[] = [];
    const { agent } = calendar(provider, used);
    const { served } = await live([], [], options(agent));
    const page = mount({ url: served.url, mode });
    void page.now.sendMessage({ text: 'What is on?' });
    const question = await asked(page);
    await page.rest();
    const state = new URL(question.url).searchParams.get('state');
    for (const payload of [undefined, state, { code: 'x' }, 'forged']) {
      page.now.live.sendDecision(question.toolCallId, true, undefined, payload);
    }
    const { status, json } = await fetch(`${served.url}/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        id: page.now.session.id,
        messages: [
          {
            id: question.messageId,
            role: 'assistant',
            parts: [
              {
                type: 'tool-read_calendar',
                toolCallId: question.toolCallId,
                state: 'approval-responded',
                approval: { id: question.approvalId, approved: true, payload: state },
              },
            ],
          },
        ],
      }),
    }).then(async (answer) => ({ status: answer.status, json: await answer.text() }));
    expect([status, json]).toEqual([
      409,
      expect.stringContaining('the sign-in at the address of the request is not complete'),
    ]);
    expect((await comeBack(served, await provider.consent(question.url))).status).toBe(200);
    await page.texts('You have 3 events (0).');
    expect(used).toEqual(provider.tokens);
  });
});

test('[T36l] a sign-in is no approval: a call that asks for both ends in words, and does nothing', async () => {
  for (const order of ['confirms first', 'signs in first']) {
    const provider = await OAuthProvider.start();
    const config = provider.config();
    const booked: unknown[] = [];
    const tool = new FunctionTool({
      name: 'book',
      description: 'Books.',
      execute: (_args, context) => {
        const isSignedIn = context?.getAuthResponse(config) !== undefined;
        const { toolConfirmation } = context ?? {};
        const confirm = () => context?.requestConfirmation({ hint: 'Really?', payload: { seats: 1 } });
        if (order === 'confirms first' && !toolConfirmation) return confirm();
        if (!isSignedIn) return context?.requestCredential(config);
        if (!toolConfirmation) return confirm();
        booked.push([toolConfirmation.confirmed, toolConfirmation.payload]);
        return { booked: true };
      },
    });
    const model = new ScriptedModel([[call('book', {}, 'call-1')], [text('Booked.')]]);
    const agent = new LlmAgent({ name: 'assistant', model, tools: [tool] });
    const { served } = await live([], [], options(agent));
    const page = mount({ url: served.url, mode: 'bidi' });
    void page.now.sendMessage({ text: 'go' });
    const confirm = async () => {
      await page.asked();
      expect([booked, page.now.questions]).toEqual([[], []]);
      await page.now.approve(firstApproval(page.now), undefined, { seats: 4 });
    };
    const signIn = async () => comeBack(served, await provider.consent((await asked(page)).url));
    await (order === 'confirms first' ? confirm() : signIn());
    const now = await page.texts('Booked.');
    expect(JSON.stringify(story(now))).toContain('book asked the user a second time');
    expect(booked).toEqual([]);
  }
});

describe.each(modes)('a tool that needs credentials of two providers, over %s', (mode) => {
  const ways = {
    'asks for one, and then for the other': (missing: (() => void)[]) => missing[0]?.(),
    'asks for both at once': (missing: (() => void)[]) => {
      for (const ask of missing) ask();
    },
  };

  test.each(Object.entries(ways))(
    '[T36o] %s: each call gets one, and the second call has both',
    async (_, ask) => {
      const providers = [await OAuthProvider.start(), await OAuthProvider.start()] as const;
      const configs = [providers[0].config('calendar'), providers[1].config('mail')];
      const used: string[][] = [];
      const tool = new FunctionTool({
        name: 'plan_day',
        description: 'Plans the day.',
        execute: (_args, context) => {
          const tokens = configs.map((config) => context?.getAuthResponse(config)?.oauth2?.accessToken);
          const missing = configs.flatMap((config, n) =>
            tokens[n] === undefined ? [() => context?.requestCredential(config)] : [],
          );
          if (missing.length > 0) return ask(missing);
          used.push(tokens.map(String));
          return { planned: true };
        },
      });
      const model = new ScriptedModel([
        [call('plan_day', {}, 'call-1')],
        [call('plan_day', {}, 'call-2')],
        [text('Planned.')],
      ]);
      const agent = new LlmAgent({ name: 'assistant', model, tools: [tool] });
      const { served } = await live([], [], options(agent));
      const page = mount({ url: served.url, mode });
      void page.now.sendMessage({ text: 'Plan my day' });
      const signIn = async (toolCallId: string) => {
        const { questions } = await page.until((now) =>
          now.questions.some((question) => question.toolCallId === toolCallId),
        );
        const url = String(questions.find((question) => question.toolCallId === toolCallId)?.url);
        const provider = providers.find((one) => url.startsWith(one.url));
        expect(await comeBack(served, await (provider as OAuthProvider).consent(url))).toMatchObject({
          status: 200,
        });
      };
      await signIn('call-1');
      await signIn('call-2');
      const now = await page.texts('Planned.');
      expect(used).toEqual([[providers[0].tokens[0], providers[1].tokens[0]]]);
      expect(providers.map(({ exchanges }) => exchanges)).toEqual([['token'], ['token']]);
      expect(story(now).at(-1)).toEqual([
        'assistant',
        ['plan_day', 'output-error', expect.stringMatching(/needs one more sign-in.*call plan_day again/)],
        ['plan_day', 'output-available', { planned: true }],
        'Planned.',
      ]);
    },
  );
});

test('[T36o] a provider that does not accept its own token ends the call in words, and the next call asks again', async () => {
  const provider = await OAuthProvider.start();
  const config = provider.config();
  const tool = new FunctionTool({
    name: 'read_calendar',
    description: 'Reads the calendar.',
    execute: (_args, context) => context?.requestCredential(config),
  });
  const model = new ScriptedModel([
    [call('read_calendar', {}, 'call-1')],
    [call('read_calendar', {}, 'call-2')],
    [text('Sorry.')],
  ]);
  const agent = new LlmAgent({ name: 'assistant', model, tools: [tool] });
  const { served } = await live([], [], options(agent));
  const page = mount({ url: served.url, mode: 'bidi' });
  void page.now.sendMessage({ text: 'What is on?' });
  await comeBack(served, await provider.consent((await asked(page)).url));
  const second = await page.until(({ questions }) =>
    questions.some(({ toolCallId }) => toolCallId === 'call-2'),
  );
  expect(JSON.stringify(story(second))).toContain('The sign-in did not help');
  expect(provider.exchanges).toEqual(['token']);
});

describe('attacks on the callback of a sign-in', () => {
  async function open(more: Partial<DuologueOptions> = {}) {
    const provider = await OAuthProvider.start();
    const used: string[] = [];
    const { agent } = calendar(provider, used);
    const { served } = await live([], [], options(agent, more));
    const page = mount({ url: served.url, mode: 'bidi' });
    void page.now.sendMessage({ text: 'What is on?' });
    const question = await asked(page);
    return { provider, used, served, page, question, back: await provider.consent(question.url) };
  }

  test('[T36g] another user cannot complete it, with whatever account', async () => {
    const { served, back, used, provider, page } = await open();
    expect(await comeBack(served, back, 'eve')).toMatchObject({ status: 403 });
    expect([used, provider.exchanges]).toEqual([[], []]);
    expect(await comeBack(served, back)).toMatchObject({ status: 200 });
    await page.texts('You have 3 events (0).');
  });

  test('[T36n] a user who has signed out meanwhile cannot complete it, and can after signing in again', async () => {
    let answer: boolean | Error = false;
    const { served, back, used, provider, page, question } = await open({
      stillSignedIn: () => {
        if (answer instanceof Error) throw answer;
        return answer;
      },
    });
    expect(await comeBack(served, back)).toMatchObject({ status: 401, error: { code: 'unauthorized' } });
    answer = new Error('no database');
    expect(await comeBack(served, back)).toMatchObject({ status: 500, error: { code: 'internal' } });
    expect([used, provider.exchanges]).toEqual([[], []]);
    expect(page.now.questions).toHaveLength(1);
    answer = true;
    expect(await comeBack(served, await provider.consent(question.url))).toMatchObject({ status: 200 });
    await page.texts('You have 3 events (0).');
    expect(used).toEqual(provider.tokens);
  });

  test.each([
    [
      'another provider',
      (_config: ReturnType<OAuthProvider['config']>, other: OAuthProvider) => other.config(),
    ],
    [
      'more scopes',
      (config: ReturnType<OAuthProvider['config']>) => {
        const { authorizationCode } = config.authScheme.flows;
        const scopes = { ...authorizationCode.scopes, 'calendar.write': 'writes' };
        const flows = { authorizationCode: { ...authorizationCode, scopes } };
        return { ...config, authScheme: { ...config.authScheme, flows } };
      },
    ],
    [
      'another client',
      (config: ReturnType<OAuthProvider['config']>) => {
        const oauth2 = { clientId: 'client-2', clientSecret: 'stolen' };
        return { ...config, rawAuthCredential: { ...config.rawAuthCredential, oauth2 } };
      },
    ],
  ])('[T36m] its code is not sent for a tool that has %s by now', async (_, change) => {
    const provider = await OAuthProvider.start();
    const other = await OAuthProvider.start();
    let config = provider.config() as ReturnType<OAuthProvider['config']>;
    const tool = new FunctionTool({
      name: 'read_calendar',
      description: 'Reads the calendar.',
      execute: (_args, context) => context?.getAuthResponse(config) ?? context?.requestCredential(config),
    });
    const model = new ScriptedModel([[call('read_calendar', {}, 'call-1')], [text('Sorry.')]]);
    const agent = new LlmAgent({ name: 'assistant', model, tools: [tool] });
    const { served } = await live([], [], options(agent));
    const page = mount({ url: served.url, mode: 'bidi' });
    void page.now.sendMessage({ text: 'What is on?' });
    const { url } = await asked(page);
    config = change(config, other) as typeof config;
    expect(await comeBack(served, await provider.consent(url))).toMatchObject({ status: 200 });
    const now = await page.texts('Sorry.');
    expect(JSON.stringify(story(now))).toContain('asks for another credential than the one');
    expect([provider.exchanges, other.exchanges]).toEqual([[], []]);
  });

  test('[T36h] a state is used once, is not made up, and not changed', async () => {
    const { served, back, page, provider } = await open();
    const state = String(back.searchParams.get('state'));
    const changed = `${state.slice(0, 30)}${state[30] === 'A' ? 'B' : 'A'}${state.slice(31)}`;
    for (const forged of [changed, '', 'x'.repeat(100), null, { key: 1 }, state.slice(0, -4)])
      expect(await comeBack(served, back, 'ann', { state: forged })).toMatchObject({ status: 400 });
    expect(await comeBack(served, back)).toMatchObject({ status: 200 });
    await page.texts('You have 3 events (0).');
    expect(await comeBack(served, back)).toMatchObject({ status: 409 });
    expect(provider.exchanges).toEqual(['token']);
  });

  test('[T36i] a forged code ends the call in words, and shows no secret', async () => {
    const { served, back, page, used, provider } = await open();
    expect(await comeBack(served, back, 'ann', { code: 'forged' })).toMatchObject({ status: 200 });
    const now = await page.texts('You have 3 events (0).');
    expect(story(now).at(-1)).toEqual([
      'assistant',
      [
        'read_calendar',
        'output-error',
        'The sign-in failed: the provider did not exchange the sign-in code (HTTP 400).',
      ],
      'You have 3 events (0).',
    ]);
    expect([used, provider.exchanges]).toEqual([[], ['refused']]);
  });

  test('[T36h] a sign-in that took too long is over', async () => {
    const clock = new ManualClock();
    const { served, back, page, used, provider } = await open({
      clock,
      toolSignIn: { callbackUrl: CALLBACK, timeoutMs: 5_000 },
    });
    clock.advance(5_000);
    expect(await comeBack(served, back)).toMatchObject({ status: 409 });
    const now = await page.texts('You have 3 events (0).');
    expect(JSON.stringify(story(now))).toContain('Approval request timed out');
    expect([used, provider.exchanges]).toEqual([[], []]);
  });

  test('[T36j] the page of the callback sends the browser nowhere, and runs no script but its own', async () => {
    const { served } = await open();
    const answer = await fetch(
      `${served.url}/sign-in/callback?code=c&state=%3Cscript%3E&redirect=https://evil.example`,
      { redirect: 'manual' },
    );
    expect([answer.status, answer.headers.get('location')]).toEqual([200, null]);
    expect(answer.headers.get('content-type')).toContain('text/html');
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'nonce-/);
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    const html = await answer.text();
    expect(html).not.toMatch(/evil|%3C|code=c/);
    expect(html.match(/<script/g)).toHaveLength(1);
  });

  test('[T36k] what the server cannot do is refused in words', async () => {
    const provider = await OAuthProvider.start();
    const textAfter = async (config: object, more: Partial<DuologueOptions>) => {
      const tool = new FunctionTool({
        name: 'key_tool',
        description: 'Needs a key.',
        execute: (_args, context) => {
          context?.requestCredential(config as never);
          return {};
        },
      });
      const model = new ScriptedModel([[call('key_tool', {}, 'call-1')], [text('Sorry.')]]);
      const agent = new LlmAgent({ name: 'assistant', model, tools: [tool] });
      const { served } = await live([], [], options(agent, more));
      const page = mount({ url: served.url, mode: 'sse' });
      void page.now.sendMessage({ text: 'go' });
      return JSON.stringify(story(await page.texts('Sorry.')));
    };
    const key = { credentialKey: 'k', authScheme: { type: 'apiKey', in: 'header', name: 'x' } };
    expect(await textAfter(key, {})).toContain('asks for a credential of the scheme \\"apiKey\\"');
    const { flows } = provider.config().authScheme;
    const far = (change: object) => ({
      ...provider.config(),
      authScheme: {
        type: 'oauth2',
        flows: { authorizationCode: { ...flows.authorizationCode, ...change } },
      },
    });
    expect(await textAfter(far({ authorizationUrl: 'http://provider.example/a' }), {})).toContain(
      'must begin with https://',
    );
    expect(await textAfter(far({ tokenUrl: 'http://10.0.0.1/token' }), {})).toContain(
      'needs a token endpoint',
    );
    expect(await textAfter(provider.config(), { confirmations: 'tool' })).toContain(
      'confirmations: \\"approval\\"',
    );
    expect(await textAfter(provider.config(), { toolSignIn: undefined as never })).toContain(
      'set the option toolSignIn.callbackUrl',
    );
  });
});
