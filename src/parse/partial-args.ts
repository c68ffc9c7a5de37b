import { type Draft, memo, type Obj, str } from './json.ts';

/** The steps of a JSON path: a name, an index, or a name in quotes. */
const stepsOf = /* @__PURE__ */ memo(
  (path): string[] => path.match(/(?<=\[(['"])).*?(?=\1])|[^.[\]'"]+/g) ?? [],
);

/**
 * Puts one piece of a function call's arguments where its JSON path says, and returns the path if the next piece
 * continues this text. Paths that would leave a hole in a list or touch a prototype are ignored.
 */
export function setPartialArg(args: Draft, piece: Obj, openPath: string): string {
  const path = str(piece.jsonPath);
  // The first step is the root, `$`.
  const steps = stepsOf(path);
  let node = args;
  for (let i = 1; i < steps.length; i++) {
    const step = steps[i] ?? '';
    const next = steps[i + 1];
    const known = node[step];
    if (step === '__proto__' || (Array.isArray(node) && !(Number(step) <= node.length))) break;
    if (!next) {
      const scalar = piece.numberValue ?? piece.boolValue ?? str(piece.stringValue);
      const value = piece.nullValue === undefined ? scalar : null;
      node[step] = path === openPath && typeof known === 'string' ? known + value : value;
      return piece.willContinue ? path : '';
    }
    node[step] = known && typeof known === 'object' ? known : /^\d+$/.test(next) ? [] : {};
    node = node[step] as Draft;
  }
  return openPath;
}
