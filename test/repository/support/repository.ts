import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root folder. */
export const root = resolve(fileURLToPath(new URL('../../..', import.meta.url)));

/** Reads a file of the repository. */
export const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Manifest {
  name: string;
  engines: { node: string };
  bin: Record<string, string>;
  exports: Record<string, string | { types: string; default: string }>;
  scripts: Record<string, string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional?: boolean }>;
  devDependencies: Record<string, string>;
}

/** The package's own package.json. */
export const manifest = JSON.parse(read('package.json')) as Manifest;

/** The demo's package.json: a workspace of its own, never published. */
export const demo = JSON.parse(read('demo/package.json')) as Pick<Manifest, 'devDependencies'> & {
  dependencies: Record<string, string>;
};

/** One published entry: how it is imported, the source file behind it and the compiled file. */
export interface Entry {
  name: string;
  source: string;
  compiled: string;
  exists: boolean;
}

/** Every entry that package.json publishes, whether its source has been written or not. */
export const entries: Entry[] = Object.entries(manifest.exports).flatMap(([subpath, target]) => {
  if (typeof target === 'string') return [];
  const compiled = target.default.replace('./', '');
  const source = compiled.replace(/^dist\//, 'src/').replace(/\.js$/, '.ts');
  return [
    { name: subpath.replace('.', manifest.name), source, compiled, exists: existsSync(join(root, source)) },
  ];
});

/** All TypeScript files under a folder of the repository, as paths from its root with forward slashes. */
export function sourcesUnder(folder: string): string[] {
  const start = join(root, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true, encoding: 'utf8' })
    .map((path) => relative(root, join(start, path)).split(sep).join('/'))
    .filter((path) => /\.tsx?$/.test(path) && !/\/(node_modules|dist|\.[^/]+)\//.test(path))
    .sort();
}

/** Every file that git would commit: tracked, or new and not ignored. */
export function repositoryFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return listed.split('\0').filter((path) => path !== '' && existsSync(join(root, path)));
}
