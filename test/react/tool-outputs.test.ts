// @vitest-environment jsdom
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { live } from '../support/live.ts';
import { call, text } from '../support/scripted-model.ts';
import { mount } from './support/page.tsx';

const output = z.object({ degrees: z.number(), unit: z.string().default('c') });
const common = { name: 'measure', description: 'Measures.', output };

/** The part of the only call, when the agent has answered after it. */
async function outcome(mode: 'sse' | 'bidi', where: 'server' | 'client', made: unknown) {
  const tool =
    where === 'server'
      ? defineTool({ ...common, execute: () => made as z.infer<typeof output> })
      : defineTool({ ...common, runsOn: 'client' });
  const { served, model } = await live([[call('measure', {})], [text('Done.')]], [tool]);
  const page = mount({ url: served.url, mode, tools: where === 'client' ? { measure: () => made } : {} });
  await page.now.sendMessage({ text: 'Measure!' });
  const { messages } = await page.texts('Done.');
  const part = messages.at(-1)?.parts.find(({ type }) => type === 'tool-measure');
  const response = model.lastContents.at(-1)?.parts?.[0]?.functionResponse?.response;
  return { part, response };
}

describe.each(['sse', 'bidi'] as const)('the output schema of a tool over %s', (mode) => {
  it.each(['server', 'client'] as const)('makes the output of a tool on the %s', async (where) => {
    const { part, response } = await outcome(mode, where, { degrees: 21 });
    expect(part).toMatchObject({ state: 'output-available', output: { degrees: 21, unit: 'c' } });
    expect(response).toEqual({ degrees: 21, unit: 'c' });
  });

  it.each(['server', 'client'] as const)(
    'fails a call on the %s whose output does not fit',
    async (where) => {
      const { part, response } = await outcome(mode, where, { degrees: 'warm' });
      const errorText =
        'measure ran, but its output does not fit its schema: degrees: Invalid input: expected number, received string';
      expect(part).toMatchObject({ state: 'output-error', errorText });
      expect(response).toEqual({ error: errorText });
    },
  );
});
