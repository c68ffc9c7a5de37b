import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { importsOf, isRelative } from '../repository/support/module.ts';
import { read, sourcesUnder } from '../repository/support/repository.ts';

/** The modules of the client in the order of the data: each uses only those before it. */
const ORDER = [
  'platform',
  'http',
  'link',
  'tool-calls',
  'resume',
  'requests',
  'executors',
  'browser-tools',
  'responses',
  'receiver',
  'transport',
  'index',
];
const BESIDE = ['audio', 'voice'];
const files = sourcesUnder('src/client');

/** The module of a file: its folder, or its name. */
function moduleOf(file: string): string {
  return (file.slice('src/client/'.length).split('/')[0] ?? '').replace(/\.ts$/, '');
}

test('the modules of the client depend on each other in the order of the data alone', () => {
  expect([...new Set(files.map(moduleOf))].sort()).toEqual([...ORDER, ...BESIDE].sort());
  const wrong = files
    .filter((file) => ORDER.includes(moduleOf(file)))
    .flatMap((file) =>
      importsOf(file)
        .map(({ specifier }) => (isRelative(specifier) ? posix.join(posix.dirname(file), specifier) : ''))
        .filter((target) => target.startsWith('src/client/') && moduleOf(target) !== moduleOf(file))
        .filter((target) => ORDER.indexOf(moduleOf(target)) >= ORDER.indexOf(moduleOf(file)))
        .map((target) => `${file} imports ${target}`),
    );
  expect(wrong).toEqual([]);
});

test('one place of the client decodes blocks, and only the links know their kind', () => {
  const having = (pattern: RegExp) => files.filter((file) => pattern.test(read(file)));
  expect(having(/new BlockDecoder/)).toEqual(['src/client/link/link.ts']);
  expect(having(/webSocketLinks\(|httpLinks\(/)).toEqual([
    'src/client/link/http-link.ts',
    'src/client/link/web-socket-link.ts',
    'src/client/transport.ts',
  ]);
});
