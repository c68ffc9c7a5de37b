import type { Event } from '@google/adk';
import { MessageChunks, type MessageOutput, type RunView } from '../../../adk/for-server.ts';
import { base64Bytes, CANCELLED, type Chunk, type ToolFacts } from '../../../protocol/index.ts';
import type { Settlement } from '../../ledger/settlement.ts';
import { SAMPLE_BYTES } from '../../output/utterances.ts';
import { agentFailure, type Failure } from './agent-failure.ts';
import type { CallChunks } from './call-chunks.ts';
import type { RunRequest } from './effects.ts';
import type { Hearing } from './hearing.ts';
import type { Inbox } from './inbox.ts';
import type { Writing } from './messages.ts';
import type { Shared } from './shared.ts';
import type { Transcript } from './transcript.ts';

/** A run that takes what is said, and whose events count. */
export interface OpenRun {
  is: 'open';
  n: number;
  driver: RunRequest['driver'];
  /** Whether nothing more of its turn is heard: the person interrupted it. */
  isMuted: boolean;
  /** Whether it said or heard a word: that a session began is none. */
  hasSpoken: boolean;
}

/** Words of a message that is being written. */
export interface Words {
  messageId: string;
  chunks: readonly Chunk[];
}

type ToolResponse = Extract<MessageOutput, { type: 'response' }>;

/** What events need of other parts. */
interface Needs extends Shared {
  readonly callChunks: CallChunks;
  readonly hearing: Hearing;
  readonly inbox: Inbox;
  readonly transcript: Transcript;
  readonly callEnds: { cancel(callIds: readonly string[], settlement: Settlement): void };
  readonly media: { tellFailure(failure: Failure): void };
  readonly run: { isStill(run: OpenRun): boolean };
}

/** What the events of a run mean: words and sound of a message, calls, what the person was heard saying, the end of a turn. */
export class AgentEvents {
  /** Reads what belongs to no message. */
  private silent = new MessageChunks();
  /** Whether the person gave the model something since it ended its turn. */
  private isFed = false;
  /** Whether the model speaks though nobody gave it anything to answer: it keeps nothing waiting. */
  private isUnasked = false;
  /** Calls that a run announced and nobody took out of it yet: their arguments, and the message they belong to. */
  private readonly called = new Map<
    string,
    { args: Record<string, unknown>; facts: ToolFacts; writing: Writing; tell?: () => void }
  >();
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  /** Whether calls that the model made are still to come out of the run. */
  get hasCalls(): boolean {
    return this.called.size > 0;
  }

  /** How many calls of this kind the model made that ADK has not run or deferred yet. */
  countExpected(isSuch: (facts: ToolFacts) => boolean): number {
    let count = 0;
    for (const { facts } of this.called.values()) if (isSuch(facts)) count++;
    return count;
  }

  /** The model was told something, which it is expected to answer or not. */
  fed(isAsked: boolean): void {
    if (isAsked) this.isFed = true;
    this.isUnasked = false;
  }

  /** The model was shown something, or hears something. */
  shown(): void {
    this.isFed = true;
  }

  /** The model was interrupted. */
  hushed(): void {
    this.isFed = false;
    this.forgetCalls();
  }

  forgetCalls(): void {
    this.called.clear();
  }

  /** The message that a call was announced in; asked once. */
  callerOf(callId: string): Writing | undefined {
    const writing = this.called.get(callId)?.writing;
    this.called.delete(callId);
    return writing;
  }

  /** Takes an event of the run that is open. */
  take(run: OpenRun, event: Event, view: RunView): void {
    // The user's words are in the history already, and an event without a message has nothing to show.
    for (const out of this.chunksFor(event, run).push(event)) {
      if (run.driver === 'live') this.tellLive(run, out, view);
      else this.tellTurn(out, view);
    }
  }

  /** The words that an event is, if it is nothing else, they belong to the message that is being written, and they wake nobody up. */
  words(run: OpenRun, event: Event): Words | null {
    const { messages } = this.parts;
    const { speaking } = messages;
    if (run.isMuted || !speaking || !messages.isTurnedTo(speaking)) return null;
    if (run.driver === 'live' && !messages.isAtWork) return null;
    const chunks = speaking.chunks.words(event);
    if (!chunks) return null;
    messages.lastToSpeak = speaking.message.id;
    return { messageId: speaking.message.id, chunks };
  }

  private chunksFor(event: Event, run: OpenRun): MessageChunks {
    const { messages } = this.parts;
    // What still comes of an interrupted turn is not the next message's.
    if (run.isMuted) return this.silent;
    if (messages.speaking) return messages.speaking.chunks;
    const says = (event.content?.parts?.length ?? 0) > 0 && event.author !== 'user';
    if (!says && !event.outputTranscription?.text) return this.silent;
    const { chunks } = messages.begin();
    this.parts.transcript.answered();
    // The agent speaks first, or goes on by itself; or it is what was left of a turn that ended, and nothing follows.
    this.isUnasked = !this.isFed;
    messages.isAtWork = this.isFed;
    return chunks;
  }

  private tellLive(run: OpenRun, out: MessageOutput, view: RunView): void {
    const { messages, callEnds, transcript } = this.parts;
    if (!this.parts.run.isStill(run)) return;
    const { speaking } = messages;
    if (out.type === 'turn-complete') {
      if (!run.isMuted && !out.isIdle) return this.completed(out.goesOn);
      if (!run.isMuted && out.goesOn) return this.rests();
      run.isMuted = false;
      this.silent = new MessageChunks();
      return;
    }
    if (out.type === 'heard') {
      if (transcript.take(out.text, out.finished)) this.shown();
      return;
    }
    if (out.type === 'interrupted' && out.cancelled.length > 0) {
      callEnds.cancel(out.cancelled, { kind: 'error', errorText: CANCELLED });
      return;
    }
    // A model that nobody waits for may be away.
    if (run.isMuted || (out.type === 'data-waiting' && !messages.isAtWork)) return;
    if (!speaking) {
      if (out.type === 'failed') this.parts.media.tellFailure(out);
      return;
    }
    switch (out.type) {
      case 'call':
        messages.lastToSpeak = speaking.message.id;
        this.called.set(out.id, { args: out.args, facts: view.factsOf(out.id), writing: speaking });
        return;
      case 'response':
        return this.answeredInside(speaking, out, view);
      case 'audio':
        return this.sound(speaking, out);
      case 'failed':
        return this.failed(speaking, out);
      case 'interrupted':
        return this.stopped(speaking);
      default:
        messages.isAtWork ||= !this.isUnasked;
        messages.lastToSpeak = speaking.message.id;
        messages.say(speaking, out);
    }
  }

  private tellTurn(out: MessageOutput, view: RunView): void {
    const { messages, callChunks, isResponding } = this.parts;
    const { speaking } = messages;
    if (!speaking) return;
    messages.lastToSpeak = speaking.message.id;
    switch (out.type) {
      case 'call':
        return this.announce(speaking, out, view);
      case 'response':
        return callChunks.wasAnnounced(out.id) ||
          (isResponding && !callChunks.areConfirmed && !this.called.has(out.id))
          ? this.ranInside(speaking, out, view)
          : this.answeredInside(speaking, out, view);
      case 'audio': {
        if (!isResponding) return this.sound(speaking, out);
        const { data: chunk, sampleRate } = out;
        const { id: messageId } = speaking.message;
        const data = { chunk, sampleRate, channels: 1 as const, bitDepth: 16 as const, messageId };
        return messages.say(speaking, { type: 'data-pcm', data, transient: true });
      }
      case 'failed':
        return this.failed(speaking, out);
      case 'heard':
      case 'interrupted':
      case 'turn-complete':
        return;
      default:
        messages.say(speaking, out);
    }
  }

  /** A call that ADK announces. Those behind one that is told late are told after it: a message shows its calls in their order. */
  private announce(
    writing: Writing,
    { id, name: toolName, args }: Extract<MessageOutput, { type: 'call' }>,
    view: RunView,
  ): void {
    const { callChunks } = this.parts;
    const facts = view.factsOf(id);
    const isLate = callChunks.isToldLate(facts) || view.mayChange(id);
    if (!isLate && this.called.size === 0)
      return callChunks.announceEarly({ id, toolName, args }, facts, writing);
    const tell = () => callChunks.announceEarly({ id, toolName, args }, facts, writing);
    this.called.set(id, { args, facts, writing, ...(isLate ? {} : { tell }) });
  }

  /** A call was told that others stood behind: those that ADK itself runs are told now. */
  tellNext(): void {
    for (const [id, { tell }] of this.called) {
      if (!tell) return;
      this.called.delete(id);
      tell();
    }
  }

  private sound(
    { message: { id: messageId } }: Writing,
    { data, sampleRate }: Extract<MessageOutput, { type: 'audio' }>,
  ): void {
    const { core, hearing } = this.parts;
    hearing.spoke(messageId, (base64Bytes(data) / SAMPLE_BYTES / sampleRate) * 1000);
    core.emit({ type: 'sound', messageId, data, sampleRate });
  }

  private failed(speaking: Writing, failure: Failure): void {
    const { note, code, text } = agentFailure(failure);
    for (const effect of [note, ...code]) this.parts.core.emit(effect);
    speaking.failure = text;
  }

  /** A call that the run answers and of which the person has not heard: a tool of ADK's own, an unknown one, or one that cannot wait. */
  private answeredInside(
    speaking: Writing,
    { id, name: toolName, response }: ToolResponse,
    view: RunView,
  ): void {
    const { messages, callChunks } = this.parts;
    const args = this.called.get(id)?.args ?? {};
    this.called.delete(id);
    callChunks.announceInside({ id, toolName, args }, speaking);
    messages.say(speaking, view.outputChunk(id, response));
  }

  /** A tool that ADK's own loop ran. */
  private ranInside(
    speaking: Writing,
    { id: call, name: tool, response }: ToolResponse,
    view: RunView,
  ): void {
    const { core, messages } = this.parts;
    const chunk = view.outputChunk(call, response);
    const outcome = chunk.type === 'tool-output-available' ? 'output' : 'error';
    core.emit({ type: 'note', level: 'info', text: 'a tool ran', fields: { call, tool, outcome } });
    messages.say(speaking, chunk);
  }

  /** The model stopped by itself, because the person spoke. */
  private stopped(speaking: Writing): void {
    const { messages, open } = this.parts;
    const { isAtWork } = messages;
    if (open.in(speaking.message.id).length === 0) {
      messages.finish(speaking, { interrupted: true });
      // It still says that its turn is over.
      messages.isAtWork = true;
      return;
    }
    // The turn goes on when its card is answered: it has one end. What the person says is answered in a message of its own.
    messages.pause(speaking);
    messages.speaking = null;
    messages.isAtWork = isAtWork;
  }

  /** The model says nothing for now, and goes on when the calls that it made are answered. */
  private rests(): void {
    const { messages, open, inbox } = this.parts;
    const { speaking } = messages;
    if (speaking && open.in(speaking.message.id).length === 0) return;
    const next = speaking ? undefined : messages.next.shift();
    if (speaking) messages.pause(speaking);
    // It was interrupted, and what it said then has an end, or waits.
    else if (next) messages.speak(next);
    else messages.isAtWork = false;
    inbox.advance();
  }

  /** The model has nothing more to say for now, or goes on at once about calls of other messages. */
  private completed(goesOn: boolean | undefined): void {
    const { messages, open, inbox, transcript } = this.parts;
    transcript.answered();
    this.isFed = false;
    this.isUnasked = false;
    this.called.clear();
    const conclude = (writing: Writing) => {
      // The turn goes on when what is open is answered: it has one end.
      const waits = writing.failure === null && open.in(writing.message.id).length > 0;
      if (waits) messages.pause(writing);
      else messages.finish(writing);
    };
    messages.isAtWork = false;
    if (messages.speaking) conclude(messages.speaking);
    // Several results may have been told to the model at once: it speaks once for all of them.
    for (const writing of messages.next.splice(goesOn === false ? 0 : 1)) conclude(writing);
    const next = messages.next.shift();
    if (next) messages.speak(next, goesOn === true);
    if (!messages.isAtWork) inbox.advance();
  }
}
