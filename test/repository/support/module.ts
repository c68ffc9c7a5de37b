import { type ESTree, parseSync, Visitor } from 'vite';
import { read } from './repository.ts';

/** Stands for a module whose name is known only at run time. */
export const computed = '(a package named at run time)';

/** One import of a file: what it names, and whether it disappears when compiled or loads only on demand. */
export interface Import {
  specifier: string;
  kind: 'static' | 'dynamic' | 'type';
}

/** Parses a source file of the repository; a file that does not parse is an error. */
export function parseFile(path: string, text: string = read(path)) {
  const result = parseSync(path, text);
  if (result.errors.length > 0)
    throw new Error(`${path}: ${result.errors.map((error) => error.message).join('; ')}`);
  return result;
}

const literal = (node: ESTree.Node | null | undefined): string | undefined =>
  node?.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;

const known = new Map<string, Import[]>();

/** Every import of a file: statements, re-exports, `import()` expressions and `import()` types. Files are read once. */
export function importsOf(path: string, text?: string): Import[] {
  if (text !== undefined) return importsIn(path, text);
  const found = known.get(path) ?? importsIn(path);
  known.set(path, found);
  return found;
}

function importsIn(path: string, text?: string): Import[] {
  const { program } = parseFile(path, text);
  const found: Import[] = [];
  const add = (source: ESTree.Node | null | undefined, kind: Import['kind']) => {
    found.push({ specifier: literal(source) ?? computed, kind });
  };
  new Visitor({
    ImportDeclaration: (node) => {
      const onlyTypes =
        node.importKind === 'type' ||
        (node.specifiers.length > 0 &&
          node.specifiers.every((item) => item.type === 'ImportSpecifier' && item.importKind === 'type'));
      add(node.source, onlyTypes ? 'type' : 'static');
    },
    ExportAllDeclaration: (node) => add(node.source, node.exportKind === 'type' ? 'type' : 'static'),
    ExportNamedDeclaration: (node) => {
      if (node.source !== null) add(node.source, node.exportKind === 'type' ? 'type' : 'static');
    },
    ImportExpression: (node) => add(node.source, 'dynamic'),
    TSImportType: (node) => add(node.source, 'type'),
    CallExpression: (node) => {
      if (node.callee.type === 'Identifier' && node.callee.name === 'require')
        add(node.arguments[0], 'dynamic');
    },
  }).visit(program);
  return found;
}

/** The `switch` statements of a file, each with its line. */
export function switchesOf(path: string): { line: number; hasDefault: boolean }[] {
  const text = read(path);
  const found: { line: number; hasDefault: boolean }[] = [];
  new Visitor({
    SwitchStatement: ({ start, cases }) => {
      const line = text.slice(0, start).split('\n').length;
      found.push({ line, hasDefault: cases.some(({ test }) => test === null) });
    },
  }).visit(parseFile(path, text).program);
  return found;
}

/** The package that a bare specifier belongs to: `@scope/name/sub` is `@scope/name`. */
export function packageOf(specifier: string): string {
  if (specifier === computed) return specifier;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Whether a specifier names a file next to the importing one. */
export const isRelative = (specifier: string): boolean => specifier.startsWith('.');
