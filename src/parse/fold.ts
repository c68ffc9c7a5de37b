import { type Draft, isObject, type Obj, obj, tryJson } from './json.ts';
import { merge } from './merge.ts';
import { type ResponseFacts, type Warning, warn } from './reading.ts';

/** The result of `Streaming.take`: the event was added (true), is not of this API (false), or starts another response (`restart`). */
export type Taken = boolean | 'restart';

/** The state of one streamed response: everything that its events have added so far. */
export interface Fold {
  readonly api: string;
  readonly warnings: Warning[];
  /** The top-level fields of the response. */
  readonly body: Draft;
  /** The numbered pieces of the response (choices, blocks, output items or steps) by their index. */
  readonly items: Map<unknown, Draft>;
  /** The items that arrived complete in one event. They are the caller's objects, so the parser must not change them. */
  readonly whole: Set<Obj>;
  started: boolean;
  /** True after the last event of the response. */
  done: boolean;
  /** Fields of the record that the folded body cannot hold. */
  facts?: Pick<ResponseFacts, 'live' | 'finish'>;
}

export function emptyFold(api: string, warnings: Warning[]): Fold {
  return { api, warnings, body: {}, items: new Map(), whole: new Set(), started: false, done: false };
}

/** How the events of one API are folded into a body. */
export interface Streaming {
  /** Set when no event looks like a whole response. `recognise` in `detect.ts` then calls `take` to find out whether an event is of this API. */
  readonly ownEvents?: true;
  /** Adds one event to the state. */
  take(fold: Fold, event: Obj): Taken;
  /**
   * Returns the body that the same request would have returned without streaming. The result may be `fold.body` itself, because
   * a copy would cost time.
   */
  close(fold: Fold, items: Draft[]): Obj;
}

/**
 * Copies fields over earlier values. Exceptions: the first id stays, null and empty texts are ignored, and a usage object is
 * merged count by count.
 */
export function restate(into: Draft, head: unknown): Draft {
  const from = obj(head);
  for (const key in from) {
    const value = from[key];
    const known = into[key];
    if (value == null || value === '' || value === known || key === '__proto__' || (known && key === 'id'))
      continue;
    into[key] =
      isObject(value) && key.startsWith('usage') ? restate(isObject(known) ? known : {}, value) : value;
  }
  return into;
}

/** Handles the start event of a response. A second start event begins another response, unless no content has arrived since the first. */
export function start(fold: Fold, head: unknown): Taken {
  if (fold.done || fold.items.size > 0) return 'restart';
  if (fold.started) warn(fold.warnings, 'stream_duplicate_start');
  fold.started = true;
  restate(fold.body, head);
  return true;
}

/** Returns the item at an index; creates an empty item when there is no item yet. `open`, if given, is the first state of a new item at that index. */
export function itemAt({ items }: Fold, at: unknown, open?: unknown): Draft {
  let item = items.get(at);
  if (open || !item) {
    item = isObject(open) ? merge({}, open) : {};
    items.set(at, item);
  }
  return item;
}

/** Parses tool arguments that arrived as pieces of JSON text. Text that is not JSON stays text. */
export function closeArguments(value: unknown): unknown {
  return typeof value === 'string' ? (tryJson(value || '{}') ?? value) : value;
}

/** Copies the fields that Bedrock adds to the events of every model (`amazon-bedrock-…`). Returns whether there were any. */
export function addBedrockFields(event: Obj, body: Draft): boolean {
  let added = false;
  for (const name in event) {
    if (!name.startsWith('amazon-')) continue;
    body[name] = event[name];
    added = true;
  }
  return added;
}
