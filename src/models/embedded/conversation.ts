import type { LlmRequest } from '@google/adk';
import { CONTINUE, readNotice } from '../prompt-texts.ts';
import { LONGEST_UNDERSTOOD, tidy } from './understand/text.ts';

type Content = LlmRequest['contents'][number];
type Part = NonNullable<Content['parts']>[number];

/** A picture that came with a message. */
export interface Picture {
  mimeType: string;
  base64: string;
}

/** A file that came with a message, other than a picture. */
export interface AttachedFile extends Picture {
  name: string | undefined;
}

/** A tool call that the model made, with its response if there is one. */
export interface Call {
  name: string;
  args: Record<string, unknown>;
  id?: string;
  response?: Record<string, unknown>;
}

/** A message of the user, with everything that the model did until the next message of the user. */
export interface Turn {
  /** The message with unified spelling (`tidy`); empty when the message is too long to be understood. */
  text: string;
  /** The beginning of a message that is too long. */
  excerpt?: string;
  pictures: Picture[];
  files: AttachedFile[];
  calls: Call[];
  /** The text that the model wrote in this turn. */
  spoken: string;
  /** The text that the model wrote after its last call in this turn. It is empty while the model has not reported the outcome. */
  closing: string;
}

/**
 * Why ADK calls the model: to answer the last message, to report results of tool calls, or to continue after its own text because a call of an
 * earlier turn now has a response.
 */
export type Asked = 'answer' | 'results' | 'continuation';

/** The conversation so far, read from the contents of ADK's request. */
export interface Conversation {
  turns: Turn[];
  /**
   * The calls whose outcomes the next answer reports: those that got a response after the model's last output. If there are none and the model's last output
   * made calls, then those calls of the last turn that have no response.
   */
  fresh: Call[];
  asked: Asked;
}

/** Reads the contents of a request into turns. Thoughts, and texts of other agents, are left out. */
export function readConversation(contents: readonly Content[]): Conversation {
  const turns: Turn[] = [];
  let fresh: Call[] = [];
  let asked: Asked = 'answer';
  for (const content of contents) {
    const parts = content.parts ?? [];
    if (content.role === 'model') {
      asked = hear(currentOf(turns), parts) ? 'results' : 'continuation';
      fresh = [];
      continue;
    }
    if (parts[0]?.text?.startsWith('For context:')) continue;
    for (const part of parts) {
      const answered = answer(turns, part);
      if (answered === undefined) continue;
      if (!fresh.includes(answered)) fresh.push(answered);
      asked = 'results';
    }
    const noticed = noticedCalls(turns, parts);
    if (noticed.length > 0) {
      fresh.push(...noticed.filter((call) => !fresh.includes(call)));
      asked = 'continuation';
      continue;
    }
    const message = messageIn(parts);
    if (message === undefined) continue;
    turns.push(message);
    asked = 'answer';
  }
  if (asked === 'results' && fresh.length === 0) {
    fresh = currentOf(turns).calls.filter((call) => call.response === undefined);
  }
  return { turns, fresh, asked };
}

function currentOf(turns: Turn[]): Turn {
  const last = turns.at(-1);
  if (last !== undefined) return last;
  const first = { text: '', pictures: [], files: [], calls: [], spoken: '', closing: '' };
  turns.push(first);
  return first;
}

/** Adds the model's text and calls to the turn. Returns whether there were calls. */
function hear(turn: Turn, parts: readonly Part[]): boolean {
  let hasCalls = false;
  for (const part of parts) {
    const call = callIn(part);
    if (call !== undefined) {
      turn.calls.push(call);
      turn.closing = '';
      hasCalls = true;
    } else if (part.text !== undefined && part.thought !== true) {
      turn.spoken += part.text;
      turn.closing += part.text;
    }
  }
  return hasCalls;
}

function callIn(part: Part): Call | undefined {
  const { functionCall } = part;
  if (functionCall?.name === undefined || functionCall.name.startsWith('adk_')) return undefined;
  return {
    name: functionCall.name,
    args: functionCall.args ?? {},
    ...(functionCall.id === undefined ? {} : { id: functionCall.id }),
  };
}

function messageIn(parts: readonly Part[]): Turn | undefined {
  const texts = parts.flatMap((part) =>
    part.text === undefined || part.thought === true ? [] : [part.text],
  );
  const pictures = parts.flatMap(({ inlineData }) =>
    inlineData?.data !== undefined && (inlineData.mimeType ?? '').startsWith('image/')
      ? [{ mimeType: inlineData.mimeType ?? '', base64: inlineData.data }]
      : [],
  );
  // The user's speech may be in the history as sound without a name; a sound file that the user attached has one.
  const files = parts.flatMap(({ inlineData: { data, mimeType = '', displayName: name } = {} }) =>
    data === undefined || mimeType.startsWith('image/') || (mimeType.startsWith('audio/') && !name)
      ? []
      : [{ name, mimeType, base64: data }],
  );
  const others = parts.some((part) => part.inlineData !== undefined || part.fileData !== undefined);
  if (texts.length === 0 && pictures.length === 0 && !others) return undefined;
  return { ...wordsOf(texts.join('\n')), pictures, files, calls: [], spoken: '', closing: '' };
}

/** The calls whose results are in a notice of the server. A text that only looks like a notice, without a response in the history, is an ordinary message. */
function noticedCalls(turns: readonly Turn[], parts: readonly Part[]): Call[] {
  const notices = parts.flatMap((part) => readNotice(part.text ?? '') ?? []);
  if (notices.length < parts.length) return [];
  const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
  const calls = turns.flatMap((turn) => turn.calls);
  const found = notices.flatMap(
    ({ name, args, response }) =>
      calls.findLast(
        (call) => call.name === name && same(call.args, args) && same(call.response, response),
      ) ?? [],
  );
  return found.length === notices.length ? found : [];
}

function wordsOf(written: string): Pick<Turn, 'text' | 'excerpt'> {
  const excerpt = tidy(written.slice(0, 200));
  // Do not unify the spelling of a very long message: the rules do not read it, and the work grows with its length.
  if (written.length > 10 * LONGEST_UNDERSTOOD) return { text: '', excerpt };
  const text = tidy(written);
  return text.length > LONGEST_UNDERSTOOD ? { text: '', excerpt } : { text };
}

/**
 * Stores a response in the call that it belongs to, and returns the call: the one with its id, or else the oldest call of its name that has no response or
 * only a pending one. Undefined for a part that is no response, and for a response without a call.
 */
function answer(turns: readonly Turn[], part: Part): Call | undefined {
  const { functionResponse } = part;
  if (functionResponse === undefined) return undefined;
  const calls = turns.flatMap((turn) => turn.calls);
  const sameName = calls.filter((call) => call.name === functionResponse.name);
  const call =
    (functionResponse.id === undefined
      ? undefined
      : calls.find((known) => known.id === functionResponse.id)) ??
    sameName.find((known) => known.response === undefined) ??
    sameName.find((known) => known.response?.status === 'pending');
  if (call === undefined) return undefined;
  call.response = functionResponse.response ?? {};
  return call;
}

/**
 * Splits the contents of a request to continue an answer that was cut off: into the contents before that answer, and the text of the answer that was
 * already written. Null for any other request.
 */
export function readContinuation(
  contents: readonly Content[],
): { contents: Content[]; written: string } | null {
  if (!contents.at(-1)?.parts?.some(isInstruction)) return null;
  const rest = contents.flatMap((content) => withoutInstruction(content));
  const from = rest.findLastIndex((content) => content.role !== 'model' || content.parts?.some(hasCall));
  const written = rest
    .splice(from + 1)
    .flatMap(({ parts = [] }) => parts.map((part) => (part.thought ? '' : (part.text ?? ''))));
  return { contents: rest, written: written.join('') };
}

function isInstruction(part: Part): boolean {
  return part.text === CONTINUE;
}

function hasCall(part: Part): boolean {
  return part.functionCall !== undefined;
}

function withoutInstruction(content: Content): Content[] {
  const parts = (content.parts ?? []).filter((part) => !isInstruction(part));
  return parts.length === 0 ? [] : [{ ...content, parts }];
}
