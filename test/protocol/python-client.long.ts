import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Backend, startBackend } from '../../scripts/fixtures/backend.ts';

const folder = new URL('../../examples/python-client/', import.meta.url);

/** What `check.py` prints of one conversation. */
interface Outcome {
  text: string;
  calls: { state: string; errorText?: string }[];
  asked: string[];
  ran: string[];
  errors: unknown[];
  sameAsStored: boolean;
}

interface Results {
  sse: Record<string, Outcome> & { resume: Outcome[] };
  bidi: Record<string, Outcome> & { resume: Outcome[]; reset: string[] };
}

/** Runs the client against a server; fails with what Python says. */
async function run(url: string): Promise<Results> {
  const child = spawn('python3', [fileURLToPath(new URL('check.py', folder)), url], {
    env: { PATH: process.env.PATH ?? '', PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { out: '', error: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    texts.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.error += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`check.py ended with ${code}:\n${texts.error}`);
  return JSON.parse(texts.out) as Results;
}

const settled = { errors: [], sameAsStored: true };
const given = { state: 'output-available' };

describe('the Python client against the demo', () => {
  let backend: Backend;
  let results: Results;
  beforeAll(async () => {
    backend = await startBackend();
    results = await run(backend.url);
  });
  afterAll(() => backend?.stop());

  test.each(['sse', 'bidi'] as const)('talks, approves, denies and runs browser tools, over %s', (mode) => {
    const { text, approval, denial, ...others } = results[mode];
    expect(text).toMatchObject({ ...settled, calls: [], text: expect.stringMatching(/^Hello!/) });
    const pays = { ...settled, asked: ['process_payment'], ran: [] };
    expect(approval).toEqual({ ...pays, text: 'I sent $50 to Alice.', calls: [given] });
    expect(denial).toMatchObject({
      ...pays,
      calls: [{ state: 'output-error', errorText: 'User denied the tool call: too dear' }],
    });
    expect(others['two approvals']).toMatchObject({
      ...settled,
      text: 'I sent $30 to Alice and $40 to Bob.',
      calls: [given, given],
    });
    expect(others['browser tool']).toMatchObject({
      ...settled,
      asked: [],
      ran: ['change_bgm'],
      calls: [given],
    });
    expect(others['browser tool that asks']).toMatchObject({
      ...settled,
      asked: ['get_location'],
      ran: ['get_location'],
      calls: [given],
    });
  });

  test.each(['sse', 'bidi'] as const)(
    'is cut off after each of eleven chunks, and ends with the same, over %s',
    (mode) => {
      expect(results[mode].resume).toHaveLength(11);
      for (const outcome of results[mode].resume) expect(outcome).toEqual(results[mode].approval);
    },
  );

  test('gets the conversation anew when the log does not have its chunk', () => {
    expect(results.bidi.reset).toEqual(['user', 'assistant', 'user', 'assistant']);
  });

  test('needs nothing but the standard library', () => {
    const text = readFileSync(new URL('duologue_client.py', folder), 'utf8');
    const imported = [...text.matchAll(/^(?:import|from) ([\w.]+)/gm)].map(([, name]) => name);
    expect(imported.sort()).toEqual(
      ['base64', 'hashlib', 'http.client', 'json', 'os', 'socket', 'struct', 'urllib.parse', 'uuid'].sort(),
    );
  });
});
