import {
  type ArrowFunction,
  type FunctionDeclaration,
  type FunctionExpression,
  type GetAccessorDeclaration,
  type MethodDeclaration,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import {
  isArrayLiteralExpression,
  isArrowFunction,
  isAsExpression,
  isAwaitExpression,
  isBinaryExpression,
  isBindingElement,
  isCallExpression,
  isClassDeclaration,
  isConditionalExpression,
  isConstructorDeclaration,
  isElementAccessExpression,
  isForOfStatement,
  isFunctionDeclaration,
  isFunctionExpression,
  isGetAccessorDeclaration,
  isIdentifier,
  isInterfaceDeclaration,
  isMethodDeclaration,
  isMethodSignatureDeclaration,
  isNewExpression,
  isNonNullExpression,
  isObjectLiteralExpression,
  isParameterDeclaration,
  isParenthesizedExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isPropertyDeclaration,
  isPropertySignatureDeclaration,
  isReturnStatement,
  isSatisfiesExpression,
  isShorthandPropertyAssignment,
  isSpreadElement,
  isTypeLiteralNode,
  isVariableDeclaration,
  isVariableDeclarationList,
} from 'typescript/unstable/ast/is';
import { type Type, TypeFlags } from 'typescript/unstable/sync';
import type { Compiled } from './compiled.ts';

/** Methods that put their arguments into an array, a map or a set. */
const ADDING = new Set(['push', 'unshift', 'splice', 'set', 'add']);
/** How deep objects within objects are followed when one type is assigned to another. */
const MAX_DEPTH = 4;
const NONE: ReadonlySet<Node> = new Set();

/**
 * Which functions a variable, a parameter or a property can hold. Values flow through assignments, arguments, returned values, object
 * literals and arrays, and from the members of a class to the members of each interface that the class can stand for.
 */
export class FunctionFlow {
  private readonly compiled: Compiled;
  private readonly flows = new Map<Node, Set<Node>>();
  private readonly held = new Map<Node, Set<Node>>();
  private readonly returnedValues = new Map<Node, Node[]>();
  private readonly linkedTypes = new Set<string>();
  private readonly members = new Map<Node, readonly Node[]>();
  private readonly classes: { declaration: Node; type: Type }[];

  constructor(compiled: Compiled) {
    this.compiled = compiled;
    const { checker } = compiled;
    this.classes = compiled.nodes.filter(isClassDeclaration).flatMap((declaration) => {
      const symbol = declaration.name && checker.getSymbolAtLocation(declaration.name);
      return symbol ? [{ declaration, type: checker.getDeclaredTypeOfSymbol(symbol) }] : [];
    });
    for (const node of compiled.nodes) this.read(node);
    this.followCalls();
  }

  /** The functions that a variable, parameter, property or interface member can hold. */
  heldBy(holder: Node): ReadonlySet<Node> {
    return this.held.get(holder) ?? NONE;
  }

  /** The members of classes that a member of an interface can stand for; none for a member of anything else. */
  implementers(member: Node): readonly Node[] {
    const known = this.members.get(member);
    if (known) return known;
    const found = this.findImplementers(member);
    this.members.set(member, found);
    for (const each of found) this.flow(each, member);
    return found;
  }

  private findImplementers(member: Node): Node[] {
    if (!isMethodSignatureDeclaration(member) && !isPropertySignatureDeclaration(member)) return [];
    const { compiled } = this;
    const { checker } = compiled;
    const { name, parent } = member;
    if (!isIdentifier(name)) return [];
    const type = isInterfaceDeclaration(parent)
      ? checker.getDeclaredTypeOfSymbol(checker.getSymbolAtLocation(parent.name) ?? fail(parent))
      : isTypeLiteralNode(parent) && checker.getTypeFromTypeNode(parent);
    if (!type) return [];
    return this.classes.flatMap((each) => {
      const members = compiled.property(each.type, name.text);
      return members.length > 0 && checker.isTypeAssignableTo(each.type, type) ? members : [];
    });
  }

  /** The values that a function returns, as expressions. */
  returnedBy(called: Node): readonly Node[] {
    return this.returnedValues.get(called) ?? [];
  }

  /** The arguments of a call with the parameters that they reach, as far as the called functions are known. */
  argumentsOf(call: Node): { argument: Node; parameter: Node }[] {
    if (!isCallExpression(call) && !isNewExpression(call)) return [];
    const given = (call.arguments ?? []).flatMap(unspread);
    return [...this.called(call.expression)].flatMap((called) => {
      const parameters = parametersOf(called);
      return given.flatMap((argument, index) => {
        const parameter = parameters[index] ?? parameters.findLast((last) => last.dotDotDotToken);
        return parameter ? [{ argument, parameter }] : [];
      });
    });
  }

  /** The functions that an expression can be. */
  private called(expression: Node): Set<Node> {
    const found = new Set<Node>();
    for (const source of this.sources(expression)) {
      found.add(source);
      for (const held of this.heldBy(source)) found.add(held);
    }
    return found;
  }

  /** Adds what flows at a node. */
  private read(node: Node): void {
    const { compiled } = this;
    if (isVariableDeclaration(node) || isPropertyDeclaration(node) || isPropertyAssignment(node)) {
      if (node.initializer) this.assign(node.initializer, node);
    } else if (isParameterDeclaration(node)) {
      if (node.initializer) this.assign(node.initializer, node);
    } else if (isBindingElement(node)) {
      const name = node.propertyName ?? node.name;
      if (name) for (const property of compiled.refersTo(name)) this.flow(property, node);
      if (node.initializer) this.assign(node.initializer, node);
    } else if (isShorthandPropertyAssignment(node)) {
      for (const value of compiled.refersTo(node.name)) this.flow(value, node);
    } else if (isBinaryExpression(node)) {
      if (ASSIGNS.has(node.operatorToken.kind))
        for (const target of this.sources(node.left)) this.assign(node.right, target);
    } else if (isForOfStatement(node) && isVariableDeclarationList(node.initializer)) {
      for (const variable of node.initializer.declarations)
        for (const source of this.sources(node.expression)) this.flow(source, variable);
    } else if (isReturnStatement(node) && node.expression) {
      const within = functionAround(node);
      if (within) this.returns(within, node.expression);
    } else if (isArrowFunction(node) && node.body.kind !== SyntaxKind.Block) {
      this.returns(node, node.body);
    } else if (isCallExpression(node) && isPropertyAccessExpression(node.expression)) {
      const { name, expression } = node.expression;
      if (!isIdentifier(name) || !ADDING.has(name.text)) return;
      for (const container of this.sources(expression))
        for (const added of node.arguments.flatMap(unspread)) this.assign(added, container);
    }
  }

  /** Passes arguments to the functions that are called, until no call finds another function. */
  private followCalls(): void {
    const calls = this.compiled.nodes.filter((node) => isCallExpression(node) || isNewExpression(node));
    const passed = new Map<Node, Set<Node>>();
    for (let isStable = false; !isStable; ) {
      this.solve();
      isStable = true;
      for (const call of calls) {
        for (const { argument, parameter } of this.argumentsOf(call)) {
          const reached = passed.get(argument) ?? new Set();
          if (reached.has(parameter)) continue;
          passed.set(argument, reached.add(parameter));
          this.assign(argument, parameter);
          isStable = false;
        }
      }
    }
  }

  private solve(): void {
    const queue: Node[] = [];
    const hold = (holder: Node, value: Node) => {
      const values = this.held.get(holder) ?? new Set();
      if (values.has(value)) return;
      this.held.set(holder, values.add(value));
      queue.push(holder);
    };
    for (const [source, targets] of this.flows) {
      if (isFunction(source)) for (const target of targets) hold(target, source);
      else if (this.held.has(source)) queue.push(source);
    }
    for (let holder = queue.pop(); holder; holder = queue.pop()) {
      for (const target of this.flows.get(holder) ?? []) {
        if (target !== holder) for (const value of [...this.heldBy(holder)]) hold(target, value);
      }
    }
  }

  private flow(source: Node, target: Node): void {
    if (source === target) return;
    const targets = this.flows.get(source) ?? new Set();
    this.flows.set(source, targets.add(target));
  }

  /** The value of an expression comes into a variable, parameter or property. */
  private assign(expression: Node, target: Node): void {
    for (const source of this.sources(expression)) this.flow(source, target);
    const from = this.compiled.typeAt(expression);
    const to = this.compiled.typeAt(target);
    if (from && to) this.linkTypes(from, to, 0);
  }

  /** A function returns a value: its body stands for what it returns, an accessor for itself. */
  private returns(from: ReturningFunction, value: Node): void {
    this.returnedValues.set(from, [...this.returnedBy(from), value]);
    const result = isGetAccessorDeclaration(from) ? from : from.body;
    if (!result) return;
    for (const source of this.sources(value)) this.flow(source, result);
    const given = this.compiled.typeAt(value);
    const expected = from.type && this.compiled.checker.getTypeFromTypeNode(from.type);
    if (given && expected) this.linkTypes(given, expected, 0);
  }

  /** Objects of one type come where another type is expected: the functions in their properties flow to properties of the same name. */
  private linkTypes(from: Type, to: Type, depth: number): void {
    const pair = `${from.id} ${to.id}`;
    if (from.id === to.id || depth > MAX_DEPTH || this.linkedTypes.has(pair)) return;
    this.linkedTypes.add(pair);
    const { checker } = this.compiled;
    for (const each of partsOf(to)) {
      if (!(each.flags & TypeFlags.Object) || !this.isOfFolder(each)) continue;
      for (const property of checker.getPropertiesOfType(each)) {
        const targets = this.compiled.declarationsOf(property);
        for (const source of partsOf(from)) {
          const given = checker.getPropertyOfType(source, property.name);
          if (!given) continue;
          for (const declaration of this.compiled.declarationsOf(given))
            for (const target of targets) this.flow(declaration, target);
          const [a, b] = checker.getTypeOfSymbol([given, property]);
          if (a && b) this.linkTypes(a, b, depth + 1);
        }
      }
    }
  }

  private isOfFolder(type: Type): boolean {
    const declarations = this.compiled.declarationsOf(type.getSymbol());
    return declarations.some((declaration) => this.compiled.pathOf(declaration) !== null);
  }

  /** Where the value of an expression comes from: functions, and whatever can hold functions. */
  sources(expression: Node): Node[] {
    const { compiled } = this;
    if (isFunction(expression)) return [expression];
    if (isIdentifier(expression)) return this.resolved(compiled.refersTo(expression));
    if (isPropertyAccessExpression(expression)) return this.resolved(compiled.refersTo(expression.name));
    if (isElementAccessExpression(expression) || isAwaitExpression(expression))
      return this.sources(expression.expression);
    if (isWrapper(expression)) return this.sources(expression.expression);
    if (isConditionalExpression(expression))
      return [...this.sources(expression.whenTrue), ...this.sources(expression.whenFalse)];
    if (isBinaryExpression(expression))
      return [...this.sources(expression.left), ...this.sources(expression.right)];
    if (isArrayLiteralExpression(expression))
      return expression.elements.flatMap((element) =>
        this.sources(isSpreadElement(element) ? element.expression : element),
      );
    if (isCallExpression(expression)) {
      const callee = expression.expression;
      const isBound = isPropertyAccessExpression(callee) && callee.name.text === 'bind';
      if (isBound) return this.sources(callee.expression);
      const called = this.sources(callee).filter((each) => compiled.pathOf(each) !== null);
      if (called.length === 0 && isPropertyAccessExpression(callee)) return this.sources(callee.expression);
      return called.flatMap((each) => (isFunction(each) && each.body) || []);
    }
    return [];
  }

  private resolved(declarations: readonly Node[]): Node[] {
    return declarations.flatMap((declaration) => [declaration, ...this.implementers(declaration)]);
  }
}

const ASSIGNS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.EqualsToken,
  SyntaxKind.QuestionQuestionEqualsToken,
  SyntaxKind.BarBarEqualsToken,
  SyntaxKind.AmpersandAmpersandEqualsToken,
]);

/** Whether a node is a function, declared or not. */
export function isFunction(node: Node) {
  return (
    isFunctionDeclaration(node) ||
    isMethodDeclaration(node) ||
    isArrowFunction(node) ||
    isFunctionExpression(node)
  );
}

/** Whether a node is a function without a place of its own: who gets it calls what is in it. */
export function isClosure(node: Node): boolean {
  if (isMethodDeclaration(node)) return isObjectLiteralExpression(node.parent);
  return isArrowFunction(node) || isFunctionExpression(node);
}

/** The expression within parentheses and assertions. */
export function unwrapped(node: Node): Node {
  return isWrapper(node) ? unwrapped(node.expression) : node;
}

function isWrapper(node: Node) {
  return (
    isParenthesizedExpression(node) ||
    isAsExpression(node) ||
    isSatisfiesExpression(node) ||
    isNonNullExpression(node)
  );
}

/** The elements of a list that is spread into arguments, where they are known. */
function unspread(argument: Node): Node[] {
  if (!isSpreadElement(argument)) return [argument];
  const list = unwrapped(argument.expression);
  return isArrayLiteralExpression(list) ? list.elements.flatMap(unspread) : [argument.expression];
}

function parametersOf(called: Node) {
  if (isClassDeclaration(called)) {
    return [...(called.members.find(isConstructorDeclaration)?.parameters ?? [])];
  }
  return isFunction(called) ? [...called.parameters] : [];
}

type ReturningFunction =
  | FunctionDeclaration
  | MethodDeclaration
  | ArrowFunction
  | FunctionExpression
  | GetAccessorDeclaration;

function functionAround(node: Node): ReturningFunction | null {
  for (let each = node.parent; each; each = each.parent) {
    if (isFunction(each) || isGetAccessorDeclaration(each)) return each;
  }
  return null;
}

function partsOf(type: Type): readonly Type[] {
  return type.isUnionType() || type.isIntersectionType() ? type.getTypes() : [type];
}

function fail(node: Node): never {
  throw new Error(`The compiler knows no symbol for ${node.getText()}.`);
}
