import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startBackend } from '../../scripts/fixtures/backend.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

it('the commands of the README hold the conversations it tells of', async () => {
  const section = /^## With curl\n(.*?)^## /ms.exec(readme)?.[1] ?? '';
  const commands = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text).join('');
  const folder = mkdtempSync(join(tmpdir(), 'duologue-readme-'));
  const backend = await startBackend();
  try {
    const { stdout, stderr, status } = spawnSync(
      'sh',
      ['-eu', '-c', commands.replaceAll('localhost:3000', new URL(backend.url).host)],
      { cwd: folder, encoding: 'utf8', timeout: 120_000 },
    );
    const chunks = [...stdout.matchAll(/^data: (\{.*\})$/gm)].map(([, text = '']) => JSON.parse(text));
    const texts = chunks.map(({ type, delta }) =>
      type === 'text-delta' ? delta : type === 'finish' ? '\n' : '',
    );
    const audit = [...stdout.matchAll(/"kind":"(\w+)","sessionId":"(\w+)"/g)].map(
      ([, kind, id]) => `${id} ${kind}`,
    );
    expect({ status, stderr, texts: texts.join('').split('\n').filter(Boolean), audit }).toEqual({
      status: 0,
      stderr: '',
      texts: ['I sent $50 to Alice.', '花子さんへの50ドルの送金は承認されなかったため、行っていません。'],
      audit: ['first issued', 'first approved', 'first consumed'],
    });
    expect(stdout).toContain('{"id":"first","title":');
  } finally {
    await backend.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}, 180_000);
