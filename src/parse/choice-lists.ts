import { choicesOf, noteBedrock } from './body.ts';
import { familyOf } from './families.ts';
import { itemAt, restate, type Streaming } from './fold.ts';
import { type Draft, isObject, type Obj, obj, objects } from './json.ts';
import { addPart, merge, mergeParts } from './merge.ts';
import { setPartialArg } from './partial-args.ts';

/** Keyed by index, else id, else the last one; some servers give every parallel call the index 0. */
function mergeCalls(deltas: readonly Obj[]): Draft[] {
  const calls: Draft[] = [];
  const known = new Map<unknown, Draft>();
  for (const delta of deltas) {
    const { index, id } = delta;
    let call = known.get(index ?? id ?? '');
    // What has neither index nor id is told apart by its name.
    const isOther = id ? call?.id && call.id !== id : index == null && obj(call?.function).name;
    if (!call || (isOther && obj(delta.function).name)) {
      call = {};
      calls.push(call);
    }
    merge(call, delta);
    known.set(index, call).set(id, call).set('', call);
  }
  return calls;
}

function closeMessage(message: Draft): Draft {
  const { content, tool_calls, reasoning_details } = message;
  if (Array.isArray(content)) message.content = mergeParts(content);
  if (tool_calls) message.tool_calls = mergeCalls(objects(tool_calls));
  if (reasoning_details) message.reasoning_details = mergeParts(objects(reasoning_details));
  return message;
}

/** Gemini's streamed parts as the whole response has them; the arguments of a call may come in pieces. */
export function closeParts(parts: readonly Obj[]): Obj[] {
  let args: Draft | null = null;
  let openPath = '';
  const whole: Draft[] = [];
  for (const part of parts) {
    const call = part.functionCall;
    if (!isObject(call)) {
      addPart(whole, part);
      continue;
    }
    // Only the first piece of a call has a name; a piece without willContinue is the last.
    if (call.name || !args) {
      const copy = merge({}, part);
      args = { ...obj(call.args) };
      copy.functionCall = { id: call.id, name: call.name, args };
      whole.push(copy);
    }
    for (const piece of objects(call.partialArgs)) openPath = setPartialArg(args, piece, openPath);
    if (!call.willContinue) args = null;
  }
  return whole;
}

/**
 * OpenAI Chat Completions and legacy completions, Gemini generateContent, the families of Bedrock InvokeModel: every
 * chunk is a small response with a list of choices, or is its own only choice.
 */
export const listStreaming: Streaming = {
  take(fold, event) {
    const { body } = fold;
    const { choices, usage, x_groq, promptFeedback } = event;
    const listed = choices ?? event.candidates;
    const named = listed ?? usage ?? x_groq ?? event.usageMetadata ?? promptFeedback;
    if (!named && !fold.api.endsWith(`.${familyOf(event)}`)) return false;
    const entries = objects(named ? listed : choicesOf(event));
    const known = body.id ?? body.responseId;
    const id = event.id ?? event.responseId;
    // Another id once the response is complete is another response.
    if (fold.done && id && id !== known && entries.length > 0) return 'restart';
    // The chunks of a chat repeat their head.
    if (!choices || !known || usage || x_groq || event.error) {
      restate(body, event);
      // Groq reports usage and errors beside the chunk.
      restate(body, x_groq);
    }
    entries.forEach((entry, position) => {
      merge(itemAt(fold, entry.index ?? position), entry);
      if (entry.finish_reason || entry.stop_reason || entry.finishReason || entry.completionReason)
        fold.done = true;
    });
    if (obj(promptFeedback).blockReason || (!named && noteBedrock(event, body))) fold.done = true;
    return true;
  },
  close({ api, body }, items) {
    for (const choice of items) {
      const { delta } = choice;
      // Perplexity has an empty delta beside the message.
      const message = obj(delta).content ? delta : (choice.message ?? delta);
      if (isObject(message)) choice.message = closeMessage(message);
      if (isObject(choice.content)) choice.content = { parts: closeParts(objects(choice.content.parts)) };
      // Moonshot puts it here.
      body.usage ??= choice.usage;
    }
    items.sort((a, b) => Number(a.index) - Number(b.index));
    body[api === 'gemini.generateContent' ? 'candidates' : 'choices'] = items;
    return body;
  },
};
