import { closeParts } from './choice-lists.ts';
import { isLive } from './detect.ts';
import type { Streaming } from './fold.ts';
import { type Draft, isObject, list, type Obj, obj, objects, str } from './json.ts';
import { merge } from './merge.ts';
import type { Finish, LiveFacts } from './record.ts';

/** What is known of a session while its messages arrive. */
interface Session {
  live: LiveFacts;
  usage: Draft;
  grounding?: Draft;
  id?: unknown;
  reason?: unknown;
  finish: Finish | null;
  /** What was said in the turns that are over. */
  parts: Obj[];
  turn: Obj[];
  calls: Obj[];
  spoken: string;
  /** The model has begun a turn. */
  open: boolean;
}

function sessionOf(body: Draft): Session {
  body.session ??= {
    live: { inputTranscription: '', outputTranscription: '', turns: 0, interrupted: 0 },
    usage: {},
    finish: null,
    parts: [],
    turn: [],
    calls: [],
    spoken: '',
    open: false,
  };
  return body.session as Session;
}

function addUsage(sum: Draft, usage: Obj): void {
  for (const [key, value] of Object.entries(usage)) {
    const known = sum[key];
    if (typeof value === 'number' && typeof known === 'number') sum[key] = known + value;
    else sum[key] = Array.isArray(value) && Array.isArray(known) ? known.concat(value) : value;
  }
}

function endTurn(session: Session): void {
  const { parts, turn, calls, spoken } = session;
  for (const part of closeParts(turn)) {
    // In a spoken turn the transcription is the text; what the model wrote beside it is kept apart.
    parts.push(
      spoken && typeof part.text === 'string' && !part.thought ? { type: 'written', ...part } : part,
    );
  }
  if (spoken) parts.push({ text: spoken });
  for (const call of calls) parts.push(call);
  session.turn = [];
  session.calls = [];
  session.spoken = '';
}

/** Gemini Live: the messages of one session are one response, told in the words of generateContent. */
export const liveStreaming: Streaming = {
  take(fold, event) {
    const { usageMetadata, toolCall } = event;
    if (!isLive(event) && !isObject(usageMetadata)) return false;
    const session = sessionOf(fold.body);
    const { live, turn, calls } = session;
    const content = obj(event.serverContent);
    const { modelTurn, turnComplete, groundingMetadata } = content;
    const said = str(obj(content.outputTranscription).text);
    // Each message counts one generation of the model.
    addUsage(session.usage, obj(usageMetadata));
    session.id ??= obj(event.setupComplete).sessionId;
    session.reason = content.turnCompleteReason ?? session.reason;
    session.spoken += said;
    live.outputTranscription += said;
    live.inputTranscription += str(obj(content.inputTranscription).text);
    if (groundingMetadata) session.grounding = merge(session.grounding ?? {}, obj(groundingMetadata));
    for (const part of objects(obj(modelTurn).parts)) turn.push(part);
    for (const functionCall of objects(obj(toolCall).functionCalls)) calls.push({ functionCall });
    for (const id of list(obj(event.toolCallCancellation).ids))
      calls.push({ toolResponse: { id, status: 'failed' } });
    if (toolCall || modelTurn || said) session.open = true;
    if (content.interrupted) {
      live.interrupted++;
      session.finish = 'incomplete';
    }
    if (turnComplete) {
      live.turns++;
      session.finish ??= 'stop';
      session.open = false;
      endTurn(session);
    } else if (modelTurn) session.finish = null;
    return true;
  },
  close({ body }) {
    const session = sessionOf(body);
    const { live, id, usage, parts, reason, open, grounding } = session;
    const waiting = session.calls.length > 0;
    const complete = waiting || (!open && live.turns > 0);
    endTurn(session);
    return {
      id,
      usageMetadata: usage,
      candidates: [{ content: { parts }, finishReason: reason, groundingMetadata: grounding }],
      facts: { live, complete, finish: waiting ? 'tool_calls' : reason || !complete ? null : session.finish },
    };
  },
};
