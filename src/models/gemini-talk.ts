import type { LlmResponse } from '@google/adk';
import type {
  Blob,
  Content,
  FunctionResponse,
  FunctionResponseScheduling,
  LiveClientContent,
  LiveSendRealtimeInputParameters,
  LiveServerMessage,
} from '@google/genai';
import { GeminiCalls } from './gemini-calls.ts';
import type { LiveFamily } from './gemini-families.ts';
import { seedOf } from './gemini-history.ts';
import type { LinkInput } from './gemini-link.ts';
import { GeminiMessages } from './gemini-messages.ts';
import { endsInTransfer } from './transfer.ts';

/** What goes to the server, in one frame. */
export type Frame =
  | { clientContent: LiveClientContent }
  | { realtimeInput: LiveSendRealtimeInputParameters }
  | { functionResponses: FunctionResponse[] };

/** What is known when a session begins. */
export interface TalkOptions {
  modelVersion: string;
  family: LiveFamily;
  isSpoken: boolean;
  /** Whether the server finds out by itself when the person speaks. */
  detectsActivity: boolean;
  /** Whether calls have ids: otherwise responses must have none. */
  hasIds: boolean;
  /** The tools whose calls go on beside the conversation. */
  nonBlocking: ReadonlySet<string>;
  /** What was said before; told to a session that is new. */
  history: readonly Content[];
}

/** What is to be done: something is sent, told to ADK, or said to the link. */
export type TalkEffect =
  | { type: 'send'; frame: Frame }
  | { type: 'tell'; response: LlmResponse }
  | { type: 'link'; input: LinkInput };

/** Something that was said to the model and to which it owes a reaction. */
interface Owed {
  content: Content;
  isRepeated: boolean;
}

/** Something for the model: a content, sound or a picture, or when the person speaks. */
export type Given = { content: Content } | { blob: Blob } | { activity: 'start' | 'end' };

/** Sound that waits while there is no socket: two seconds of it, the newest. */
const MAX_HELD = 100;
/** How long a model that was asked something may say nothing: usually, and after its session was taken up again. */
const SILENT_MS = 60_000;
const RESUMED_MS = 10_000;
/** How long a model may pause that says something nobody asked for, before that counts as said. */
const UNASKED_MS = 3000;
/** How long what a model has made may play before it says that its turn is over. */
const PLAYING_MS = 600_000;

/** What is said on a live connection, in both directions, without any socket or clock: a session over many sockets. */
export class GeminiTalk {
  private readonly options: TalkOptions;
  private readonly messages: GeminiMessages;
  private readonly calls = new GeminiCalls();
  private history: readonly Content[];
  private isReady = false;
  private hasBegun = false;
  /** Whether the session is one that another connection began. */
  private isOld = false;
  /** What waits for a socket, in order. */
  private held: Given[] = [];
  /** Whether the person speaks, where the client says so. */
  private isTalking = false;
  private notices: { text: string; isSilent: boolean }[] = [];
  private owed: Owed | null = null;
  /** Responses that the server may not have got, and whether each was sent before. */
  private unconfirmed: { response: FunctionResponse; isRepeated: boolean }[] = [];
  /** Whether the model has begun a turn and not ended it. */
  private isInTurn = false;
  /** Whether something was sent in the middle of a turn: the end of that turn is not the end of the answer. */
  private endsEarlier = false;
  /** Whether the model was asked something since it ended its turn. */
  private isAsked = false;
  /** Whether the session was taken up again and nothing came since. */
  private isFresh = false;
  private movedAt = 0;
  private wasBusy = false;
  private out: TalkEffect[] = [];

  constructor(options: TalkOptions) {
    this.options = options;
    this.messages = new GeminiMessages(options);
    this.history = options.history;
  }

  /** Whether the model is in the middle of something, or owes a reaction. */
  get isBusy(): boolean {
    return this.messages.isBusy || this.isOwed || this.held.some((given) => 'content' in given);
  }

  /** Whether the model has not reacted yet to what it was sent. */
  private get isOwed(): boolean {
    return this.owed !== null || this.unconfirmed.some(({ response }) => isSpokenOf(response));
  }

  /** When to come back, if nothing happens. */
  get wakesAt(): number | null {
    const { wakesAt } = this.messages;
    const silentAt = this.silentAt();
    if (wakesAt === null) return silentAt;
    return silentAt === null ? wakesAt : Math.min(wakesAt, silentAt);
  }

  /** ADK gives what was said before. */
  tellHistory(history: Content[]): void {
    this.history = history;
  }

  /** A socket is open. */
  ready(isResumed: boolean, now: number): TalkEffect[] {
    const isFirst = !this.hasBegun;
    this.hasBegun = true;
    this.isReady = true;
    this.movedAt = now;
    if (isResumed) {
      this.isFresh = this.isBusy;
      if (isFirst) {
        this.isOld = true;
        this.calls.tell(this.history, true);
      }
      for (const one of this.unconfirmed) this.repeat(one);
    } else this.begin();
    for (const given of this.held.splice(0)) this.give(given);
    return this.done();
  }

  /** The socket is gone; another one may follow. */
  lost(): TalkEffect[] {
    this.isReady = false;
    return this.done();
  }

  /** Something for the model: at once, or when there is a socket. */
  take(given: Given, now: number): TalkEffect[] {
    if ('content' in given) this.movedAt = now;
    const isInterrupted = 'activity' in given && given.activity === 'start';
    // Whoever interrupts waits for an end: here there is nothing to end.
    if (isInterrupted && !this.isBusy) {
      this.tell([{ turnComplete: true, customMetadata: { goesOn: false, isIdle: true } }]);
    }
    if (this.isReady) this.give(given);
    else this.hold(given);
    return this.done();
  }

  push(message: LiveServerMessage, now: number): TalkEffect[] {
    this.movedAt = now;
    const { serverContent, toolCall, toolCallCancellation, sessionResumptionUpdate, goAway } = message;
    if (serverContent || toolCall) this.confirmed(message);
    const { fresh, responses } = this.calls.take(toolCall?.functionCalls ?? []);
    const told = this.messages.push(message, now, fresh);
    if (toolCallCancellation) this.calls.cancel(toolCallCancellation.ids ?? []);
    this.tell(told);
    if (sessionResumptionUpdate) this.resumable(sessionResumptionUpdate);
    if (goAway) this.link({ type: 'goAway', inMs: seconds(goAway.timeLeft) * 1000 });
    if (responses.length > 0) this.respond(responses);
    return this.done();
  }

  /** Time has passed. */
  time(now: number): TalkEffect[] {
    this.tell(this.messages.complete(now));
    const silentAt = this.silentAt();
    if (silentAt !== null && now >= silentAt) this.silent(now);
    return this.done();
  }

  /** The connection is over: what was said and not yet told as a whole. */
  end(): TalkEffect[] {
    this.isReady = false;
    this.tell(this.messages.end());
    return this.out.splice(0);
  }

  /** A session that is new is told what was said before. Nobody speaks because of it. */
  private begin(): void {
    this.calls.tell(this.history, false);
    const turns = seedOf(this.history);
    if (turns.length === 0) return;
    const turnComplete = this.options.family.announcesHistory || endsInTransfer(this.history);
    if (endsInTransfer(this.history)) this.isAsked = true;
    this.send({ clientContent: { turns, turnComplete } });
  }

  private hold(given: Given): void {
    this.held.push(given);
    const media = this.held.filter((one) => 'blob' in one);
    if (media.length > MAX_HELD) this.held = this.held.filter((one) => one !== media[0]);
  }

  private give(given: Given): void {
    if ('content' in given) this.sendContent(given.content);
    else if ('blob' in given) this.sendMedia(given.blob);
    else this.signal(given.activity);
  }

  private sendContent(content: Content): void {
    const parts = content.parts ?? [];
    const responses = parts.flatMap((part) => part.functionResponse ?? []);
    if (responses.length > 0) return this.answer(responses);
    this.tell(this.messages.complete());
    this.tellNotices(false);
    this.owed = { content, isRepeated: false };
    this.asked();
    this.sendSaid(content);
  }

  private sendSaid(content: Content): void {
    const parts = content.parts ?? [];
    const [first] = parts;
    if (this.options.family.typesInRealtime && parts.length === 1 && first?.text) {
      this.send({ realtimeInput: { text: first.text } });
    } else this.send({ clientContent: { turns: [{ role: 'user', ...content }], turnComplete: true } });
  }

  private sendMedia(blob: Blob): void {
    const { mimeType = '' } = blob;
    if (mimeType.startsWith('audio/')) this.send({ realtimeInput: { audio: blob } });
    else if (mimeType.startsWith('image/')) this.send({ realtimeInput: { video: blob } });
  }

  private signal(which: 'start' | 'end'): void {
    const { detectsActivity, family } = this.options;
    if (!detectsActivity) {
      const isTalking = which === 'start';
      // Whoever interrupts while they speak has said so already.
      if (isTalking === this.isTalking) return;
      this.isTalking = isTalking;
      this.send({ realtimeInput: isTalking ? { activityStart: {} } : { activityEnd: {} } });
    } else if (which === 'end') this.send({ realtimeInput: { audioStreamEnd: true } });
    // A model that listens by itself takes no such signal. Content interrupts an older one; a newer one is stopped by the
    // next word, typed or spoken, and is not heard until then.
    else if (!family.typesInRealtime && this.isBusy) this.send({ clientContent: { turnComplete: false } });
  }

  private answer(given: FunctionResponse[]): void {
    const { responses, notices } = this.calls.answer(given, this.isOld);
    this.notices.push(...notices);
    if (responses.length > 0) this.respond(responses);
    this.tellNotices(true);
  }

  private respond(responses: FunctionResponse[]): void {
    const scheduled = responses.map((response) => this.scheduled(response));
    for (const response of scheduled) this.unconfirmed.push({ response, isRepeated: false });
    this.asked();
    this.send({ functionResponses: scheduled });
  }

  private repeat(one: { response: FunctionResponse; isRepeated: boolean }): void {
    if (one.isRepeated) return;
    one.isRepeated = true;
    this.send({ functionResponses: [one.response] });
  }

  /** Results that the session does not know: content interrupts the model, so they wait until it has ended its turn. */
  private tellNotices(turnComplete: boolean): void {
    if (this.notices.length === 0 || !this.isReady || (turnComplete && this.isBusy)) return;
    const notices = this.notices.splice(0);
    const isHeard = turnComplete && notices.some(({ isSilent }) => !isSilent);
    const turn: Content = { role: 'user', parts: notices.map(({ text }) => ({ text })) };
    this.send({ clientContent: { turns: [turn], turnComplete: isHeard } });
    if (!isHeard) return;
    this.asked();
    this.owed = { content: turn, isRepeated: false };
  }

  private scheduled(response: FunctionResponse): FunctionResponse {
    const { family, nonBlocking } = this.options;
    const { scheduling, id, ...rest } = response;
    const plain = id === undefined || !this.options.hasIds ? rest : { id, ...rest };
    if (!family.takesScheduling || !nonBlocking.has(response.name ?? '')) return plain;
    const when = response.response?.interrupted === true ? 'SILENT' : 'WHEN_IDLE';
    return { ...plain, scheduling: scheduling ?? (when as FunctionResponseScheduling) };
  }

  private asked(): void {
    this.isAsked = true;
    this.endsEarlier = this.isInTurn;
  }

  /** The server reacts: it has what it was sent. */
  private confirmed({ serverContent, toolCall }: LiveServerMessage): void {
    this.isFresh = false;
    const { modelTurn, outputTranscription, turnComplete, interrupted } = serverContent ?? {};
    const says = toolCall || modelTurn?.parts?.length || outputTranscription?.text;
    if (says) this.isInTurn = true;
    if (serverContent?.inputTranscription) this.isAsked = true;
    // An interruption is a reaction to what was sent: the answer is still to come.
    if (interrupted && !says) return;
    if (says || (turnComplete && !this.endsEarlier)) {
      this.owed = null;
      this.unconfirmed = [];
      this.endsEarlier = false;
    }
  }

  private resumable({
    newHandle,
    resumable,
  }: NonNullable<LiveServerMessage['sessionResumptionUpdate']>): void {
    // While it is at work the server may say that it cannot be resumed now: from the last handle it still can.
    if (!newHandle) return;
    this.link({ type: 'handle', handle: newHandle });
    this.tell([
      { liveSessionResumptionUpdate: { newHandle, ...(resumable === undefined ? {} : { resumable }) } },
    ]);
  }

  /** When the model has been silent for too long; null while it owes nothing, or waits for us. */
  private silentAt(): number | null {
    if (!this.isReady || this.calls.areOpen) return null;
    if (this.messages.isPlaying) return this.movedAt + PLAYING_MS;
    if (this.messages.isBusy && !this.isAsked) return this.movedAt + UNASKED_MS;
    if (!this.isBusy) return null;
    return this.movedAt + (this.isFresh ? RESUMED_MS : SILENT_MS);
  }

  /** What it was asked may never have arrived, and is said once more; otherwise its turn has ended. */
  private silent(now: number): void {
    this.movedAt = now;
    const { owed } = this;
    if (this.isFresh && owed && !owed.isRepeated && !this.messages.isBusy) {
      owed.isRepeated = true;
      return this.sendSaid(owed.content);
    }
    const isCutOff = this.isAsked;
    this.owed = null;
    this.unconfirmed = [];
    this.endsEarlier = false;
    const code = this.isFresh ? 'INCOMPLETE' : 'SILENT';
    this.isFresh = false;
    this.tell([
      ...this.messages.end(),
      ...(isCutOff ? [{ errorCode: code, errorMessage: 'The live model said nothing any more.' }] : []),
      { turnComplete: true },
    ]);
  }

  private send(frame: Frame): void {
    this.out.push({ type: 'send', frame });
  }

  private tell(responses: LlmResponse[]): void {
    for (const response of responses) {
      const { turnComplete, interrupted, customMetadata } = response;
      if (turnComplete) this.isInTurn = false;
      if (turnComplete && (this.isOwed || this.calls.areLatestOpen)) {
        this.endsEarlier = false;
        this.calls.leaveTurn();
        // The end of what was said before, or of a turn that made calls: the answer follows.
        this.out.push({
          type: 'tell',
          response: { turnComplete, customMetadata: { ...customMetadata, goesOn: true, isIdle: true } },
        });
        continue;
      }
      // So is an interruption: what was sent caused it.
      if (interrupted && this.owed && !customMetadata?.toolCallCancellation) continue;
      this.out.push({ type: 'tell', response });
      if (!turnComplete || customMetadata?.isIdle) continue;
      this.isAsked = false;
      this.calls.endTurn();
    }
  }

  private link(input: LinkInput): void {
    this.out.push({ type: 'link', input });
  }

  private done(): TalkEffect[] {
    this.tellNotices(true);
    const { isBusy } = this;
    if (isBusy !== this.wasBusy) this.link({ type: 'busy', isBusy });
    this.wasBusy = isBusy;
    return this.out.splice(0);
  }
}

/** Whether a model that gets a response says something to it. */
function isSpokenOf({ response, scheduling }: FunctionResponse): boolean {
  return response?.interrupted !== true && scheduling !== 'SILENT';
}

/** A duration as Google writes it: `50s`, `1.5s`. */
function seconds(text: string | undefined): number {
  const value = Number.parseFloat(text ?? '');
  return Number.isFinite(value) ? Math.max(0, value) : 0;
}
