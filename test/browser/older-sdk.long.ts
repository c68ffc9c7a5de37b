import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build, type Rolldown } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stage } from './support/browser.ts';
import { root } from './support/built.ts';
import { scenarios } from './support/fixtures.ts';
import { Front } from './support/front.ts';
import { Person } from './support/person.ts';
import { holdThroughClicks } from './support/scenario.ts';

const here = stage();

describe('the page built with ai 6 and @ai-sdk/react 3', () => {
  const folder = mkdtempSync(join(tmpdir(), 'duologue-older-'));
  let modules: string[] = [];
  let front: Front | undefined;

  beforeAll(async () => {
    const web = resolve(root, 'demo/web');
    const result = await build({
      root: web,
      configFile: resolve(web, 'vite.config.ts'),
      logLevel: 'error',
      resolve: {
        alias: [
          { find: /^ai$/, replacement: 'ai6' },
          { find: /^@ai-sdk\/react$/, replacement: 'react6' },
        ],
      },
      build: { outDir: folder, emptyOutDir: true },
    });
    modules = (result as Rolldown.RolldownOutput).output.flatMap((chunk) =>
      chunk.type === 'chunk' ? chunk.moduleIds : [],
    );
    front = await new Front(folder, here.server.url).start();
  });
  afterAll(async () => {
    await front?.dispose();
    rmSync(folder, { recursive: true, force: true });
  });
  const options = () => (front ? { url: front.url } : {});

  it('has these versions in it and no others', () => {
    const packages = new Set(
      modules.flatMap((id) => /node_modules\/(ai6?|react6|@ai-sdk\/react)\//.exec(id)?.[1] ?? []),
    );
    expect([...packages].sort()).toEqual(['ai6', 'react6']);
  });

  const chosen = [
    'change_bgm-sse-baseline',
    'get_location-approved-sse-baseline',
    'multiple-payments-approve-deny-sse',
    'change_bgm-bidi-baseline',
    'get_location-approved-bidi-baseline',
    'multiple-payments-approve-deny-bidi',
  ];
  it.each(scenarios.filter(({ name }) => chosen.includes(name)))('holds $name', async (scenario) => {
    await holdThroughClicks(here, scenario, options());
  });

  it.each(['sse', 'bidi'] as const)(
    'keeps an open card over a reload and a change of mode, over %s',
    async (mode) => {
      const person = new Person(await here.open({ mode, ...options() }));
      await person.say('Send $50 to Alice');
      await person.card('requested').waitFor();
      await person.page.reload();
      await person.card('requested').waitFor();
      await person.chooseMode(mode === 'sse' ? 'BIDI' : 'SSE');
      await person.approve();
      await person.card('done').waitFor();
      await person.answers.getByText('I sent $50 to Alice.').waitFor();
      expect(await person.answers.count()).toBe(1);
    },
  );
});
