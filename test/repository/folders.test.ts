import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { CALL_TRANSITIONS } from '../../src/server/conversation/state/call-states.ts';
import { read, repositoryFiles, sourcesUnder } from './support/repository.ts';

const files = new Set(repositoryFiles());
const folders = [...new Set(sourcesUnder('src').map((file) => posix.dirname(file)))];

/** What a folder says of itself: at the beginning of its index file, or in a README where it has none. */
function paragraphOf(folder: string): string {
  const [index, readme] = [`${folder}/index.ts`, `${folder}/README.md`];
  if (files.has(index)) return /^\/\*\*(.*?)\*\//s.exec(read(index))?.[1]?.replaceAll(/\s+\*? ?/g, ' ') ?? '';
  return files.has(readme) ? read(readme) : '';
}

test.each(folders)('%s says what it is for, what may be touched and how its state is owned', (folder) => {
  const paragraph = paragraphOf(folder);
  expect(paragraph.length).toBeGreaterThan(150);
  expect(paragraph).toMatch(/\b(state|keeps?|kept|owns?|owned|belongs)\b/i);
});

test('a folder has one such place', () => {
  expect(
    folders.filter((folder) => files.has(`${folder}/index.ts`) && files.has(`${folder}/README.md`)),
  ).toEqual([]);
});

test('the files that it names are there', () => {
  const missing = folders.flatMap((folder) => {
    const here = [...files].filter((file) => file.startsWith(`${folder}/`));
    const outside = [...files].filter((file) => file.startsWith('src/') || file.startsWith('test/'));
    return [...paragraphOf(folder).matchAll(/`([\w./-]+\.ts)`/g)]
      .flatMap(([, name]) => name ?? [])
      .filter(
        (name) => ![...here, ...outside].some((file) => file.endsWith(`/${name.replace(/^(\.\.\/)+/, '')}`)),
      )
      .map((name) => `${folder}: ${name}`);
  });
  expect(missing).toEqual([]);
});

test('the table of the life of a call in ARCHITECTURE.md is the one of the code', () => {
  const rows = read('ARCHITECTURE.md').split('| state | meaning | may become |')[1]?.split('\n\n')[0] ?? '';
  const reported = [...rows.matchAll(/^\| (\w+) \|.*\| ([\w, ]+) \|$/gm)].map(([, stands, become = '']) => [
    stands,
    become.split(', ').sort(),
  ]);
  const flow = Object.entries(CALL_TRANSITIONS).map(([stands, next]) => [stands, Object.values(next).sort()]);
  expect(reported).toEqual(flow.filter(([stands]) => stands !== 'settled'));
});

test('the layout in ARCHITECTURE.md has a line for each folder of the large layers', () => {
  const [, layout = ''] = read('ARCHITECTURE.md').split('```');
  const shown: string[] = [];
  let layer: string | undefined;
  for (const line of layout.split('\n')) {
    const [, indent = '', names = ''] = /^( *)((?:[\w-]+\/ ?)+)/.exec(line) ?? [];
    if (indent === '') layer = /^src\/(?:server|adk|models|client)\//.exec(names)?.[0];
    if (layer === undefined) continue;
    for (const name of names.trim().split(' ')) shown.push(indent === '' ? name : layer + name);
  }
  // A folder further down is part of what the line of its parent says.
  const there = folders.filter((folder) => /^src\/(?:server|adk|models|client)(?:\/[^/]+)?$/.test(folder));
  expect(shown.sort()).toEqual(there.map((folder) => `${folder}/`).sort());
});

test('ARCHITECTURE.md names files and folders that are there', () => {
  const named = [
    ...read('ARCHITECTURE.md').matchAll(/`((?:[\w-]+\/)*[\w-]+\.ts|(?:[a-z]+\/)+[\w-]*)`/g),
  ].flatMap(([, name]) => name ?? []);
  const isThere = (name: string) =>
    [...files].some((file) => [`/${name}`, `/${name}.ts`].some((end) => file.endsWith(end))) ||
    [...files].some((file) => file.includes(`/${name.replace(/\/$/, '')}/`));
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});
