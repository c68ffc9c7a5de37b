import { Tooltip } from 'radix-ui';
import { act, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { onTestFinished, vi } from 'vitest';
import { LanguageProvider } from '../../src/i18n/language.tsx';
import { Announcer } from '../../src/ui/announcer.tsx';

const environment = globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean };

/** Waits until a check passes. Meanwhile React renders as in a browser, so state may change outside of `act`. */
export async function until(check: () => void): Promise<void> {
  environment.IS_REACT_ACT_ENVIRONMENT = false;
  try {
    await vi.waitFor(check, 60_000);
  } finally {
    environment.IS_REACT_ACT_ENVIRONMENT = true;
  }
}

/** Renders a node inside the providers that surround every part of the page. The returned function renders another node in its place. */
export async function mount(node: ReactNode): Promise<(node: ReactNode) => Promise<void>> {
  environment.IS_REACT_ACT_ENVIRONMENT = true;
  const place = document.body.appendChild(document.createElement('div'));
  const root = createRoot(place);
  const draw = (drawn: ReactNode) =>
    act(async () =>
      root.render(
        <LanguageProvider>
          <Tooltip.Provider>
            <Announcer>{drawn}</Announcer>
          </Tooltip.Provider>
        </LanguageProvider>,
      ),
    );
  onTestFinished(async () => {
    await act(async () => root.unmount());
    place.remove();
  });
  await draw(node);
  return draw;
}

/** Runs a hook in a component of its own. `result` is what the hook returned last; `again` renders with another hook. */
export async function mountHook<Result>(
  hook: () => Result,
): Promise<{ readonly result: Result; again: (next: () => Result) => Promise<void> }> {
  const given: Result[] = [];
  function Owner({ run }: { run: () => Result }) {
    given.push(run());
    return null;
  }
  const draw = await mount(<Owner run={hook} />);
  return {
    get result() {
      return given.at(-1) as Result;
    },
    again: (next) => draw(<Owner run={next} />),
  };
}
