import { type ESTree, Visitor } from 'vite';
import { describe, expect, test } from 'vitest';
import { parseFile } from './support/module.ts';
import { read, repositoryFiles, sourcesUnder } from './support/repository.ts';

/** Phrases that leave open who does what, and words of an earlier vocabulary. Each has what to write instead. */
const PHRASES: [RegExp, string][] = [
  [/\b(?:whoever|nobody|somebody|someone)\b/i, 'name the user, client, process or caller'],
  [/\b(?:is|are|was|were|be|been) told\b/i, 'say what is sent, and to which client'],
  [/\bwhat (?:is|was|are|were) said\b/i, 'chunks, the user message, the speech'],
  [/\bwhat (?:is|was) kept\b/i, 'the stored messages, events or chunks'],
  [/\blet(?:s|ting)? go\b(?! within)/i, 'release, close, discard'],
  [
    /\b(?:take[sn]?|taking|took) up (?:a|the|its|no) (?:session|log|conversation)\b/i,
    'become the owner, open',
  ],
  [
    /\b(?:ha[sd]|have|having|takes?|taking|loses?|losing|gets?) the floor\b/i,
    'be, claim or lose the active connection',
  ],
  [/\b(?:kept|held) logs?\b/i, 'replicated log'],
  [/\bpass(?:es|ed)? over\b/i, 'ignore, skip'],
  [/\bgo(?:es)? on with\b/i, 'continue'],
  [/\bnot any ?more\b|\bnot \w+ any more\b/i, 'no longer'],
  [/\bfor ever\b/i, 'without limit, permanently'],
  [/\bcomes? to (?:its|an) end\b/i, 'end'],
  [/\bdoors? (?:of|for) (?:its|the|a|Node|Hono|Express)\b/i, 'adapter'],
  [/\bturnstiles?\b/i, 'lock'],
];

/** Words of an earlier vocabulary inside identifiers, by what to write instead. */
const WORDS: Record<string, string> = {
  asker: 'request, client',
  askers: 'requests, clients',
  aside: 'private reply',
  debt: 'pending input, unacknowledged response',
  door: 'adapter, route',
  doors: 'adapters, routes',
  ears: 'speech-to-text',
  floor: 'active connection',
  hush: 'mute, stop playback',
  inbox: 'message queue',
  nobody: 'none',
  owed: 'pending, unacknowledged',
  patience: 'timeout, retry policy',
  senses: 'capabilities',
  said: 'text, chunks, message',
  settlement: 'outcome',
  somebody: 'user, client',
  someone: 'user, client',
  told: 'sent, reported',
  turnstile: 'lock',
  whoever: 'user, client',
};

/** Types of ours must not have the name of a global of the platform: a reader takes one for the other. */
const GLOBALS = ['Response', 'Request', 'Node', 'Event', 'Headers', 'WebSocket', 'File', 'Notification'];

/** What may use these words all the same, and why. */
const EXCEPTIONS: { path: RegExp; text: RegExp; why: string }[] = [
  {
    path: /^src\/models\/embedded\/understand\//,
    text: /nobody|someone|somebody/,
    why: 'words that the embedded model looks for in what users write',
  },
  {
    path: /^(?:docs\/upgrading|CHANGELOG)\.md$/,
    text: /nobody/,
    why: 'the table of changed names has the old ones',
  },
  {
    path: /^demo\//,
    text: /someone/,
    why: 'plain English in a sentence for users, such as "Pay someone"',
  },
  {
    path: /^src\/models\/embedded\//,
    text: /^(?:\w*_?(?:TOLD|SAID)_?\w*|told|said)$/,
    why: 'the embedded model talks about what was said and told',
  },
  {
    path: /./,
    text: /^floor$/,
    why: 'Math.floor, and the name of the active connection on the wire (`floor`, `data-floor`)',
  },
];

/** Records of the past: they keep the words of their day. */
const RECORDS = /^docs\/decisions\/\d/;

interface Finding {
  path: string;
  line: number;
  text: string;
  use: string;
}

const isException = (path: string, text: string) =>
  EXCEPTIONS.some((one) => one.path.test(path) && one.text.test(text));

/** The phrases of a piece of prose that starts at a line of a file. */
function phrasesIn(path: string, prose: string, firstLine: number): Finding[] {
  // A phrase may be broken across the lines of a comment.
  const text = prose.replace(/\n\s*\*?/g, (gap) => gap.replace(/[^\n]/g, ' '));
  return PHRASES.flatMap(([pattern, use]) =>
    [...text.matchAll(new RegExp(pattern.source.replaceAll(' ', '\\s+'), 'gi'))].flatMap((match) => {
      const line = firstLine + text.slice(0, match.index).split('\n').length - 1;
      const found = match[0].replace(/\s+/g, ' ');
      return isException(path, found) ? [] : [{ path, line, text: found, use }];
    }),
  );
}

/** The retired words in an identifier, such as `takeFloor` or `PATIENCE_MS`. */
function wordsIn(identifier: string): string[] {
  const parts = identifier.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[^A-Za-z]+/);
  return parts.map((part) => part.toLowerCase()).filter((part) => Object.hasOwn(WORDS, part));
}

/** Everything in a source file that breaks the vocabulary: comments, texts, identifiers and declared types. */
function findingsIn(path: string, source = read(path), only: 'all' | 'names' | 'texts' = 'all'): Finding[] {
  const { program } = parseFile(path, source);
  const lineAt = (offset: number) => source.slice(0, offset).split('\n').length;
  const found: Finding[] = [];
  const addText = (text: string, { start }: ESTree.Node) => {
    if (only !== 'names') found.push(...phrasesIn(path, text, lineAt(start)));
  };
  const addName = (name: string, { start }: ESTree.Node) => {
    if (only === 'texts' || isException(path, name)) return;
    for (const word of wordsIn(name))
      found.push({ path, line: lineAt(start), text: name, use: WORDS[word] ?? '' });
  };
  const addType = (id: ESTree.BindingIdentifier | null) => {
    if (only === 'all' && id && GLOBALS.includes(id.name))
      found.push({ path, line: lineAt(id.start), text: id.name, use: 'a prefix that says which' });
  };
  new Visitor({
    Literal: (node) => {
      if (typeof node.value === 'string') addText(node.value, node);
    },
    TemplateElement: (node) => addText(node.value.raw, node),
    JSXText: (node) => addText(node.value, node),
    Identifier: (node) => addName(node.name, node),
    PrivateIdentifier: (node) => addName(node.name, node),
    ClassDeclaration: ({ id }) => addType(id),
    TSInterfaceDeclaration: ({ id }) => addType(id),
    TSTypeAliasDeclaration: ({ id }) => addType(id),
  }).visit(program);
  if (only === 'all') found.push(...inComments(path, source));
  return found;
}

/** The phrases in the comments of a source file. */
function inComments(path: string, source: string): Finding[] {
  return parseFile(path, source).comments.flatMap(({ value, start }) =>
    phrasesIn(path, value, source.slice(0, start).split('\n').length),
  );
}

const shown = ({ path, line, text, use }: Finding) => `${path}:${line}: "${text}": ${use}`;

describe('the vocabulary', () => {
  test('is that of comments, texts and names in src', () => {
    const sources = sourcesUnder('src');
    expect(sources.length).toBeGreaterThan(200);
    expect(sources.flatMap((path) => findingsIn(path)).map(shown)).toEqual([]);
    const files = repositoryFiles().filter((path) => path.startsWith('src/'));
    expect(files.filter((path) => wordsIn(path).length > 0)).toEqual([]);
  });

  test('is that of the documents', () => {
    const documents = repositoryFiles().filter((path) => path.endsWith('.md') && !RECORDS.test(path));
    expect(documents.length).toBeGreaterThan(20);
    const found = documents.flatMap((path) => phrasesIn(path, read(path), 1));
    expect(found.map(shown)).toEqual([]);
  });

  test('is that of names and comments in tests, demo, examples, benchmarks and scripts', () => {
    const own = 'test/repository/vocabulary.test.ts';
    const folders = ['test', 'demo', 'examples', 'bench', 'scripts'];
    const sources = folders.flatMap(sourcesUnder).filter((path) => path !== own);
    expect(sources.length).toBeGreaterThan(500);
    const found = sources.flatMap((path) => [
      ...findingsIn(path, read(path), 'names'),
      ...inComments(path, read(path)),
    ]);
    expect(found.map(shown)).toEqual([]);
    const files = repositoryFiles().filter((path) => folders.some((folder) => path.startsWith(`${folder}/`)));
    expect(files.filter((path) => wordsIn(path).length > 0)).toEqual([]);
  });

  test('is that of the texts of the demo', () => {
    const catalogues = sourcesUnder('demo').filter((path) => /\/(?:i18n|texts)\/\w+\.ts$/.test(path));
    expect(catalogues.length).toBeGreaterThan(2);
    const found = catalogues.flatMap((path) => findingsIn(path, read(path), 'texts'));
    expect(found.map(shown)).toEqual([]);
  });

  test.each([
    ['/** Whoever reads it. */', 'Whoever'],
    ['/**\n * The client is\n * told later.\n */', 'is told'],
    ["const text = 'What is said cannot be kept.';", 'What is said'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a source text
    ['const text = `Nobody has ${name}.`;', 'Nobody'],
    ['const element = <p>Let go of the button</p>;', 'Let go'],
    ['session.takeFloor(null);', 'takeFloor'],
    ['const PATIENCE_MS = 1;', 'PATIENCE_MS'],
    ['class Log { #inbox = []; }', 'inbox'],
    ['export interface Response {}', 'Response'],
    ['const rounded = Math.floor(1.5);', null],
    ['/** The client of the request gets an error. */', null],
  ])('of %j finds %j', (source, text) => {
    expect(findingsIn('made-up.tsx', source).map((one) => one.text)).toEqual(text === null ? [] : [text]);
  });

  test('has no exception that nothing needs', () => {
    const files = [...['src', 'demo'].flatMap(sourcesUnder), ...repositoryFiles()];
    const texts = [...new Set(files)]
      .filter((path) => /\.(?:tsx?|md)$/.test(path))
      .map((path) => ({ path, text: read(path) }));
    const isNeeded = ({ path, text }: (typeof EXCEPTIONS)[number]) =>
      texts.some(
        (one) => path.test(one.path) && new RegExp(text.source.replace(/[$^]/g, '\\b')).test(one.text),
      );
    expect(EXCEPTIONS.filter((one) => !isNeeded(one))).toEqual([]);
  });
});
