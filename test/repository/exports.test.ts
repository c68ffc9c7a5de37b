import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, test } from 'vitest';
import { isRelative, parseFile } from './support/module.ts';
import { type Entry, entries, read, root, sourcesUnder } from './support/repository.ts';

/** The names of the types that a module exports, those of `export *` included. */
function exportedTypes(path: string): string[] {
  return parseFile(path).module.staticExports.flatMap((statement) =>
    statement.entries.flatMap((item) => {
      const target = item.moduleRequest?.value;
      if (
        item.importName.kind === 'AllButDefault' &&
        item.exportName.kind === 'None' &&
        target !== undefined
      ) {
        return isRelative(target)
          ? exportedTypes(posix.join(posix.dirname(path), target))
          : [`* of ${target}`];
      }
      return item.isType && item.exportName.name !== null ? [item.exportName.name] : [];
    }),
  );
}

async function surfaceOf(entry: Entry): Promise<string> {
  if (!existsSync(join(root, entry.source))) return `${entry.name}\n  not written yet\n`;
  const values: object = await import(/* @vite-ignore */ join(root, entry.source));
  const lines = [
    ...Object.keys(values).sort(),
    ...[...new Set(exportedTypes(entry.source))].sort().map((name) => `type ${name}`),
  ];
  return `${entry.name}\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

test('every entry exports what exports.txt says; after a wanted change: npm test -- test/repository/exports -u', async () => {
  const surfaces: string[] = [];
  for (const entry of entries) surfaces.push(await surfaceOf(entry));
  await expect(surfaces.join('\n')).toMatchFileSnapshot('exports.txt');
});

test('the exports that people call first have an example, which editors show', () => {
  const FIRST = [
    'createDuologue',
    'serve',
    'attachWebSocket',
    'duologueExpress',
    'openSqliteStore',
    'openPostgresStore',
    'openRedisHub',
    'defineTool',
    'chooseModel',
    'fromAiSdk',
    'withSpeech',
    'EmbeddedModel',
    'useDuologue',
    'useVoice',
    'DuologueTransport',
    'DuologueSseTransport',
    'resumeWhen',
    'parse',
    'parseStream',
    'scriptModel',
    'testClient',
    'storeContract',
  ];
  const documented = sourcesUnder('src').flatMap((path) =>
    [
      ...read(path).matchAll(
        /^ \* @example\n(?: \*.*\n)*? \*\/\nexport (?:async )?(?:function|class) (\w+)/gm,
      ),
    ].map(([, name]) => name),
  );
  expect(FIRST.filter((name) => !documented.includes(name))).toEqual([]);
});
