import type { ApiReader } from './api.ts';
import { type Draft, isObject, type Obj, objects, str, tryJson } from './json.ts';
import { merge } from './merge.ts';
import type { Warning } from './record.ts';
import { warn } from './warn.ts';

/** What one event does to a response of numbered items: choices, blocks, output items, steps. */
export interface Step {
  /** Begins a response. */
  start?: boolean;
  /** Fields of the response; later ones win, but not over the first id. */
  head?: unknown;
  /** The head only repeats what an earlier one said. */
  stale?: boolean;
  /** The item that the rest is about. */
  at?: unknown;
  /** Begins the item, or states it whole. */
  open?: unknown;
  /** Continues the item. */
  piece?: Obj;
  /** The only field of the piece that says something new, a text, once the item has it. */
  only?: string | undefined;
  /** Continues the text at a path inside the item; `#` in it stands for the index. */
  path?: readonly string[];
  index?: unknown;
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
    const known = into[key];
    if (value == null || value === '' || value === known || key === '__proto__' || (known && key === 'id'))
      continue;
    if (isObject(value) && key.startsWith('usage')) into[key] = restate(isObject(known) ? known : {}, value);
    else into[key] = value;
  }
  return into;
}

function grow(item: Draft, { path = [], index, text }: Step): void {
  let node = item;
  let key = '';
  for (let i = 0; i < path.length; i++) {
    if (i > 0) {
      if (!isObject(node[key])) node[key] = {};
      node = node[key] as Draft;
    }
    key = path[i] === '#' ? String(index) : (path[i] ?? '');
  }
  node[key] = str(node[key]) + str(text);
}

/** A fold that follows a plan. */
export function itemFold({ stepOf, close }: FoldPlan): ApiReader['fold'] {
  return (warnings) => {
    const body: Draft = {};
    const items = new Map<unknown, Draft>();
    let started = false;
    return {
      done: false,
      push(event) {
        const step = stepOf(event);
        if (step === null) return false;
        // Nearly every event only continues a text.
        if (step.only ?? step.path) {
          take(items, step);
          return true;
        }
        const { start, head, more } = step;
        const known = body.id ?? body.responseId;
        if (start) {
          // Another start is another response, unless nothing has come between.
          if (this.done || items.size > 0) return 'restart';
          if (started) warn(warnings, 'stream_duplicate_start', '');
          started = true;
        }
        if (isObject(head)) {
          // So is another id once the response is complete.
          const id = this.done && (head.id ?? head.responseId);
          if (id && known !== id && (more?.length || step.piece)) return 'restart';
          if (!(step.stale && known)) restate(body, head);
        }
        if (step.open || step.piece) take(items, step);
        if (more) for (const other of more) take(items, other);
        if (step.done) this.done = true;
        return true;
      },
      end() {
        return close(body, [...items.values()], this.done, warnings);
      },
    };
  };
}

function take(items: Map<unknown, Draft>, step: Step): void {
  const { at, open, piece, only } = step;
  let item = items.get(at);
  if (open || !item) {
    item = isObject(open) ? merge({}, open) : {};
    items.set(at, item);
  }
  if (step.path) grow(item, step);
  if (!piece) return;
  const known = only && item[only];
  const text = only && piece[only];
  if (only && typeof known === 'string' && typeof text === 'string') item[only] = known + text;
  else merge(item, piece);
}

/** The step of a chunk that continues a list of choices or candidates, each done when it has a reason. */
export function stepOfList(head: Obj, entries: unknown, reason: string): Step {
  const all = objects(entries);
  const [piece] = all;
  if (all.length === 1 && piece) return { head, at: piece.index ?? 0, piece, done: piece[reason] };
  const more = all.map((entry): Step => ({ at: entry.index ?? 0, piece: entry }));
  return { head, more, done: all.some((entry) => entry[reason]) };
}

/** Arguments that arrived as pieces of JSON text, as the whole response has them; broken text stays text. */
export function closeArguments(value: unknown): unknown {
  return typeof value === 'string' ? (tryJson(value || '{}') ?? value) : value;
}
