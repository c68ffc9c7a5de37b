import {
  BaseLlmRequestProcessor,
  CONTENT_REQUEST_PROCESSOR,
  createEvent,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  type InvocationContext,
  type LlmRequest,
} from '@google/adk';
import type { FunctionResponse } from '@google/genai';
import { withFiles } from './files.ts';

/** Key in an event's custom metadata: drop this event and all after it, up to the marker. */
const REWIND = 'duologueRewind';

/** Custom metadata of a message that nobody said: it makes ADK go on, its run alone may read it, and it is never stored. */
export const RESUME = { duologue: 'resume' } as const;

/** What a model sees for a call that still waits for the person or the browser. */
export const PENDING_RESPONSE = {
  status: 'pending',
  note: 'This call is still waiting for the user. Its result will follow.',
} as const;

const CONFIRMATION = 'adk_request_confirmation';

/** An event that takes back what was said from the given event on. */
export function rewindEvent(toEventId: string): Event {
  return createEvent({ author: 'user', customMetadata: { [REWIND]: toEventId } });
}

/** Whether an event takes back what was said. */
export function isRewind(event: Event): boolean {
  return event.customMetadata?.[REWIND] !== undefined;
}

/** The events after the last rewind marker that names an event older than all of these: such a marker discards everything before it. */
export function afterOlderRewind(events: readonly Event[]): readonly Event[] {
  const ids = new Set<unknown>(events.map(({ id }) => id));
  const mark = events.findLastIndex((event) => isRewind(event) && !ids.has(event.customMetadata?.[REWIND]));
  return events.slice(mark + 1);
}

/**
 * Gives the model a sound history, and ends a run that goes turn by turn when a call that it made is open. One that an earlier run made, and
 * that still waits, is shown as pending.
 */
export class HistoryProcessor extends BaseLlmRequestProcessor {
  override async *runAsync(
    context: InvocationContext,
    request: LlmRequest,
  ): AsyncGenerator<Event, void, void> {
    const live = context.liveRequestQueue !== undefined;
    const { events, open } = prepareHistory(context.session.events, { placeholders: true });
    // Agents that run side by side have branches of their own, and wait for none of each other's calls.
    const isOwn = (event: Event) =>
      event.invocationId === context.invocationId && event.branch === context.branch;
    if (!live && open.some(isOwn)) {
      context.endInvocation = true;
      return;
    }
    const session = events === context.session.events ? context.session : { ...context.session, events };
    yield* CONTENT_REQUEST_PROCESSOR.runAsync(
      session === context.session ? context : context.clone({ session }),
      request,
    );
    request.contents = await withFiles(request.contents, context);
  }
}

/**
 * A session's events as a model can take them: what was rewound is left out, and the responses to the calls of one event
 * stand together right behind it, wherever they were recorded. `open` are the events with a call that has no response;
 * with `placeholders` such a call gets one that says it is pending.
 */
export function prepareHistory(
  all: Event[],
  options: { placeholders: boolean },
): { events: Event[]; open: Event[] } {
  const events = withoutRewound(all);
  const { responses, inPlace, open } = survey(events);
  if (inPlace && !(open.length > 0 && options.placeholders)) return { events, open };

  const ordered: Event[] = [];
  for (const event of events) {
    const answers = getFunctionResponses(event);
    if (answers.some((answer) => answer.id !== undefined && responses.has(answer.id))) continue;
    ordered.push(event);
    const calls = getFunctionCalls(event).filter((call) => call.name !== CONFIRMATION);
    if (calls.length === 0) continue;
    const parts = calls.flatMap((call) => {
      const response = responses.get(call.id ?? '') ?? (options.placeholders ? pendingFor(call) : undefined);
      return response ? [{ functionResponse: response }] : [];
    });
    if (parts.length === 0) continue;
    ordered.push(
      createEvent({
        ...event,
        id: `${event.id}-responses`,
        content: { role: 'user', parts },
        longRunningToolIds: [],
      }),
    );
  }
  return { events: ordered, open };
}

function pendingFor(call: { id?: string; name?: string }): FunctionResponse {
  return {
    ...(call.id === undefined ? {} : { id: call.id }),
    ...(call.name === undefined ? {} : { name: call.name }),
    response: { ...PENDING_RESPONSE },
  };
}

function withoutRewound(events: Event[]): Event[] {
  if (!events.some(isRewind)) return events;
  const kept: Event[] = [];
  for (const event of events) {
    const target = event.customMetadata?.[REWIND];
    if (target === undefined) {
      kept.push(event);
      continue;
    }
    const index = kept.findIndex((candidate) => candidate.id === target);
    if (index !== -1) kept.length = index;
  }
  return kept;
}

/** The responses by call id, whether each stands right behind its call, and the events with a call that has none. */
function survey(events: Event[]): {
  responses: Map<string, FunctionResponse>;
  inPlace: boolean;
  open: Event[];
} {
  const responses = new Map<string, FunctionResponse>();
  const calls = new Map<string, number>();
  let inPlace = true;
  events.forEach((event, index) => {
    if (!event.content?.parts) return;
    for (const call of getFunctionCalls(event)) {
      if (call.id && call.name !== CONFIRMATION && event.author !== 'user') calls.set(call.id, index);
    }
    for (const response of getFunctionResponses(event)) {
      if (!response.id || response.name === CONFIRMATION) continue;
      if (calls.get(response.id) !== index - 1) inPlace = false;
      responses.set(response.id, response);
    }
  });
  const open: Event[] = [];
  for (const [id, index] of calls) {
    const event = events[index];
    if (event && !responses.has(id)) open.push(event);
  }
  return { responses, inPlace, open };
}

/** The calls in a history that nothing answers, with the event that made each. */
export function danglingCalls(all: Event[]): { id: string; name: string; event: Event }[] {
  const events = withoutRewound(all);
  const { responses } = survey(events);
  return events.flatMap((event) =>
    event.author === 'user'
      ? []
      : getFunctionCalls(event).flatMap(({ id, name }) =>
          id && name && name !== CONFIRMATION && !responses.has(id) ? [{ id, name, event }] : [],
        ),
  );
}
