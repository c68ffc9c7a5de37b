import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import { TIMEOUT_MS } from './launch.ts';
import { DemoServer } from './server.ts';

/** The fixtures of a test file: the shared browser, one server, and a fresh browser context for every test. */
export interface Stage {
  readonly server: DemoServer;
  /** A page in a fresh context, without storage from other tests. */
  open(options?: OpenOptions): Promise<Page>;
  /** Registers a cleanup that runs after the test. */
  after(takeDown: () => Promise<unknown> | unknown): void;
}

export interface OpenOptions extends BrowserContextOptions {
  /** Another address than the server's own. */
  url?: string;
  mode?: 'sse' | 'bidi';
  /** Before the page is loaded. */
  prepare?: (context: BrowserContext) => Promise<unknown>;
}

/** Sets up a test file. It has its own server, because a server limits the requests of one user per minute. */
export function stage(env: Record<string, string> = {}): Stage {
  const server = new DemoServer({ DUOLOGUE_APPROVAL_TIMEOUT_MS: '120000', ...env });
  const takeDowns: (() => Promise<unknown> | unknown)[] = [];
  let browser: Browser | undefined;

  beforeAll(async () => {
    [browser] = await Promise.all([chromium.connect(inject('browser')), server.start()]);
  });
  afterEach(async () => {
    const problems: unknown[] = [];
    for (const takeDown of takeDowns.splice(0).reverse()) {
      try {
        await takeDown();
      } catch (error) {
        problems.push(error);
      }
    }
    if (problems.length > 0) throw problems[0];
  });
  afterAll(async () => {
    await browser?.close();
    await server.dispose();
  });

  return {
    server,
    after: (takeDown) => takeDowns.push(takeDown),
    async open({ url, mode = 'bidi', prepare, ...options } = {}) {
      if (!browser) throw new Error('The browser has not started.');
      const context = await browser.newContext({
        locale: 'en-US',
        viewport: { width: 1280, height: 860 },
        ...options,
      });
      takeDowns.push(() => context.close());
      context.setDefaultTimeout(TIMEOUT_MS);
      await context.addInitScript((wanted) => {
        // The browser's error page, shown when a page could not be loaded, has no storage.
        if (self.origin === 'null') return;
        if (localStorage.getItem('duologue.mode') === null) localStorage.setItem('duologue.mode', wanted);
      }, mode);
      await prepare?.(context);
      const page = await context.newPage();
      const errors: Error[] = [];
      page.on('pageerror', (error) => errors.push(error));
      takeDowns.push(() => {
        if (errors.length > 0) throw new AggregateError(errors, `The page failed: ${errors.join('; ')}`);
      });
      await page.goto(url ?? server.url);
      return page;
    },
  };
}
