import type { ApiReader, Fold } from './api.ts';
import { foldParts, type PartsFold, readGrounding } from './gemini.ts';
import { type Draft, firstKey, isObject, list, type Obj, obj, str, strOrNull } from './json.ts';
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

/** One turn of a session; the folded body is a list of them. */
interface Turn {
  parts: PartsFold;
  spoken: string;
  heard: string;
  calls: Obj[];
  complete: boolean;
  interrupted: boolean;
  reason: string | null;
  grounding: unknown;
}

interface Session extends Obj {
  turns: Turn[];
  cancelled: Set<unknown>;
  usage: Draft;
  id: unknown;
}

function addUsage(sum: Draft, usage: Obj): void {
  for (const [key, value] of Object.entries(usage)) {
    const known = sum[key];
    if (typeof value === 'number' && typeof known === 'number') sum[key] = known + value;
    else sum[key] = Array.isArray(value) && Array.isArray(known) ? [...known, ...value] : value;
  }
}

function fold(): Fold {
  const session: Session = { turns: [], cancelled: new Set(), usage: {}, id: null };
  let open: Turn | null = null;
  const turn = (): Turn => {
    if (open === null) {
      open = {
        parts: foldParts(),
        spoken: '',
        heard: '',
        calls: [],
        complete: false,
        interrupted: false,
        reason: null,
        grounding: null,
      };
      session.turns.push(open);
    }
    return open;
  };
  const pushContent = (content: Obj): void => {
    if (Object.keys(content).length === 0) return;
    const now = turn();
    for (const part of list(obj(content.modelTurn).parts)) now.parts.push(obj(part));
    now.spoken += str(obj(content.outputTranscription).text);
    now.heard += str(obj(content.inputTranscription).text);
    now.grounding ??= content.groundingMetadata;
    now.reason ??= strOrNull(content.turnCompleteReason);
    now.interrupted ||= content.interrupted === true;
    if (content.turnComplete !== true) return;
    now.complete = true;
    open = null;
  };
  return {
    push(event) {
      if (firstKey(event, KEYS) === undefined && !isObject(event.usageMetadata)) return 'foreign';
      // Each message counts one generation of the model.
      addUsage(session.usage, obj(event.usageMetadata));
      session.id ??= obj(event.setupComplete).sessionId;
      pushContent(obj(event.serverContent));
      for (const call of list(obj(event.toolCall).functionCalls)) turn().calls.push(obj(call));
      for (const id of list(obj(event.toolCallCancellation).ids)) session.cancelled.add(id);
      return 'taken';
    },
    end() {
      const last = session.turns.at(-1);
      return { body: session, complete: last !== undefined && (last.complete || last.calls.length > 0) };
    },
  };
}

function readTurn(turn: Turn, record: ParsedResponse): void {
  for (const part of turn.parts.end()) {
    // In a spoken turn the transcription is the text; what the model wrote beside it is kept apart.
    if (turn.spoken !== '' && typeof part.text === 'string' && !part.thought) addOther(record, 'text', part);
    else readKeyed(part, record, record.warnings);
  }
  if (turn.spoken !== '') addText(record, turn.spoken);
  for (const call of turn.calls) addFunction(record, call.id, call.name, call.args);
  readGrounding(turn.grounding, record, record);
}

function read(body: Obj, record: ParsedResponse): void {
  const { turns, cancelled, usage, id } = body as Session;
  record.id = strOrNull(id);
  record.live = {
    inputTranscription: turns.map((turn) => turn.heard).join(''),
    outputTranscription: turns.map((turn) => turn.spoken).join(''),
    turns: turns.filter((turn) => turn.complete).length,
    interrupted: turns.filter((turn) => turn.interrupted).length,
  };
  for (const turn of turns) readTurn(turn, record);
  record.usage = readUsage('live', usage, record.warnings);
  for (const use of record.toolUses) if (cancelled.has(use.id)) use.status = 'failed';
  const last = turns.at(-1);
  record.stopReason = last?.reason ?? null;
  if (record.stopReason !== null || !record.complete) return;
  record.finish = last?.interrupted ? 'incomplete' : last?.complete ? 'stop' : 'tool_calls';
}

/** Gemini Live: the messages of one session, read as one response. */
export const geminiLive: ApiReader = {
  api: 'gemini.live',
  provider: 'gemini',
  recognise: (value) => (firstKey(value, KEYS) === undefined ? null : 'event'),
  read,
  fold,
};
