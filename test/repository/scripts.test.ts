import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { root } from './support/repository.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'duologue-scripts-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

function node(...args: string[]): SpawnSyncReturns<string> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(NODE_OPTIONS|VITEST)/.test(name)),
  );
  return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', timeout: 120_000, env });
}

describe('finding what npm ci has to install', () => {
  const { platform, arch } = process;
  const other = platform === 'win32' ? 'linux' : 'win32';
  const lock = (version = '1.0.0') => ({
    '': { devDependencies: { a: '1.0.0' } },
    'node_modules/a': { version, integrity: `sha512-${version}` },
    'node_modules/a-here': {
      version: '1.0.0',
      integrity: 'sha512-h',
      optional: true,
      os: [platform],
      cpu: [arch],
    },
    'node_modules/a-there': {
      version: '1.0.0',
      integrity: 'sha512-t',
      optional: true,
      os: [other],
      cpu: [arch],
    },
    'node_modules/for-a-there': { version: '1.0.0', integrity: 'sha512-f', optional: true },
  });
  const json = (packages: object) => JSON.stringify({ packages });
  const {
    'node_modules/a-there': _there,
    'node_modules/for-a-there': _for,
    '': _project,
    ...installed
  } = lock();
  const whole = {
    'package-lock.json': json(lock()),
    'node_modules/.package-lock.json': json(installed),
    'node_modules/a/package.json': '{}',
  };

  async function missing(): Promise<string | undefined> {
    const url = pathToFileURL(join(root, 'scripts/lib/installed.mjs')).href;
    const module = (await import(/* @vite-ignore */ url)) as {
      missingFromInstall(folder: string): string | undefined;
    };
    return module.missingFromInstall(folder);
  }

  test('nothing is missing after an install by hand, packages of other platforms aside', async () => {
    write(whole);
    expect([await missing(), await missing()]).toEqual([undefined, undefined]);
  });

  test('a fresh clone has no node_modules', async () => {
    write({ 'package-lock.json': whole['package-lock.json'] });
    expect(await missing()).toBe('node_modules is missing');
  });

  test('a lockfile that has moved on is noticed, also after an install that was whole', async () => {
    write(whole);
    expect(await missing()).toBe(undefined);
    write({ 'package-lock.json': json(lock('2.0.0')) });
    expect(await missing()).toBe('a is 1.0.0, the lockfile says 2.0.0');
  });

  test('a package that was removed by hand is noticed', async () => {
    write(whole);
    expect(await missing()).toBe(undefined);
    rmSync(join(folder, 'node_modules/a'), { recursive: true });
    expect(await missing()).toBe('a is missing');
  });

  test("node_modules of another platform lack this one's packages", async () => {
    const { 'node_modules/a-here': _here, ...rest } = installed;
    write({ ...whole, 'node_modules/.package-lock.json': json(rest) });
    expect(await missing()).toBe('a-here is missing');
  });
});

describe('npm start', () => {
  test('says what is wrong when Node is too old', () => {
    const old = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'18.20.4'})";
    const { status, stderr } = node('--import', old, join(root, 'scripts/start.mjs'));
    expect({ status, first: stderr.split('\n')[0] }).toEqual({
      status: 1,
      first: `duologue needs Node 20.19 or newer; this is Node 18.20.4 (${process.execPath}).`,
    });
  });

  test('says what is wrong when the checkout is not whole', () => {
    cpSync(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true });
    const { status, stderr } = node('scripts/start.mjs');
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr:
        'duologue cannot start: demo/server/main.ts is missing: this is not a whole checkout. Clone the repository again.\n',
    });
  });
});

describe('npm test', () => {
  test('ends with the number of passed and failed tests, files that cannot be loaded included', () => {
    cpSync(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true });
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(root, 'node_modules/vitest'), join(folder, 'node_modules/vitest'), 'junction');
    write({
      'package-lock.json': '{"packages":{"":{}}}',
      'node_modules/.package-lock.json': '{"packages":{}}',
      'package.json': '{"type":"module"}',
      'vitest.config.ts': "export default { test: { include: ['test/*.test.ts'] } };",
      'test/a.test.ts':
        "import { expect, test } from 'vitest'; test('one', () => {}); test('two', () => expect(1).toBe(2));",
      'test/b.test.ts': "throw new Error('cannot be loaded');",
      'test/c.test.ts': "import { test } from 'vitest'; test('three', () => {}); test('four', () => {});",
    });
    const all = node('scripts/test.mjs', 'test');
    const green = node('scripts/test.mjs', 'test/c');
    const none = node('scripts/test.mjs', 'test/missing');
    expect(
      [all, green, none].map(({ status, stdout }) => [status, stdout.trimEnd().split('\n').at(-1)]),
    ).toEqual([
      [1, '3 passed, 2 failed'],
      [0, '2 passed, 0 failed'],
      [1, '0 passed, 1 failed'],
    ]);
  });
});

describe('installing and building', () => {
  test('two processes take turns, and the lock of one that died is taken over', async () => {
    const lock = JSON.stringify(pathToFileURL(join(root, 'scripts/lib/lock.mjs')).href);
    const options = JSON.stringify({ file: join(folder, 'lock'), waitMs: 120_000, everyMs: 5 });
    const log = join(folder, 'log');
    const source = `import { appendFileSync } from 'node:fs';
      import { alone } from ${lock};
      const say = (text) => appendFileSync(${JSON.stringify(log)}, text + '\\n');
      const work = async () => {
        say('in');
        for (let turns = 0; turns < 1_000; turns += 1) await new Promise(setImmediate);
        say('out');
      };
      for (let times = 0; times < 3; times += 1) await alone(work, ${options});`;
    const { pid } = spawnSync(process.execPath, ['--version']);
    write({ lock: String(pid) });
    const ends = [1, 2].map(() =>
      once(spawn(process.execPath, ['--input-type=module', '--eval', source], { stdio: 'inherit' }), 'exit'),
    );
    expect(await Promise.all(ends)).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(readFileSync(log, 'utf8')).toBe('in\nout\n'.repeat(6));
    expect(existsSync(join(folder, 'lock'))).toBe(false);
  });

  test('one that waits too long says which file to look at', () => {
    const lock = JSON.stringify(pathToFileURL(join(root, 'scripts/lib/lock.mjs')).href);
    const file = join(folder, 'lock');
    write({ lock: String(process.pid) });
    const { stderr } = node(
      '--input-type=module',
      '--eval',
      `import { alone } from ${lock}; await alone(() => {}, ${JSON.stringify({ file, waitMs: 20, everyMs: 5 })});`,
    );
    expect(stderr).toContain(
      `${file} is held by another command in this folder. If no other command runs, remove the file.`,
    );
  });
});

describe('running a command', () => {
  test('one that does not end is ended, with everything it started', () => {
    const run = JSON.stringify(pathToFileURL(join(root, 'scripts/lib/run.mjs')).href);
    const { stdout } = node(
      '--input-type=module',
      '--eval',
      `import { run } from ${run};
       const parent = "(trap '' TERM; while :; do sleep 1; done) & echo $!; wait";
       const { code, output } = await run('sh', ['-c', parent], { timeoutMs: 500 });
       const pid = Number(output.split('\\n')[0]);
       // On a machine so busy that the shell was ended before it said a word, it has started nothing.
       const alive = () => { try { return pid > 0 && process.kill(pid, 0); } catch { return false; } };
       for (let tries = 0; tries < 1500 && alive(); tries += 1) await new Promise((done) => setTimeout(done, 20));
       console.log(JSON.stringify({ code, alive: alive(), text: output.trim().split('\\n').at(-1) }));
       process.exit(0);`,
    );
    expect(JSON.parse(stdout)).toEqual({
      code: 124,
      alive: false,
      text: 'stopped: still running after 0.5 s',
    });
  });
});

test('npm run bench gives each part the options that the part reads', () => {
  const all = readFileSync(join(root, 'bench/run.ts'), 'utf8');
  const listOf = (name: string) => new RegExp(`${name}[^\n]* = \\{\\n(.*?)\\n\\};`, 's').exec(all)?.[1] ?? '';
  const files = [...listOf('const PARTS').matchAll(/^ {2}(\w+): '(.+)',$/gm)];
  const given = Object.fromEntries(
    [...listOf('const TAKEN').matchAll(/^ {2}(\w+): \[(.*)\],$/gm)].map(([, part = '', names = '']) => [
      part,
      [...names.matchAll(/'(\w+)'/g)].map(([, name]) => name).sort(),
    ]),
  );
  const read = files.map(([, part = '', file = '']) => {
    const text = readFileSync(join(root, 'bench', file), 'utf8');
    const names = [...text.matchAll(/\b(\w+): \{ type: '|argv\.includes\('--(\w+)'\)/g)];
    return [part, names.map(([, parsed, included]) => parsed ?? included).sort()] as const;
  });
  expect(given).toEqual(Object.fromEntries(read.filter(([, names]) => names.length > 0)));
  expect(files.length).toBeGreaterThan(5);
});
