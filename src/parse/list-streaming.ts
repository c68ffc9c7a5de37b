import { itemAt, restate, type Streaming } from './fold.ts';
import { type Draft, type Obj, objects } from './json.ts';
import { merge } from './merge.ts';

/** What differs between the APIs whose chunks have the shape of a whole response with a list of choices. */
interface ChoiceList {
  /** The name of the list in the body. */
  readonly name: 'choices' | 'candidates';
  /** Returns the choices of a chunk; undefined when the event is no chunk of this API. */
  choicesIn(event: Obj, api: string): unknown;
  /** Whether a chunk only repeats the top-level fields that the first chunk had, so that they need not be copied. */
  repeatsHead?(event: Obj): boolean;
  /** Reads the fields of a chunk besides its choices. Returns whether they end the response. */
  takeRest?(event: Obj, body: Draft): boolean;
  /** Turns the merged pieces of a choice into the choice of a whole response. */
  close?(choice: Draft, body: Draft): void;
}

/** Creates the `Streaming` of an API whose chunks have the shape of a whole response. */
export function listStreaming(list: ChoiceList): Streaming {
  return {
    take(fold, event) {
      const { body } = fold;
      const choices = list.choicesIn(event, fold.api);
      if (choices === undefined) return false;
      const entries = objects(choices);
      const known = body.id ?? body.responseId;
      const id = event.id ?? event.responseId;
      // A new id after the end of a response begins another response.
      if (fold.done && id && id !== known && entries.length > 0) return 'restart';
      if (!known || !list.repeatsHead?.(event)) restate(body, event);
      entries.forEach((entry, position) => {
        merge(itemAt(fold, entry.index ?? position), entry);
        if (entry.finish_reason || entry.stop_reason || entry.finishReason || entry.completionReason)
          fold.done = true;
      });
      if (list.takeRest?.(event, body)) fold.done = true;
      return true;
    },
    close({ body }, items) {
      for (const choice of items) list.close?.(choice, body);
      items.sort((a, b) => Number(a.index) - Number(b.index));
      body[list.name] = items;
      return body;
    },
  };
}
