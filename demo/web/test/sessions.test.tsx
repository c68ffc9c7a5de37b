// @vitest-environment jsdom
import { act } from 'react';
import { describe, expect, test } from 'vitest';
import { useCurrentSession } from '../src/sessions/current-session.ts';
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
