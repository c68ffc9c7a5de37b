import { itemAt, restate, type Streaming } from './fold.ts';
import { type Draft, type Obj, objects } from './json.ts';
import { merge } from './merge.ts';

/** What differs between the APIs whose every chunk is a small response with a list of choices. */
interface ChoiceList {
  /** The name of the list in a body. */
  readonly name: 'choices' | 'candidates';
  /** The choices in a chunk; undefined when it is none. */
  choicesIn(event: Obj, api: string): unknown;
  /** Whether a chunk says again what the body already states. */
  repeatsHead?(event: Obj): boolean;
  /** Takes what a chunk has beside its choices, and tells whether it ends the response. */
  takeRest?(event: Obj, body: Draft): boolean;
  /** Puts a choice together as the whole response has it. */
  close?(choice: Draft, body: Draft): void;
}

/** Streams of chunks that are small responses. */
export function listStreaming(list: ChoiceList): Streaming {
  return {
    take(fold, event) {
      const { body } = fold;
      const choices = list.choicesIn(event, fold.api);
      if (choices === undefined) return false;
      const entries = objects(choices);
      const known = body.id ?? body.responseId;
      const id = event.id ?? event.responseId;
      // Another id once the response is complete is another response.
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
