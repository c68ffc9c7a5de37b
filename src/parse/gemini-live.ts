import type { ApiReader } from './api.ts';
import { closeParts, readGrounding } from './gemini.ts';
import { itemFold } from './item-fold.ts';
import { type Draft, firstKey, isObject, list, type Obj, obj, objects, str, strOrNull } from './json.ts';
import { readKeyed } from './keyed-parts.ts';
import { addFunction, addOther, addText } from './output.ts';
import type { ParsedResponse } from './record.ts';
import { readUsage } from './usage.ts';

const KEYS = [
  'serverContent',
  'toolCall',
  'setupComplete',
  'goAway',
  'sessionResumptionUpdate',
  'toolCallCancellation',
  'voiceActivity',
] as const;

function addUsage(sum: Draft, usage: Obj): void {
  for (const [key, value] of Object.entries(usage)) {
    const known = sum[key];
    if (typeof value === 'number' && typeof known === 'number') sum[key] = known + value;
    else sum[key] = Array.isArray(value) && Array.isArray(known) ? known.concat(value) : value;
  }
}

/** Reads what the model said and asked for in one turn. */
function readTurn(parts: readonly unknown[], spoken: string, calls: unknown, record: ParsedResponse): void {
  for (const part of closeParts(parts)) {
    // In a spoken turn the transcription is the text; what the model wrote beside it is kept apart.
    if (spoken && typeof part.text === 'string' && !part.thought) addOther(record, 'text', part);
    else readKeyed(part, record, record.warnings);
  }
  if (spoken) addText(record, spoken);
  for (const call of objects(calls)) addFunction(record, call.id, call.name, call.args);
}

function read(body: Obj, record: ParsedResponse): void {
  const live = { inputTranscription: '', outputTranscription: '', turns: 0, interrupted: 0 };
  const usage: Draft = {};
  const cancelled = new Set<unknown>();
  let parts: unknown[] = [];
  let calls: unknown[] = [];
  let spoken = '';
  let open = false;
  const endTurn = (): void => {
    readTurn(parts, spoken, calls, record);
    parts = [];
    calls = [];
    spoken = '';
  };
  for (const message of objects(body.messages)) {
    const content = obj(message.serverContent);
    const said = str(obj(content.outputTranscription).text);
    // Each message counts one generation of the model.
    addUsage(usage, obj(message.usageMetadata));
    record.id ??= strOrNull(obj(message.setupComplete).sessionId);
    parts = parts.concat(list(obj(content.modelTurn).parts));
    calls = calls.concat(list(obj(message.toolCall).functionCalls));
    spoken += said;
    live.outputTranscription += said;
    live.inputTranscription += str(obj(content.inputTranscription).text);
    readGrounding(content.groundingMetadata, record, record);
    for (const id of list(obj(message.toolCallCancellation).ids)) cancelled.add(id);
    record.stopReason = strOrNull(content.turnCompleteReason) ?? record.stopReason;
    if (content.interrupted) {
      live.interrupted++;
      record.finish = 'incomplete';
    }
    if (message.toolCall || content.modelTurn || said) open = true;
    if (content.turnComplete) {
      live.turns++;
      record.finish ??= 'stop';
      open = false;
      endTurn();
    } else if (content.modelTurn) record.finish = null;
  }
  const waiting = calls.length > 0;
  endTurn();
  record.live = live;
  record.usage = readUsage('gemini', usage, record.warnings);
  for (const use of record.toolUses) if (cancelled.has(use.id)) use.status = 'failed';
  if (waiting) record.finish = 'tool_calls';
  else if (open || live.turns === 0) record.complete = false;
  if (record.stopReason ?? !record.complete) record.finish = null;
}

/** Gemini Live: the messages of one session, read as one response. */
export const geminiLive: ApiReader = {
  api: 'gemini.live',
  recognise: (value) => (firstKey(value, KEYS) ? 'event' : null),
  read,
  fold: itemFold({
    stepOf(event) {
      const known = firstKey(event, KEYS) ?? isObject(event.usageMetadata);
      return known ? { at: 0, piece: { messages: [event] }, done: true } : null;
    },
    close: (_, [session]) => session ?? {},
  }),
};
