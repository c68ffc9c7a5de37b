import { type Draft, isObject, type Obj, str } from './json.ts';

type Step = string | number;

const STEP = /\.([^.[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/g;

/** The steps of a simple JSON path such as `$.a.b[0]`; null when it is not one. */
function stepsOf(path: string): Step[] | null {
  const steps: Step[] = [];
  let read = 1;
  for (const [step, key, index, single, double] of path.matchAll(STEP)) {
    steps.push(index !== undefined ? Number(index) : (key ?? single ?? double ?? ''));
    read += step.length;
  }
  return path.startsWith('$') && read === path.length && steps.length > 0 ? steps : null;
}

function scalarOf(piece: Obj): unknown {
  if (piece.numberValue !== undefined) return piece.numberValue;
  if (piece.boolValue !== undefined) return piece.boolValue;
  if (piece.nullValue !== undefined) return null;
  return str(piece.stringValue);
}

/** Arrays are kept as maps by index until the end, so that a wild index costs nothing. */
type Node = { array: boolean; children: Map<Step, Node | { value: unknown }> };

function build(node: Node): unknown {
  const entries = [...node.children].map(([step, child]) => {
    return [step, 'value' in child ? child.value : build(child)] as const;
  });
  if (node.array) return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, value]) => value);
  const object: Draft = {};
  for (const [step, value] of entries) {
    Object.defineProperty(object, step, { value, enumerable: true, writable: true, configurable: true });
  }
  return object;
}

/** Folds the pieces of a function call's arguments, each addressed by a JSON path. */
export class PartialArgs {
  private readonly root: Node = { array: false, children: new Map() };
  private openPath: string | null = null;

  push(piece: Obj): void {
    const path = str(piece.jsonPath);
    const steps = stepsOf(path);
    const last = steps?.pop();
    if (steps === null || steps === undefined || last === undefined) return;
    let node = this.root;
    for (const [i, step] of steps.entries()) {
      const next = node.children.get(step);
      if (next !== undefined && 'children' in next) node = next;
      else {
        const made: Node = { array: typeof (steps[i + 1] ?? last) === 'number', children: new Map() };
        node.children.set(step, made);
        node = made;
      }
    }
    const value = scalarOf(piece);
    const known = node.children.get(last);
    if (this.openPath === path && known !== undefined && 'value' in known && typeof value === 'string') {
      known.value = str(known.value) + value;
    } else node.children.set(last, { value });
    this.openPath = piece.willContinue === true ? path : null;
  }

  /** The arguments, over those that came whole. */
  end(whole: Obj): Obj {
    const built = build(this.root);
    return isObject(built) ? { ...whole, ...built } : whole;
  }
}
