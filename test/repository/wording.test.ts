import { Visitor } from 'vite';
import { describe, expect, test } from 'vitest';
import { parseFile } from './support/module.ts';
import { read, repositoryFiles, sourcesUnder } from './support/repository.ts';

/** Things that belong to one machine or one way of working, and mean nothing to a reader of this repository. */
const foreign: [string, RegExp][] = [
  ['a path of one machine', /(?<![\w.])\/(?:work|root|home\/\w+|Users\/\w+)\/[\w.]/],
  ['a temporary path of one machine', /\/tmp\/duo\b/],
  [
    'a document that is not in the repository',
    /\b(?:facts|seeds)\/[\w-]+\.md\b|\bshared\/(?:seeds|facts|fixtures|design)\b/,
  ],
  ['a package host', /\b(?:https?:\/\/)[\w.-]*(?:artifactory|nexus|verdaccio|codeartifact)[\w.-]*/i],
  ['a key', /\b(?:sk-[A-Za-z0-9]{20,}|AIza[\w-]{35}|ghp_\w{36}|AKIA[A-Z0-9]{16})\b/],
  [
    'how the text was made',
    /\b(?:sub-?agent'?s? report|as an AI\b|language model, I|Claude Code|Copilot)\b/i,
  ],
  ['a conflict marker', /^(?:<{7}|>{7}) /m],
];

const own = 'test/repository/wording.test.ts';
const isText = (path: string): boolean =>
  !/\.(png|jpe?g|webp|gif|ico|wav|pcm|bin|woff2?|onnx|wasm|gz|pdf)$/.test(path);

describe('the repository', () => {
  test.each(foreign)('does not contain %s', (_what, pattern) => {
    const files = repositoryFiles().filter((path) => path !== own && isText(path));
    expect(files.length).toBeGreaterThan(20);
    const found = files.flatMap((path) => {
      const match = pattern.exec(read(path));
      return match === null ? [] : [`${path}: ${match[0]}`];
    });
    expect(found).toEqual([]);
  });

  test.each([
    ['/work/main/src', 'a path of one machine'],
    ['see facts/adk.md', 'a document that is not in the repository'],
    ['https://nexus.example.com/npm', 'a package host'],
    [`AIza${'x'.repeat(35)}`, 'a key'],
  ])('%s would be noticed as %s', (text, what) => {
    expect(foreign.filter(([, pattern]) => pattern.test(text)).map(([name]) => name)).toEqual([what]);
  });

  test('skips no test, and keeps no test that others are left out for', () => {
    const found = ['test', 'demo']
      .flatMap(sourcesUnder)
      .filter((path) => /\.test\.tsx?$/.test(path))
      .flatMap((path) => {
        const marks: string[] = [];
        new Visitor({
          MemberExpression: (node) => {
            if (
              node.object.type === 'Identifier' &&
              ['test', 'it', 'describe', 'suite'].includes(node.object.name) &&
              node.property.type === 'Identifier' &&
              ['skip', 'only', 'todo', 'skipIf', 'runIf', 'fails'].includes(node.property.name)
            ) {
              marks.push(`${path}: ${node.object.name}.${node.property.name}`);
            }
          },
        }).visit(parseFile(path).program);
        return marks;
      });
    expect(found).toEqual([]);
  });
});
