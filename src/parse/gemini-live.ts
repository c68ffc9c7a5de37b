import type { ApiReader, Fold, Folded, Taken } from './api.ts';
import { PartsFold, readGrounding, readPart } from './gemini.ts';
import { type Draft, firstKey, isObject, list, type Obj, obj, str, strOrNull } from './json.ts';
import { addFunction, addOther, addText } from './output.ts';
import type { ParsedResponse } from './record.ts';
import { geminiUsage } from './usage.ts';

const KEYS = [
  'serverContent',
  'toolCall',
  'setupComplete',
  'goAway',
  'sessionResumptionUpdate',
  'toolCallCancellation',
  'voiceActivity',
] as const;

/** One turn of a Live session; a session's folded body is a list of them. */
interface Turn {
  parts: PartsFold;
  spoken: string;
  heard: string;
  calls: unknown[];
  complete: boolean;
  interrupted: boolean;
  reason: unknown;
  grounding: unknown;
}

function emptyTurn(): Turn {
  return {
    parts: new PartsFold(),
    spoken: '',
    heard: '',
    calls: [],
    complete: false,
    interrupted: false,
    reason: undefined,
    grounding: undefined,
  };
}

function addUsage(sum: Draft, usage: Obj): void {
  for (const key of Object.keys(usage)) {
    const value = usage[key];
    if (typeof value === 'number') sum[key] = (typeof sum[key] === 'number' ? sum[key] : 0) + value;
    else if (Array.isArray(value)) sum[key] = Array.isArray(sum[key]) ? [...sum[key], ...value] : value;
    else if (key !== '__proto__') sum[key] = value;
  }
}

class LiveFold implements Fold {
  private readonly turns: Turn[] = [];
  private turn: Turn | null = null;
  private readonly usage: Draft = {};
  private readonly cancelled: unknown[] = [];
  private sessionId: unknown;

  push(event: Obj): Taken {
    if (firstKey(event, KEYS) === undefined && !isObject(event.usageMetadata)) return 'foreign';
    // Each message counts one generation of the model.
    if (isObject(event.usageMetadata)) addUsage(this.usage, event.usageMetadata);
    if (isObject(event.setupComplete)) this.sessionId = event.setupComplete.sessionId;
    if (isObject(event.serverContent)) this.pushContent(event.serverContent);
    for (const call of list(obj(event.toolCall).functionCalls)) this.current().calls.push(call);
    for (const id of list(obj(event.toolCallCancellation).ids)) this.cancelled.push(id);
    return 'taken';
  }

  private current(): Turn {
    if (this.turn === null) {
      this.turn = emptyTurn();
      this.turns.push(this.turn);
    }
    return this.turn;
  }

  private pushContent(content: Obj): void {
    if (Object.keys(content).length === 0) return;
    const turn = this.current();
    for (const part of list(obj(content.modelTurn).parts)) turn.parts.push(obj(part));
    turn.spoken += str(obj(content.outputTranscription).text);
    turn.heard += str(obj(content.inputTranscription).text);
    turn.grounding ??= content.groundingMetadata;
    turn.reason ??= content.turnCompleteReason;
    if (content.interrupted === true) turn.interrupted = true;
    if (content.turnComplete === true) {
      turn.complete = true;
      this.turn = null;
    }
  }

  end(): Folded {
    const turns = this.turns.map((turn) => ({ ...turn, parts: turn.parts.end() }));
    const last = this.turns.at(-1);
    const complete = last !== undefined && (last.complete || last.calls.length > 0);
    const { usage, cancelled, sessionId } = this;
    return { body: { turns, cancelled, sessionId, usageMetadata: usage }, complete };
  }
}

function readTurn(turn: Obj, record: ParsedResponse): void {
  const spoken = str(turn.spoken);
  for (const entry of list(turn.parts)) {
    const part = obj(entry);
    // In a spoken turn the transcription is the text; what the model wrote beside it is kept apart.
    if (spoken !== '' && typeof part.text === 'string' && part.thought !== true)
      addOther(record, 'text', part);
    else readPart(part, record, record.warnings);
  }
  if (spoken !== '') addText(record, spoken);
  for (const entry of list(turn.calls)) {
    const call = obj(entry);
    addFunction(record, call.id, call.name, call.args);
  }
  readGrounding(turn.grounding, record, record);
}

function read(body: Obj, record: ParsedResponse): void {
  const turns = list(body.turns).map(obj);
  record.id = strOrNull(body.sessionId);
  record.live = {
    inputTranscription: turns.map((turn) => turn.heard).join(''),
    outputTranscription: turns.map((turn) => turn.spoken).join(''),
    turns: turns.filter((turn) => turn.complete).length,
    interrupted: turns.filter((turn) => turn.interrupted).length,
  };
  for (const turn of turns) readTurn(turn, record);
  if (isObject(body.usageMetadata)) record.usage = geminiUsage(body.usageMetadata, record.warnings);
  const cancelled = new Set(list(body.cancelled));
  for (const use of record.toolUses) if (cancelled.has(use.id)) use.status = 'failed';
  const last = turns.at(-1);
  record.stopReason = strOrNull(last?.reason);
  if (record.stopReason === null && record.complete) {
    const waiting = record.toolUses.some((use) => use.status === 'pending');
    record.finish = last?.interrupted ? 'incomplete' : waiting && !last?.complete ? 'tool_calls' : 'stop';
  }
}

/** Gemini Live: the messages of one session, read as one response. */
export const geminiLive: ApiReader = {
  api: 'gemini.live',
  provider: 'gemini',
  recognise: (value) => (firstKey(value, KEYS) === undefined ? null : 'event'),
  read,
  fold: () => new LiveFold(),
};
