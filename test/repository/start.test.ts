import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { root } from './support/repository.ts';

const surroundings = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_OPTIONS|VITEST|NODE_ENV|DUOLOGUE_|HOST$)|_API_KEY$/.test(name),
  ),
);

test('npm start serves, says where and which model answers, and Ctrl-C ends it cleanly', async () => {
  const data = mkdtempSync(join(tmpdir(), 'duologue-start-'));
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: { ...surroundings, PORT: '0', DUOLOGUE_DATA: data },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const ended = once(npm, 'exit');
  try {
    const texts: string[] = [];
    for await (const line of createInterface(npm.stdout)) {
      texts.push(line);
      if (line.startsWith('Data: ')) break;
    }
    const url = /^Duologue listens on (http:\/\/\S+)$/m.exec(texts.join('\n'))?.[1];
    const health = await fetch(`${url}/health`);
    expect({ texts: texts.slice(-4).map((line) => line.split(':')[0]), status: health.status }).toEqual({
      texts: ['Duologue listens on http', 'Model', 'Another model', 'Data'],
      status: 200,
    });

    // A terminal sends the signal to every process of the group, and npm passes it on once more.
    process.kill(-(npm.pid ?? Number.NaN), 'SIGINT');
    expect(await ended).toEqual([0, null]);
    await expect(fetch(`${url}/health`)).rejects.toThrow('fetch failed');
  } finally {
    if (npm.exitCode === null && npm.signalCode === null) process.kill(-(npm.pid ?? Number.NaN), 'SIGKILL');
    rmSync(data, { recursive: true, force: true });
  }
});
