import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LlmAgent } from '@google/adk';
import { describe, expect, it, onTestFinished } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { nodeListener } from '../../src/server/adapters/node.ts';
import { createDuologue } from '../../src/server/index.ts';
import { type ScriptTurn, scriptModel } from '../../src/testing/index.ts';
import { testSchema } from './support/schema.ts';

const schema = testSchema();

/** A node whose agent saves `report.csv` and `user:notes.txt` with each message. Returns its address. */
async function startNode(): Promise<string> {
  const save = defineTool({
    name: 'save',
    description: 'Saves.',
    execute: async (_input, context) => {
      const data = Buffer.from('a,b\n').toString('base64');
      await context.saveArtifact('report.csv', { inlineData: { mimeType: 'text/csv', data } });
      await context.saveArtifact('user:notes.txt', { text: 'Mine.' });
      return {};
    },
  });
  const turns: ScriptTurn[] = [{ call: 'save', args: {} }, 'Saved.', { call: 'save', args: {} }, 'Saved.'];
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const duologue = createDuologue({
    agent: new LlmAgent({ name: 'assistant', model: scriptModel(turns), tools: [save] }),
    store: await schema.open(),
    node: { address: url, drainMs: 0 },
    logger: { info() {}, warn() {}, error() {} },
  });
  server.on('request', nodeListener(duologue));
  onTestFinished(async () => {
    await duologue.close();
    server.closeAllConnections();
    server.close();
  });
  return url;
}

async function post(url: string, text: string): Promise<string> {
  const response = await fetch(`${url}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      id: 'chat-1',
      messages: [{ id: text, role: 'user', parts: [{ type: 'text', text }] }],
    }),
  });
  return response.text();
}

describe('artifacts on nodes that share PostgreSQL', () => {
  it('[S12c] a file that one node saved is served by each node, with the version of its message', async () => {
    const [first, second] = [await startNode(), await startNode()];
    await post(first, 'one');
    await post(second, 'two');
    for (const node of [first, second]) {
      const { messages } = (await (await fetch(`${node}/sessions/chat-1`)).json()) as { messages: Message[] };
      const files = messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'file'));
      expect(files.map(({ providerMetadata }) => providerMetadata?.duologue)).toEqual([
        { filename: 'report.csv', version: 0, bytes: 4 },
        { filename: 'user:notes.txt', version: 0, bytes: 5 },
        { filename: 'report.csv', version: 1, bytes: 4 },
        { filename: 'user:notes.txt', version: 1, bytes: 5 },
      ]);
      const contents = files.map(async ({ url }) => (await fetch(url)).text());
      expect(await Promise.all(contents)).toEqual(['a,b\n', 'Mine.', 'a,b\n', 'Mine.']);
    }
  });

  it('[S14] a removal by a node of an earlier version, which does not know artifacts, takes those of the session along', async () => {
    const node = await startNode();
    await post(node, 'one');
    // The function of the database that nodes of every version call.
    const [session] = await schema.sql(`select name from ${schema.name}.sessions where id = 'chat-1'`);
    await schema.sql(`select ${schema.name}.delete_session('${String(session?.name)}')`);
    const left = await schema.sql(`select name from ${schema.name}.artifacts order by name`);
    expect([...new Set(left.map(({ name }) => name))]).toEqual(['user:notes.txt']);
  });
});
