import type { LlmResponse } from '@google/adk';
import type { DataParts } from '../protocol/index.ts';

/**
 * Facts about a model response for which ADK has no field. ADK copies `customMetadata` from a response to its event, so the facts travel there, under
 * one key, from the models to the readers of the events. Only this module knows the key.
 */
export interface LiveFacts {
  /** With `turnComplete`: true when the model starts another turn at once, false when it waits for input. Absent when the provider does not say. */
  continues?: boolean;
  /**
   * With `turnComplete`: the model was not generating an answer. The event only confirms an interruption, or the end of output that was already
   * complete.
   */
  wasIdle?: boolean;
  /** With `interrupted`: the ids of the calls that the model cancelled. */
  cancelledCalls?: string[];
  /** With a partial response: the model failed, and is called again at the given time. */
  waiting?: DataParts['waiting'];
}

type CustomMetadata = NonNullable<LlmResponse['customMetadata']>;

const KEY = 'duologue.live';
const NONE: LiveFacts = Object.freeze({});

/** The field of a response that carries these facts; spread it into the response. */
export function withLiveFacts(facts: LiveFacts): { customMetadata: CustomMetadata } {
  return { customMetadata: { [KEY]: facts } };
}

/** The facts of a response or an event; an empty object when it carries none. */
export function liveFactsOf({
  customMetadata,
}: {
  customMetadata?: Record<string, unknown> | undefined;
}): LiveFacts {
  return (customMetadata?.[KEY] as LiveFacts | undefined) ?? NONE;
}
