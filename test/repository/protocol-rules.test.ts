import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Visitor } from 'vite';
import { describe, expect, test } from 'vitest';
import { parseFile } from './support/module.ts';
import { read, repositoryFiles, root, sourcesUnder } from './support/repository.ts';

/** The rules of a protocol text: lines that begin with `**T4**`, in a list or not. */
function rulesIn(text: string): string[] {
  return [...text.matchAll(/^(?:[-*] )?\*\*([A-Z]{1,2}\d+[a-z]?)\*\*/gm)].flatMap(([, id]) => id ?? []);
}

/** The rules that lead a test's name: `[T4] ...`, or several, `[T4][T5] ...`. */
function citationsIn(name: string): string[] {
  const lead = /^(?:\[[A-Z]{1,2}\d+[a-z]?\]\s*)+/.exec(name)?.[0] ?? '';
  return [...lead.matchAll(/\[([A-Z]{1,2}\d+[a-z]?)\]/g)].flatMap(([, id]) => id ?? []);
}

/** The rules cited in a test file: by names of tests, and by names that a table holds for them. */
function citationsInFile(path: string, text?: string): string[] {
  const found: string[] = [];
  new Visitor({
    Literal: (node) => {
      if (typeof node.value === 'string') found.push(...citationsIn(node.value));
    },
    TemplateElement: (node) => {
      found.push(...citationsIn(node.value.cooked ?? ''));
    },
  }).visit(parseFile(path, text).program);
  return found;
}

/** The rules cited by golden conversations, whose names are test names too. */
function citationsInTranscripts(): string[] {
  return repositoryFiles()
    .filter((path) => path.startsWith('test/transcripts/') && !/\.tsx?$/.test(path))
    .flatMap((path) => [...read(path).matchAll(/\[([A-Z]{1,2}\d+[a-z]?)\]/g)].flatMap(([, id]) => id ?? []));
}

describe('the rules of PROTOCOL.md', () => {
  const rules = existsSync(join(root, 'PROTOCOL.md')) ? rulesIn(read('PROTOCOL.md')) : [];
  const cited = new Set([
    ...['test', 'demo', 'src/testing']
      .flatMap(sourcesUnder)
      .filter(
        (path) =>
          /\.test\.tsx?$|^src\/testing\//.test(path) && path !== 'test/repository/protocol-rules.test.ts',
      )
      .flatMap((path) => citationsInFile(path)),
    ...citationsInTranscripts(),
  ]);

  test('exist and have different numbers', () => {
    expect(rules.length).toBeGreaterThan(0);
    expect(rules.filter((id, index) => rules.indexOf(id) !== index)).toEqual([]);
  });

  test('are each cited by the name of a test', () => {
    expect(rules.filter((id) => !cited.has(id))).toEqual([]);
  });

  test('are what the tests cite: no test cites a rule that does not exist', () => {
    expect([...cited].filter((id) => !rules.includes(id))).toEqual([]);
  });
});

/** The rules of a protocol text, each with its sentence. */
function sentencesIn(text: string): [id: string, sentence: string][] {
  return [...text.matchAll(/^\*\*([A-Z]{1,2}\d+[a-z]?)\*\* (.+)$/gm)].map(([, id = '', sentence = '']) => [
    id,
    sentence,
  ]);
}

/** What is wrong with the sentence of a rule. */
function faultsOf(sentence: string): string[] {
  const words = sentence.split(/\s+/).length;
  return [
    ...(words > 40 ? [`has ${words} words`] : []),
    ...(/\b(?:MUST|SHOULD|MAY)\b/.test(sentence) ? [] : ['says neither MUST nor SHOULD nor MAY']),
  ];
}

describe('the sentences of PROTOCOL.md', () => {
  const text = read('PROTOCOL.md');

  test('have at most 40 words each, and say MUST, SHOULD or MAY', () => {
    const sentences = sentencesIn(text);
    expect(sentences.map(([id]) => id)).toEqual(rulesIn(text));
    expect(
      sentences.flatMap(([id, sentence]) => faultsOf(sentence).map((fault) => `${id} ${fault}`)),
    ).toEqual([]);
  });

  test('the check would notice a long one and a vague one', () => {
    expect(faultsOf(`The server MUST ${'wait '.repeat(38)}`.trim())).toEqual(['has 41 words']);
    expect(faultsOf('The server waits.')).toEqual(['says neither MUST nor SHOULD nor MAY']);
  });

  test('name only rules that exist', () => {
    const known = new Set(rulesIn(text));
    const named = [...text.matchAll(/(?<![\w`-])([CTSBREA]\d+[a-z]?)(?![\w`-])/g)].flatMap(
      ([, id]) => id ?? [],
    );
    expect(named.length).toBeGreaterThan(known.size);
    expect([...new Set(named)].filter((id) => !known.has(id))).toEqual([]);
  });

  test('keep the numbers that rules had before they were split', () => {
    const counts = { C: 18, T: 29, S: 32, B: 35, R: 7, E: 10, A: 14 };
    const numbers = Object.entries(counts).flatMap(([letter, count]) =>
      Array.from({ length: count }, (_, index) => `${letter}${index + 1}`),
    );
    const [, moved = ''] = text.split('## Moved numbers');
    const known = new Set(rulesIn(text));
    expect(numbers.filter((id) => !known.has(id) && !moved.includes(`| ${id}`))).toEqual([]);
  });
});

describe('finding rules and citations', () => {
  test('a rule is a bold number at the start of a line', () => {
    expect(rulesIn('**T1** One.\n- **AB12** Two, see **T9**.\n\n  **T3** no\n**Text** no\n')).toEqual([
      'T1',
      'AB12',
    ]);
  });

  test.each([
    ["test('[T4] a denied call never runs', () => {})", ['T4']],
    ["test.each([1])('[T4][S12] both %s', () => {})", ['T4', 'S12']],
    ['test(`[T4] [S1] of a template`, () => {})', ['T4', 'S1']],
    ["const rows = [{ name: '[C2] a row' }]", ['C2']],
    ["test('a name with [T4] inside', () => {}) // [T5]", []],
  ])('%s cites %j', (text, expected) => {
    expect(citationsInFile('example.ts', text)).toEqual(expected);
  });
});
