import { createEvent, type Event, getFunctionCalls, getFunctionResponses } from '@google/adk';
import { afterOlderRewind } from '../../adk/for-server.ts';
import type { CallRecord } from './store.ts';

/** What the model reads in place of the messages that its window of the history leaves out. */
const OMITTED = '[Earlier messages are omitted.]';

/**
 * The newest events of a long history as a history by themselves. They begin with a message of the user, without rewound events. Calls in
 * `recorded` (open ones, and those of `answeredLate`) whose events were left out are made again from their records, and stand at the
 * beginning. A response to any other call that was left out is left out, too.
 */
export function windowOf(newest: readonly Event[], recorded: readonly CallRecord[]): Event[] {
  const kept = keptOf(newest);
  const made = callsIn(kept);
  const missing = recorded.filter(({ id }) => !made.has(id));
  for (const { id } of missing) made.add(id);
  const whole = kept.flatMap((event) => withoutAnswers(event, (id) => id === undefined || made.has(id)));
  return missing.length === 0 ? whole : [omission(), ...missing.map(callEvent), ...whole];
}

/** The ids of calls whose events the window leaves out, while it has their responses: a person may have answered them much later. */
export function answeredLate(newest: readonly Event[]): string[] {
  const kept = keptOf(newest);
  const made = callsIn(kept);
  const answered = kept.flatMap((event) => getFunctionResponses(event).flatMap(({ id }) => id ?? []));
  return [...new Set(answered)].filter((id) => !made.has(id));
}

function keptOf(newest: readonly Event[]): readonly Event[] {
  return fromUserMessage(afterOlderRewind(newest));
}

function callsIn(events: readonly Event[]): Set<string | undefined> {
  return new Set(events.flatMap((event) => getFunctionCalls(event).map(({ id }) => id)));
}

/** Without what stands before the first message of the user; all of it when there is none. */
function fromUserMessage(events: readonly Event[]): readonly Event[] {
  const first = events.findIndex(
    (event) => event.author === 'user' && event.content?.parts?.some((part) => !part.functionResponse),
  );
  return first === -1 ? events : events.slice(first);
}

/** The event without the responses to calls that are not known; nothing when that was all of it. */
function withoutAnswers(event: Event, isKnown: (callId: string | undefined) => boolean): Event[] {
  if (getFunctionResponses(event).every(({ id }) => isKnown(id))) return [event];
  const parts = event.content?.parts?.filter(
    ({ functionResponse }) => !functionResponse || isKnown(functionResponse.id),
  );
  return parts?.length ? [{ ...event, content: { ...event.content, parts } }] : [];
}

function omission(): Event {
  return createEvent({ author: 'user', content: { role: 'user', parts: [{ text: OMITTED }] } });
}

/** The event that made a call, as far as the call's record tells. */
function callEvent({ id, toolName: name, args, agent, invocationId, branch, issuedAt }: CallRecord): Event {
  return createEvent({
    author: agent,
    invocationId,
    ...(branch === null ? {} : { branch }),
    timestamp: issuedAt,
    longRunningToolIds: [id],
    content: { role: 'model', parts: [{ functionCall: { id, name, args } }] },
  });
}
