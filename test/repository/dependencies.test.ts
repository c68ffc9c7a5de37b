import { describe, expect, test } from 'vitest';
import { demo, manifest, read } from './support/repository.ts';

interface Locked {
  version?: string;
  resolved?: string;
  integrity?: string;
  link?: boolean;
  license?: string;
  os?: string[];
  cpu?: string[];
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const lock = JSON.parse(read('package-lock.json')) as {
  lockfileVersion: number;
  packages: Record<string, Locked>;
};
const installed = Object.entries(lock.packages).filter(
  ([path, entry]) => path.includes('node_modules/') && !entry.link,
);

/** Where the package that `name` means to the package at `from` is locked, as Node looks it up. */
function locate(from: string, name: string): string | undefined {
  const segments = from === '' ? [] : from.split('/node_modules/');
  return Array.from({ length: segments.length + 1 }, (_, above) =>
    [...segments.slice(0, segments.length - above), name].join('/node_modules/'),
  )
    .map((path) =>
      path.startsWith('node_modules/') || path.startsWith('demo/') ? path : `node_modules/${path}`,
    )
    .find((path) => lock.packages[path] !== undefined);
}

const at = (path: string | undefined): Locked => (path === undefined ? undefined : lock.packages[path]) ?? {};

describe('the lockfile', () => {
  test('repeats the dependencies of package.json', () => {
    const { devDependencies, peerDependencies } = lock.packages[''] ?? {};
    expect({ devDependencies, peerDependencies }).toEqual({
      devDependencies: manifest.devDependencies,
      peerDependencies: manifest.peerDependencies,
    });
  });

  test('holds the packages of every platform, so that npm ci works on each', () => {
    const missing = Object.entries(lock.packages).flatMap(([path, entry]) => {
      const names = Object.keys(entry.optionalDependencies ?? {});
      return names.filter((name) => locate(path, name) === undefined).map((name) => `${path} lacks ${name}`);
    });
    expect(missing).toEqual([]);
  });

  test.each([
    '@biomejs/biome',
    '@tailwindcss/oxide',
    'esbuild',
    'libsql',
    'lightningcss',
    'next',
    'oxc-parser',
    'oxc-resolver',
    'rolldown',
    'typescript',
  ])('%s brings binaries for Linux, macOS and Windows', (name) => {
    const path = `node_modules/${name}`;
    const platforms = Object.keys(lock.packages[path]?.optionalDependencies ?? {})
      .map((dependency) => at(locate(path, dependency)))
      .flatMap(({ os = [], cpu = [] }) =>
        os.flatMap((system) => cpu.map((processor) => `${system} ${processor}`)),
      );
    expect(platforms).toEqual(
      expect.arrayContaining(['linux x64', 'linux arm64', 'darwin x64', 'darwin arm64', 'win32 x64']),
    );
  });

  test('pins every package by its content', () => {
    expect(lock.lockfileVersion).toBe(3);
    expect(
      installed.filter(([, entry]) => !entry.integrity?.startsWith('sha512-')).map(([path]) => path),
    ).toEqual([]);
  });

  test('names no package host but the public one', () => {
    const hosts = installed.map(([, entry]) => entry.resolved).filter((url) => url !== undefined);
    expect(hosts.filter((url) => !url.startsWith('https://registry.npmjs.org/'))).toEqual([]);
  });
});

describe('package.json', () => {
  test('pins what we develop with to one exact version', () => {
    const { duologue: _, ...bundled } = demo.dependencies;
    const loose = [manifest.devDependencies, demo.devDependencies, bundled]
      .flatMap((dependencies) => Object.entries(dependencies))
      .filter(([, version]) => !/^(npm:(@[^/]+\/)?[^@]+@)?\d+\.\d+\.\d+$/.test(version));
    expect(loose).toEqual([]);
  });

  test('has no dependency that every user would install, and every peer is optional and tested here', () => {
    expect(manifest).not.toHaveProperty('dependencies');
    const peers = Object.keys(manifest.peerDependencies);
    expect(peers.filter((name) => manifest.peerDependenciesMeta[name]?.optional !== true)).toEqual([]);
    expect(Object.keys(manifest.peerDependenciesMeta).sort()).toEqual([...peers].sort());
    expect(peers.filter((name) => manifest.devDependencies[name] === undefined)).toEqual([]);
  });
});

describe('licences', () => {
  const permissive = [
    'MIT',
    'MIT-0',
    'ISC',
    'Apache-2.0',
    'BSD-2-Clause',
    'BSD-3-Clause',
    '0BSD',
    'BlueOak-1.0.0',
    // For fonts: it binds only those who change the font itself and keep its name.
    'OFL-1.1',
  ];
  /** Terms that bind those who change the package itself; fine for tools that we do not ship. */
  const forTools = ['MPL-2.0', 'LGPL-3.0-or-later', 'Python-2.0', 'CC-BY-4.0', 'CC0-1.0'];

  const isAllowed = (licence: string | undefined, allowed: string[]): boolean =>
    (licence ?? 'none')
      .replace(/[()]/g, '')
      .split(' OR ')
      .some((choice) => choice.split(' AND ').every((name) => allowed.includes(name)));

  test('everything we depend on directly is permissive, one test tool aside', () => {
    const direct = Object.keys({
      ...manifest.devDependencies,
      ...demo.devDependencies,
      ...demo.dependencies,
    }).filter((name) => name !== 'duologue');
    expect(direct.length).toBeGreaterThan(0);
    const wrong = direct.filter((name) => !isAllowed(at(`node_modules/${name}`).license, permissive));
    // A test tool: it checks pages for accessibility and is no part of what we ship.
    expect(wrong).toEqual(['axe-core'].filter((name) => direct.includes(name)));
  });

  test('what that brings along is permissive, or a tool under terms that do not reach our code', () => {
    const wrong = installed
      .filter(([, entry]) => !isAllowed(entry.license, [...permissive, ...forTools]))
      .map(([path, entry]) => `${path}: ${entry.license}`);
    expect(wrong).toEqual([]);
  });

  test('nothing that a peer needs at run time is under other than permissive terms', () => {
    const seen = new Set<string>();
    const visit = (from: string, name: string): void => {
      const path = locate(from, name);
      if (path === undefined || seen.has(path)) return;
      seen.add(path);
      for (const next of Object.keys(at(path).dependencies ?? {})) visit(path, next);
    };
    for (const peer of Object.keys(manifest.peerDependencies)) visit('', peer);
    expect(seen.size).toBeGreaterThan(Object.keys(manifest.peerDependencies).length);
    expect([...seen].filter((path) => !isAllowed(at(path).license, [...permissive, 'Python-2.0']))).toEqual(
      [],
    );
  });
});
