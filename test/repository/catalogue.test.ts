import { type ESTree, Visitor } from 'vite';
import { describe, expect, test } from 'vitest';
import { parseFile } from './support/module.ts';
import { read, sourcesUnder } from './support/repository.ts';

/** Where the texts for users are. The page, each tool, the embedded model and the sample texts have one catalogue for each language. */
const CATALOGUE = /\/(?:i18n|texts)\/[\w-]+\.tsx?$/;

/** Sources whose users read what they say. */
const SOURCES = /^demo\/(?:web\/src|tools)\/|^demo\/server\/sample-texts\.ts$|^src\/models\/embedded\//;

/** Attributes whose values users read or hear. */
const READ_ATTRIBUTES = new Set([
  'alt',
  'aria-description',
  'aria-label',
  'aria-roledescription',
  'label',
  'placeholder',
  'text',
  'title',
]);

/** Methods that compare with a text, or describe a parameter to the model. */
const COMPARES = new Set(['describe', 'endsWith', 'includes', 'startsWith']);

/** Properties whose texts models read. */
const FOR_MODELS = new Set(['description', 'instruction']);

/** What looks like a text for users and is none, with the reason. */
const EXCEPTIONS: { path: RegExp; text: RegExp; why: string }[] = [
  {
    path: /^demo\/web\/src\//,
    text: /^(?:⌘?Enter|Escape|Meta|Control|Ctrl|Files)$/,
    why: 'the name of a key or of a type of the browser',
  },
  { path: /./, text: /^Duologue$/, why: 'the name of the product, the same in every language' },
  { path: /./, text: /^User denied the tool call$/, why: 'what the wire says about a denied call' },
  {
    path: /\/understand\/|\/(?:questions|wishes)\.ts$/,
    text: /./,
    why: 'words that the embedded model looks for in what users write',
  },
  {
    path: /\/tools\/(?:weather\/(?:cities|definition)|location\/(?:places|rule))\.ts$/,
    text: /^[\p{L} ]+$|^\(\?:/u,
    why: 'names of places and of the weather as data, in both languages, and the source of a pattern',
  },
];

interface Finding {
  path: string;
  line: number;
  text: string;
}

/** Whether a text has words for users: Japanese, a word with a capital letter, or a sentence. */
function isForUsers(text: string): boolean {
  if (/[\u3040-\u30ff\u4e00-\u9fff]/.test(text)) return true;
  const words = text.trim();
  return /^[^\p{L}]*\p{Lu}\p{Ll}+(?:[ .,:!?…’']|$)/u.test(words) || /\p{L} \p{L}+[^\n]*[.!?]$/u.test(words);
}

/** The texts for users that a source file has outside the catalogue. */
function findingsIn(path: string, source = read(path)): Finding[] {
  const { program } = parseFile(path, source);
  const found: Finding[] = [];
  // Not for users: errors for programmers, the source of patterns, texts to compare with, descriptions for models.
  const skipped = new Set<ESTree.Node>();
  const skipAll = (...nodes: ESTree.Node[]) => {
    const body = nodes.map((expression) => ({ type: 'ExpressionStatement', expression }));
    new Visitor({
      Literal: (one) => void skipped.add(one),
      TemplateElement: (one) => void skipped.add(one),
    }).visit({ type: 'Program', body } as ESTree.Program);
  };
  const add = (text: string, node: ESTree.Node) => {
    if (skipped.has(node) || EXCEPTIONS.some((one) => one.path.test(path) && one.text.test(text))) return;
    found.push({ path, line: source.slice(0, node.start).split('\n').length, text });
  };
  // What a tool throws is shown on its card.
  const isTool = path.startsWith('demo/tools/');
  new Visitor({
    ThrowStatement: ({ argument }) => {
      if (!isTool) skipAll(argument);
    },
    NewExpression: (node) => {
      const name = node.callee.type === 'Identifier' ? node.callee.name : '';
      if (name === 'RegExp' || name === 'DOMException') skipAll(node);
    },
    CallExpression: ({ callee, arguments: given }) => {
      const method =
        callee.type === 'MemberExpression' && callee.property.type === 'Identifier'
          ? callee.property.name
          : '';
      if (callee.type === 'Super' || COMPARES.has(method)) skipAll(...given);
    },
    Property: ({ key, value }) => {
      if (key.type === 'Identifier' && FOR_MODELS.has(key.name)) skipAll(value);
    },
    JSXAttribute: ({ name, value }) => {
      if (value?.type !== 'Literal' || typeof value.value !== 'string') return;
      skipped.add(value);
      if (name.type === 'JSXIdentifier' && READ_ATTRIBUTES.has(name.name) && /\p{L}/u.test(value.value)) {
        skipped.delete(value);
        add(value.value, value);
        skipped.add(value);
      }
    },
    JSXText: (node) => {
      if (/\p{L}/u.test(node.value)) add(node.value.trim(), node);
    },
    Literal: (node) => {
      if (typeof node.value === 'string' && isForUsers(node.value)) add(node.value, node);
    },
    TemplateElement: (node) => {
      if (isForUsers(node.value.raw)) add(node.value.raw, node);
    },
  }).visit(program);
  return found;
}

const sources = ['demo', 'src/models']
  .flatMap(sourcesUnder)
  .filter((path) => SOURCES.test(path) && !CATALOGUE.test(path));

const shown = ({ path, line, text }: Finding) => `${path}:${line}: ${text}`;

describe('texts for users', () => {
  test('are in the catalogues', () => {
    expect(sources.length).toBeGreaterThan(200);
    expect(sources.flatMap((path) => findingsIn(path)).map(shown)).toEqual([]);
  });

  test.each([
    ["const label = 'Show all';", ['Show all']],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a source text
    ['const text = `Waiting for ${name}`;', ['Waiting for ']],
    ['const element = <p>loading</p>;', ['loading']],
    ['const element = <input placeholder="your name" />;', ['your name']],
    ["const name = '東京';", ['東京']],
    ["const text = 'please wait a moment.';", ['please wait a moment.']],
    ['const element = <p className="Big letters" data-state="open" />;', []],
    ["throw new Error('A provider must be above.');", []],
    ["const looks = 'flex items-center gap-2';", []],
    ["const state = 'output-error';", []],
  ])('of %j finds %j', (source, texts) => {
    expect(findingsIn('made-up.tsx', source).map(({ text }) => text)).toEqual(texts);
  });

  test('have no exception that nothing needs', () => {
    const found = sources.map((path) => ({ path, source: read(path) }));
    const isNeeded = ({ path, text }: (typeof EXCEPTIONS)[number]) =>
      found.some(
        (one) => path.test(one.path) && new RegExp(text.source.replace(/[$^]/g, '')).test(one.source),
      );
    expect(EXCEPTIONS.filter((one) => !isNeeded(one))).toEqual([]);
  });
});
