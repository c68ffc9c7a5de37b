import type { Obj } from './json.ts';
import type { Api, ParsedResponse, Warning } from './record.ts';

/** What a value is to an API: a whole response, one event of a stream, either (the two look alike), or nothing. */
export type Recognised = 'body' | 'event' | 'either' | null;

/** What a fold did with an event: took it, saw the start of another response, or does not know it. */
export type Taken = true | 'restart' | false;

/** Folds the events of one streamed response. */
export interface Fold {
  /** The terminal event has been seen. */
  done: boolean;
  push(event: Obj): Taken;
  /** The body that the same call would have returned whole. */
  end(): Obj;
}

/** One API: how to tell it, how to read a whole body, how to fold a stream into one. */
export interface ApiReader {
  /** Its name; the part before the dot is the provider's. */
  readonly api: Api;
  recognise(value: Obj): Recognised;
  read(body: Obj, record: ParsedResponse): void;
  fold(warnings: Warning[]): Fold;
}
