import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { importsOf, isRelative } from './support/module.ts';
import { entries, read, sourcesUnder } from './support/repository.ts';

const tests = [...sourcesUnder('test'), ...sourcesUnder('demo/web/test')].filter((file) =>
  /\.(test|long|cluster)\.tsx?$/.test(file),
);

interface Row {
  sources: string[];
  tests: string[];
}

/** The rows of the table in `test/README.md`; a path in it is a file, a folder, or has a star for anything within a name. */
const rows: Row[] = read('test/README.md')
  .split('\n')
  .filter((line) => line.startsWith('| `') || line.startsWith('| the repository'))
  .map((line) => {
    const [sources = '', named = ''] = line.split('|').slice(1);
    return { sources: pathsIn(sources), tests: pathsIn(named) };
  });

function pathsIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, path]) => path ?? []);
}

function matches(file: string, path: string): boolean {
  if (path.endsWith('/')) return file.startsWith(path);
  const pattern = path.split('*').map((piece) => piece.replace(/[.\\]/g, '\\$&'));
  return new RegExp(`^${pattern.join('[^/]*')}$`).test(file);
}

const testsAt = (path: string): string[] => tests.filter((file) => matches(file, path));

/** The tests of a source file: the one of its name, and those of the most exact row. */
function testsOf(source: string): string[] {
  const own = tests.filter(
    (file) => file === source.replace(/^src\//, 'test/').replace(/\.tsx?$/, '.test.ts'),
  );
  const best = rows
    .flatMap((row) => row.sources.filter((path) => matches(source, path)).map((path) => ({ path, row })))
    .sort((a, b) => b.path.length - a.path.length)[0];
  return [...own, ...(best?.row.tests ?? []).flatMap(testsAt)];
}

const bySpecifier = new Map(entries.map(({ name, source }) => [name, source]));
const nextOf = new Map<string, string[]>();

/** What a file imports of the repository. */
function next(file: string): string[] {
  const known = nextOf.get(file);
  if (known !== undefined) return known;
  const found = importsOf(file).flatMap(({ specifier }) =>
    isRelative(specifier) ? posix.join(posix.dirname(file), specifier) : (bySpecifier.get(specifier) ?? []),
  );
  const files = found.filter((path) => /\.tsx?$/.test(path) && existing.has(path));
  nextOf.set(file, files);
  return files;
}

const existing = new Set(['src', 'test', 'demo', 'scripts', 'examples'].flatMap(sourcesUnder));
const reachedBy = new Map<string, ReadonlySet<string>>();

/** Every file that a test reaches through imports. */
function reached(file: string): ReadonlySet<string> {
  const known = reachedBy.get(file);
  if (known !== undefined) return known;
  const found = new Set([file]);
  for (const one of found) for (const path of next(one)) found.add(path);
  reachedBy.set(file, found);
  return found;
}

test('every source file has a test of its name or a row in the table, and one of them reaches it', () => {
  const lost = sourcesUnder('src').filter(
    (source) => !testsOf(source).some((file) => reached(file).has(source)),
  );
  expect(lost).toEqual([]);
});

test('every path in the table is there', () => {
  const paths = rows.flatMap((row) => [
    ...row.sources.filter((path) => ![...existing].some((file) => matches(file, path))),
    ...row.tests.filter((path) => testsAt(path).length === 0),
  ]);
  expect(paths).toEqual([]);
});

test('every test is named for its source file, or stands in the table', () => {
  const named = new Set(rows.flatMap((row) => row.tests.flatMap(testsAt)));
  const sources = new Set(
    sourcesUnder('src').map((file) => file.replace(/^src\//, 'test/').replace(/\.tsx?$/, '.test.ts')),
  );
  expect(tests.filter((file) => !named.has(file) && !sources.has(file))).toEqual([]);
});
