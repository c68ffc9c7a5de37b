// @vitest-environment jsdom
import { act } from 'react';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { useTitle } from '../src/chat/use-title.ts';
import { type CurrentSession, useCurrentSession } from '../src/sessions/current-session.ts';
import { SessionList } from '../src/sessions/session-list.tsx';
import { type Sessions, useSessions } from '../src/sessions/use-sessions.ts';
import { mount, mountHook, until } from './support/mount.tsx';

describe('the conversation that the page shows', () => {
  test('is new until something is said in it, and from then on the address names it', async () => {
    history.replaceState(null, '', '/');
    const current = await mountHook(useCurrentSession);
    const { id, isNew } = current.result;
    expect([isNew, location.search]).toEqual([true, '']);
    await act(async () => current.result.keep());
    expect([current.result.id, current.result.isNew, location.search]).toEqual([id, false, `?session=${id}`]);
  });
});

test('a conversation that is deleted is none that the browser goes back to', async () => {
  history.replaceState(null, '', '/?session=a');
  const current = await mountHook(useCurrentSession);
  await act(async () => current.result.open('b'));
  const { length } = history;
  await act(async () => current.result.leave());
  expect([current.result.isNew, location.search, history.length]).toEqual([true, '', length]);
});

describe('the list of conversations', () => {
  afterEach(() => vi.unstubAllGlobals());

  /** A server with two conversations. It answers a GET with the list, and any other request with `answer`. */
  function serve(answer: () => Promise<Response>) {
    const sessions = ['b', 'a'].map((id, index) => ({ id, title: id, createdAt: 0, updatedAt: 2 - index }));
    vi.stubGlobal('fetch', (_path: string, init?: RequestInit) =>
      init?.method === undefined ? Promise.resolve(Response.json({ sessions })) : answer(),
    );
  }
  const titles = ({ list }: ReturnType<typeof useSessions>) => list.map(({ title }) => title);

  test.each([
    ['cannot be reached', () => Promise.reject(new TypeError('Failed to fetch'))],
    ['refuses', () => Promise.resolve(new Response(null, { status: 500 }))],
  ])('is as before, and says why, when the server %s', async (_, answer) => {
    serve(answer);
    const sessions = await mountHook(useSessions);
    await act(async () => sessions.result.remove('b'));
    expect([titles(sessions.result), sessions.result.failure]).toEqual([['b', 'a'], 'remove']);
    await act(async () => sessions.result.forgetFailure());
    await act(async () => sessions.result.rename('a', 'c'));
    expect([titles(sessions.result), sessions.result.failure]).toEqual([['b', 'a'], 'rename']);
    await act(async () => sessions.result.forgetFailure());
    await act(async () => sessions.result.name('a', 'c'));
    expect([titles(sessions.result), sessions.result.failure]).toEqual([['b', 'a'], null]);
  });

  test('shows a change before the server has answered', async () => {
    serve(() => new Promise(() => undefined));
    const sessions = await mountHook(useSessions);
    await act(async () => {
      void sessions.result.rename('a', 'c');
      void sessions.result.remove('b');
    });
    expect([titles(sessions.result), sessions.result.failure]).toEqual([['c'], null]);
  });

  test('has a conversation from its first words on, in other tabs too, and never twice', async () => {
    const sessions = ['b', 'a'].map((id, index) => ({ id, title: id, createdAt: 0, updatedAt: 2 - index }));
    vi.stubGlobal('fetch', async () => Response.json({ sessions }));
    const [here, there] = [await mountHook(useSessions), await mountHook(useSessions)];
    await act(async () => here.result.begin('c', 'Tea?'));
    expect(titles(here.result)).toEqual(['Tea?', 'b', 'a']);
    await until(() => expect(titles(there.result)).toEqual(['Tea?', 'b', 'a']));
    sessions.unshift({ id: 'c', title: 'Tea?', createdAt: 0, updatedAt: 9 });
    await act(async () => here.result.refresh());
    expect(titles(here.result)).toEqual(['Tea?', 'b', 'a']);
    await until(() => expect([titles(there.result), there.result.begun]).toEqual([['Tea?', 'b', 'a'], []]));
  });

  test('follows what other devices do, while it is seen', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const sessions = [{ id: 'a', title: 'a', createdAt: 0, updatedAt: 1 }];
    let asked = 0;
    vi.stubGlobal('fetch', async () => {
      asked++;
      return Response.json({ sessions });
    });
    const page = await mountHook(useSessions);
    expect(titles(page.result)).toEqual(['a']);
    sessions.unshift({ id: 'b', title: 'b', createdAt: 0, updatedAt: 2 });
    await act(async () => vi.advanceTimersByTime(10_000));
    expect([asked, titles(page.result)]).toEqual([2, ['b', 'a']]);
    const seen = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
    await act(async () => vi.advanceTimersByTime(60_000));
    expect(asked).toBe(2);
    seen.mockRestore();
    await act(async () => document.dispatchEvent(new Event('visibilitychange')));
    expect(asked).toBe(3);
  });

  test('takes a conversation that is gone already for one that was deleted', async () => {
    serve(() => Promise.resolve(new Response(null, { status: 404 })));
    const sessions = await mountHook(useSessions);
    await act(async () => sessions.result.remove('b'));
    expect(sessions.result.failure).toBe(null);
  });
});

describe('the focus', () => {
  beforeEach(() => {
    window.matchMedia = () => ({ matches: false }) as MediaQueryList;
  });
  afterEach(() => vi.unstubAllGlobals());

  function List() {
    return <SessionList sessions={useSessions()} current={useCurrentSession()} onLeave={() => undefined} />;
  }
  const key = (target: Element | null, name: string) =>
    act(async () => target?.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true })));
  const named = (role: string, name: string) =>
    [...document.querySelectorAll<HTMLElement>(role)].find(
      (one) => (one.getAttribute('aria-label') ?? one.textContent) === name,
    ) ?? null;
  /** Opens the menu of the only conversation and chooses an item with the keyboard. */
  async function choose(item: string) {
    await until(() => expect(named('button', 'Actions for a')).not.toBe(null));
    await act(async () => named('button', 'Actions for a')?.focus());
    await act(async () => named('button', 'Actions for a')?.click());
    await until(() => expect(named('[role=menuitem]', item)).not.toBe(null));
    await act(async () => named('[role=menuitem]', item)?.focus());
    await key(document.activeElement, 'Enter');
  }
  /** A server with one conversation, which can be renamed and deleted. */
  function serve() {
    let sessions = [{ id: 'a', title: 'a', createdAt: 0, updatedAt: 1 }];
    vi.stubGlobal(
      'ResizeObserver',
      class {
        observe() {}
        unobserve() {}
        disconnect() {}
      },
    );
    vi.stubGlobal('fetch', async (_path: string, init?: RequestInit) => {
      if (init?.method === 'DELETE') sessions = [];
      if (init?.method === 'PATCH') sessions = sessions.map((one) => ({ ...one, title: 'c' }));
      return Response.json({ sessions });
    });
  }

  test.each([
    ['Enter', 'c'],
    ['Escape', 'a'],
  ])('is on the conversation after it was renamed and left with %s', async (name, title) => {
    serve();
    await mount(<List />);
    await choose('Rename');
    const input = document.querySelector('input');
    await until(() => expect(document.activeElement).toBe(input));
    await act(async () => {
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(input, 'c');
      input?.dispatchEvent(new Event('input', { bubbles: true }));
    });
    if (name === 'Enter') await act(async () => input?.form?.requestSubmit());
    else await key(input, name);
    await until(() => expect(document.activeElement?.textContent).toMatch(new RegExp(`^${title}`)));
  });

  test('is on the list after a conversation was deleted', async () => {
    serve();
    await mount(<List />);
    await choose('Delete');
    await until(() => expect(document.querySelector('[role=alertdialog]')).not.toBe(null));
    await act(async () =>
      [...document.querySelectorAll<HTMLElement>('[role=alertdialog] button')].at(-1)?.click(),
    );
    await until(() => expect(document.activeElement?.textContent).toBe('No conversations yet.'));
  });
});

describe('the name of a conversation', () => {
  const message = (role: 'user' | 'assistant', text: string) => ({
    id: text,
    role,
    parts: [{ type: 'text' as const, text }],
  });
  /** A hook for a conversation with this stored name; undefined: the list of the server is not loaded yet. */
  const named =
    (title: string | null | undefined, texts: string, given: string[], sign: string | null = null) =>
    () =>
      useTitle(
        { id: 'a' } as CurrentSession,
        {
          list: title === undefined ? [] : [{ id: 'a', title, createdAt: 0, updatedAt: 0 }],
          begun: [],
          isLoaded: title !== undefined,
          name: async (_id: string, name: string) => void given.push(name),
        } as unknown as Sessions,
        [message('user', texts), message('assistant', 'Yes.')],
        false,
        sign,
      );

  test.each([
    ['is taken from its first words, once', null, 'Tea?', ['Tea?']],
    ['follows those words when they are edited', 'Tea?', 'Coffee?', ['Coffee?']],
    ['stays as a person gave it', 'Breakfast', 'Coffee?', []],
  ])('%s', async (_, title, edited, expected) => {
    const given: string[] = [];
    const page = await mountHook(named(title, 'Tea?', given));
    await page.again(named(title ?? 'Tea?', edited, given));
    expect(given).toEqual(expected);
  });

  test('is in the title of the page, after the sign that an approval waits', async () => {
    const page = await mountHook(named('Tea?', 'Tea?', []));
    expect(document.title).toBe('Tea? · Duologue');
    await page.again(named('Tea?', 'Tea?', [], '(1) Approval waiting, 9 s'));
    expect(document.title).toBe('(1) Approval waiting, 9 s · Tea? · Duologue');
  });

  test('is not overwritten while the list is still on its way', async () => {
    const given: string[] = [];
    const page = await mountHook(named(undefined, 'Tea?', given));
    await page.again(named('Breakfast', 'Tea?', given));
    expect([given, page.result]).toEqual([[], 'Breakfast']);
  });
});
