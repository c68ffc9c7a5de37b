import { resolve } from 'node:path';
import { BaseLlm, LlmAgent, type LlmRequest, type LlmResponse } from '@google/adk';
import { type Browser, chromium, type Page } from 'playwright-core';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll, inject } from 'vitest';
import { type Served, serve } from '../../../src/server/adapters/node.ts';
import { createDuologue } from '../../../src/server/index.ts';
import { fourTools } from '../../support/demo-tools.ts';
import { call, streamed } from '../../support/scripted-model.ts';
import type { Setup } from '../plain/page.ts';
import { root } from './built.ts';
import { TIMEOUT_MS } from './launch.ts';

const HTML = '<!doctype html><title>Plain</title><body><script type="module" src="/page.js"></script></body>';

const ARGS: Readonly<Record<string, Record<string, unknown>>> = {
  get_weather: { location: 'Tokyo' },
  process_payment: { amount: 50, recipient: 'Alice' },
  change_bgm: { track: 2 },
  get_location: {},
};

/** A model that calls the tool named in the user message, then says `Done.` */
class ObedientModel extends BaseLlm {
  constructor() {
    super({ model: 'obedient' });
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const word = contents.at(-1)?.parts?.at(-1)?.text ?? '';
    const args = ARGS[word];
    if (args) yield call(word, args);
    else yield* streamed('Do', 'ne.');
  }

  override connect(): never {
    throw new Error('This model is not live.');
  }
}

/** What the pages are built with. */
export type Build = 'ai 7' | 'ai 6' | 'React 18';

const react18 = (name: string) => resolve(root, 'test/react18/node_modules', name);

const ALIASES: Record<Build, { find: RegExp; replacement: string }[]> = {
  'ai 7': [],
  'ai 6': [
    { find: /^ai$/, replacement: 'ai6' },
    { find: /^@ai-sdk\/react$/, replacement: 'react6' },
  ],
  'React 18': [
    { find: /^react$/, replacement: react18('react/index.js') },
    { find: /^react-dom\/client$/, replacement: react18('react-dom/client.js') },
  ],
};

/** A page of the folder `plain` in a real browser, and a real server with the four kinds of tool behind it. */
export function pageStage(
  source: string,
  built: Build,
): { readonly url: string; goto(hash?: string, url?: string): Promise<Page> } {
  let browser: Browser | undefined;
  let served: Served | undefined;

  beforeAll(async () => {
    const script = await scriptOf(source, built);
    const { weather, payment, music, location } = fourTools();
    const agent = new LlmAgent({
      name: 'assistant',
      model: new ObedientModel(),
      tools: [weather, payment, music, location],
    });
    const duologue = createDuologue({ agent, rateLimit: false });
    served = await serve(duologue, {
      port: 0,
      fallback: ({ url }, response) => {
        const isScript = url === '/page.js';
        response.setHeader('content-type', `text/${isScript ? 'javascript' : 'html'}; charset=utf-8`);
        response.end(isScript ? script : HTML);
      },
    });
    browser = await chromium.connect(inject('browser'));
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  return {
    get url() {
      if (!served) throw new Error('The stage is not set.');
      return served.url;
    },
    async goto(hash = '', url = served?.url) {
      if (!browser) throw new Error('The stage is not set.');
      const page = await browser.newPage();
      page.setDefaultTimeout(TIMEOUT_MS);
      await page.goto(`${url}/plain.html${hash}`);
      return page;
    },
  };
}

/** The page with a stock `useChat`; the chats of successive tests share a page. */
export function plainStage(built: Build): { open(setup: Setup): Promise<Page> } {
  const stage = pageStage('page.ts', built);
  let page: Page | undefined;
  return {
    async open(setup) {
      page ??= await stage.goto();
      await page.evaluate((options) => window.plain.open(options), setup);
      return page;
    },
  };
}

async function scriptOf(source: string, built: Build): Promise<string> {
  const layers = ['client', 'protocol', 'react'].map((name) => ({
    find: `duologue/${name}`,
    replacement: resolve(root, `src/${name}/index.ts`),
  }));
  const result = (await build({
    root,
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
    resolve: { alias: [...layers, ...ALIASES[built]] },
    build: {
      write: false,
      target: 'es2022',
      rollupOptions: { input: resolve(root, 'test/browser/plain', source), output: { format: 'es' } },
    },
  })) as Rolldown.RolldownOutput;
  return result.output[0].code;
}
