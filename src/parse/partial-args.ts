import { type Draft, memo, type Obj, str } from './json.ts';

/** Splits a JSON path into its steps: a name, an index, or a name in quotes. */
const stepsOf = /* @__PURE__ */ memo(
  (path): string[] => path.match(/(?<=\[(['"])).*?(?=\1])|[^.[\]'"]+/g) ?? [],
);

/**
 * Writes one piece of the arguments that Gemini streams into the arguments received so far.
 *
 * @param args The arguments so far; they are changed.
 * @param piece One entry of `partialArgs`: a JSON path and a value.
 * @param openPath The result of the last call: the path of a text that this piece may continue, else an empty text.
 * @returns The path, when the next piece continues this text; else an empty text.
 *
 * A piece whose path would leave a gap in a list or reach a prototype is ignored.
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
