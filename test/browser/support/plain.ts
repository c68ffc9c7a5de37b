import { resolve } from 'node:path';
import { BaseLlm, LlmAgent, type LlmRequest, type LlmResponse } from '@google/adk';
import type { Browser, Page } from 'playwright-core';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll } from 'vitest';
import { createDuologue } from '../../../src/server/index.ts';
import { type Served, serve } from '../../../src/server/use/node.ts';
import { fourTools } from '../../support/demo-tools.ts';
import { call, streamed } from '../../support/scripted-model.ts';
import type { Setup } from '../plain/page.ts';
import { root } from './built.ts';
import { launch } from './launch.ts';

const HTML = '<!doctype html><title>Plain</title><body><script type="module" src="/page.js"></script></body>';

const ARGS: Readonly<Record<string, Record<string, unknown>>> = {
  get_weather: { location: 'Tokyo' },
  process_payment: { amount: 50, recipient: 'Alice' },
  change_bgm: { track: 2 },
  get_location: {},
};

/** Calls the tool that it is told the name of, then says `Done.` */
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

/** The versions of the SDK that the page is built with. */
export type Sdk = 'ai 6' | 'ai 7';

const ALIASES: Record<Sdk, { find: RegExp; replacement: string }[]> = {
  'ai 6': [],
  'ai 7': [
    { find: /^ai$/, replacement: 'ai7' },
    { find: /^@ai-sdk\/react$/, replacement: 'react7' },
  ],
};

/** A page with a stock `useChat` in a real browser, and a real server with the four kinds of tool behind it. */
export function plainStage(sdk: Sdk): { open(setup: Setup): Promise<Page> } {
  let browser: Browser | undefined;
  let page: Page | undefined;
  let served: Served | undefined;

  beforeAll(async () => {
    const script = await scriptOf(sdk);
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
    browser = await launch();
    page = await browser.newPage();
    page.setDefaultTimeout(10_000);
    await page.goto(`${served.url}/plain.html`);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  return {
    async open(setup) {
      if (!page) throw new Error('The stage is not set.');
      await page.evaluate((options) => window.plain.open(options), setup);
      return page;
    },
  };
}

async function scriptOf(sdk: Sdk): Promise<string> {
  const layer = (name: string) => resolve(root, `src/${name}/index.ts`);
  const result = (await build({
    root,
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
    resolve: {
      alias: [
        { find: 'duologue/client', replacement: layer('client') },
        { find: 'duologue/protocol', replacement: layer('protocol') },
        ...ALIASES[sdk],
      ],
    },
    build: {
      write: false,
      target: 'es2022',
      rollupOptions: { input: resolve(root, 'test/browser/plain/page.ts'), output: { format: 'es' } },
    },
  })) as Rolldown.RolldownOutput;
  return result.output[0].code;
}
