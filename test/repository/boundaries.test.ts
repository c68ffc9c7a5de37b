import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  computed,
  type Import,
  importsOf,
  isRelative,
  packageOf,
  parseFile,
  switchesOf,
} from './support/module.ts';
import { entries, read, sourcesUnder } from './support/repository.ts';

interface Rule {
  /** Other layers of ours. */
  layers: string[];
  packages: string[];
  /** Whether Node's own modules, except those of the network, may be used. */
  node: boolean;
}

const network = ['node:http', 'node:https', 'node:http2', 'node:net', 'node:tls', 'node:dgram'];
const frameworks = ['express', 'hono', '@hono/node-server', 'next', 'ws', ...network];

/** What each layer may import; the places with more freedom are below. */
const layers: Record<string, Rule> = {
  protocol: { layers: [], packages: ['zod', 'ai'], node: false },
  parse: { layers: [], packages: [], node: false },
  adk: { layers: ['protocol', 'parse'], packages: ['@google/adk', '@google/genai', 'zod'], node: true },
  models: {
    layers: ['protocol', 'parse', 'adk'],
    packages: ['@google/adk', '@google/genai', 'ai', 'zod'],
    node: true,
  },
  server: {
    layers: ['protocol', 'adk', 'models'],
    packages: ['@google/adk', '@google/genai', 'ai', 'zod'],
    node: true,
  },
  client: { layers: ['protocol'], packages: ['ai'], node: false },
  react: { layers: ['client', 'protocol'], packages: ['react', '@ai-sdk/react'], node: false },
  testing: { layers: ['protocol', 'server'], packages: ['@google/adk'], node: false },
  cli: { layers: ['protocol', 'parse', 'adk', 'models', 'server'], packages: [], node: true },
};

/** Packages that one place of a layer may import and the rest of it may not. */
const places: { path: RegExp; packages: string[] }[] = [
  { path: /^src\/parse\/cost\.ts$/, packages: ['@pydantic/genai-prices'] },
  { path: /^src\/models\/choose\.ts$/, packages: [computed] },
  { path: /^src\/server\/sqlite\//, packages: ['libsql'] },
  { path: /^src\/server\/nodes\//, packages: ['node:http', 'node:https'] },
  // Reads addresses; opens nothing.
  { path: /^src\/server\/access\/client-address\.ts$/, packages: ['node:net'] },
  { path: /^src\/server\/postgres\//, packages: ['pg'] },
  { path: /^src\/server\/redis\//, packages: ['redis'] },
  { path: /^src\/server\/adapters\//, packages: frameworks },
];

/** The imports of one file that its layer forbids. */
function violations(file: string, imports: Import[] = importsOf(file)): string[] {
  const layer = file.split('/')[1] ?? '';
  const rule = layers[layer];
  if (rule === undefined) return [`${file} belongs to no layer`];
  const extra = places.filter((place) => place.path.test(file)).flatMap((place) => place.packages);
  return imports
    .filter(({ specifier }) => {
      if (isRelative(specifier)) {
        const [top, target] = posix.join(posix.dirname(file), specifier).split('/');
        return top !== 'src' || target === undefined || (target !== layer && !rule.layers.includes(target));
      }
      if (extra.includes(packageOf(specifier)) || rule.packages.includes(packageOf(specifier))) return false;
      return !(rule.node && specifier.startsWith('node:') && !network.includes(specifier));
    })
    .map(({ specifier }) => `${file} imports ${specifier}`);
}

/** The ways on which files reach themselves by the imports that count. */
function cyclesIn(files: string[], counts: (one: Import) => boolean): string[] {
  const next = new Map(
    files.map((file) => [
      file,
      importsOf(file)
        .filter((one) => isRelative(one.specifier) && counts(one))
        .map(({ specifier }) => posix.join(posix.dirname(file), specifier)),
    ]),
  );
  const cycles: string[] = [];
  const finished = new Set<string>();
  const walk = (file: string, path: string[]): void => {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      return;
    }
    if (finished.has(file)) return;
    for (const target of next.get(file) ?? []) walk(target, [...path, file]);
    finished.add(file);
  };
  for (const file of files) walk(file, []);
  return cycles;
}

describe('import boundaries', () => {
  const sources = sourcesUnder('src');

  test('every source file imports only what its layer may', () => {
    expect(sources.length).toBeGreaterThan(0);
    expect(sources.flatMap((file) => violations(file))).toEqual([]);
  });

  test.each([
    ['src/protocol/frames.ts', "import { randomUUID } from 'node:crypto'", ['node:crypto']],
    [
      'src/protocol/frames.ts',
      "import type { MessageChunks } from '../adk/message-chunks.ts'",
      ['../adk/message-chunks.ts'],
    ],
    ['src/parse/record.ts', "import { z } from 'zod'", ['zod']],
    ['src/parse/cost.ts', "import { calcPrice } from '@pydantic/genai-prices'", []],
    ['src/parse/otel.ts', "export * from '@pydantic/genai-prices'", ['@pydantic/genai-prices']],
    ['src/adk/message-chunks.ts', "import { createServer } from 'node:http'", ['node:http']],
    ['src/adk/message-chunks.ts', 'const other = await import(name)', [computed]],
    ['src/server/sse.ts', "const { Hono } = await import('hono/tiny')", ['hono/tiny']],
    ['src/server/adapters/hono.ts', "const { Hono } = await import('hono/tiny')", []],
    ['src/server/session.ts', "type Chat = import('../client/index.ts').Chat", ['../client/index.ts']],
    ['src/server/session.ts', "import Database from 'libsql'", ['libsql']],
    ['src/server/sqlite/index.ts', "import Database from 'libsql'", []],
    ['src/client/connection.ts', "import { WebSocket } from 'ws'", ['ws']],
    [
      'src/react/use-duologue.ts',
      "export { createDuologue } from '../server/index.ts'",
      ['../server/index.ts'],
    ],
    ['src/react/use-duologue.ts', "import { stream } from '../client/index.ts'", []],
    ['src/cli/main.ts', "import { agent } from '../../demo/agent.ts'", ['../../demo/agent.ts']],
    ['src/models/index.ts', "import { parse } from 'duologue/parse'", ['duologue/parse']],
  ])('in %s, of `%s` these are refused: %j', (file, text, refused) => {
    expect(violations(file, importsOf(file, text))).toEqual(
      refused.map((specifier) => `${file} imports ${specifier}`),
    );
  });

  test('relative imports in src name an existing file with its ending', () => {
    const files = new Set(sources);
    const dangling = sources.flatMap((file) =>
      importsOf(file)
        .filter(({ specifier }) => isRelative(specifier))
        .filter(({ specifier }) => !files.has(posix.join(posix.dirname(file), specifier)))
        .map(({ specifier }) => `${file} imports ${specifier}`),
    );
    expect(dangling).toEqual([]);
  });

  test('no source file reaches itself through what it imports at run time', () => {
    expect(cyclesIn(sources, ({ kind }) => kind === 'static')).toEqual([]);
  });

  test('no file reaches itself through types either', () => {
    for (const files of [sources, sourcesUnder('demo')]) {
      expect(cyclesIn(files, ({ kind }) => kind !== 'dynamic')).toEqual([]);
    }
  });

  const state = 'src/server/conversation/state/';

  test('the state of a conversation knows nothing of its effect runner, its store and its output', () => {
    const wrong = sourcesUnder(state).flatMap((file) =>
      importsOf(file)
        .map(({ specifier, kind }) => ({ target: posix.join(posix.dirname(file), specifier), kind }))
        .filter(
          ({ target, kind }) =>
            (target.startsWith('src/server/conversation/') && !target.startsWith(state)) ||
            (/^src\/server\/(store|log|registry|http|socket|nodes)\//.test(target) && kind !== 'type'),
        )
        .map(({ target }) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  test('and it neither waits nor reads a clock nor draws an id', () => {
    const asks =
      /\b(await|async|Promise|setTimeout|setInterval|setImmediate|queueMicrotask|Date\.now|performance|Math\.random|randomUUID|process)\b/;
    const wrong = sourcesUnder(state).flatMap((file) =>
      read(file)
        .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
        .split('\n')
        .filter((line) => asks.test(line) || (line.includes("'node:") && !line.includes("'node:crypto'")))
        .map((line) => `${file}: ${line.trim()}`),
    );
    expect(wrong).toEqual([]);
  });

  test('demo and examples import the library by its published entries alone', () => {
    const published = new Set(entries.map((entry) => entry.name));
    const wrong = ['demo', 'examples'].flatMap((folder) =>
      sourcesUnder(folder).flatMap((file) => {
        const home = file
          .split('/')
          .slice(0, folder === 'demo' ? 1 : 2)
          .join('/');
        return (
          importsOf(file)
            // The inspector shows the rules of the protocol.
            .filter(({ specifier }) => !specifier.endsWith('/PROTOCOL.md?raw'))
            .filter(({ specifier }) =>
              isRelative(specifier)
                ? !posix.join(posix.dirname(file), specifier).startsWith(`${home}/`)
                : packageOf(specifier) === 'duologue' && !published.has(specifier),
            )
            .map(({ specifier }) => `${file} imports ${specifier}`)
        );
      }),
    );
    expect(wrong).toEqual([]);
  });
});

describe('source files', () => {
  const sources = sourcesUnder('src');

  test('their names are kebab-case and say what is inside', () => {
    const vague = /(^|[-/])(utils?|helpers?|managers?|handlers?|common|misc)(\.|-|\/|$)/;
    expect(
      sources.filter((file) => !/^src(\/[a-z0-9]+(-[a-z0-9]+)*)+\.tsx?$/.test(file) || vague.test(file)),
    ).toEqual([]);
  });

  test('of the client and of the hooks keep private members as #private', () => {
    const withKeyword = (text: string) =>
      text.match(/^\s*(?:private|protected) .*$|\((?:private|protected) .*$/gm) ?? [];
    expect(withKeyword('class A {\n  private readonly b = 1;\n  #c = 2;\n}')).toEqual([
      '  private readonly b = 1;',
    ]);
    expect(
      ['src/client', 'src/react'].flatMap(sourcesUnder).flatMap((file) => withKeyword(read(file))),
    ).toEqual([]);
  });

  test('none has more than 450 lines, and few have fewer than 40', () => {
    const lengths = sources.map((file) => ({ file, lines: read(file).trimEnd().split('\n').length }));
    expect(lengths.filter(({ lines }) => lines > 450)).toEqual([]);
    const short = lengths.filter(({ lines }) => lines < 40).map(({ file }) => file);
    // The number only goes down; the goal is 60 (docs/decisions/0035-a-journey-is-counted-in-files.md).
    expect(short.length, short.join('\n')).toBeLessThanOrEqual(60);
  });

  test('each switch says what becomes of what it does not name', () => {
    // The parser reads bodies of others: fields that it does not name are none of its business.
    const silent = sources
      .filter((file) => !file.startsWith('src/parse/'))
      .flatMap((file) =>
        switchesOf(file).map(({ hasDefault, line }) => ({ hasDefault, at: `${file}:${line}` })),
      )
      .filter(({ hasDefault }) => !hasDefault);
    expect(silent.map(({ at }) => at)).toEqual([]);
  });

  test('they keep no mutable variable at module level', () => {
    const mutable = sources.filter((file) =>
      parseFile(file).program.body.some((statement) => {
        const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
        return (
          declaration?.type === 'VariableDeclaration' && declaration.kind !== 'const' && !declaration.declare
        );
      }),
    );
    expect(mutable).toEqual([]);
  });
});
