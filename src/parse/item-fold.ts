import type { Fold } from './api.ts';
import { type Draft, isObject, type Obj, str, tryJson } from './json.ts';
import { merge } from './merge.ts';
import type { Warning } from './record.ts';
import { warn } from './warn.ts';

/** What one event does to a response of numbered items: choices, blocks, output items, steps. */
export interface Step {
  /** Begins a response. */
  start?: boolean;
  /** Fields of the response; later ones win, but not over the first id. */
  head?: unknown;
  /** The item that the rest is about. */
  at?: unknown;
  /** Begins the item, or states it whole. */
  open?: unknown;
  /** Continues the item. */
  piece?: Obj;
  /** Continues the text at a path inside the item. */
  path?: readonly string[];
  text?: unknown;
  /** More items that the event continues. */
  more?: readonly Step[];
  /** The response is complete. */
  done?: unknown;
}

/** How to fold an API's stream: what each event does (null: not its own), and how the items go into the body. */
export interface FoldPlan {
  stepOf(event: Obj): Step | null;
  close(body: Draft, items: Draft[], done: boolean, warnings: Warning[]): Obj;
}

/** Lets later fields win, but not over the first id; null says nothing, and usage is restated count by count. */
function restate(into: Draft, head: Obj): Draft {
  for (const key in head) {
    const value = head[key];
    if (value == null || value === '' || key === '__proto__' || (key === 'id' && into.id)) continue;
    const counts = isObject(value) && isObject(into[key]) && key.startsWith('usage');
    into[key] = counts ? restate({ ...(into[key] as Obj) }, value) : value;
  }
  return into;
}

function grow(item: Draft, path: readonly string[], text: unknown): void {
  let node = item;
  const last = path.length - 1;
  for (let i = 0; i < last; i++) {
    const key = path[i] as string;
    node[key] ??= {};
    node = node[key] as Draft;
  }
  const key = path[last] as string;
  node[key] = str(node[key]) + str(text);
}

/** A fold that follows a plan. */
export function itemFold({ stepOf, close }: FoldPlan): () => Fold {
  return () => {
    const body: Draft = {};
    const items = new Map<unknown, Draft>();
    let started = false;
    let done = false;
    const take = ({ at, open, piece, path, text }: Step): void => {
      let item = items.get(at);
      if (open || !item) {
        item = isObject(open) ? merge({}, open) : {};
        items.set(at, item);
      }
      if (piece) merge(item, piece);
      if (path) grow(item, path, text);
    };
    return {
      push(event, warnings) {
        const step = stepOf(event);
        if (step === null) return 'foreign';
        const { start, head, more } = step;
        const id = isObject(head) && (head.id ?? head.responseId);
        // Another start, or another id once the response is complete, is another response.
        if (
          start ? done || items.size > 0 : done && more?.length && id && id !== (body.id ?? body.responseId)
        ) {
          return 'restart';
        }
        if (start && started) warn(warnings, 'stream_duplicate_start', '');
        if (start) started = true;
        if (isObject(head)) restate(body, head);
        if (step.open || step.piece || step.path) take(step);
        if (more) for (const other of more) take(other);
        if (step.done) done = true;
        return 'taken';
      },
      end: (warnings) => ({ body: close({ ...body }, [...items.values()], done, warnings), complete: done }),
    };
  };
}

/** Arguments that arrived as pieces of JSON text, as the whole response has them; broken text stays text. */
export function closeArguments(value: unknown): unknown {
  return typeof value === 'string' ? (tryJson(value || '{}') ?? value) : value;
}
