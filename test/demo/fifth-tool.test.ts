import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { EmbeddedModel } from '../../src/models/index.ts';
import { cardsIn, chunksOf, demo, outcomesIn, wordsIn } from './support/demo.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The files that CONTRIBUTING.md tells to write. */
const steps = [
  ...readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').matchAll(
    /^```tsx?\n\/\/ file: (demo\/\S+)\n(.*?)^```$/gms,
  ),
].map(([, file = '', text = '']) => ({ file, text }));

describe('a fifth tool, added as CONTRIBUTING.md says', () => {
  let copy: string;
  beforeAll(() => {
    mkdirSync(join(root, '.cache'), { recursive: true });
    copy = mkdtempSync(join(root, '.cache', 'fifth-tool-'));
    for (const folder of ['server', 'tools', 'web/src']) {
      cpSync(join(root, 'demo', folder), join(copy, 'demo', folder), { recursive: true });
    }
    for (const { file, text } of steps) {
      mkdirSync(dirname(join(copy, file)), { recursive: true });
      writeFileSync(join(copy, file), text);
    }
    return () => rmSync(copy, { recursive: true });
  });

  const load = (path: string) => import(/* @vite-ignore */ join(copy, 'demo', path));

  async function withFifthTool() {
    const { loadTools } = (await load('tools/load.ts')) as typeof import('../../demo/tools/load.ts');
    const { createAgent } = (await load('server/agent.ts')) as typeof import('../../demo/server/agent.ts');
    const tools = await loadTools();
    const model = new EmbeddedModel({ paceMs: 0, rules: tools.flatMap(({ rules }) => rules) });
    return demo({ agent: createAgent({ model, tools, surroundings: { env: {}, dataDir: copy } }) });
  }

  it('is its folder and one line', () => {
    expect(steps.map(({ file }) => file)).toEqual([
      'demo/tools/table/server.ts',
      'demo/tools/table/web/index.tsx',
      'demo/tools/registry.ts',
    ]);
    const line = /^export const TOOLS = \[(.*?)\];$/ms;
    const [before, after] = [
      readFileSync(join(root, 'demo/tools/registry.ts'), 'utf8'),
      steps.at(-1)?.text,
    ].map((text = '') => [...(line.exec(text)?.[1] ?? '').matchAll(/'(\w+)'/g)].map(([, name]) => name));
    expect(after).toEqual([...(before ?? []), 'table']);
  });

  it('asks, runs and is told of over SSE', async () => {
    const { say, decide } = await withFifthTool();
    const asked = await say('Book a table for 4');
    const { chunks } = await decide(cardsIn(asked), [true]);
    expect([outcomesIn(chunks), wordsIn(chunks)]).toEqual([
      [{ booked: true, seats: 4 }],
      'Your table is booked.',
    ]);
  });

  it('asks, runs and is told of over BIDI', async () => {
    const socket = await (await withFifthTool()).connect();
    socket.say('4人で予約して');
    const { toolCallId } = await socket.chunk('tool-approval-request');
    socket.send('tool_result', { toolCallId, status: 'approved' });
    await socket.done();
    socket.close();
    expect([outcomesIn(socket.chunks), wordsIn(socket.chunks)]).toEqual([
      [{ booked: true, seats: 4 }],
      '予約しました。',
    ]);
  });

  it('stands in help beside the other four, which work as before', async () => {
    const { say } = await withFifthTool();
    expect(wordsIn((await say('help')).chunks)).toContain('- tables: “Book a table for 4”\n');
    expect(chunksOf((await say('weather in Tokyo')).chunks, 'tool-output-available').length).toBe(1);
  });

  it('has its card, its name and its suggestion on the page', async () => {
    const { questionOf, sentenceOf } = (await load(
      'web/src/approval/question.ts',
    )) as typeof import('../../demo/web/src/approval/question.ts');
    const { en } = (await load('web/src/i18n/en.ts')) as typeof import('../../demo/web/src/i18n/en.ts');
    const { PAGE_TOOLS, toolTitle } = (await load(
      'web/src/tools/page-tools.tsx',
    )) as typeof import('../../demo/web/src/tools/page-tools.tsx');
    const call = { type: 'tool-book_table', toolCallId: 'c', state: 'approval-requested' } as const;
    expect(sentenceOf(questionOf({ ...call, input: { seats: 4 } }, en, 'en'))).toBe('Book a table for 4.');
    expect(toolTitle('book_table', en, 'en')).toBe('Table');
    expect(PAGE_TOOLS.map(({ name }) => name)).toEqual([
      'process_payment',
      'get_weather',
      'change_bgm',
      'get_location',
      'book_table',
    ]);
  });
});
