// @vitest-environment jsdom
import { act } from 'react';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { useCurrentSession } from '../src/sessions/current-session.ts';
import { useSessions } from '../src/sessions/use-sessions.ts';
import { mountHook } from './support/mount.tsx';

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

describe('the list of conversations', () => {
  afterEach(() => vi.unstubAllGlobals());

  /** A server with two conversations; what it answers to anything but a question for the list is up to the test. */
  function serve(answer: () => Promise<Response>) {
    const sessions = ['b', 'a'].map((id, index) => ({ id, title: id, createdAt: 0, updatedAt: 2 - index }));
    vi.stubGlobal('fetch', (_path: string, init?: RequestInit) =>
      init === undefined ? Promise.resolve(Response.json({ sessions })) : answer(),
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

  test('takes a conversation that is gone already for one that was deleted', async () => {
    serve(() => Promise.resolve(new Response(null, { status: 404 })));
    const sessions = await mountHook(useSessions);
    await act(async () => sessions.result.remove('b'));
    expect(sessions.result.failure).toBe(null);
  });
});
