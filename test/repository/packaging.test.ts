import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { freePort } from '../../scripts/cluster/free-port.ts';
import { computed, importsOf, isRelative, packageOf } from './support/module.ts';
import { type Entry, entries, manifest, root } from './support/repository.ts';

interface Needs {
  /** Peers without which the entry cannot be imported. */
  always: string[];
  /** Peers that it loads when what needs them is used. */
  onDemand: string[];
}

const nothing: Needs = { always: [], onDemand: [] };

/** What a user installs beside `duologue` for each entry. */
const needs: Record<string, Needs> = {
  'duologue/protocol': { always: ['zod'], onDemand: [] },
  'duologue/adk': { always: ['@google/adk', 'zod'], onDemand: [] },
  'duologue/models': { always: ['@google/adk', '@google/genai', 'zod'], onDemand: [computed] },
  'duologue/models/embedded': { always: ['@google/adk', '@google/genai', 'zod'], onDemand: [] },
  'duologue/server': { always: ['@google/adk', '@google/genai', 'zod'], onDemand: [] },
  'duologue/server/sqlite': { always: [], onDemand: ['libsql'] },
  'duologue/server/postgres': { always: [], onDemand: ['pg'] },
  'duologue/server/redis': { always: [], onDemand: ['redis'] },
  'duologue/server/node': { always: ['ws', 'zod'], onDemand: [] },
  'duologue/server/hono': nothing,
  'duologue/server/express': { always: ['zod'], onDemand: [] },
  'duologue/server/next': nothing,
  'duologue/server/bun': { always: ['zod'], onDemand: [] },
  'duologue/server/deno': { always: ['zod'], onDemand: [] },
  'duologue/testing': { always: ['@google/adk', 'zod'], onDemand: [] },
  'duologue/client': nothing,
  'duologue/client/audio': nothing,
  'duologue/client/voice': nothing,
  'duologue/react': { always: ['@ai-sdk/react', 'react'], onDemand: [] },
  'duologue/parse': nothing,
  'duologue/parse/cost': { always: [], onDemand: ['@pydantic/genai-prices'] },
  'duologue/parse/otel': nothing,
  'duologue/parse/pieces': nothing,
};

/** Files that the package holds beside the compiled ones and `docs`. */
const OTHERS = [
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'LICENSE',
  'PROTOCOL.md',
  'README.md',
  'SECURITY.md',
  'docs/protocol.schema.json',
  'package.json',
];

const written = entries.filter((entry) => entry.exists).map((entry) => [entry.name, entry] as const);
const commands = Object.entries(manifest.bin).filter(([, path]) =>
  existsSync(join(root, path.replace('./dist/', 'src/').replace(/\.js$/, '.ts'))),
);
const folder = mkdtempSync(join(tmpdir(), 'duologue-pack-'));
const alone = join(folder, 'alone');
const installed = join(alone, 'node_modules', manifest.name);

/**
 * Nothing of the surrounding npm run may steer this one. The cache is empty: from one that knows some of the peers and
 * not others, npm takes a tree that it then cannot resolve.
 */
const surroundings = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS|VITEST)/i.test(name)),
  ),
  NPM_CONFIG_CACHE: join(folder, 'cache'),
};

function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    timeout: 300_000,
    env: surroundings,
  });
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? ''}\n${stdout}${stderr}`);
  return stdout;
}

/** A project that has the packed library and links to the named peers, and nothing else. `a=b` links package b as a. */
function projectWith(name: string, peers: string[]): string {
  const project = join(folder, name.replaceAll('/', '-'));
  cpSync(installed, join(project, 'node_modules', manifest.name), { recursive: true });
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module' }),
  );
  for (const peer of peers) {
    const [alias = '', target = alias] = peer.split('=');
    const link = join(project, 'node_modules', alias);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', target), link, 'junction');
  }
  return project;
}

/** Imports an entry in a process of its own: the names it exports, or the package it could not find. */
function importIn(
  project: string,
  entry: Entry,
): { exports: string[] } | { missing: string } | { error: string } {
  const script = `
    import(${JSON.stringify(entry.name)}).then(
      (module) => ({ exports: Object.keys(module).sort() }),
      (error) => {
        const missing = error.code === 'ERR_MODULE_NOT_FOUND' && /Cannot find package '([^']+)'/.exec(error.message)?.[1];
        return missing ? { missing } : { error: String(error.stack) };
      },
    ).then((result) => process.stdout.write(JSON.stringify(result), () => process.exit(0)));
  `;
  return JSON.parse(run(process.execPath, ['--input-type=module', '--eval', script], project)) as ReturnType<
    typeof importIn
  >;
}

/** The packages that compiled files import, from one file on through everything it reaches. */
function packagesBehind(compiled: string): Needs {
  const always = new Set<string>();
  const onDemand = new Set<string>();
  const seen = new Set<string>();
  const visit = (file: string, into: Set<string>): void => {
    const key = `${into === always} ${file}`;
    if (seen.has(key)) return;
    seen.add(key);
    for (const { specifier, kind } of importsOf(file, readFileSync(file, 'utf8'))) {
      const target = kind === 'dynamic' ? onDemand : into;
      if (isRelative(specifier)) visit(join(dirname(file), specifier), target);
      else if (!specifier.startsWith('node:')) target.add(packageOf(specifier));
    }
  };
  visit(compiled, always);
  return { always: [...always].sort(), onDemand: [...onDemand].filter((name) => !always.has(name)).sort() };
}

beforeAll(() => {
  const source = join(folder, 'source');
  mkdirSync(source);
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  // Types are checked elsewhere; here only what is emitted matters.
  const options = `-p tsconfig.build.json --noCheck --outDir ${source}/dist --tsBuildInfoFile ${folder}/buildinfo`;
  run(process.execPath, [compiler, ...options.split(' ')], root);
  for (const file of [...OTHERS, 'docs']) {
    if (existsSync(join(root, file))) cpSync(join(root, file), join(source, file), { recursive: true });
  }
  run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], source);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';

  mkdirSync(alone);
  writeFileSync(join(alone, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module' }));
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--no-save', join(folder, tarball)], alone);
}, 400_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the packed library', () => {
  test('installs alone: no peer comes with it', () => {
    expect(readdirSync(join(alone, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      manifest.name,
    ]);
  });

  test('holds the compiled files, their types, the documents, the licence, and nothing else', () => {
    const files = readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(installed, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
    const documents = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.md'))
      .map((path) => `docs/${path}`);
    expect(files.filter((file) => !/^dist\/([^/.]+\/)*[^/.]+(\.d\.ts|\.js)$/.test(file)).sort()).toEqual(
      [...OTHERS, ...documents].filter((file) => existsSync(join(root, file))).sort(),
    );
  });

  test('has no script that npm runs where the library is installed', () => {
    const { scripts } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    // npm warns of these at the installation of a tarball, until the user has reviewed them.
    const atInstall = ['preinstall', 'install', 'postinstall', 'prepare', 'preprepare', 'postprepare'];
    expect(Object.keys(scripts).filter((name) => atInstall.includes(name))).toEqual([]);
  });

  test('needs a table row for every entry', () => {
    expect(Object.keys(needs).sort()).toEqual(entries.map((entry) => entry.name).sort());
  });

  test.each(written)('%s imports the peers it declares and no other', (_name, entry) => {
    expect(packagesBehind(join(installed, entry.compiled))).toEqual(needs[entry.name]);
  });

  test.each(written)(
    '%s works with its own peers alone, and without them says which one is missing',
    (_name, entry) => {
      const { always } = needs[entry.name] ?? nothing;
      expect(importIn(projectWith(`with/${entry.name}`, always), entry)).toEqual({
        exports: expect.any(Array),
      });
      if (always.length === 0) return;
      expect(importIn(alone, entry)).toEqual({
        missing: expect.toSatisfy((name: string) => always.includes(name)),
      });
    },
  );

  test.each(written)('%s has its types beside it', (_name, entry) => {
    expect(existsSync(join(installed, entry.compiled.replace(/\.js$/, '.d.ts')))).toBe(true);
  });

  test('duologue/protocol/schema.json is the JSON Schema of the protocol, with no peer installed', () => {
    const schema = createRequire(join(alone, 'index.js'))(`${manifest.name}/protocol/schema.json`) as object;
    expect(Object.keys(schema)).toContain('$defs');
  });

  test.each(commands)('the command %s runs with no peer installed', (name) => {
    expect(run(join(alone, 'node_modules/.bin', name), ['--help'], alone)).toContain(name);
  });
});

describe('beside other packages', () => {
  test.each([
    ['react', '18.3.1'],
    ['express', '4.17.0'],
    ['zod', '3.22.0'],
  ])('it installs next to %s %s, though the layer that one may not need has another', (name, version) => {
    const other = join(folder, `other-${name}`);
    mkdirSync(other);
    writeFileSync(join(other, 'package.json'), JSON.stringify({ name, version }));
    const project = join(folder, `beside-${name}`);
    mkdirSync(project);
    const tarball = readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? '';
    const dependencies = { [name]: `file:${other}`, [manifest.name]: `file:${join(folder, tarball)}` };
    writeFileSync(
      join(project, 'package.json'),
      JSON.stringify({ name: 'user', private: true, dependencies }),
    );
    run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--no-package-lock'], project);
    expect(readdirSync(join(project, 'node_modules'))).toEqual(expect.arrayContaining([manifest.name, name]));
  });
});

describe('the samples of docs/servers.md, in a project that has the packed library and its peers', () => {
  const server = ['@google/adk', '@google/genai', 'zod', 'ws'];
  const samples = [
    ...readFileSync(join(root, 'docs/servers.md'), 'utf8').matchAll(
      /^```ts\n\/\/ file: (\S+)\.ts\n(.*?)^```$/gms,
    ),
  ].map(([, name = '', text = '']) => [name, text] as const);

  test.each([
    ['with-express', ['express']],
    ['with-express', ['express=express4']],
    ['with-hono', ['hono', '@hono/node-server']],
    ['with-fastify', ['fastify']],
  ])('%s serves SSE, the socket and its own pages, with %s', async (sample, framework) => {
    const project = projectWith(`${sample}-${framework[0]}`, [...server, ...framework]);
    for (const [name, text] of samples) {
      // Samples are JavaScript too, as far as Node is concerned.
      writeFileSync(join(project, `${name}.mjs`), text.replace('./duologue.ts', './duologue.mjs'));
    }
    const port = await freePort();
    const child = spawn(process.execPath, [`${sample}.mjs`], {
      cwd: project,
      env: { PATH: process.env.PATH ?? '', PORT: String(port) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    try {
      const base = `http://localhost:${port}`;
      await answering(`${base}/health`, () => child.exitCode);
      expect(await (await fetch(`${base}/hello`)).text()).toBe('hello');
      const body = JSON.stringify({ id: 'a', messages: [{ role: 'user', content: 'hello' }] });
      const headers = { 'content-type': 'application/json' };
      const texts = await (await fetch(`${base}/stream`, { method: 'POST', headers, body })).text();
      expect(texts).toMatch(/"text-delta".*\[DONE\]/s);
      expect(await firstFrame(`ws://localhost:${port}/live`)).toContain('"data-session"');
    } finally {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
  });
});

describe('the samples of docs/tools.md, in a project with strict TypeScript that has the packed library', () => {
  const peers = ['@google/adk', '@google/genai', 'zod', 'react', '@types/react', '@types/node'];
  const samples = [
    ...readFileSync(join(root, 'docs/tools.md'), 'utf8').matchAll(
      /^```tsx?\n\/\/ file: (\S+)\n(.*?)^```$/gms,
    ),
  ].map(([, name = '', text = '']) => [name, text] as const);

  test.each([
    ['7', ['ai', '@ai-sdk/react']],
    ['6', ['ai=ai6', '@ai-sdk/react=react6']],
  ])('they compile with ai %s', (version, sdk) => {
    expect(samples.map(([name]) => name)).toContain('chat.tsx');
    expect(compile(projectWith(`types-${version}`, [...peers, ...sdk]), samples)).toBe('');
  });

  test.each([
    ['7', ['ai', '@ai-sdk/react']],
    ['6', ['ai=ai6', '@ai-sdk/react=react6']],
  ])('mistakes are found with ai %s: a missing executor, a wrong one, a wrong input', (version, sdk) => {
    const mistakes = samples.map(([name, text]) => {
      if (name === 'chat.tsx') return [name, text.replace(/tools: \{ get_location.*\n/, '')] as const;
      if (name === 'plain.tsx') return [name, text.replace('latitude: 35', "latitude: '35'")] as const;
      if (name === 'tools.ts')
        return [name, text.replace('({ amount, to })', '({ sum: amount, to })')] as const;
      return [name, text] as const;
    });
    const found = compile(projectWith(`mistakes-${version}`, [...peers, ...sdk]), mistakes)
      .split('\n')
      .flatMap((line) => /^(\S+)\(.*error (TS\d+)/.exec(line)?.slice(1).join(' ') ?? []);
    expect(new Set(found)).toEqual(new Set(['chat.tsx TS2345', 'plain.tsx TS2322', 'tools.ts TS2339']));
  });
});

/** What strict TypeScript has against these files of a project. */
function compile(
  project: string,
  files: readonly (readonly [string, string])[],
  options: Record<string, unknown> = { noEmit: true, allowImportingTsExtensions: true },
): string {
  const config = {
    compilerOptions: {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2023', 'dom'],
      jsx: 'react-jsx',
      skipLibCheck: true,
      types: ['node'],
      ...options,
    },
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config));
  for (const [file, text] of files) writeFileSync(join(project, file), text);
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [compiler, '-p', project, '--pretty', 'false'], {
    cwd: project,
    encoding: 'utf8',
    timeout: 120_000,
  }).stdout;
}

describe('a program of a project with strict TypeScript that has the packed library', () => {
  const folderOfPrograms = join(root, 'test/repository/support/outside');
  const examples = 'examples/webhook';
  const programs = [
    ...readdirSync(folderOfPrograms).map((name) => join(folderOfPrograms, name)),
    ...['signature', 'webhook', 'receiver'].map((name) => join(root, examples, `${name}.ts`)),
  ].map(
    (file) =>
      [basename(file), readFileSync(file, 'utf8').replaceAll(`../../../../${examples}/`, './')] as const,
  );
  // Declarations are emitted too: the compiler then names every type of an export of the program.
  const emit = { declaration: true, rewriteRelativeImportExtensions: true };
  const peers = ['@google/adk', '@google/genai', 'zod', 'react', '@types/react', '@types/node', 'libsql'];
  let project = '';

  test.each([
    ['6', ['ai=ai6', '@ai-sdk/react=react6']],
    ['7', ['ai', '@ai-sdk/react']],
  ])('compiles with ai %s, with declarations, and each marked mistake is one', (version, sdk) => {
    project = projectWith(`outside-${version}`, [...peers, ...sdk]);
    expect(compile(project, programs, emit)).toBe('');
  });

  test('uses the server API and the helpers for tests, also after a restart, and runs on this version of Node', () => {
    const { sse, bidi } = JSON.parse(run(process.execPath, ['server-api.js'], project));
    const by = { application: 'duologue', person: 'mia' };
    expect(sse).toEqual([
      [['pay', { amount: 5 }, null]],
      [{ paid: 5, user: 'live_user', by: { user: 'live_user' }, shop: 'Kyoto' }],
      'It is paid.',
      'Paid.',
      ['approved, attempt 2', 'complete'],
      2,
      ['approval-requested'],
      ['the receiver answered 401'],
      'A pity.',
      'A pity.',
      'As you wish.',
      'already_decided',
      'Booked.',
      'Never mind.',
      ['adk_request_input: answered', 'adk_request_input: expired'],
      'Once upon',
      'I read true.',
      true,
      'Ready.',
      0,
      true,
      'user',
      [null, null, null, null],
      'Paid late.',
      { paid: 8, user: 'live_user', by, shop: null },
      'Printed.',
      'Noted.',
      'Anything else?',
      'Is all well?',
      [['assistant', 1]],
      ['Payments, Print, ', null, 'Payments, Print, ', null],
      2,
      ['user', 'assistant'],
      [
        ['denied', by],
        ['approved', by],
      ],
      true,
      'not_found',
      [],
    ]);
    expect(bidi).toEqual(sse);
  });

  test('plays its tools in both modes: approvals, progress, data parts, files, and errors that say what is wrong', () => {
    const { sse, bidi, errors } = JSON.parse(run(process.execPath, ['desk.js'], project));
    expect(sse).toEqual([
      [['pay', { amount: 50 }, 'Pay 50 EUR to Ann?']],
      [{ receipt: '50 to Ann' }],
      [['approved', { user: 'ann' }]],
      [{ receipt: '5 to Ken' }, 'The limit is 1000 EUR.'],
      [{ printed: 2 }, { printed: 1 }],
      true,
      ['scan did not finish in time. The outcome is unknown.'],
      [{ by: 'ann unasked de Kyoto cart' }],
      [{ by: 'progress' }],
      { createdAt: expect.any(Number), drawn: { unsent: 2 }, usage: null },
      [{ type: 'data-chart', id: 'sales', data: { title: 'Sales', values: [3, 1] } }],
      [{ type: 'data-step', data: 'reading', transient: true }],
      [{ version: 0, all: ['report.csv'] }],
      'text/csv',
      "attachment; filename*=UTF-8''report.csv",
      'month,sales\nmay,12\n',
      404,
      [{ latitude: 35 }],
      'I read the file.',
      'unsupported_media',
      [{ playing: 2 }],
      'As you wish.',
      60_000,
      ['Approval request timed out'],
      ['ann lets ann: no reason', 'duologue for mia stops ann: too much'],
      ['session-created', 'turn-started', 'tool-finished', 'session-deleted'],
    ]);
    expect(bidi).toEqual(sse);
    expect(errors).toEqual([
      'The tool "plot" sends the data "chart", which the option "data" does not declare.',
      'createDuologue has no option "atachments". Did you mean "attachments"?',
      expect.stringContaining('the option "attachments" must be a list of media types'),
      'createDuologue: the option "store" is a Promise. Did you forget await?',
      expect.stringContaining('the option "clock" must be a clock'),
      expect.stringContaining('has no option "executers". Did you mean "executors"?'),
      expect.stringContaining('the option "url" must be'),
      expect.stringContaining('the option "executors" must be an object of functions'),
    ]);
  });
});

/** Waits until something answers there; fails when the process that should is gone. */
async function answering(url: string, exitCode: () => number | null): Promise<void> {
  while (!(await fetch(url).catch(() => null))?.ok) {
    if (exitCode() !== null) throw new Error(`The sample ended with ${exitCode()}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function firstFrame(url: string): Promise<string> {
  const socket = new WebSocket(url);
  try {
    const [data] = (await once(socket, 'message')) as [Buffer];
    return data.toString('utf8');
  } finally {
    socket.close();
  }
}
