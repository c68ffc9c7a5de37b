import { randomUUID } from 'node:crypto';
import { type Event, getFunctionCalls } from '@google/adk';
import type { Content, FunctionCall, Part } from '@google/genai';
import { inputQuestion, REQUEST_INPUT } from './questions.ts';
import type { DeferredCall } from './run.ts';

/**
 * Custom metadata of an event in which a workflow node asks the user. The server gives the call in this event a new id, because a node may use the same id
 * repeatedly.
 */
const ASKED_BY_NODE = { duologue: 'question' } as const;

/** Whether a node of a workflow asks the user in this event. */
export function isAskedByNode({ customMetadata }: Event): boolean {
  return customMetadata?.duologue === ASKED_BY_NODE.duologue;
}

/**
 * The event in which a node of a workflow asks the user, with a call id that no other call of the session has; undefined for any other event. ADK's own id
 * stays in the arguments, as `interruptId`.
 */
export function askedByNode(event: Event): Event | undefined {
  const parts = event.content?.parts ?? [];
  if (!event.nodeInfo?.path || !parts.some(({ functionCall }) => isNodeQuestion(functionCall)))
    return undefined;
  const ids = new Map<string, string>();
  for (const { functionCall } of parts)
    if (isNodeQuestion(functionCall)) ids.set(String(functionCall?.id), `question_${randomUUID()}`);
  const own = (id: string | undefined) => ids.get(String(id)) ?? id ?? '';
  return {
    ...event,
    content: {
      ...event.content,
      parts: parts.map((part) =>
        part.functionCall
          ? { ...part, functionCall: { ...part.functionCall, id: own(part.functionCall.id) } }
          : part,
      ),
    },
    longRunningToolIds: event.longRunningToolIds?.map(own) ?? [],
    customMetadata: { ...event.customMetadata, ...ASKED_BY_NODE },
  };
}

/** Whether a call is the question of a workflow node: ADK repeats its id as `interruptId` in the arguments, which a call of a model does not have. */
function isNodeQuestion(call: FunctionCall | undefined): boolean {
  return call?.name === REQUEST_INPUT && call.id !== undefined && call.args?.interruptId === call.id;
}

/** The questions that an event of `askedByNode` asks, as calls that are answered later. */
export function nodeQuestions(event: Event): DeferredCall[] {
  if (!isAskedByNode(event)) return [];
  return (event.content?.parts ?? []).flatMap(({ functionCall }): DeferredCall[] => {
    const { id, name, args = {} } = functionCall ?? {};
    if (id === undefined || name !== REQUEST_INPUT) return [];
    return [
      {
        id,
        toolName: name,
        args,
        runsOn: 'client',
        asks: false,
        question: inputQuestion(args),
        agent: event.author ?? '',
        invocationId: event.invocationId,
        branch: event.branch,
      },
    ];
  });
}

/** Maps the id of each call to the id that the asking node gave its question. */
export function interruptIds(events: readonly Event[]): Map<string, string> {
  const ids = new Map<string, string>();
  for (const event of events) {
    for (const { id, args } of nodeQuestions(event)) ids.set(id, String(args.interruptId));
  }
  return ids;
}

/** The name that `adk_request_input` calls get in the events from which ADK makes a request. ADK leaves out all calls and responses with the real name. */
const SHOWN_AS = 'duologue_request_input';

/**
 * A history in which a model finds the questions that it asked with `requestInputTool`, and their answers. `restoreNames` later gives the calls their
 * real names again. Questions of workflow nodes stay hidden from models, as in ADK.
 */
export function showQuestions(events: Event[]): Event[] {
  const made = new Set<string>();
  for (const event of events) {
    if (isAskedByNode(event)) continue;
    for (const { id, name } of getFunctionCalls(event)) if (id && name === REQUEST_INPUT) made.add(id);
  }
  if (made.size === 0) return events;
  return events.map((event) => {
    const { parts } = event.content ?? {};
    const isShown = parts?.some((part) => made.has((part.functionCall ?? part.functionResponse)?.id ?? ''));
    return isShown && parts
      ? {
          ...event,
          content: { ...event.content, parts: parts.map((part) => renamed(part, REQUEST_INPUT, SHOWN_AS)) },
        }
      : event;
  });
}

/** The contents with the real names of calls that `showQuestions` renamed. */
export function restoreNames(contents: Content[]): Content[] {
  return contents.map((content) => ({
    ...content,
    ...(content.parts ? { parts: content.parts.map((part) => renamed(part, SHOWN_AS, REQUEST_INPUT)) } : {}),
  }));
}

function renamed(part: Part, from: string, name: string): Part {
  if (part.functionCall?.name === from) return { ...part, functionCall: { ...part.functionCall, name } };
  if (part.functionResponse?.name === from)
    return { ...part, functionResponse: { ...part.functionResponse, name } };
  return part;
}
