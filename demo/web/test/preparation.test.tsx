// @vitest-environment jsdom
import { act } from 'react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Preparation, usePreparation } from '../src/voice/use-preparation.ts';
import { mountHook } from './support/mount.tsx';

const ABSENT: Preparation = { status: 'absent', total: 100 };
const HALF: Preparation = { status: 'fetching', bytes: 50, total: 100 };
const READY: Preparation = { status: 'ready' };
const FAILED: Preparation = { status: 'failed', message: 'There is no network.' };

/** The requests that the page sent. */
let asked: string[] = [];
beforeEach(() => {
  asked = [];
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A server that answers each request with the next state, after `takesMs`. */
function answering(states: Preparation[], takesMs = 0): void {
  const left = [...states];
  vi.stubGlobal('fetch', async (path: string, { method }: { method: string }) => {
    asked.push(`${method} ${path}`);
    const state = left.shift();
    await new Promise((resolve) => setTimeout(resolve, takesMs));
    return Response.json(state);
  });
}

/** The result of `prepare`, and the state after it, on a page that has asked the server once before. */
async function prepared() {
  const hook = await mountHook(() => usePreparation('/voice'));
  await act(() => vi.runAllTimersAsync());
  asked = [];
  const came = await act(async () => {
    const preparing = hook.result.prepare();
    await vi.runAllTimersAsync();
    return preparing;
  });
  return { came, now: hook.result.now };
}

test('what is there is there, however long the server takes to say so', async () => {
  answering([READY, READY], 60_000);
  expect(await prepared()).toEqual({ came: 'there', now: READY });
  expect(asked).toEqual(['GET /voice']);
});

test('what is fetched by then was not there when it was asked for', async () => {
  answering([ABSENT, ABSENT, HALF, HALF, READY]);
  expect(await prepared()).toEqual({ came: 'fetched', now: READY });
  expect(asked).toEqual(['GET /voice', 'POST /voice', 'GET /voice', 'GET /voice']);
});

test('what cannot be had is missing, and is tried again when it is asked for again', async () => {
  answering([FAILED, FAILED, HALF, FAILED]);
  expect(await prepared()).toEqual({ came: 'missing', now: FAILED });
  expect(asked).toEqual(['GET /voice', 'POST /voice', 'GET /voice']);
});
