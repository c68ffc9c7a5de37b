import {
  BaseLlmRequestProcessor,
  CONTENT_REQUEST_PROCESSOR,
  createEvent,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  type InvocationContext,
  type LlmRequest,
  type Session,
} from '@google/adk';
import type { Content, FunctionResponse, FunctionResponseScheduling, Part } from '@google/genai';
import type { InputPart } from '../protocol/index.ts';
import { liveFactsOf } from './live-facts.ts';
import { restoreNames, showQuestions } from './node-questions.ts';

/** Key in the custom metadata of a rewind marker. The value is the id of an event: that event and all later ones before the marker are discarded. */
const REWIND = 'duologueRewind';

/** Custom metadata of an empty message that makes ADK continue a run. Only that run reads it, and it is never stored. */
export const RESUME = { duologue: 'resume' } as const;

/** The response that a model gets for a call that has none yet, usually because the call waits for the user or the browser. */
export const PENDING_RESPONSE = {
  status: 'pending',
  note: 'This call is still waiting for the user. Its result will follow.',
} as const;

const CONFIRMATION = 'adk_request_confirmation';

/** Key in the custom metadata of an event that answers a call inside an agent that is used as a tool. The value is the id of the call of that tool. */
const WITHIN = 'duologueWithin';

/** Marks an event as the answer to a call inside an agent that is used as a tool. The agents of the conversation do not see the event. */
export function answerWithin(event: Event, callId: string): Event {
  return { ...event, author: 'user', customMetadata: { ...event.customMetadata, [WITHIN]: callId } };
}

/** The call id that `answerWithin` put into an event; undefined for any other event. */
export function withinOf({ customMetadata }: Event): string | undefined {
  return customMetadata?.[WITHIN] as string | undefined;
}

/** An event that rewinds the history to before the given event. */
export function rewindEvent(toEventId: string): Event {
  return createEvent({ author: 'user', customMetadata: { [REWIND]: toEventId } });
}

function isRewind(event: Event): boolean {
  return event.customMetadata?.[REWIND] !== undefined;
}

/** The events after the last rewind marker whose target is older than all loaded events: such a marker discards everything before it. All, if there is none. */
export function afterOlderRewind(events: readonly Event[]): readonly Event[] {
  const ids = new Set<unknown>(events.map(({ id }) => id));
  const mark = events.findLastIndex((event) => isRewind(event) && !ids.has(event.customMetadata?.[REWIND]));
  return events.slice(mark + 1);
}

/**
 * Puts a history that models accept into the request. In a run that is driven turn by turn, ends the run instead when a call of this run and branch has no
 * response. The model sees every other call without a response as pending.
 */
export class HistoryProcessor extends BaseLlmRequestProcessor {
  override async *runAsync(
    context: InvocationContext,
    request: LlmRequest,
  ): AsyncGenerator<Event, void, void> {
    const live = context.liveRequestQueue !== undefined;
    const { events, open } = prepareHistory(context.session.events, { placeholders: true });
    // Agents that run in parallel have different branches, and do not wait for each other's calls.
    const isOwn = (event: Event) =>
      event.invocationId === context.invocationId && event.branch === context.branch;
    if (!live && open.some(isOwn)) {
      context.endInvocation = true;
      return;
    }
    const shown = showQuestions(events);
    const session =
      shown === context.session.events ? context.session : { ...context.session, events: shown };
    yield* CONTENT_REQUEST_PROCESSOR.runAsync(
      session === context.session ? context : context.clone({ session }),
      request,
    );
    const contents = shown === events ? request.contents : restoreNames(request.contents);
    request.contents = await withFiles(contents, context);
  }
}

/**
 * The events of a session in a form that models accept: rewound events and answers to calls inside agents that are used as tools are left out, and all
 * responses to the calls of one event directly follow that event, wherever they were recorded. `open` are the events with a call that has no response; with
 * `placeholders`, such a call gets a response that says it is pending.
 */
export function prepareHistory(
  all: Event[],
  options: { placeholders: boolean },
): { events: Event[]; open: Event[] } {
  const events = withoutInner(withoutRewound(all));
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

/** The events that the agents of the conversation see: all but the answers to calls inside agents that are used as tools. */
export function withoutInner(events: Event[]): Event[] {
  return events.some((event) => withinOf(event) !== undefined)
    ? events.filter((event) => withinOf(event) === undefined)
    : events;
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

/** Returns the responses by call id, whether each response directly follows its call, and the events with a call that has no response. */
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

/** The calls in a history that have no response, with the event that made each. */
export function danglingCalls(all: Event[]): { id: string; name: string; event: Event }[] {
  const events = withoutInner(withoutRewound(all));
  const { responses } = survey(events);
  return events.flatMap((event) =>
    event.author === 'user'
      ? []
      : getFunctionCalls(event).flatMap(({ id, name }) =>
          id && name && name !== CONFIRMATION && !responses.has(id) ? [{ id, name, event }] : [],
        ),
  );
}

/** A user message in ADK's form. Files must have been resolved to their bytes before. */
export function toContent(parts: readonly Exclude<InputPart, { type: 'stored-file' }>[]): Content {
  return {
    role: 'user',
    parts: parts.map((part): Part => {
      if (part.type === 'text') return { text: part.text };
      return {
        inlineData: {
          mimeType: part.mediaType,
          data: part.data,
          ...(part.filename === undefined ? {} : { displayName: part.filename }),
        },
      };
    }),
  };
}

/** The scheme of the URI by which a part of an event refers to a file of its session: `duologue-file:<id>?bytes=<size>`. */
const SCHEME = 'duologue-file:';

/** Reads the files that events refer to. The session service of the server implements it. */
export interface FileSource {
  /** The largest number of bytes of all files in one request to a model. */
  readonly maxImageBytes: number;
  /** A file of a session; null when it no longer exists. */
  readFile(session: Session, fileId: string): Promise<Uint8Array | null>;
}

/** Replaces the bytes in a part by a reference to a file. */
export function fileReference({ inlineData, ...part }: Part, fileId: string, size: number): Part {
  const { mimeType, displayName } = inlineData ?? {};
  return {
    ...part,
    fileData: {
      fileUri: `${SCHEME}${fileId}?bytes=${size}`,
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(displayName === undefined ? {} : { displayName }),
    },
  };
}

/**
 * Replaces references in contents by the bytes of their files, newest first, up to the limit of one request. A short text replaces a file beyond the
 * limit, and one that no longer exists. Events stored by earlier versions contain the bytes themselves; these count towards the limit too.
 */
async function withFiles(
  contents: readonly Content[],
  { sessionService, session }: InvocationContext,
): Promise<Content[]> {
  const source = sourceIn(sessionService);
  let left = source?.maxImageBytes ?? 0;
  const resolved: Content[] = [];
  for (const content of contents.toReversed()) {
    const parts: Part[] = [];
    for (const part of content.parts?.toReversed() ?? []) {
      const file = source && fileIn(part);
      if (file) left -= file.size;
      // Once a file exceeds the limit, all older files are left out too, even small ones that would still fit.
      if (file) parts.push(left < 0 ? omitted(part, file.size) : await read(part, file, source, session));
      else parts.push(part);
    }
    resolved.push(parts.length === 0 ? content : { ...content, parts: parts.reverse() });
  }
  return resolved.reverse();
}

/** The session service, if it implements `FileSource`; otherwise null. */
function sourceIn(service: object | undefined): FileSource | null {
  return service && 'readFile' in service ? (service as FileSource) : null;
}

/** The file in a part: with its id when the part refers to it, with the id null when the part holds the bytes. Null for a part without a file. */
function fileIn({ fileData, inlineData }: Part): { id: string | null; size: number } | null {
  if (inlineData?.data) return { id: null, size: Math.floor((inlineData.data.length * 3) / 4) };
  if (!fileData?.fileUri?.startsWith(SCHEME)) return null;
  const [id = '', size] = fileData.fileUri.slice(SCHEME.length).split('?bytes=');
  return { id, size: Number(size) };
}

async function read(
  part: Part,
  { id, size }: { id: string | null; size: number },
  source: FileSource,
  session: Session,
): Promise<Part> {
  if (id === null) return part;
  const bytes = await source.readFile(session, id);
  if (!bytes) return omitted(part, size);
  const { fileData: { mimeType, displayName } = {}, ...rest } = part;
  return {
    ...rest,
    inlineData: {
      data: Buffer.from(bytes).toString('base64'),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(displayName === undefined ? {} : { displayName }),
    },
  };
}

function omitted({ fileData, inlineData }: Part, size: number): Part {
  const { displayName, mimeType } = fileData ?? inlineData ?? {};
  const kind = mimeType?.split('/')[0] ?? 'file';
  const words = size < 1_000_000 ? `${Math.ceil(size / 1000)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
  return { text: `[${kind} omitted: ${displayName ?? mimeType ?? 'no name'}, ${words}]` };
}

/** The key in `partMetadata` for marks that only this library reads. */
const OWN = 'duologue';

/** Marks a call whose arguments are broken or cut off. The mark stays with the call even if its id changes. */
export function markUnreadable(part: Part): void {
  part.partMetadata = { ...part.partMetadata, [OWN]: { unreadable: true } };
}

/** Whether a call has arguments that could not be read: its tool never runs. */
export function isUnreadable(part: Part): boolean {
  const own = part.partMetadata?.[OWN] as { unreadable?: unknown } | undefined;
  return own?.unreadable === true;
}

/** A live session that the provider still keeps, and the function responses that may not have reached its model. */
export interface Resumption {
  handle: string;
  responses: FunctionResponse[];
}

/**
 * How long after its last event a live session can be resumed. The provider keeps a live session for two hours after its end; the difference is a safety
 * margin.
 */
const KEPT_MS = 100 * 60 * 1000;

/**
 * Returns how a live run can resume the provider's session of the last run. Returns null when there is no such session, when it is too old, or when an
 * event since then does not belong to it: then a new session gets the history.
 */
export function resumptionOf(all: readonly Event[], now: number): Resumption | null {
  const events = withoutInner([...all]);
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
  // Every response that was sent before the model's last output has reached the model.
  const spoke = since.findLastIndex(
    (event) => event.author !== 'user' && (event.turnComplete || event.content?.role === 'model'),
  );
  // A call that ran although the model had cancelled it has a response that the model must not get.
  const cancelled = new Set(events.flatMap((event) => liveFactsOf(event).cancelledCalls ?? []));
  const responses = since
    .slice(spoke + 1)
    .flatMap((event) => getFunctionResponses(event))
    .filter(({ id = '' }) => !cancelled.has(id));
  // Use a string instead of the enum member, so that this module imports only types of @google/genai.
  const scheduling = 'SILENT' as FunctionResponseScheduling;
  return { handle, responses: responses.map((response) => ({ ...response, scheduling })) };
}

/** Whether an event makes or answers a call with this id. */
export function concernsCall(event: Event, id: string): boolean {
  return (
    getFunctionCalls(event).some((call) => call.id === id) ||
    getFunctionResponses(event).some((response) => response.id === id)
  );
}
