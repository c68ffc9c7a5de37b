// @vitest-environment jsdom
import { act } from 'react';
import { afterEach, expect, test, vi } from 'vitest';
import { LoginForm } from '../src/sessions/login-form.tsx';
import { mount, until } from './support/mount.tsx';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const rejection = (status: number, code: string) => () =>
  Promise.resolve(Response.json({ error: { code, message: code } }, { status }));

test.each([
  ['refuses the key', rejection(401, 'unauthorized'), 'Wrong key'],
  ['has refused too many keys', rejection(429, 'rate_limited'), 'Wrong key'],
  [
    'cannot be reached',
    () => Promise.reject(new TypeError('Failed to fetch')),
    'The server can’t be reached. Check that the server is running and that you are online.',
  ],
  ['fails', rejection(500, 'internal'), 'Something went wrong on the server. Trying again often helps.'],
])('the sign-in form has the focus, and says what is wrong when the server %s', async (_, answer, text) => {
  vi.stubGlobal('fetch', answer);
  await mount(<LoginForm onEnter={() => expect.unreachable()} />);
  expect(document.activeElement).toBe(document.querySelector('input'));
  const submit = () => document.querySelector('form')?.requestSubmit();
  await act(async () => submit());
  await vi.waitFor(() => expect(document.querySelector('[role=alert]')?.textContent).toBe(text));
});

test('the sign-in form says in Japanese what is wrong, with Japanese punctuation', async () => {
  vi.spyOn(navigator, 'languages', 'get').mockReturnValue(['ja']);
  vi.stubGlobal('fetch', rejection(500, 'internal'));
  await mount(<LoginForm onEnter={() => expect.unreachable()} />);
  const form = () => document.querySelector('form');
  // The texts in Japanese are loaded when they are needed.
  await until(() => expect(form()?.textContent).toContain('キー'));
  await act(async () => form()?.requestSubmit());
  await until(() =>
    expect(form()?.querySelector('[role=alert]')?.textContent).toBe(
      'サーバーで問題が起きました。再試行すると直ることがあります。',
    ),
  );
});
