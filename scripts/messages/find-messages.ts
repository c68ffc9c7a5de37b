import type { Node } from 'typescript/unstable/ast';
import {
  isArrayLiteralExpression,
  isArrowFunction,
  isBinaryExpression,
  isBindingElement,
  isCallExpression,
  isConditionalExpression,
  isConstructorDeclaration,
  isElementAccessExpression,
  isForOfStatement,
  isFunctionDeclaration,
  isFunctionExpression,
  isIdentifier,
  isMethodDeclaration,
  isNewExpression,
  isNoSubstitutionTemplateLiteral,
  isNumericLiteral,
  isObjectLiteralExpression,
  isParameterDeclaration,
  isParenthesizedExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isReturnStatement,
  isShorthandPropertyAssignment,
  isSpreadAssignment,
  isSpreadElement,
  isStringLiteral,
  isTemplateExpression,
  isVariableDeclaration,
} from 'typescript/unstable/ast/is';
import { Compiled } from '../../test/repository/support/compiled.ts';

/** A line that the server writes to its log. */
export interface LogLine {
  level: string;
  text: string;
  /** The names of the fields beside the text. */
  fields: string[];
  file: string;
}

/** The text of an error. `kind` is the code of a `ProtocolError`, or the class of another error. */
export interface ErrorText {
  kind: string;
  text: string;
  file: string;
}

/** Every text of the sources that a reader may meet in a log or in an error. Values in a text are shown as `{name}`. */
export interface Messages {
  logs: LogLine[];
  /** Errors that reach a client. */
  protocol: ErrorText[];
  /** Errors that are thrown to the program that uses the package. */
  thrown: ErrorText[];
  /** Texts with which a tool call fails. */
  calls: ErrorText[];
}

const LEVELS = ['info', 'warn', 'error'];
/** The most function calls through which a text is followed to its source. */
const MAX_DEPTH = 6;

/** Whether a text is listed. One that is only a value is not, such as the message of another error. */
const isMoreThanValue = (text: string): boolean => !/^\{[^{}]*\}$/.test(text);

type Callable = Node & { parameters: readonly Node[]; body?: Node | undefined };
type Bindings = ReadonlyMap<Node, Node>;

/** Finds the texts in a folder of sources with the TypeScript compiler. */
export function findMessages(folder: string): Messages {
  return Compiled.measure(folder, (compiled) => new Finder(compiled).find());
}

class Finder {
  private readonly compiled: Compiled;
  /** The calls of each function, by its declaration. */
  private readonly callsOf = new Map<Node, { node: Node; args: readonly Node[] }[]>();

  constructor(compiled: Compiled) {
    this.compiled = compiled;
    for (const node of compiled.nodes) {
      if (!isCallExpression(node) && !isNewExpression(node)) continue;
      for (const declared of compiled.refersTo(nameOf(node.expression))) {
        const calls = this.callsOf.get(declared) ?? [];
        calls.push({ node, args: node.arguments ?? [] });
        this.callsOf.set(declared, calls);
      }
    }
  }

  find(): Messages {
    const found: Messages = { logs: [], protocol: [], thrown: [], calls: [] };
    for (const node of this.compiled.nodes) {
      this.addLog(node, found.logs);
      this.addError(node, found);
      this.addClose(node, found.protocol);
      if (isPropertyAssignment(node) && node.name.getText() === 'errorText' && isOutcome(node.parent))
        found.calls.push(...this.errors('', node.initializer, new Map(), this.fileOf(node)));
    }
    return {
      logs: unique(found.logs),
      protocol: unique(found.protocol),
      thrown: unique(found.thrown),
      calls: unique(found.calls),
    };
  }

  private addLog(node: Node, logs: LogLine[]): void {
    const file = this.fileOf(node);
    if (isObjectLiteralExpression(node)) {
      const values = valuesOf(node);
      const [text, level, fields] = [values.get('text'), values.get('level'), values.get('fields')];
      if (values.get('type')?.getText() === "'log'" && text && level)
        for (const one of this.textsOf(text))
          logs.push({ level: level.getText().slice(1, -1), text: one, fields: this.keysOf(fields), file });
      return;
    }
    if (!isCallExpression(node)) return;
    const [text, fields] = node.arguments;
    if (!text) return;
    const { expression } = node;
    const name = nameOf(expression).getText();
    if (name === 'onWarning') {
      for (const one of this.textsOf(text)) logs.push({ level: 'warn', text: one, fields: [], file });
    } else if (
      isPropertyAccessExpression(expression) &&
      LEVELS.includes(name) &&
      this.isLogger(expression.expression)
    ) {
      for (const { bindings, at } of this.sitesOf(node, [text]))
        for (const one of this.textsOf(text, bindings))
          logs.push({ level: name, text: one, fields: this.keysOf(fields, bindings), file: this.fileOf(at) });
    } else if (isElementAccessExpression(expression) && this.isLogger(expression.expression)) {
      // `logger[level](text)`, in a function that gets both.
      const level = expression.argumentExpression;
      for (const { bindings, at } of this.sitesOf(node, [level, text]))
        for (const one of this.textsOf(text, bindings).filter(isMoreThanValue))
          for (const name of this.textsOf(level, bindings))
            logs.push({
              level: name,
              text: one,
              fields: this.keysOf(fields, bindings),
              file: this.fileOf(at),
            });
    }
  }

  private isLogger(node: Node): boolean {
    const type = this.compiled.typeAt(node);
    return type !== undefined && this.compiled.checker.typeToString(type) === 'Logger';
  }

  private addError(node: Node, found: Messages): void {
    if (!isNewExpression(node)) return;
    const name = node.expression.getText();
    const [first, second] = node.arguments ?? [];
    if (name === 'ProtocolError' && first && second) {
      for (const { bindings, at } of this.sitesOf(node, [first, second]))
        for (const code of this.textsOf(first, bindings))
          found.protocol.push(...this.errors(code, second, bindings, this.fileOf(at)));
    } else if (name === 'ModelFailure' && second) {
      for (const { bindings, at } of this.sitesOf(node, [second]))
        found.thrown.push(...this.errors(name, second, bindings, this.fileOf(at)));
    } else if (name === 'ServerApiError' && first && second) {
      for (const { bindings, at } of this.sitesOf(node, [first, second]))
        for (const code of this.textsOf(first, bindings))
          found.thrown.push(...this.errors(`${name} ${code}`, second, bindings, this.fileOf(at)));
    } else if (name === 'AudioError' && first) {
      const table = this.compiled.nodes.find(
        (one) =>
          isVariableDeclaration(one) &&
          one.name.getText() === 'TEXTS' &&
          this.fileOf(one).endsWith('audio-error.ts'),
      );
      const texts =
        table && isVariableDeclaration(table) && table.initializer ? valuesOf(table.initializer) : null;
      for (const code of this.textsOf(first)) {
        const text = texts?.get(code);
        if (text) found.thrown.push(...this.errors(`${name} ${code}`, text, new Map(), this.fileOf(node)));
      }
    } else if (/^(?:\w*Error|StateConflict)$/.test(name) && first) {
      for (const { bindings, at } of this.sitesOf(node, [first]))
        found.thrown.push(...this.errors(name, first, bindings, this.fileOf(at)));
    }
  }

  /** Adds the text with which a connection is closed: `end(code, text)` of a socket, whose class or interface may create no error. */
  private addClose(node: Node, protocol: ErrorText[]): void {
    if (!isCallExpression(node) || !/^end(All)?$/.test(nameOf(node.expression).getText())) return;
    const [code, text] = node.arguments;
    if (!code || !text || !isStringLiteral(code)) return;
    protocol.push(...this.errors(code.text, text, new Map(), this.fileOf(node)));
  }

  private errors(kind: string, text: Node, bindings: Bindings, file: string): ErrorText[] {
    return this.textsOf(text, bindings)
      .filter(isMoreThanValue)
      .map((one) => ({ kind, text: one, file }));
  }

  /** Where the arguments are given: here, or at each call of the function whose parameters they are. */
  private sitesOf(node: Node, args: readonly Node[], depth = 0): { bindings: Bindings; at: Node }[] {
    const owners = args.map((arg) => this.parameterOf(arg)?.parent).filter((owner) => owner !== undefined);
    const [owner] = owners;
    const calls = owner && this.callsOf.get(owner);
    if (!owner || !calls || depth >= MAX_DEPTH) return [{ bindings: new Map(), at: node }];
    const wanted = new Set(args.map((arg) => this.parameterOf(arg)));
    return calls.flatMap((call) => {
      const bindings = new Map<Node, Node>();
      (owner as Callable).parameters.forEach((parameter, index) => {
        const arg = call.args[index];
        if (arg) bindings.set(parameter, arg);
      });
      // Only the arguments that are looked for may lead to a caller further up.
      const given = [...bindings].flatMap(([parameter, arg]) => (wanted.has(parameter) ? [arg] : []));
      return this.sitesOf(call.node, given, depth + 1).map((site) => ({
        bindings: new Map([...site.bindings, ...bindings]),
        at: site.at,
      }));
    });
  }

  /** The names of the fields of a log line. What cannot be followed is the function with the fields of every log line of a session. */
  private keysOf(node: Node | undefined, bindings: Bindings = new Map()): string[] {
    if (!node) return [];
    if (isObjectLiteralExpression(node))
      return node.properties.flatMap((property) => {
        if (isSpreadAssignment(property)) return this.keysOf(property.expression, bindings);
        const isNamed = isPropertyAssignment(property) || isShorthandPropertyAssignment(property);
        return [isNamed ? property.name.getText() : property.getText()];
      });
    const parameter = this.parameterOf(node);
    const bound = parameter && bindings.get(parameter);
    if (bound) return this.keysOf(bound, bindings);
    const declared = isIdentifier(node) ? this.declarationOf(node) : undefined;
    const value = declared && isVariableDeclaration(declared) ? declared.initializer : undefined;
    return value && isObjectLiteralExpression(value) ? this.keysOf(value, bindings) : ['session'];
  }

  /** The parameter that an expression consists of; undefined for any other expression. */
  private parameterOf(node: Node): Node | undefined {
    if (!isIdentifier(node)) return undefined;
    return this.compiled.refersTo(node).find(isParameterDeclaration);
  }

  /** The texts that an expression may have. */
  private textsOf(node: Node, bindings: Bindings = new Map(), depth = 0): string[] {
    const again = (next: Node, deeper = depth) => this.textsOf(next, bindings, deeper);
    if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) return [node.text];
    if (isNumericLiteral(node)) return [node.text.replaceAll('_', '')];
    if (isParenthesizedExpression(node)) return again(node.expression);
    if (isConditionalExpression(node)) return [...again(node.whenTrue), ...again(node.whenFalse)];
    if (isTemplateExpression(node)) {
      return node.templateSpans.reduce<string[]>(
        (texts, span) => {
          const values = this.valuesOf(span.expression, bindings, depth);
          return texts.flatMap((text) => values.map((value) => text + value + span.literal.text));
        },
        [node.head.text],
      );
    }
    if (isBinaryExpression(node)) {
      const [left, right] = [again(node.left), again(node.right)];
      if (node.operatorToken.getText() === '+') return left.flatMap((one) => right.map((two) => one + two));
      return [...left, ...right];
    }
    if (isCallExpression(node)) {
      const { expression } = node;
      // `.trim()` and the like of a text.
      if (isPropertyAccessExpression(expression) && /^(?:trim|join)$/.test(expression.name.text))
        return again(expression.expression);
      // The texts that the callback of `map` returns.
      const [each] = node.arguments;
      if (
        isPropertyAccessExpression(expression) &&
        /^(?:map|flatMap)$/.test(expression.name.text) &&
        each &&
        isCallable(each)
      )
        return depth < MAX_DEPTH ? resultsOf(each).flatMap((result) => again(result, depth + 1)) : [];
    }
    if (isArrayLiteralExpression(node)) return node.elements.flatMap((element) => again(element));
    if (isSpreadElement(node)) return again(node.expression);
    const found = depth < MAX_DEPTH ? this.expanded(node, bindings, depth) : [];
    return found.length > 0 ? found : [`{${shortName(node)}}`];
  }

  /** The texts that a name, a lookup table or a function call can evaluate to. */
  private expanded(node: Node, bindings: Bindings, depth: number): string[] {
    if (isElementAccessExpression(node)) {
      const table = this.declarationOf(node.expression);
      if (!table || !isVariableDeclaration(table) || !table.initializer) return [];
      return isObjectLiteralExpression(table.initializer)
        ? [...valuesOf(table.initializer).values()].flatMap((value) =>
            this.textsOf(value, bindings, depth + 1),
          )
        : [];
    }
    const declared = this.declarationOf(isCallExpression(node) ? node.expression : node);
    if (!declared || this.compiled.pathOf(declared) === null) return [];
    if (isParameterDeclaration(declared)) {
      const given = bindings.get(declared);
      return given && given !== node ? this.textsOf(given, bindings, depth + 1) : [];
    }
    const loop = declared.parent?.parent;
    if (loop && isForOfStatement(loop)) return this.textsOf(loop.expression, bindings, depth + 1);
    if (isBindingElement(declared)) return this.unpacked(declared, bindings, depth);
    if (isVariableDeclaration(declared) && declared.initializer && !isCallExpression(node)) {
      return this.isText(declared.initializer) ? this.textsOf(declared.initializer, bindings, depth + 1) : [];
    }
    const callee = isVariableDeclaration(declared) ? declared.initializer : declared;
    if (!isCallExpression(node) || !callee || !isCallable(callee) || !this.isText(node)) return [];
    const own = new Map(bindings);
    callee.parameters.forEach((parameter, index) => {
      const arg = node.arguments[index];
      if (arg) own.set(parameter, arg);
    });
    const results = resultsOf(callee);
    return results.flatMap((result) => this.textsOf(result, own, depth + 1));
  }

  /** The texts of `text` in `const { text } = call()`. */
  private unpacked(element: Node, bindings: Bindings, depth: number): string[] {
    const source = element.parent.parent;
    if (!isBindingElement(element) || !isVariableDeclaration(source) || !source.initializer) return [];
    if (!isCallExpression(source.initializer)) return [];
    const callee = this.declarationOf(source.initializer.expression);
    const key = (element.propertyName ?? element.name)?.getText();
    if (!callee || !isCallable(callee) || key === undefined) return [];
    return resultsOf(callee).flatMap((result) => {
      const value = valuesOf(result).get(key);
      return value ? this.textsOf(value, bindings, depth + 1) : [];
    });
  }

  /** The text shown for a value: the value of a constant, or the name in braces. */
  private valuesOf(node: Node, bindings: Bindings, depth: number): string[] {
    const declared = this.declarationOf(isCallExpression(node) ? node.expression : node);
    const isConstant =
      declared &&
      isVariableDeclaration(declared) &&
      declared.initializer &&
      (isStringLiteral(declared.initializer) || isNumericLiteral(declared.initializer));
    if (isConstant || isConditionalExpression(node)) return this.textsOf(node, bindings, depth + 1);
    return [`{${shortName(node)}}`];
  }

  private isText(node: Node): boolean {
    const type = this.compiled.typeAt(node);
    if (!type) return false;
    const shown = this.compiled.checker.typeToString(type);
    return /^(?:string(?:\[\])?|"[\s\S]*"|`[\s\S]*`)(?: \| (?:string|undefined|null|"[\s\S]*"))*$/.test(
      shown,
    );
  }

  private declarationOf(node: Node): Node | undefined {
    return this.compiled.refersTo(nameOf(node))[0];
  }

  private fileOf(node: Node): string {
    return `src/${this.compiled.pathOf(node)}`;
  }
}

/** The name of a function or a value: the last part of `a.b.c`. */
function nameOf(node: Node): Node {
  return isPropertyAccessExpression(node) ? node.name : node;
}

function isCallable(node: Node): node is Callable {
  return (
    isFunctionDeclaration(node) ||
    isMethodDeclaration(node) ||
    isArrowFunction(node) ||
    isFunctionExpression(node) ||
    isConstructorDeclaration(node)
  );
}

/** The expressions that a function returns. */
function resultsOf({ body }: Callable): Node[] {
  if (!body) return [];
  const found: Node[] = [];
  const visit = (node: Node): void => {
    if (isReturnStatement(node)) {
      if (node.expression) found.push(node.expression);
    } else if (!isCallable(node)) node.forEachChild(visit);
  };
  if (body.getText().startsWith('{')) visit(body);
  else found.push(body);
  return found;
}

/** The values of an object literal by their keys. */
function valuesOf(node: Node): Map<string, Node> {
  const values = new Map<string, Node>();
  if (!isObjectLiteralExpression(node)) return values;
  for (const property of node.properties)
    if (isPropertyAssignment(property)) values.set(property.name.getText(), property.initializer);
  return values;
}

/** Whether an object is the outcome of a tool call. */
function isOutcome(node: Node): boolean {
  const values = valuesOf(node);
  return values.get('kind')?.getText() === "'error'" || values.get('do')?.getText() === "'close-dangling'";
}

/** A short name for a value in a text. */
function shortName(node: Node): string {
  if (isIdentifier(node)) return node.text;
  if (isPropertyAccessExpression(node)) return node.name.text;
  if (isCallExpression(node)) {
    const [arg] = node.arguments;
    if (isPropertyAccessExpression(node.expression) && !isGlobal(node.expression.expression))
      return shortName(node.expression.expression);
    return arg ? shortName(arg) : shortName(node.expression);
  }
  if (isConditionalExpression(node)) return shortName(node.whenTrue);
  if (isBinaryExpression(node)) return shortName(node.left);
  if (isElementAccessExpression(node)) return shortName(node.expression);
  if (isParenthesizedExpression(node)) return shortName(node.expression);
  return 'value';
}

function isGlobal(node: Node): boolean {
  return isIdentifier(node) && ['JSON', 'Math', 'Object', 'Array', 'Number', 'String'].includes(node.text);
}

function unique<T extends { file: string; text: string }>(found: readonly T[]): T[] {
  const byKey = new Map(found.map((one) => [JSON.stringify(one), one]));
  return [...byKey.values()].sort((a, b) => compare(a.file, b.file) || compare(a.text, b.text));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
