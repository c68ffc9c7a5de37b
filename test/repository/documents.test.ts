import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { manifest, read, repositoryFiles, root } from './support/repository.ts';

const documents = repositoryFiles().filter((path) => path.endsWith('.md'));

interface Sample {
  file: string;
  text: string;
}

/**
 * The TypeScript samples of a document. A first line `// file: name.ts` names a sample, so that later ones can
 * import it; the others are numbered.
 */
function samplesIn(text: string): Sample[] {
  return [...text.matchAll(/^```(tsx?)\b[^\n]*\n(.*?)^```$/gms)].map(
    ([, language = '', body = ''], index) => ({
      file: /^\/\/ file: (\S+)/.exec(body)?.[1] ?? `sample-${index + 1}.${language}`,
      text: body,
    }),
  );
}

/** What the compiler has against the samples, each document in a folder of its own inside the repository. */
function compile(samples: Record<string, Sample[]>): string {
  const cache = join(root, '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'documents-'));
  try {
    for (const [document, list] of Object.entries(samples)) {
      for (const { file, text } of list) {
        const path = join(folder, document.replaceAll('/', '-'), file);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, text);
      }
    }
    const config = {
      extends: '../../tsconfig.json',
      compilerOptions: {
        moduleDetection: 'force',
        // A sample that names a place in the repository finds its neighbours there.
        rootDirs: [root, ...Object.keys(samples).map((document) => `./${document.replaceAll('/', '-')}`)],
      },
      include: ['**/*'],
      exclude: [],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 120_000,
    });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('documents', () => {
  test.each([
    'README.md',
    'ARCHITECTURE.md',
    'PROTOCOL.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'CHANGELOG.md',
    'LICENSE',
    'docs/decisions/README.md',
  ])('%s is there', (path) => {
    expect(existsSync(join(root, path))).toBe(true);
  });

  test('the TypeScript in them compiles', () => {
    const samples = Object.fromEntries(documents.map((path) => [path, samplesIn(read(path))]));
    expect(samples['README.md']?.length).toBeGreaterThan(0);
    expect(compile(samples)).toBe('');
  });

  test('a sample with a mistake would be noticed, and one may import another', () => {
    const text =
      '```ts\n// file: a.ts\nexport const a = 1;\n```\n\n```tsx\nimport { a } from "./a.ts";\nexport const b: string = a;\n```\n';
    expect(compile({ 'x.md': samplesIn(text) })).toContain(
      "x.md/sample-2.tsx(2,14): error TS2322: Type 'number'",
    );
  });

  test('their links to files lead somewhere', () => {
    const dead = documents.flatMap((path) =>
      [
        ...read(path)
          .replace(/^```.*?^```$/gms, '')
          .matchAll(/\]\(([^)\s]+)\)/g),
      ]
        .map(([, target = '']) => target)
        .filter((target) => !/^([a-z]+:|#)/.test(target))
        .filter(
          (target) => !existsSync(join(root, posix.join(posix.dirname(path), target.replace(/#.*$/, '')))),
        )
        .map((target) => `${path} links to ${target}`),
    );
    expect(dead).toEqual([]);
  });

  test('the npm commands they name exist', () => {
    const scriptsFor = (path: string): object => {
      const own = posix.join(posix.dirname(path), 'package.json');
      return existsSync(join(root, own))
        ? (JSON.parse(read(own)) as { scripts: object }).scripts
        : manifest.scripts;
    };
    const unknown = documents.flatMap((path) =>
      [...read(path).matchAll(/\bnpm run ([a-z][\w:-]*)/g)]
        .map(([, name = '']) => name)
        // Examples are started in the root.
        .filter((name) => !(name in scriptsFor(path)) && !(name === 'example' && name in manifest.scripts))
        .map((name) => `${path}: npm run ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  test('docs/README.md lists every page of docs', () => {
    const pages = documents.filter((path) => /^docs\/[a-z0-9-]+\.md$/.test(path));
    const listed = [...read('docs/README.md').matchAll(/\]\(([a-z0-9-]+\.md)\)/g)].map(
      ([, file]) => `docs/${file}`,
    );
    expect(listed.sort()).toEqual(pages.sort());
  });

  test('the symptoms of docs/troubleshooting.md are texts that the package writes', () => {
    // A value in a text is `{name}` in one list, and `…` or an example in the other.
    const known = (read('docs/messages.md') + read('PROTOCOL.md')).replace(
      /\{[^{}]*\}|<[a-z]+>|0\.0\.0\.0/g,
      '…',
    );
    const symptoms = [...read('docs/troubleshooting.md').matchAll(/^\| (.*?) \|/gm)].flatMap(
      ([, cell = '']) =>
        [...cell.matchAll(/`([^`]* [^`]*)`/g)].flatMap(([, text = '']) =>
          text
            .replace('0.0.0.0', '…')
            .split('…')
            .map((piece) => piece.replace(/^[ "]+|[ "]+$/g, '')),
        ),
    );
    expect(symptoms.length).toBeGreaterThan(20);
    expect(symptoms.filter((piece) => !known.includes(piece))).toEqual([]);
  });

  test('the table of changed names is the same in the changelog and in docs/upgrading.md', () => {
    const tableIn = (path: string) => /^\| before \| now \|\n(?:\|.*\n)+/m.exec(read(path))?.[0];
    expect(tableIn('docs/upgrading.md')).toContain('`withSpeech`');
    expect(tableIn('CHANGELOG.md')).toBe(tableIn('docs/upgrading.md'));
  });

  test('every decision page is in the index, and every page of the index is there', () => {
    const pages = documents.filter((path) => /^docs\/decisions\/\d{4}-[a-z0-9-]+\.md$/.test(path));
    const listed = [...read('docs/decisions/README.md').matchAll(/\]\((\d{4}-[a-z0-9-]+\.md)\)/g)].map(
      ([, file]) => `docs/decisions/${file}`,
    );
    expect(listed.sort()).toEqual(pages.sort());
  });
});
