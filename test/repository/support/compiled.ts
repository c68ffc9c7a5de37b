import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Identifier, type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast';
import {
  isBindingElement,
  isHeritageClause,
  isIdentifier,
  isObjectBindingPattern,
  isPrivateIdentifier,
  isShorthandPropertyAssignment,
} from 'typescript/unstable/ast/is';
import {
  API,
  type Checker,
  type Symbol as CompilerSymbol,
  type Project,
  SymbolFlags,
  type Type,
} from 'typescript/unstable/sync';
import { root } from './repository.ts';

const NO_NODES: readonly Node[] = [];

/** The files of one folder as the TypeScript compiler sees them: their nodes, and what each name refers to. */
export class Compiled {
  /** The files by their path within the folder. */
  readonly files = new Map<string, SourceFile>();
  /** Every node that exists at run time, in order; types and imports are left out. */
  readonly nodes: Node[] = [];
  readonly checker: Checker;
  private readonly project: Project;
  private readonly paths = new Map<SourceFile, string>();
  private readonly declared = new Map<Node, readonly Node[]>();
  private readonly types = new Map<Node, Type | undefined>();
  private readonly properties = new Map<string, readonly Node[]>();

  private constructor(project: Project, folder: string) {
    this.project = project;
    this.checker = project.checker;
    for (const name of project.program.getSourceFileNames()) {
      const file = name.startsWith(`${folder}/`) && project.program.getSourceFile(name);
      if (!file) continue;
      const path = name.slice(folder.length + 1);
      this.files.set(path, file);
      this.paths.set(file, path);
      collect(file, this.nodes);
    }
    const names = this.nodes.filter(isName);
    const symbols = this.checker.getSymbolAtLocation(names);
    names.forEach((name, index) => {
      this.declared.set(name, this.declarationsOf(symbols[index]));
    });
    this.resolveBindings();
  }

  /** Compiles the TypeScript files of a folder, measures them, and ends the compiler. */
  static measure<T>(folder: string, work: (compiled: Compiled) => T): T {
    const scratch = mkdtempSync(join(tmpdir(), 'compiled-'));
    const api = new API({ cwd: root });
    try {
      const config = join(scratch, 'tsconfig.json');
      writeFileSync(config, JSON.stringify({ ...CONFIG, include: [`${folder}/**/*.ts`], exclude: [] }));
      const [project] = api.updateSnapshot({ openProjects: [config] }).getProjects();
      if (!project) throw new Error(`The compiler finds no project in ${folder}.`);
      return work(new Compiled(project, folder));
    } finally {
      api.close();
      rmSync(scratch, { recursive: true });
    }
  }

  /** The path of a node's file within the folder; null for a node of another folder. */
  pathOf(node: Node): string | null {
    return this.paths.get(node.getSourceFile()) ?? null;
  }

  /** Where a node is: path and line. */
  placeOf(node: Node): string {
    const file = node.getSourceFile();
    return `${this.pathOf(node)}:${file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1}`;
  }

  /** What a name refers to. A name in an object pattern, or alone in an object literal, refers to the value that it reads. */
  refersTo(name: Node): readonly Node[] {
    return this.declared.get(name) ?? NO_NODES;
  }

  typeAt(node: Node): Type | undefined {
    if (!this.types.has(node)) this.types.set(node, this.checker.getTypeAtLocation(node));
    return this.types.get(node);
  }

  /** The declarations of a property of a type. */
  property(type: Type, name: string): readonly Node[] {
    const key = `${type.id} ${name}`;
    const known = this.properties.get(key);
    if (known) return known;
    const found = this.declarationsOf(this.checker.getPropertyOfType(type, name));
    this.properties.set(key, found);
    return found;
  }

  declarationsOf(symbol: CompilerSymbol | undefined): readonly Node[] {
    if (!symbol) return NO_NODES;
    const named = symbol.flags & SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol;
    return named.declarations.flatMap((handle) => handle.resolve(this.project) ?? []);
  }

  /** A name in `{ name } = value` declares a variable and reads a property; in `{ name }` it reads a variable. */
  private resolveBindings(): void {
    const patterns = this.nodes.filter(isObjectBindingPattern);
    const types = this.checker.getTypeAtLocation(patterns);
    patterns.forEach((pattern, index) => {
      this.types.set(pattern, types[index]);
    });
    for (const node of this.nodes) {
      if (isShorthandPropertyAssignment(node)) {
        const value = this.checker.getShorthandAssignmentValueSymbol(node);
        this.declared.set(node.name, this.declarationsOf(value));
      } else if (isBindingElement(node) && isObjectBindingPattern(node.parent)) {
        const name = node.propertyName ?? node.name;
        const type = this.types.get(node.parent);
        if (name && type && isIdentifier(name) && !node.dotDotDotToken)
          this.declared.set(name, this.property(type, name.text));
      }
    }
  }
}

/** The repository's own settings, wherever the sources are. */
const CONFIG = {
  extends: join(root, 'tsconfig.json'),
  compilerOptions: { typeRoots: [join(root, 'node_modules/@types')] },
};

function isName(node: Node): node is Identifier {
  return isIdentifier(node) || isPrivateIdentifier(node);
}

function collect(node: Node, into: Node[]): void {
  const { kind } = node;
  if (kind >= SyntaxKind.FirstTypeNode && kind <= SyntaxKind.LastTypeNode) return;
  if (WITHOUT_CODE.has(kind)) return;
  if (isHeritageClause(node) && node.token === SyntaxKind.ImplementsKeyword) return;
  into.push(node);
  node.forEachChild((child) => collect(child, into));
}

const WITHOUT_CODE: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.ImportDeclaration,
  SyntaxKind.ExportDeclaration,
  SyntaxKind.TypeParameter,
]);
