import { CONFIRMATION_TOOL, type Message } from 'duologue/protocol';
import type { WireEvent } from '../wire/wire-event.ts';
import { frameOf } from './asked.ts';

/** An action of the user, derived from what the page sent. */
export type Action =
  | { type: 'say'; message: Message; messageId: string | undefined }
  | { type: 'regenerate'; messageId: string | undefined }
  | { type: 'decide'; toolCallId: string; approved: boolean; reason: string | undefined }
  | { type: 'interrupt' };

/** The output or the error of a browser tool. */
export type Output = { output: unknown } | { errorText: string };

interface Part {
  type: string;
  toolCallId?: string;
  state?: string;
  output?: unknown;
  errorText?: string;
  approval?: { approved?: boolean; reason?: string };
}

interface TextLog {
  messages?: unknown;
  trigger?: string;
  messageId?: string;
}

/** The actions of the user that made the page send an event. */
export function actionsOf(event: WireEvent): Action[] {
  if (event.type === 'request') {
    if (event.method !== 'POST') return [];
    if (/\/sessions\/[^/]+\/stop$/.test(event.path)) return [{ type: 'interrupt' }];
    return isStream(event) ? actionsIn(bodyOf(event.body)) : [];
  }
  if (event.type !== 'text' || event.direction !== 'out') return [];
  const frame = frameOf(event.text);
  switch (frame.type) {
    case 'message':
      return actionsIn(frame.data as TextLog);
    case 'interrupt':
      return [{ type: 'interrupt' }];
    case 'tool_result': {
      const { toolCallId, status, reason, result } = frame.data as Record<string, unknown>;
      if (typeof toolCallId !== 'string') return [];
      if (status === 'approved' || status === 'rejected') {
        const approved = status === 'approved';
        return [{ type: 'decide', toolCallId, approved, reason: textOf(reason) }];
      }
      const confirmed = confirmedIn(result);
      return confirmed === null
        ? []
        : [{ type: 'decide', toolCallId, approved: confirmed, reason: undefined }];
    }
    default:
      return [];
  }
}

/** The outputs and errors of all browser tools in a recording, by call id. */
export function outputsIn(events: readonly WireEvent[]): Map<string, Output> {
  const outputs = new Map<string, Output>();
  const put = (id: unknown, output: Output) => {
    if (typeof id === 'string') outputs.set(id, output);
  };
  for (const event of events) {
    let texts: TextLog = {};
    if (isStream(event)) texts = bodyOf(event.body);
    else if (event.type === 'text' && event.direction === 'out') {
      const { type, data } = frameOf(event.text);
      if (type === 'message') texts = data as TextLog;
      else if (type === 'tool_result') {
        const { toolCallId, result, error } = data as Record<string, unknown>;
        if (result !== undefined) put(toolCallId, { output: result });
        else if (error !== undefined) put(toolCallId, { errorText: String(error) });
      }
    }
    for (const part of lastOf(texts)?.parts ?? []) {
      if (part.state === 'output-available') put(part.toolCallId, { output: part.output });
      if (part.state === 'output-error') put(part.toolCallId, { errorText: part.errorText ?? '' });
    }
  }
  return outputs;
}

/** Whether the event is the request for a watch stream. */
export function isWatch(event: WireEvent): boolean {
  return event.type === 'request' && /\/sessions\/[^/]+\/watch(?:\?|$)/.test(event.path);
}

/** Whether the event is a post to `/stream`. */
export function isStream(event: WireEvent): event is Extract<WireEvent, { type: 'request' }> {
  return event.type === 'request' && event.method === 'POST' && /\/stream$/.test(event.path);
}

function actionsIn(texts: TextLog): Action[] {
  const last = lastOf(texts);
  if (texts.trigger === 'regenerate-message') return [{ type: 'regenerate', messageId: texts.messageId }];
  if (!last) return [];
  if (last.role === 'user') {
    return [{ type: 'say', message: last as unknown as Message, messageId: texts.messageId }];
  }
  return last.parts.flatMap((part): Action[] => {
    const { toolCallId, approval } = part;
    if (toolCallId === undefined) return [];
    if (part.type === `tool-${CONFIRMATION_TOOL}`) {
      const confirmed = confirmedIn(part.output);
      return confirmed === null
        ? []
        : [{ type: 'decide', toolCallId, approved: confirmed, reason: undefined }];
    }
    if (approval?.approved === undefined) return [];
    return [{ type: 'decide', toolCallId, approved: approval.approved, reason: approval.reason }];
  });
}

function lastOf(texts: TextLog): { role: string; parts: Part[] } | null {
  const last = Array.isArray(texts.messages)
    ? (texts.messages.at(-1) as { role?: unknown; parts?: unknown })
    : null;
  if (!last || typeof last.role !== 'string' || !Array.isArray(last.parts)) return null;
  return last as { role: string; parts: Part[] };
}

function bodyOf(text: string | null): TextLog {
  return text === null ? {} : parsed(text);
}

function parsed(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) as Record<string, unknown> | null) ?? {};
  } catch {
    return {};
  }
}

function confirmedIn(value: unknown): boolean | null {
  const confirmed = (value as { confirmed?: unknown } | null | undefined)?.confirmed;
  return typeof confirmed === 'boolean' ? confirmed : null;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
