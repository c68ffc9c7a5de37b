import { type Draft, isObject, type Obj, obj, tryJson } from './json.ts';
import { merge } from './merge.ts';
import { type ResponseFacts, type Warning, warn } from './reading.ts';

/** What a fold did with an event: took it, saw the start of another response, or does not know it. */
export type Taken = boolean | 'restart';

/** One streamed response while its events arrive. */
export interface Fold {
  readonly api: string;
  readonly warnings: Warning[];
  /** The fields of the response. */
  readonly body: Draft;
  /** Its numbered pieces: choices, blocks, output items, steps. */
  readonly items: Map<unknown, Draft>;
  /** Those of them that came whole and are kept by reference: the caller's own, never changed. */
  readonly whole: Set<Obj>;
  started: boolean;
  /** The terminal event has been seen. */
  done: boolean;
  /** What the record says beside the body. */
  facts?: Pick<ResponseFacts, 'live' | 'finish'>;
}

/** A fold that has seen nothing. */
export function emptyFold(api: string, warnings: Warning[]): Fold {
  return { api, warnings, body: {}, items: new Map(), whole: new Set(), started: false, done: false };
}

/** How an API streams. */
export interface Streaming {
  /** Its events look like no whole response. */
  readonly ownEvents?: true;
  /** Takes one event. */
  take(fold: Fold, event: Obj): Taken;
  /** The body that the same call would have returned whole; it is the fold's own, since a copy would be slow to read. */
  close(fold: Fold, items: Draft[]): Obj;
}

/** Lets later fields win, but not over the first id; null says nothing, and usage is restated count by count. */
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

/** Begins a response; another start is another response, unless nothing has come between. */
export function start(fold: Fold, head: unknown): Taken {
  if (fold.done || fold.items.size > 0) return 'restart';
  if (fold.started) warn(fold.warnings, 'stream_duplicate_start');
  fold.started = true;
  restate(fold.body, head);
  return true;
}

/** The item at a place, new if there is none or if it is opened. */
export function itemAt({ items }: Fold, at: unknown, open?: unknown): Draft {
  let item = items.get(at);
  if (open || !item) {
    item = isObject(open) ? merge({}, open) : {};
    items.set(at, item);
  }
  return item;
}

/** Arguments that arrived as pieces of JSON text, as the whole response has them; broken text stays text. */
export function closeArguments(value: unknown): unknown {
  return typeof value === 'string' ? (tryJson(value || '{}') ?? value) : value;
}

/** Takes what Bedrock adds to the events of every model family, and tells whether it added anything. */
export function noteBedrock(event: Obj, body: Draft): boolean {
  let added = false;
  for (const name in event) {
    if (!name.startsWith('amazon-')) continue;
    body[name] = event[name];
    added = true;
  }
  return added;
}
