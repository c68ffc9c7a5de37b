import { type Draft, isObject, type Obj, str } from './json.ts';

const STEP = /\.([^.[\]]+)|\[(\d{1,6})\]|\['([^']*)'\]|\["([^"]*)"\]/g;

function scalarOf(piece: Obj): unknown {
  if (piece.nullValue !== undefined) return null;
  return piece.numberValue ?? piece.boolValue ?? str(piece.stringValue);
}

/**
 * Puts one piece of a function call's arguments where its JSON path says, and gives back the path if the next piece
 * continues this text. Paths that would leave a hole in a list or touch a prototype are ignored.
 */
export function setPartialArg(args: Draft, piece: Obj, openPath: string): string {
  const path = str(piece.jsonPath);
  const steps = [...path.matchAll(STEP)].map(([, key, index, single, double]) => {
    return index === undefined ? (key ?? single ?? double ?? '') : Number(index);
  });
  const last = steps.pop();
  let node: Draft = args;
  for (const [i, step] of steps.entries()) {
    if (isHole(node, step)) return openPath;
    const child = node[step];
    const next =
      isObject(child) || Array.isArray(child) ? child : typeof (steps[i + 1] ?? last) === 'number' ? [] : {};
    node[step] = next;
    node = next as Draft;
  }
  if (last === undefined || isHole(node, last)) return openPath;
  const value = scalarOf(piece);
  const known = node[last];
  node[last] = path === openPath && typeof known === 'string' ? known + value : value;
  return piece.willContinue === true ? path : '';
}

function isHole(node: Draft, step: string | number): boolean {
  return step === '__proto__' || (Array.isArray(node) && !(typeof step === 'number' && step <= node.length));
}
