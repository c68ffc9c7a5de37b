import { join } from 'node:path';
import { type ESTree, Visitor } from 'vite';
import { describe, expect, test } from 'vitest';
import { findMessages } from '../../scripts/messages/find-messages.ts';
import { FROZEN, pageOf } from '../../scripts/messages/page.ts';
import { ERRORS } from '../../src/protocol/index.ts';
import { parseFile } from './support/module.ts';
import { read, repositoryFiles, root } from './support/repository.ts';

/** Tests whose subject is the text that a reader gets. All other tests match the code of an error. */
const TEXT_TESTS: Record<string, string> = {
  'demo/web/test/page.test.ts': 'the page finds its title and its Japanese text by the text of the server',
  'test/server/attachments.test.ts': 'only the text lists the types that a server accepts',
  'test/server/adapters.test.ts': 'what a user reads whose server is set up wrong',
};

const MATCHERS = new Set([
  ...['toBe', 'toContain', 'toContainEqual', 'toEqual', 'toHaveBeenCalledWith', 'toMatch', 'toMatchObject'],
  ...['stringContaining', 'stringMatching', 'toStrictEqual', 'toThrow'],
]);
/** Shorter texts, such as "Not JSON.", may be part of a text by chance. */
const SHORTEST = 12;

/** The texts that a test file compares: literals, templates and patterns in the arguments of its matchers. */
function comparedTexts(path: string, source = read(path)): { text: string; line: number }[] {
  const found = new Map<number, string>();
  const collect = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(collect);
    if (typeof node !== 'object' || node === null) return;
    const { type, start } = node as ESTree.Node;
    if (type === 'Literal') {
      const { value } = node as { value: unknown };
      if (typeof value === 'string') found.set(start, value);
      if (value instanceof RegExp)
        found.set(start, value.source.replace(/^\^|\$$/g, '').replace(/\\(.)/g, '$1'));
    }
    if (type === 'TemplateElement') found.set(start, (node as { value: { raw: string } }).value.raw);
    for (const inner of Object.values(node)) collect(inner);
  };
  new Visitor({
    CallExpression: ({ callee, arguments: args }) => {
      const name =
        callee.type === 'MemberExpression' && callee.property.type === 'Identifier'
          ? callee.property.name
          : '';
      if (MATCHERS.has(name)) collect(args);
    },
  }).visit(parseFile(path, source).program);
  return [...found]
    .filter(([, text]) => text.length >= SHORTEST)
    .map(([start, text]) => ({ text, line: source.slice(0, start).split('\n').length }));
}

/** Creates a function that says whether a text is, or is a part of, one of these texts, whose values are `{name}`. */
function partOf(texts: readonly string[]): (text: string) => boolean {
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const patterns = texts.map(
    (text) =>
      new RegExp(
        `^${text
          .split(/\{\w+\}/)
          .map(escaped)
          .join('[^]*')}$`,
      ),
  );
  return (text) =>
    patterns.some((pattern) => pattern.test(text)) ||
    (text.includes(' ') && texts.some((one) => one.includes(text)));
}

describe('log lines and errors', () => {
  const messages = findMessages(join(root, 'src'));

  test('are those of docs/messages.md (npm run messages writes it)', () => {
    expect(read('docs/messages.md')).toBe(pageOf(messages));
  });

  test('are found: of each kind there are many', () => {
    const counts = Object.values(messages).map((found) => found.length);
    expect(counts.every((count) => count > 10)).toBe(true);
  });

  test('are listed with all their fields and the file that writes them, where a function is called with both', () => {
    expect(messages.logs.filter(({ text }) => text.startsWith('a connection was rejected'))).toEqual([
      {
        level: 'warn',
        text: 'a connection was rejected: see code and why',
        fields: ['request', 'code', 'why', 'address'],
        file: 'src/server/socket/sockets.ts',
      },
    ]);
  });

  test('that reach a client have a code of the table', () => {
    const codes = new Set(messages.protocol.map(({ kind }) => kind));
    // These codes are found at run time, by the number with which a socket closed.
    const known = new Set([...Object.keys(ERRORS), '{value}', '{code}']);
    expect([...codes].filter((code) => !known.has(code))).toEqual([]);
  });

  test('that are frozen are those of the protocol, and of the recorded conversations', () => {
    const protocol = read('PROTOCOL.md');
    const [, table = ''] = /^\*\*T5\*\* .*\n\n((?:\|.*\n)+)/m.exec(protocol) ?? [];
    const ofT5 = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, text]) => text);
    const frozen = FROZEN.map(({ text }) => text);
    expect(FROZEN.flatMap(({ text, rule }) => (rule === 'T5' ? [text] : [])).sort()).toEqual(ofT5.sort());
    for (const { text, rule } of FROZEN)
      expect(protocol, text).toMatch(new RegExp(`^\\*\\*${rule}\\*\\* `, 'm'));
    const recorded = repositoryFiles()
      .filter((path) => /^fixtures\/frontend\/.*\.json$/.test(path))
      .flatMap((path) =>
        [...read(path).matchAll(/"errorText": "([^"]+)"/g)].flatMap(([, text]) => text ?? []),
      );
    expect(recorded.length).toBeGreaterThan(10);
    expect(recorded.filter((text) => !frozen.includes(text))).toEqual([]);
  });

  test('that are warnings and errors of the log say what follows or what to do', () => {
    const bare = messages.logs.filter(({ level, text }) => level !== 'info' && !/[:.]/.test(text));
    expect(bare.filter(({ text }) => !/^\{\w+\}/.test(text)).map(({ text }) => text)).toEqual([]);
  });

  // An error of the package (`TypeError`, `StoreError`) has no code beside its class, so its text may be compared.
  const isUnfrozen = partOf(
    messages.protocol
      .map(({ text }) => text)
      .filter((text) => text.length >= SHORTEST && !FROZEN.some((one) => one.text === text)),
  );

  test('that reach a client are matched in tests by their code, unless the text is frozen', () => {
    const tests = repositoryFiles().filter((path) => /\.(?:test|long|cluster)\.tsx?$/.test(path));
    expect(tests.length).toBeGreaterThan(200);
    const found = tests.flatMap((path) =>
      comparedTexts(path)
        .filter(({ text }) => isUnfrozen(text))
        .map(({ text, line }) => ({ path, place: `${path}:${line}: ${text}` })),
    );
    expect(found.filter(({ path }) => !Object.hasOwn(TEXT_TESTS, path)).map(({ place }) => place)).toEqual(
      [],
    );
    expect(Object.keys(TEXT_TESTS).filter((exempt) => !found.some(({ path }) => path === exempt))).toEqual(
      [],
    );
  });

  test.each([
    ["expect(error).toMatchObject({ message: 'The body is not valid JSON.' });", true],
    ['expect(text).toMatch(/^The body is not valid JSON\\.$/);', true],
    ["await expect(send()).rejects.toThrow('is not valid JSON');", true],
    ["expect(error).toMatchObject({ code: 'bad_json' });", false],
    ["expect(part.errorText).toBe('Approval request timed out');", false],
    ["const sent = { message: 'The body is not valid JSON.' };", false],
  ])('of %s: a comparison of an error text is found: %s', (source, isFound) => {
    expect(comparedTexts('made-up.ts', source).some(({ text }) => isUnfrozen(text))).toBe(isFound);
  });
});
