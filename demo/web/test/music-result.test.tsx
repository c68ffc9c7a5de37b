// @vitest-environment jsdom
import { afterEach, expect, test } from 'vitest';
import music from '../../tools/music/web/index.tsx';
import { mount } from './support/mount.tsx';

afterEach(() => localStorage.clear());

test.each([
  ['en', 'Switched to: Night tram'],
  ['ja', '変更した曲：夜の路面電車'],
])(
  'the result of a change of the music stays true when the music has stopped (%s)',
  async (language, shown) => {
    localStorage.setItem('duologue.language', language);
    await import('../src/i18n/ja.ts');
    const { Result } = music;
    if (!Result) throw new Error('The music tool shows no result.');
    await mount(<Result output={{ success: true, track: 2 }} isBrief={false} className="" />);
    expect(document.body.textContent).toContain(shown);
  },
);
