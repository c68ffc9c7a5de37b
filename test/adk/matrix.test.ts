import { readFileSync } from 'node:fs';
import { App, type AuthConfig, type BaseNode, FunctionNode, LlmAgent, NodeTool, Workflow } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { harness } from '../support/harness.ts';
import { ScriptedModel } from '../support/scripted-model.ts';
import { cellOf, Place, tableOf, withTable } from './support/matrix.ts';
import { ROWS } from './support/rows/index.ts';
import { sqliteDatabase } from './support/sqlite-database.ts';
import { MODES } from './support/talk.ts';

const document = new URL('../../docs/adk.md', import.meta.url);
const description = 'A tool.';
/** The cells of the table whose conversation passed. */
const passed = new Set<string>();

describe.each(MODES)('over %s, in SQLite', (mode) => {
  for (const [index, row] of ROWS.entries()) {
    it(`${index + 1}: ${row.feature}`, async () => {
      await row.run(new Place(mode, sqliteDatabase()));
      passed.add(cellOf(row, mode));
    });
  }
});

describe('docs/adk.md', () => {
  it('has the table of the rows above; after a wanted change: npm test -- test/adk/matrix -u', async () => {
    const text = readFileSync(document, 'utf8');
    await expect(withTable(text, tableOf(ROWS, passed))).toMatchFileSnapshot('../../docs/adk.md');
  });
});

describe('what cannot work is refused at start', () => {
  const pay = defineTool({ name: 'pay', description, needsApproval: true, execute: () => 'paid' });
  const inputSchema = z.object({});
  const authConfig: AuthConfig = { credentialKey: 'key', authScheme: { type: 'http', scheme: 'bearer' } };
  const withTool = (tool: NodeTool | BaseNode) =>
    new LlmAgent({ name: 'assistant', model: new ScriptedModel(), tools: [tool] });
  const flow = () =>
    new Workflow({
      name: 'flow',
      edges: [['START', new LlmAgent({ name: 'a', model: new ScriptedModel() })]],
    });

  it.each<[string, Partial<DuologueOptions>, string]>([
    [
      'a tool that asks as a node',
      { agent: new Workflow({ name: 'flow', edges: [['START', pay]] }) },
      'The tool "pay" is a node of the workflow "flow", where it cannot wait for a user or a browser.',
    ],
    [
      'a tool that asks as a node of a Workflow that is used as a tool',
      { agent: withTool(new NodeTool(new Workflow({ name: 'flow', inputSchema, edges: [['START', pay]] }))) },
      '"pay" cannot run inside "flow", a node that is used as a tool',
    ],
    [
      'a node with authConfig that is used as a tool',
      { agent: withTool(new FunctionNode('read', () => 1, { inputSchema, authConfig })) },
      'The node "read" that the agent "assistant" uses as a tool has authConfig',
    ],
    [
      'a Workflow that is to run live',
      { agent: flow(), driver: 'live' },
      'ADK cannot run the workflow "flow" live.',
    ],
    [
      'an App that is not resumable',
      { agent: new App({ name: 'shop', rootAgent: flow(), resumabilityConfig: { isResumable: false } }) },
      'The App "shop" has isResumable: false',
    ],
    [
      'a resumabilityConfig without resumption',
      { resumabilityConfig: { isResumable: false } },
      'the option "resumabilityConfig" must be { isResumable: true }',
    ],
    [
      'a service that is none',
      { artifactService: {} as never },
      'the option "artifactService" must be a service of ADK',
    ],
  ])('%s', (_, options, words) => {
    expect(() => harness([], [], options)).toThrow(words);
  });
});
