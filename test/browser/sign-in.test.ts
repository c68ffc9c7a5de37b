import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { FunctionTool, LlmAgent } from '@google/adk';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { webApp } from '../../demo/server/web.ts';
import { attachWebSocket, nodeListener } from '../../src/server/adapters/node.ts';
import { createDuologue } from '../../src/server/index.ts';
import { OAuthProvider } from '../support/oauth-provider.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';
import { stage } from './support/browser.ts';
import { demo } from './support/built.ts';
import { Person } from './support/person.ts';

const here = stage();
const modes = ['sse', 'bidi'] as const;

/** Serves the page with an agent whose tool needs a token of the provider. `used`: the tokens that the tool worked with. */
async function serveCalendar(provider: OAuthProvider, used: string[]) {
  const config = provider.config();
  const tool = new FunctionTool({
    name: 'read_calendar',
    description: 'Reads the calendar.',
    execute: (_args, context) => {
      const token = context?.getAuthResponse(config)?.oauth2?.accessToken;
      if (token === undefined) return context?.requestCredential(config);
      used.push(token);
      return { events: ['Dentist at nine'] };
    },
  });
  const model = new ScriptedModel([[call('read_calendar', {}, 'call-1')], [text('That is your day.')]]);
  // The address to come back to has the port, so the server listens before it has the agent.
  const server = createServer();
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  const logged: unknown[] = [];
  const log = (...line: unknown[]) => void logged.push(line);
  const duologue = createDuologue({
    logger: { info: log, warn: log, error: log },
    agent: new LlmAgent({ name: 'assistant', model, tools: [tool] }),
    toolSignIn: { callbackUrl: `${url}/sign-in/callback`, secret: 'the key of this server' },
  });
  server.on('request', nodeListener(duologue, webApp(resolve(demo, 'web/dist'))));
  attachWebSocket(server, duologue);
  here.after(async () => {
    const closed = once(server, 'close');
    server.close();
    await duologue.close();
    server.closeAllConnections();
    await closed;
  });
  return { url, duologue, logged };
}

/** Opens the page, lets the agent ask for a sign-in, and opens the provider's page from the card. */
async function askForSignIn(mode: 'sse' | 'bidi', language: 'en' | 'ja') {
  const provider = await OAuthProvider.start();
  const used: string[] = [];
  const { url, duologue, logged } = await serveCalendar(provider, used);
  const page = await here.open({ mode, url, locale: language === 'ja' ? 'ja-JP' : 'en-US' });
  const person = new Person(page);
  const frames: string[] = [];
  page.on('websocket', (socket) =>
    socket.on('framereceived', ({ payload }) => void frames.push(String(payload))),
  );
  await person.say('What is on today?');
  const card = person.card('requested');
  await card.waitFor();
  /** Presses the button of the card; returns the window that it opens. */
  const openProvider = async (): Promise<Page> => {
    const opened = page.context().waitForEvent('page');
    await card.getByRole('button', { name: language === 'ja' ? 'ログイン' : 'Sign in' }).click();
    return opened;
  };
  /** Everything that a page, a client, or a reader of the transcript or the log can see. */
  const seen = async (...windows: Page[]): Promise<string> => {
    const [session] = (await duologue.sessions.list()).sessions;
    if (!session) throw new Error('No session is stored.');
    const { user, id } = session;
    const shown = [page, ...windows].map(async (one) => [one.url(), await one.content()]);
    const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    return JSON.stringify([
      frames,
      logged,
      stored,
      await Promise.all(shown),
      await duologue.sessions.export({ user, id }, 'json'),
      await duologue.sessions.export({ user, id }, 'markdown'),
      await (await fetch(`${url}/sessions/${id}`)).json(),
    ]);
  };
  return { provider, used, person, card, openProvider, seen, url };
}

/** Answers the provider in its window; returns the code or the error that came back with the browser. */
async function answerProvider(window: Page, answer: 'Allow' | 'Decline'): Promise<string> {
  const back = window.waitForRequest((request) => request.url().includes('/sign-in/callback?'));
  await window.getByRole('link', { name: answer }).click();
  const { searchParams } = new URL((await back).url());
  return String(searchParams.get('code') ?? searchParams.get('error'));
}

describe.each(modes)('the card of a sign-in, over %s', (mode) => {
  it.each(['en', 'ja'] as const)(
    'opens the page of the provider, and the tool continues with the token, which no page sees (%s)',
    async (language) => {
      const { provider, used, person, card, openProvider, seen, url } = await askForSignIn(mode, language);
      const { host } = new URL(provider.url);
      const words = {
        en: {
          asks: `Sign in at ${host} in a new window. The assistant then continues here.`,
          ended: 'You are signed in. You can close this window.',
          done: 'Done',
        },
        ja: {
          asks: `新しいウィンドウで ${host} にログインしてください。そのあと、アシスタントがここで続けます。`,
          ended: 'ログインしました。このウィンドウは閉じてかまいません。',
          done: '完了',
        },
      }[language];
      await card.getByText(words.asks).waitFor();
      const window = await openProvider();
      await window.getByRole('heading', { name: 'Calendar' }).waitFor();
      expect(new URL(window.url()).origin).toBe(provider.url);
      // The provider cannot reach the page that opened it.
      expect(await window.evaluate(() => [self.opener, document.referrer])).toEqual([null, '']);
      expect(await card.count()).toBe(1);
      const code = await answerProvider(window, 'Allow');
      await window.getByText(words.ended).waitFor();
      expect(window.url()).toBe(`${url}/sign-in/callback`);
      await person.answers.getByText('That is your day.').waitFor();
      await person.card('done').getByText(words.done).waitFor();
      // The agent's tool has no component on this page, so the card has its output as it is.
      await person.card('done').click();
      await person.card('done').getByText('"Dentist at nine"').waitFor();
      expect(used).toEqual(provider.tokens);
      const everything = await seen(window);
      expect(everything).toContain('Dentist at nine');
      for (const secret of [...provider.secrets, code]) expect(everything).not.toContain(secret);
    },
  );
});

describe('a sign-in', () => {
  it.each(['the card', 'the provider'])('that the user declines at %s ends in words', async (place) => {
    const { provider, used, person, card, openProvider } = await askForSignIn('bidi', 'en');
    const window = await openProvider();
    if (place === 'the card') {
      await card.getByRole('button', { name: 'Deny' }).click();
      await person.answers.getByText('That is your day.').waitFor();
      // The window of the provider is still open, and its answer comes too late.
      await answerProvider(window, 'Allow');
      await window
        .getByText(
          'This sign-in is over: it was completed, declined or cancelled, or it timed out. You can close this window.',
        )
        .waitFor();
    } else {
      expect(await answerProvider(window, 'Decline')).toBe('access_denied');
      await window.getByText('You did not sign in. You can close this window.').waitFor();
      await person.answers.getByText('That is your day.').waitFor();
    }
    const denied = person.card('denied');
    await denied.getByText('Not signed in').waitFor();
    await denied.click();
    await denied.getByText('The sign-in was not completed. Nothing was done.').waitFor();
    expect(await denied.getByText('the provider answered "access_denied"').count()).toBe(
      place === 'the card' ? 0 : 1,
    );
    const panel = await person.openPanel('Approval log');
    await panel.getByText(place === 'the card' ? /^Denied by you$/ : 'Denied by you (sign-in)').waitFor();
    expect([used, provider.exchanges]).toEqual([[], []]);
  });

  it('that is over says so in Japanese, too', async () => {
    const { card, person, openProvider } = await askForSignIn('sse', 'ja');
    const window = await openProvider();
    await card.getByRole('button', { name: '拒否' }).click();
    await person.card('denied').getByText('ログイン未完了').waitFor();
    await answerProvider(window, 'Allow');
    await window
      .getByText(
        'このログインはすでに終わっています（完了、拒否、取り消し、または時間切れ）。このウィンドウは閉じてかまいません。',
      )
      .waitFor();
  });
});
