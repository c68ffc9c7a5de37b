import { type CallExpression, type Node, SyntaxKind } from 'typescript/unstable/ast';
import {
  isArrayLiteralExpression,
  isAssignmentOperator,
  isAwaitExpression,
  isBinaryExpression,
  isBindingElement,
  isCallExpression,
  isClassDeclaration,
  isConditionalExpression,
  isDeleteExpression,
  isElementAccessExpression,
  isFunctionDeclaration,
  isGetAccessorDeclaration,
  isIdentifier,
  isMethodDeclaration,
  isMethodSignatureDeclaration,
  isObjectLiteralExpression,
  isParameterDeclaration,
  isPostfixUnaryExpression,
  isPrefixUnaryExpression,
  isPrivateIdentifier,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isPropertyDeclaration,
  isPropertySignatureDeclaration,
  isSetAccessorDeclaration,
  isShorthandPropertyAssignment,
  isSpreadAssignment,
  isSpreadElement,
  isVariableDeclaration,
} from 'typescript/unstable/ast/is';
import { Compiled } from './compiled.ts';
import { FunctionFlow, isClosure, isFunction, unwrapped } from './function-flow.ts';

/** A call of one owner to another, or a field of another owner that it reads. */
export interface OwnerCall {
  from: string;
  to: string;
  /** The member that is called or read. */
  member: string;
  /** Path and line. */
  at: string;
  /** The callback through which the owner calls; null when its own code names the member. */
  through: string | null;
}

/** A field of another owner that an owner changes. */
export interface ForeignWrite {
  by: string;
  owner: string;
  field: string;
  at: string;
}

/** Methods that change the array, map or set that they are called on. */
const MUTATING = new Set(
  'push pop shift unshift splice sort reverse fill copyWithin set add delete clear'.split(' '),
);

/** Methods that return an element of the array or map that they are called on. */
const ELEMENT_READERS = new Set('get at find findLast'.split(' '));

/**
 * Measures who calls whom, and who writes whose fields, between the owners of the files in a folder. Names are resolved by the
 * compiler; a member of an interface stands for the members of the classes that can be behind it; a closure counts as called by
 * the function that gets it.
 */
export function measureOwners(
  folder: string,
  ownerOf: (path: string) => string | null,
): { calls: OwnerCall[]; writes: ForeignWrite[]; paths: string[] } {
  return Compiled.measure(folder, (compiled) => {
    const graph = new Graph(compiled, ownerOf);
    return { calls: graph.calls(), writes: graph.writes(), paths: [...compiled.files.keys()] };
  });
}

class Graph {
  private readonly compiled: Compiled;
  private readonly flow: FunctionFlow;
  private readonly ownerOf: (path: string) => string | null;
  private readonly found = new Map<string, OwnerCall>();
  private readonly attributed = new Map<string, Set<Node>>();
  /** For each function: the fields that it returns. */
  private readonly returned = new Map<Node, Node[]>();

  constructor(compiled: Compiled, ownerOf: (path: string) => string | null) {
    this.compiled = compiled;
    this.ownerOf = ownerOf;
    this.flow = new FunctionFlow(compiled);
  }

  /** Every call between owners. */
  calls(): OwnerCall[] {
    for (const node of this.compiled.nodes) {
      const owner = this.owner(node);
      if (owner === null) continue;
      this.addReference(owner, node, null);
      if (isParameterDeclaration(node)) this.receive(owner, node, nameOf(node));
      for (const { argument, parameter } of this.flow.argumentsOf(node)) {
        const receiver = this.owner(parameter);
        if (receiver === null) continue;
        for (const closure of this.functionsIn(argument))
          this.attribute(receiver, closure, nameOf(parameter));
      }
    }
    return [...this.found.values()];
  }

  private owner(node: Node): string | null {
    const path = this.compiled.pathOf(node);
    return path === null ? null : this.ownerOf(path);
  }

  /** Adds what a name calls or reads, for an owner. */
  private addReference(owner: string, node: Node, through: string | null): void {
    if (!isIdentifier(node) && !isPrivateIdentifier(node)) return;
    for (const declaration of this.compiled.refersTo(node)) {
      if (declaration === node.parent && nameNodeOf(declaration) === node && !isBindingElement(declaration))
        continue;
      if (isMember(declaration)) this.add(owner, declaration, node, through);
      for (const member of this.flow.implementers(declaration)) this.add(owner, member, node, through);
      this.receive(owner, declaration, through ?? nameOf(declaration));
    }
  }

  private add(owner: string, member: Node, at: Node, through: string | null): void {
    const to = this.owner(member);
    if (to === null || to === owner) return;
    const place = this.compiled.placeOf(at);
    const name = memberName(member);
    const key = [owner, to, place, name, through].join(' ');
    this.found.set(key, { from: owner, to, member: name, at: place, through });
  }

  /** An owner gets what a variable, parameter or property holds. */
  private receive(owner: string, holder: Node, through: string): void {
    for (const held of this.flow.heldBy(holder)) this.attribute(owner, held, through);
  }

  /** Counts a function as called by an owner: a declared one as such, a closure by what is in it. */
  private attribute(owner: string, called: Node, through: string): void {
    const known = this.attributed.get(owner) ?? new Set();
    if (known.has(called)) return;
    this.attributed.set(owner, known.add(called));
    if (!isClosure(called)) return this.add(owner, called, called, through);
    const visit = (node: Node) => {
      this.addReference(owner, node, through);
      node.forEachChild(visit);
    };
    called.forEachChild(visit);
  }

  /** The functions in an argument: itself, in an object literal, or in a local variable that was set to one of these. */
  private functionsIn(argument: Node): Node[] {
    const value = unwrapped(argument);
    if (isFunction(value)) return [value];
    if (isObjectLiteralExpression(value)) {
      return value.properties.flatMap((property) => {
        if (isMethodDeclaration(property)) return [property];
        if (isSpreadAssignment(property)) return this.functionsIn(property.expression);
        if (isShorthandPropertyAssignment(property)) return this.functionsIn(property.name);
        return isPropertyAssignment(property) && property.initializer
          ? this.functionsIn(property.initializer)
          : [];
      });
    }
    if (isArrayLiteralExpression(value))
      return value.elements.flatMap((each) =>
        this.functionsIn(isSpreadElement(each) ? each.expression : each),
      );
    if (!isIdentifier(value)) return [];
    return this.compiled.refersTo(value).flatMap((declaration) => {
      if (isFunctionDeclaration(declaration)) return [declaration];
      const initial = isVariableDeclaration(declaration) && declaration.initializer;
      return initial && !isIdentifier(unwrapped(initial)) ? this.functionsIn(initial) : [];
    });
  }

  /** Every field of another owner that an owner changes. */
  writes(): ForeignWrite[] {
    const found: ForeignWrite[] = [];
    for (const node of this.compiled.nodes) {
      const by = this.owner(node);
      if (by === null) continue;
      for (const field of this.fieldsChangedAt(node)) {
        const owner = this.owner(field);
        if (owner !== null && owner !== by)
          found.push({ by, owner, field: memberName(field), at: this.compiled.placeOf(node) });
      }
    }
    return found;
  }

  private fieldsChangedAt(node: Node): Node[] {
    if (isBinaryExpression(node) && isAssignmentOperator(node.operatorToken.kind))
      return targetsOf(node.left).flatMap((target) => this.fieldOf(target));
    if (isPostfixUnaryExpression(node)) return this.fieldOf(node.operand);
    if (isPrefixUnaryExpression(node)) return STEPS.has(node.operator) ? this.fieldOf(node.operand) : [];
    if (isDeleteExpression(node)) return this.fieldOf(node.expression);
    if (!isCallExpression(node) || !isPropertyAccessExpression(node.expression)) return [];
    const { expression: receiver, name } = node.expression;
    const [target, ...sources] = node.arguments;
    if (isIdentifier(receiver) && receiver.text === 'Object' && target)
      return OBJECT_WRITERS.has(name.text) ? this.fieldsAssigned(target, sources) : [];
    const isOfLibrary = this.compiled.refersTo(name).every((method) => this.compiled.pathOf(method) === null);
    return isOfLibrary && MUTATING.has(name.text) ? this.fieldOf(receiver) : [];
  }

  /** The fields of an object that get the properties of others. */
  private fieldsAssigned(target: Node, sources: readonly Node[]): Node[] {
    const { compiled } = this;
    const type = compiled.typeAt(target);
    const fields = sources.flatMap((source) => {
      const from = compiled.typeAt(source);
      const names = from ? compiled.checker.getPropertiesOfType(from) : [];
      return type ? names.flatMap(({ name }) => compiled.property(type, name)) : [];
    });
    return fields.some((field) => this.owner(field) !== null) ? fields : this.fieldOf(target);
  }

  /** The field that a write to an expression changes: the last in the chain that one of the owners declares. */
  private fieldOf(expression: Node): Node[] {
    const target = unwrapped(expression);
    if (isElementAccessExpression(target) || isAwaitExpression(target))
      return this.fieldOf(target.expression);
    if (isCallExpression(target)) return this.fieldsReturned(target);
    if (isConditionalExpression(target))
      return [target.whenTrue, target.whenFalse].flatMap((value) => this.fieldOf(value));
    if (isBinaryExpression(target))
      return [target.left, target.right].flatMap((value) => this.fieldOf(value));
    if (isPropertyAccessExpression(target)) {
      const fields = this.compiled.refersTo(target.name).filter((field) => this.owner(field) !== null);
      return fields.length > 0 ? fields : this.fieldOf(target.expression);
    }
    if (!isIdentifier(target)) return [];
    return this.compiled.refersTo(target).flatMap((variable) => this.aliased(variable, target));
  }

  /** The fields that a call returns: those that the called functions return, or the list or map whose element a method of the library returns. */
  private fieldsReturned({ expression: callee }: CallExpression): Node[] {
    const name = isPropertyAccessExpression(callee) ? callee.name : callee;
    const called = this.compiled
      .refersTo(name)
      .flatMap((each) => [each, ...this.flow.implementers(each), ...this.flow.heldBy(each)])
      .filter((each) => this.owner(each) !== null);
    if (called.length > 0) return called.flatMap((each) => this.returnedFields(each));
    const isElement = isPropertyAccessExpression(callee) && ELEMENT_READERS.has(callee.name.text);
    return isElement ? this.fieldOf(callee.expression) : [];
  }

  private returnedFields(called: Node): Node[] {
    const known = this.returned.get(called);
    if (known) return known;
    this.returned.set(called, []);
    const found = this.flow.returnedBy(called).flatMap((value) => this.fieldOf(value));
    this.returned.set(called, found);
    return found;
  }

  /** The field that a local variable was read from. */
  private aliased(variable: Node, name: Node): Node[] {
    if (name.parent && isBinaryExpression(name.parent) && name.parent.left === name) return [];
    if (isBindingElement(variable)) {
      const from = variable.propertyName ?? variable.name;
      return from ? [...this.compiled.refersTo(from)] : [];
    }
    return isVariableDeclaration(variable) && variable.initializer ? this.fieldOf(variable.initializer) : [];
  }
}

const STEPS: ReadonlySet<SyntaxKind> = new Set([SyntaxKind.PlusPlusToken, SyntaxKind.MinusMinusToken]);
const OBJECT_WRITERS = new Set(['assign', 'defineProperty', 'defineProperties']);

/** The single targets of an assignment, which may be a pattern. */
function targetsOf(left: Node): Node[] {
  if (isArrayLiteralExpression(left)) return left.elements.flatMap(targetsOf);
  if (!isObjectLiteralExpression(left)) return [left];
  return left.properties.flatMap((property) =>
    isPropertyAssignment(property) && property.initializer ? targetsOf(property.initializer) : [],
  );
}

/** Whether a declaration is a function, a class, or a member of a class: what an owner has. */
function isMember(node: Node): boolean {
  if (isClosure(node)) return false;
  if (isParameterDeclaration(node)) return (node.modifiers?.length ?? 0) > 0;
  return (
    isFunctionDeclaration(node) ||
    isClassDeclaration(node) ||
    isMethodDeclaration(node) ||
    isGetAccessorDeclaration(node) ||
    isSetAccessorDeclaration(node) ||
    isPropertyDeclaration(node)
  );
}

function nameNodeOf(node: Node): Node | undefined {
  if (isParameterDeclaration(node) || isBindingElement(node) || isVariableDeclaration(node)) return node.name;
  if (isMember(node) || isPropertyAssignment(node) || isShorthandPropertyAssignment(node)) {
    let first: Node | undefined;
    node.forEachChild((child) => {
      if (!first && (isIdentifier(child) || isPrivateIdentifier(child))) first = child;
    });
    return first;
  }
  return isPropertySignatureDeclaration(node) || isMethodSignatureDeclaration(node) ? node.name : undefined;
}

function nameOf(node: Node): string {
  return nameNodeOf(node)?.getText() ?? '(a function)';
}

function memberName(member: Node): string {
  const { parent } = member;
  return parent && isClassDeclaration(parent) && parent.name
    ? `${parent.name.text}.${nameOf(member)}`
    : nameOf(member);
}

/** Groups that call each other, directly or through others: each is a cycle. */
export function cyclesOf(calls: readonly { from: string; to: string }[]): string[][] {
  const next = new Map<string, Set<string>>();
  for (const { from, to } of calls) next.set(from, (next.get(from) ?? new Set()).add(to));
  const reachedFrom = (start: string): Set<string> => {
    const reached = new Set<string>();
    const queue = [start];
    for (let each = queue.pop(); each !== undefined; each = queue.pop()) {
      for (const to of next.get(each) ?? []) {
        if (reached.has(to)) continue;
        reached.add(to);
        queue.push(to);
      }
    }
    return reached;
  };
  const reach = new Map([...next.keys()].map((each) => [each, reachedFrom(each)]));
  const cycles = new Map<string, string[]>();
  for (const [each, reached] of reach) {
    if (!reached.has(each)) continue;
    const cycle = [...reached].filter((other) => reach.get(other)?.has(each)).sort();
    cycles.set(cycle.join(), cycle);
  }
  return [...cycles.values()].sort((a, b) => b.length - a.length);
}
