// @vitest-environment jsdom
import { act, useCallback } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { useStickyScroll } from '../src/chat/use-sticky-scroll.ts';

let view = 100;
let height = 1000;
let top = 0;
let resized: (() => void)[] = [];
let root: Root;

/** A list with the layout of a browser, which jsdom lacks: it cannot be scrolled beyond its end. */
function List({ follows }: { follows: boolean }) {
  const { box, content, isAtEnd } = useStickyScroll(follows);
  const laidOut = useCallback(
    (node: HTMLElement | null) => {
      if (!node) return;
      Object.defineProperties(node, {
        clientHeight: { configurable: true, get: () => view },
        scrollHeight: { configurable: true, get: () => height },
        scrollTop: {
          configurable: true,
          get: () => top,
          set: (value: number) => {
            top = Math.max(0, Math.min(value, height - view));
          },
        },
      });
      return box(node) ?? undefined;
    },
    [box],
  );
  return (
    <section ref={laidOut} data-end={isAtEnd}>
      <div ref={content} />
    </section>
  );
}

const list = () => document.querySelector('section') as HTMLElement;
const fromEnd = () => height - view - top;

async function grow(by: number): Promise<void> {
  await act(async () => {
    height += by;
    top = Math.min(top, height - view);
    for (const tell of resized) tell();
  });
}

async function scroll(by: number): Promise<void> {
  await act(async () => {
    list().scrollTop += by;
    list().dispatchEvent(new Event('scroll'));
  });
}

beforeEach(async () => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  [height, top, resized, view] = [1000, 0, [], 100];
  vi.stubGlobal(
    'ResizeObserver',
    class {
      constructor(tell: () => void) {
        resized.push(tell);
      }
      observe() {}
      disconnect() {}
    },
  );
  document.body.innerHTML = '<main></main>';
  root = createRoot(document.querySelector('main') as HTMLElement);
  await act(async () => root.render(<List follows />));
  await grow(0);
});

afterEach(async () => {
  await act(async () => root.unmount());
  vi.unstubAllGlobals();
});

test('a conversation in which nothing was said stays at its top, with nothing to go down to, until something is', async () => {
  await act(async () => root.unmount());
  [top, resized] = [0, []];
  root = createRoot(document.querySelector('main') as HTMLElement);
  await act(async () => root.render(<List follows={false} />));
  await grow(0);
  expect([top, list().dataset.end]).toEqual([0, 'true']);
  await act(async () => root.render(<List follows />));
  await grow(30);
  expect(fromEnd()).toBe(0);
});

describe('a conversation that grows', () => {
  test('stays at its end, also when something in it goes away', async () => {
    await grow(300);
    expect(fromEnd()).toBe(0);
    await grow(-50);
    await scroll(0);
    await grow(20);
    expect([fromEnd(), list().dataset.end]).toEqual([0, 'true']);
  });

  test('stays at its end when a banner below it goes and another comes', async () => {
    view = 160;
    await scroll(0);
    await grow(0);
    expect([fromEnd(), list().dataset.end]).toEqual([0, 'true']);
    view = 100;
    await grow(0);
    expect([fromEnd(), list().dataset.end]).toEqual([0, 'true']);
  });

  test('is left where it is from the first small step up, even one that comes together with new words', async () => {
    await grow(30);
    await scroll(-12);
    await grow(30);
    expect(fromEnd()).toBe(42);
    await scroll(-12);
    await grow(30);
    expect([fromEnd(), list().dataset.end]).toEqual([84, 'false']);
  });

  test('is followed again once the end is reached', async () => {
    await scroll(-200);
    await grow(30);
    expect(list().dataset.end).toBe('false');
    await scroll(230);
    await grow(30);
    expect([fromEnd(), list().dataset.end]).toEqual([0, 'true']);
  });
});
