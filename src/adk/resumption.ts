import { type Event, getFunctionResponses } from '@google/adk';
import { type FunctionResponse, FunctionResponseScheduling } from '@google/genai';
import { isRewind } from './history.ts';
import { liveFactsOf } from './live-facts.ts';

/** A live session that a model still has, and what it may not have heard of its calls. */
export interface Resumption {
  handle: string;
  responses: FunctionResponse[];
}

/** The service keeps a session for two hours after its end. */
const KEPT_MS = 100 * 60 * 1000;

/**
 * Where a live run can go on from: the session of the last one, if everything that was said since was said in it. Otherwise
 * null, and a new session is told the history.
 */
export function resumptionOf(events: readonly Event[], now: number): Resumption | null {
  const index = events.findLastIndex((event) => event.liveSessionResumptionUpdate !== undefined);
  const begun = events[index];
  const handle = begun?.liveSessionResumptionUpdate?.newHandle;
  if (!begun || !handle) return null;
  const since = events.slice(index + 1);
  const isForeign = (event: Event) =>
    isRewind(event) ||
    (event.content !== undefined &&
      Boolean(event.invocationId) &&
      event.invocationId !== begun.invocationId &&
      getFunctionResponses(event).length === 0);
  if (since.some(isForeign)) return null;
  if (now - ((since.at(-1) ?? begun).timestamp ?? now) > KEPT_MS) return null;
  // What the model said last shows that it has heard what was sent before.
  const spoke = since.findLastIndex(
    (event) => event.author !== 'user' && (event.turnComplete || event.content?.role === 'model'),
  );
  // A call that ran although the model had cancelled it has a result, which the model does not want.
  const cancelled = new Set(events.flatMap((event) => liveFactsOf(event).cancelledCalls ?? []));
  const responses = since
    .slice(spoke + 1)
    .flatMap((event) => getFunctionResponses(event))
    .filter(({ id = '' }) => !cancelled.has(id));
  const scheduling = FunctionResponseScheduling.SILENT;
  return { handle, responses: responses.map((response) => ({ ...response, scheduling })) };
}
