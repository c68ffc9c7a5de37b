import type { Fold } from './api.ts';
import { type Draft, isObject, type Obj, tryJson } from './json.ts';
import { merge, restate, slot } from './merge.ts';
import type { Warning } from './record.ts';
import { warn } from './warn.ts';

/** What one event does to a response of numbered items: blocks, output items, steps. */
export interface Step {
  /** Begins a response with these fields. */
  start?: unknown;
  /** States fields of the response. */
  head?: unknown;
  /** The item that `open` or `piece` is about. */
  at?: unknown;
  /** Begins the item, or states it whole. */
  open?: unknown;
  /** Continues the item. */
  piece?: Obj;
  /** The response is complete. */
  done?: boolean;
}

/** A fold for an API, given what each of its events does (null: not its own) and how the items go into the body. */
export function itemFold(
  stepOf: (event: Obj) => Step | null,
  close: (body: Draft, items: Draft[], done: boolean, warnings: Warning[]) => Obj,
): () => Fold {
  return () => {
    const body: Draft = {};
    const items = new Map<unknown, Draft>();
    let started = false;
    let done = false;
    return {
      push(event, warnings) {
        const step = stepOf(event);
        if (step === null) return 'foreign';
        if (step.start) {
          if (done || items.size > 0) return 'restart';
          if (started) warn(warnings, 'stream_duplicate_start', '');
          started = true;
        }
        restate(body, step.start ?? step.head);
        if (isObject(step.open)) items.set(step.at, merge({}, step.open));
        if (step.piece) merge(slot(items, step.at), step.piece);
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
