import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as genai from '@google/genai';
import { parse } from 'duologue/parse';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { capture } from '../../scripts/capture/capture.ts';
import { geminiClient } from '../../scripts/capture/clients.ts';
import type { Client } from '../../scripts/capture/providers.ts';
import { scrub } from '../../scripts/capture/scrub.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { fakeProviders, type Seen } from './support/fake-providers.ts';

let server: { url: string; seen: Seen[]; close(): void };
beforeAll(async () => {
  server = await fakeProviders();
});
afterAll(() => server.close());

const env = {
  OPENAI_API_KEY: 'sk-proj-abcdefghijklmnop1234',
  ANTHROPIC_API_KEY: 'sk-ant-abcdefghijklmnop1234',
  GOOGLE_API_KEY: 'AIzaabcdefghijklmnopqrstuvwxyz0123456',
  AWS_ACCESS_KEY_ID: ['AKIA', 'ABCDEFGHIJKLMNOP'].join(''),
  AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMIabcdefghijk',
};

/** Speaks HTTP as the SDK would; a stream is the decoded events. */
function fetchClient(
  path: (request: Record<string, unknown>, stream: boolean) => string,
  key: string,
): Client {
  const send = async (request: Record<string, unknown>, stream: boolean) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    return fetch(server.url + path(request, stream), {
      method: 'POST',
      headers,
      body: JSON.stringify(request),
    });
  };
  return {
    call: async (request) => (await send(request, false)).json(),
    async stream(request) {
      const text = await (await send(request, true)).text();
      const events = [...text.matchAll(/^data: (\{.*)$/gm)].map((match) => JSON.parse(match[1] ?? ''));
      return (async function* () {
        yield* events;
      })();
    },
  };
}

async function clientFor(provider: string): Promise<Client> {
  if (provider === 'openai') return fetchClient(() => '/v1/chat/completions', env.OPENAI_API_KEY);
  if (provider === 'anthropic') return fetchClient(() => '/v1/messages', env.ANTHROPIC_API_KEY);
  if (provider === 'gemini')
    return geminiClient(genai as never, { ...env, GOOGLE_GEMINI_BASE_URL: server.url });
  const client = fetchClient((request) => `/model/${request.modelId}/converse`, env.AWS_ACCESS_KEY_ID);
  return {
    ...client,
    stream: async (request) => [await client.call(request)] as unknown as AsyncIterable<unknown>,
  };
}

const run = (keys: Record<string, string>) => {
  const outDir = temporaryFolder();
  const lines: string[] = [];
  const now = () => new Date('2026-11-15T12:00:00Z');
  const done = capture({ env: keys, outDir, clientFor, now, log: (line) => lines.push(line) });
  return done.then((result) => ({ result, outDir, lines }));
};

describe('capturing fixtures', () => {
  it('runs every scenario of every provider and writes fixtures that parse', async () => {
    const { result, outDir } = await run(env);
    const scenarios = ['multi_turn', 'parallel_tools', 'structured', 'reasoning', 'streaming'];
    const names = ['openai', 'anthropic', 'gemini', 'bedrock'].flatMap((p) =>
      scenarios.map((s) => `real_${p}_${s}.json`),
    );
    expect(result).toEqual({ written: names, skipped: [], failed: [] });
    expect(readdirSync(outDir).sort()).toEqual([...names].sort());
    for (const name of names) {
      const fixture = JSON.parse(readFileSync(join(outDir, name), 'utf8'));
      expect(fixture).toMatchObject({ _source: 'Live API call', _captured: '2026-11-15T12:00:00.000Z' });
      expect('expected' in fixture).toBe(false);
      const record = parse(fixture.response, { provider: fixture.provider });
      expect(record.error, name).toBeNull();
      expect(record.complete, name).toBe(true);
      expect(record.usage?.input, name).toBeGreaterThan(0);
      if (name.includes('parallel_tools')) expect(record.toolUses, name).toHaveLength(3);
    }
  });

  it('carries a conversation on from turn to turn', async () => {
    server.seen.length = 0;
    await run({ OPENAI_API_KEY: env.OPENAI_API_KEY });
    const turns = server.seen
      .slice(0, 3)
      .map(({ body }) => (body.messages as { role: string }[]).map(({ role }) => role));
    expect(turns).toEqual([
      ['system', 'user'],
      ['system', 'user', 'assistant', 'user'],
      ['system', 'user', 'assistant', 'user', 'assistant', 'user'],
    ]);
  });

  it('lets no key reach a file, even one that the response repeats', async () => {
    const { outDir } = await run(env);
    const text = readdirSync(outDir)
      .map((name) => readFileSync(join(outDir, name), 'utf8'))
      .join('');
    expect(text).toContain('[scrubbed]');
    for (const key of Object.values(env)) expect(text).not.toContain(key);
  });

  it('says what it skipped without a key', async () => {
    const { result, lines } = await run({});
    expect(result).toEqual({
      written: [],
      skipped: ['openai', 'anthropic', 'gemini', 'bedrock'],
      failed: [],
    });
    expect(lines[0]).toBe('skipped openai: OPENAI_API_KEY not set (5 scenarios)');
  });

  it('goes on when one scenario fails, and tells why without the key', async () => {
    const lines: string[] = [];
    const failing = async () => ({
      call: async () => Promise.reject(new Error(`401 for ${env.OPENAI_API_KEY}`)),
      stream: async () => Promise.reject(new Error('no')),
    });
    const outDir = temporaryFolder();
    const { failed } = await capture({
      env: { OPENAI_API_KEY: env.OPENAI_API_KEY },
      outDir,
      clientFor: failing,
      now: () => new Date(),
      log: (line) => lines.push(line),
    });
    expect(failed).toHaveLength(5);
    expect(lines[0]).toBe('failed real_openai_multi_turn.json: 401 for [scrubbed]');
  });

  it('scrubs what looks like a key wherever it came from', () => {
    expect(scrub('a sk-ant-api03-AAAAAAAAAAAAAAAAAAAA b Bearer abcdefghijklmnopqrstuvwx c', {})).toBe(
      'a [scrubbed] b [scrubbed] c',
    );
  });
});
