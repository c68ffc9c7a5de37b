import type { ApiDescription, ApiNames } from '../api.ts';
import type { Streaming } from '../fold.ts';
import { type Draft, list, type Obj, obj, objects, str } from '../json.ts';
import { merge } from '../merge.ts';
import { fromPython } from '../python-dump.ts';
import type { Finish } from '../reading.ts';
import { closeParts, readOwn } from './gemini-generate-content.ts';

function addUsage(sum: Draft, usage: Obj): void {
  for (const [key, value] of Object.entries(usage)) {
    const known = sum[key];
    if (typeof value === 'number' && typeof known === 'number') sum[key] = known + value;
    else sum[key] = Array.isArray(value) && Array.isArray(known) ? known.concat(value) : value;
  }
}

const streaming: Streaming = {
  ownEvents: true,
  take(fold, given) {
    const event = fromPython(given);
    const known =
      event.serverContent ??
      event.toolCall ??
      event.setupComplete ??
      event.goAway ??
      event.sessionResumptionUpdate ??
      event.toolCallCancellation ??
      event.usageMetadata;
    if (!known) return false;
    // Messages have no index, so the number of earlier messages is the key.
    fold.items.set(fold.items.size, event as Draft);
    return true;
  },
  close(fold, messages) {
    const live = { inputTranscription: '', outputTranscription: '', turns: 0, interrupted: 0 };
    const usageMetadata: Draft = {};
    const parts: Obj[] = [];
    let turn: Obj[] = [];
    let calls: Obj[] = [];
    let spoken = '';
    let finish: Finish = 'stop';
    let id: unknown;
    let groundingMetadata: Draft | undefined;
    let finishReason: unknown;
    const endTurn = (): void => {
      for (const part of closeParts(turn)) {
        // In a spoken turn the transcription is the text of the record. Text that the model also wrote becomes a part of type `other`.
        parts.push(spoken && part.text && !part.thought ? { type: 'written', ...part } : part);
      }
      if (spoken) parts.push({ text: spoken });
      for (const call of calls) parts.push(call);
      turn = [];
      calls = [];
      spoken = '';
    };
    for (const message of messages) {
      const content = obj(message.serverContent);
      const { modelTurn } = content;
      const words = str(obj(content.outputTranscription).text);
      // Each message with a usage has the counts of one generation. The record gets the sum of all generations.
      addUsage(usageMetadata, obj(message.usageMetadata));
      if (content.groundingMetadata)
        groundingMetadata = merge(groundingMetadata ?? {}, obj(content.groundingMetadata));
      id ??= obj(message.setupComplete).sessionId;
      finishReason = content.turnCompleteReason ?? finishReason;
      spoken += words;
      live.outputTranscription += words;
      live.inputTranscription += str(obj(content.inputTranscription).text);
      for (const part of objects(obj(modelTurn).parts)) turn.push(part);
      for (const functionCall of objects(obj(message.toolCall).functionCalls)) calls.push({ functionCall });
      for (const cancelled of list(obj(message.toolCallCancellation).ids))
        calls.push({ toolResponse: { id: cancelled, status: 'failed' } });
      if (content.interrupted) {
        live.interrupted++;
        finish = 'incomplete';
      } else if (modelTurn) finish = 'stop';
      if (content.turnComplete) {
        live.turns++;
        endTurn();
      }
    }
    const waiting = calls.length > 0;
    fold.done = waiting || (turn.length === 0 && !spoken && live.turns > 0);
    endTurn();
    fold.facts = { live, finish: waiting ? 'tool_calls' : finishReason || !fold.done ? null : finish };
    return { id, usageMetadata, candidates: [{ content: { parts }, finishReason, groundingMetadata }] };
  },
};

/** Gemini Live. All messages of a session are one response, with the field names of generateContent. */
export const geminiLive: ApiDescription<'gemini.live'> = {
  api: 'gemini.live',
  // The Live API has no whole response, only messages, which `streaming.take` recognises.
  recognise: () => null,
  choicesIn: ({ candidates }) => list(candidates),
  streaming,
  readOwn,
};

/**
 * The field names of this API. They are the `case` labels in `body.ts`, `citations.ts`, `parts.ts` and `usage.ts`; `npm test -- test/parse/names -u`
 * writes them there.
 */
export const names: ApiNames = {
  usage: { output: 'responseTokenCount', outputDetails: 'responseTokensDetails' },
};
