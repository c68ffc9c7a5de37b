import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAgent } from '../../examples/express/agent.ts';
import { createApp } from '../../examples/express/app.ts';
import { GET } from '../../examples/nextjs/app/api/[...duologue]/route.ts';
import { duologue as station } from '../../examples/nextjs/duologue.ts';
import { read, say, shape } from '../support/harness.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';

test('the Express example runs an ADK tool and asks before another, beside its own routes', async () => {
  const model = new ScriptedModel([
    [call('find_books', { word: 'genji' })],
    [call('order_book', { title: 'The Tale of Genji', copies: 1 })],
    [text('Ordered.')],
  ]);
  const { app, close } = createApp(createAgent(model));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const post = async (body: unknown) =>
    read(
      await fetch(`${base}/api/chat/stream`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    );
  try {
    const home = await fetch(base);
    const unknown = await fetch(`${base}/api/chat/nothing-here`);
    expect([home.status, unknown.status]).toEqual([200, 404]);

    const asked = await post(say('Genji, please'));
    expect(shape(asked.chunks)).toEqual([
      'start',
      'tool-input-start',
      'tool-input-available',
      'tool-output-available',
      'tool-input-start',
      'tool-input-available',
      'tool-approval-request',
      'finish',
    ]);
    const { messageId } = asked.chunks[0] as { messageId: string };
    const { approvalId, toolCallId } = asked.chunks[6] as { approvalId: string; toolCallId: string };
    const part = {
      type: 'tool-order_book',
      toolCallId,
      state: 'approval-responded',
      input: { title: 'The Tale of Genji', copies: 1 },
      approval: { id: approvalId, approved: true },
    };
    const ordered = await post({
      id: 'chat-1',
      messages: [{ id: messageId, role: 'assistant', parts: [part] }],
    });
    expect(ordered.chunks.find((chunk) => chunk.type === 'tool-output-available')).toEqual({
      type: 'tool-output-available',
      toolCallId,
      output: { ordered: 'The Tale of Genji', copies: 1 },
    });
  } finally {
    await close();
    server.closeAllConnections();
    server.close();
  }
});

test('the Next.js example leaves duologue to the bundler, where its hooks find the React of the page', async () => {
  const { default: config } = (await import('../../examples/nextjs/next.config.mjs' as string)) as {
    default: { serverExternalPackages: string[] };
  };
  expect(config.serverExternalPackages).toEqual(['@google/adk']);
});

test('the Next.js example serves the agent from its catch-all route', async () => {
  const health = await GET(new Request('http://localhost:3000/api/health'));
  const foreign = await GET(
    new Request('http://localhost:3000/api/sessions', { headers: { origin: 'https://elsewhere.example' } }),
  );
  await station.close();
  expect([health.status, foreign.status]).toEqual([200, 403]);
});

test('an example with the packed library has its own tsconfig.json and vitest.config.ts, so that tsx and vitest do not use those of the repository', () => {
  const folder = join(import.meta.dirname, '../../examples');
  const packed = readdirSync(folder).filter((name) =>
    readFileSync(join(folder, name, 'README.md'), 'utf8').includes('npm install --no-save ../../duologue-'),
  );
  expect(packed).toEqual(['express', 'nextjs', 'testing-an-agent', 'webhook']);
  for (const name of packed) {
    const project = join(folder, name);
    const scripts = readFileSync(join(project, 'package.json'), 'utf8');
    const paths = /"paths"|"extends"/;
    expect(readFileSync(join(project, 'tsconfig.json'), 'utf8'), name).not.toMatch(paths);
    expect(existsSync(join(project, 'vitest.config.ts')), name).toBe(scripts.includes('"vitest run"'));
  }
});

test('each example that runs here names the command that installs, builds and starts it', () => {
  const root = join(import.meta.dirname, '../..');
  const named = (...args: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/example.mjs', ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    return { status, text: stderr.trim() };
  };
  const names = readdirSync(join(root, 'examples')).filter((name) =>
    existsSync(join(root, 'examples', name, 'package.json')),
  );
  expect(names).toContain('svelte');
  const list = `npm run example -- ${names.join(' | ')}`;
  expect(named()).toEqual({ status: 1, text: `the example cannot start: name one: ${list}` });
  expect(named('svelt')).toEqual({
    status: 1,
    text: `the example cannot start: there is no "svelt": ${list}`,
  });
  expect(named('webhook', 'begin')).toEqual({
    status: 1,
    text: 'the example cannot start: webhook has no script "begin", only start, receive.',
  });
  for (const name of names) {
    expect(readFileSync(join(root, 'examples', name, 'README.md'), 'utf8'), name).toMatch(
      new RegExp(`npm run example -- ${name}\\b`),
    );
  }
});

test('the example with assistant-ui pins the version that the tests use, because newer ones may not be installable', () => {
  const packageAt = (path: string) =>
    JSON.parse(readFileSync(join(import.meta.dirname, '../..', path), 'utf8')) as Record<
      'dependencies' | 'devDependencies',
      Record<string, string>
    >;
  expect(packageAt('examples/assistant-ui/package.json').dependencies['@assistant-ui/react']).toBe(
    packageAt('package.json').devDependencies['@assistant-ui/react'],
  );
});
