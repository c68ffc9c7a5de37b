import { describe, expect, it } from 'vitest';
import { signInPage, signInWords } from '../../src/server/http/sign-in-page.ts';

const asked = (language?: string) =>
  new Request('http://localhost/sign-in/callback', {
    headers: language === undefined ? {} : { 'accept-language': language },
  });

describe('the page of the callback', () => {
  it.each([
    ['ja', 'ja'],
    ['ja-JP,ja;q=0.9,en;q=0.8', 'ja'],
    ['fr, ja;q=0.5', 'ja'],
    ['en;q=0.3, JA;q=0.7', 'ja'],
    ['en-US,en;q=0.9,ja;q=0.8', 'en'],
    ['ja;q=0.2, en;q=0.9', 'en'],
    ['jam, fr', 'en'],
    ['*', 'en'],
    ['', 'en'],
    [undefined, 'en'],
  ])('is in the language that the browser prefers: %s gets %s', (accepted, language) => {
    const body = String(signInPage({ request: asked(accepted) }).body);
    expect(/<html lang="(..)">/.exec(body)?.[1]).toBe(language);
    expect(body).toContain(language === 'ja' ? 'ログインを完了しています。' : 'Completing the sign-in.');
  });

  it('has a Japanese text for each error that its route gives a user, and one for all others', () => {
    const { errors, failed } = signInWords(asked('ja'));
    expect(Object.keys(errors)).toEqual(['bad_request', 'forbidden', 'answer_refused']);
    for (const text of [failed, ...Object.values(errors)]) expect(text).toMatch(/。$/);
    expect(signInWords(asked('en')).errors).toEqual({});
  });
});
