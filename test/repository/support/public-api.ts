import { posix } from 'node:path';
import type { ESTree } from 'vite';
import { isRelative, parseFile } from './module.ts';
import { entries, read, repositoryFiles, sourcesUnder } from './repository.ts';

/** Programs and benchmarks show how the package is used. Tests do not count, since they test what is there. */
const PROGRAMS = ['demo', 'examples', 'bench', 'scripts'];
/** Documents for people who use the package. */
const DOCUMENTS = /^README\.md$|^docs\/[^/]+\.md$|^(examples|demo|bench)\/.*\.md$/;

/**
 * The public exports that no program, benchmark or document uses and no signature of a used export names, as `entry: name`. A name is used when a program
 * or a code block of a document imports it from the entry, or when a document has it in backticks.
 */
export function unusedExports(): string[] {
  const all = entries.flatMap(({ name: entry, source }) =>
    [...exportsOf(source)].map(([name, { declared, isType }]) => ({ entry, name, declared, isType })),
  );
  const values = new Set(all.filter(({ isType }) => !isType).map(({ declared }) => declared));
  const isUsed = usage();
  const used = new Set(all.filter(({ entry, name }) => isUsed(entry, name)));
  // A used signature makes the names in it used, exported or not, and so on.
  const seen = new Set<string>();
  const waiting = [...used].map(({ declared }) => declared);
  for (let declared = waiting.pop(); declared !== undefined; declared = waiting.pop()) {
    if (seen.has(declared)) continue;
    seen.add(declared);
    for (const one of all) if (one.declared === declared) used.add(one);
    waiting.push(...namesIn(declared, values.has(declared)));
  }
  return all
    .filter((one) => !used.has(one))
    .map(({ entry, name }) => `${entry}: ${name}`)
    .sort();
}

/** What a file declares and imports at its top level. A declaration is named `file#name`. */
interface Module {
  declared: Map<string, ESTree.Node>;
  /** Local names by where they come from. */
  imported: Map<string, { file: string; name: string }>;
  /** Exported names by their local name, or by where they come from. */
  exported: Map<string, { file: string; name: string; isType: boolean }>;
  /** Files of `export *`. */
  all: { file: string; isType: boolean }[];
}

const modules = new Map<string, Module>();

function moduleOf(file: string): Module {
  const known = modules.get(file);
  if (known) return known;
  const made: Module = { declared: new Map(), imported: new Map(), exported: new Map(), all: [] };
  modules.set(file, made);
  const at = (specifier: string) => (isRelative(specifier) ? posix.join(posix.dirname(file), specifier) : '');
  const declare = (node: ESTree.Node, isExported: boolean): void => {
    const named =
      node.type === 'VariableDeclaration'
        ? node.declarations.map((one) => ({ id: one.id, node: one }))
        : [{ id: 'id' in node ? node.id : null, node }];
    for (const one of named) {
      if (one.id?.type !== 'Identifier') continue;
      made.declared.set(one.id.name, one.node);
      if (isExported) made.exported.set(one.id.name, { file, name: one.id.name, isType: isTypeOnly(node) });
    }
  };
  for (const node of parseFile(file).program.body) {
    if (node.type === 'ImportDeclaration') {
      for (const item of node.specifiers) {
        const name = item.type === 'ImportSpecifier' ? nameOf(item.imported) : '*';
        made.imported.set(item.local.name, { file: at(node.source.value), name });
      }
    } else if (node.type === 'ExportAllDeclaration') {
      made.all.push({ file: at(node.source.value), isType: node.exportKind === 'type' });
    } else if (node.type === 'ExportNamedDeclaration') {
      if (node.declaration) declare(node.declaration, true);
      for (const { local, exported, exportKind } of node.specifiers) {
        const isType = node.exportKind === 'type' || exportKind === 'type';
        const from = node.source ? at(node.source.value) : file;
        made.exported.set(nameOf(exported), { file: from, name: nameOf(local), isType });
      }
    } else declare(node, false);
  }
  return made;
}

function nameOf(node: { type: string; name?: string; value?: string }): string {
  return node.name ?? node.value ?? '';
}

function isTypeOnly({ type }: ESTree.Node): boolean {
  return type === 'TSInterfaceDeclaration' || type === 'TSTypeAliasDeclaration';
}

/** A declaration as a file exports it: as a value, or as a type alone. */
interface Exported {
  declared: string;
  isType: boolean;
}

/** The names that a file exports, each with its declaration; names of other packages are left out. */
function exportsOf(file: string): Map<string, Exported> {
  const { exported, all } = moduleOf(file);
  const found = new Map<string, Exported>();
  for (const star of all) {
    if (star.file === '') continue;
    for (const [name, { declared, isType }] of exportsOf(star.file))
      found.set(name, { declared, isType: isType || star.isType });
  }
  for (const [name, { isType, ...from }] of exported) {
    const declared = from.file === file ? declarationOf(file, from.name) : exportOf(from);
    if (declared !== null) found.set(name, { declared, isType });
  }
  return found;
}

function exportOf({ file, name }: { file: string; name: string }): string | null {
  return file === '' ? null : (exportsOf(file).get(name)?.declared ?? null);
}

/** The declaration that a name means inside a file; null for names of other packages and of the language. */
function declarationOf(file: string, name: string): string | null {
  const { declared, imported } = moduleOf(file);
  if (declared.has(name)) return `${file}#${name}`;
  const from = imported.get(name);
  return from ? exportOf(from) : null;
}

/**
 * The declarations that the signature of a declaration names: not those in bodies, in values or in private members. The constructor of a class counts when
 * users of the package get the class itself.
 */
function namesIn(declared: string, isValue: boolean): string[] {
  const [file = '', name = ''] = declared.split('#');
  const found: string[] = [];
  const add = (node: ESTree.Node): void => {
    const first = node.type === 'TSQualifiedName' ? node.left : node;
    const target = first.type === 'Identifier' ? declarationOf(file, first.name) : null;
    if (target !== null) found.push(target);
  };
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node !== 'object' || node === null || !('type' in node)) return;
    const one = node as ESTree.Node;
    if (one.type === 'BlockStatement') return;
    if ('accessibility' in one && one.accessibility === 'private') return;
    if ('key' in one && one.key?.type === 'PrivateIdentifier') return;
    if (one.type === 'MethodDefinition' && one.kind === 'constructor' && !isValue) return;
    if (one.type === 'PropertyDefinition') return visit(one.typeAnnotation);
    if (one.type === 'VariableDeclarator') {
      visit(one.id);
      if (one.init?.type === 'ArrowFunctionExpression') visit(one.init);
      return;
    }
    if (one.type === 'TSClassImplements') return;
    if (one.type === 'TSTypeReference') add(one.typeName);
    if (one.type === 'TSTypeQuery') add(one.exprName);
    if (one.type === 'TSInterfaceHeritage') add(one.expression);
    if (one.type === 'ClassDeclaration' && one.superClass) add(one.superClass);
    for (const [key, value] of Object.entries(one)) if (key !== 'parent') visit(value);
  };
  visit(moduleOf(file).declared.get(name));
  return found;
}

/** Says whether a program, benchmark or document uses a name of an entry. */
function usage(): (entry: string, name: string) => boolean {
  const used = new Set<string>();
  const bySource = new Map(entries.map(({ name, source }) => [source, name]));
  const use = (text: string, file: string): void => {
    const entryOf = (specifier: string) =>
      isRelative(specifier) ? bySource.get(posix.join(posix.dirname(file), specifier)) : specifier;
    for (const [, names = '', specifier = ''] of text.matchAll(
      /^\s*(?:im|ex)port (?:type )?(?:\w+, )?\{([^}]*)\} from '([^']+)'/gm,
    )) {
      for (const name of wordsIn(names)) used.add(`${entryOf(specifier)}: ${name}`);
    }
    // A module that is loaded at run time is taken apart where it is loaded.
    const taken = [...text.matchAll(/\bconst \{([^}]*)\} =/g)].flatMap(([, names = '']) => wordsIn(names));
    for (const [, specifier = ''] of text.matchAll(/\bimport\('([^']+)'\)/g)) {
      for (const name of taken) used.add(`${entryOf(specifier)}: ${name}`);
    }
  };
  for (const file of PROGRAMS.flatMap(sourcesUnder)) use(read(file), file);
  const named = new Set<string>();
  for (const file of repositoryFiles().filter((path) => DOCUMENTS.test(path))) {
    const text = read(file);
    for (const [block] of text.matchAll(/^```[a-z]*\n[\s\S]*?^```/gm)) use(block, file);
    for (const [, name] of text.matchAll(/`(?:new )?([A-Za-z]\w*)(?:\([^`]*\))?`/g))
      if (name) named.add(name);
  }
  return (entry, name) => named.has(name) || used.has(`${entry}: ${name}`);
}

function wordsIn(text: string): string[] {
  return text.match(/\w+/g) ?? [];
}
