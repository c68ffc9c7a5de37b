import type { Event } from '@google/adk';
import {
  type FileChunk,
  MessageChunks,
  type MessageOutput,
  type RunView,
  savedFilesIn,
} from '../../../../adk/for-server.ts';
import { base64Bytes, CANCELLED } from '../../../../protocol/index.ts';
import { SAMPLE_BYTES } from '../../../output/utterances.ts';
import type { AgentRun } from '../agent-run.ts';
import type { Calls } from '../calls/calls.ts';
import type { Context } from '../context.ts';
import type { Effect } from '../effects.ts';
import { type Failure, reportFailure } from '../errors.ts';
import type { Draft, Messages } from '../messages.ts';
import type { OpenCalls } from '../open-calls.ts';
import type { Speech } from '../speech.ts';

type MadeCall = Extract<MessageOutput, { type: 'call' }>;
type ToolResponse = Extract<MessageOutput, { type: 'response' }>;
type Audio = Extract<MessageOutput, { type: 'audio' }>;

/** Handles the events of a run: text and sound of a message, calls, the user's transcript, the end of a turn. */
export class AgentEvents {
  private readonly context: Context;
  private readonly open: OpenCalls;
  private readonly messages: Messages;
  private readonly run: AgentRun;
  private readonly speech: Speech;
  private readonly calls: Calls;
  /** The reader for events that belong to no message. */
  private unassigned = new MessageChunks();

  constructor(
    context: Context,
    open: OpenCalls,
    messages: Messages,
    run: AgentRun,
    speech: Speech,
    calls: Calls,
  ) {
    this.context = context;
    this.open = open;
    this.messages = messages;
    this.run = run;
    this.speech = speech;
    this.calls = calls;
  }

  /**
   * The fast path, which most events take: returns the effects of an event that has only text deltas of the message that is being written. Null for
   * any other event.
   */
  deltas(n: number, event: Event): Effect[] | null {
    const { run, messages } = this;
    const { active } = messages;
    if (!run.isOpenAs(n) || run.isMuted || !active || !messages.isCurrent(active)) return null;
    if (run.live !== null && !messages.isWorking) return null;
    const chunks = active.readDeltas(event);
    if (!chunks) return null;
    run.noteSpeech();
    messages.noteActivity();
    return [{ type: 'say-deltas', messageId: active.id, chunks }];
  }

  /** Handles an event of the open run. Events of older runs are ignored. */
  take(n: number, event: Event, view: RunView): void {
    const { run } = this;
    if (!run.isOpenAs(n)) return;
    if (event.content ?? event.inputTranscription ?? event.outputTranscription) run.noteSpeech();
    const isLive = run.live !== null;
    for (const out of this.read(event)) {
      if (!isLive) this.takeFromTurn(out, view);
      else if (run.isOpenAs(n)) this.takeFromLive(out, view);
    }
    if (run.isOpenAs(n)) this.showFiles(savedFilesIn(event));
  }

  /** Adds the files that tools and callbacks saved in the run to the active message. */
  private showFiles(files: readonly FileChunk[]): void {
    const { messages, run } = this;
    const { active } = messages;
    if (files.length === 0 || !active || run.isMuted) return;
    messages.closeBlocksOf(active);
    for (const file of files) messages.say(active, file);
  }

  private read(event: Event): MessageOutput[] {
    const { messages, run } = this;
    // The rest of an interrupted turn must not appear in the next message.
    if (run.isMuted) return this.unassigned.push(event);
    if (messages.active) return messages.active.read(event);
    const says = (event.content?.parts?.length ?? 0) > 0 && event.author !== 'user';
    if (!says && !event.outputTranscription?.text) return this.unassigned.push(event);
    const draft = messages.begin();
    this.speech.answered();
    // No message was active: the agent answers speech, speaks first, or sends the last events of a turn that ended. An agent that got no input since its
    // last turn may send nothing more, not even the end of a turn. So the conversation is not busy with its message.
    run.noteSpeaking();
    messages.setWorking(run.isPrompted);
    return draft.read(event);
  }

  private takeFromLive(out: MessageOutput, view: RunView): void {
    const { messages, run, speech } = this;
    const { active } = messages;
    if (out.type === 'turn-complete') return this.turnCompleted(out);
    if (out.type === 'heard') {
      if (speech.heard(out.text, out.finished)) run.prompt();
      return;
    }
    if (out.type === 'interrupted' && out.cancelled.length > 0)
      return this.calls.cancel(out.cancelled, { kind: 'error', errorText: CANCELLED });
    // `data-waiting` reports when a model that failed is called again. It is not sent when no message waits for the model.
    if (run.isMuted || (out.type === 'data-waiting' && !messages.isWorking)) return;
    if (!active) {
      if (out.type === 'failed') speech.reportFailure(out);
      return;
    }
    switch (out.type) {
      case 'call':
        messages.noteActivity();
        return this.noteCall(active, out, view, false);
      case 'response':
        return this.answeredInside(active, out, view);
      case 'audio':
        return this.sound(active, out);
      case 'failed':
        return this.failed(active, out);
      case 'interrupted':
        return this.stopped(active);
      default:
        if (!run.isUnprompted) messages.setWorking(true);
        messages.noteActivity();
        messages.say(active, out);
    }
  }

  private takeFromTurn(out: MessageOutput, view: RunView): void {
    const { messages, context } = this;
    const { active } = messages;
    if (!active) return;
    messages.noteActivity();
    switch (out.type) {
      case 'call':
        return this.announce(active, out, view);
      case 'response':
        return this.ranInside(out)
          ? this.reportRun(active, out, view)
          : this.answeredInside(active, out, view);
      case 'audio': {
        if (!context.policy.hasResponse) return this.sound(active, out);
        const { data: chunk, sampleRate } = out;
        const data = { chunk, sampleRate, channels: 1 as const, bitDepth: 16 as const, messageId: active.id };
        return messages.say(active, { type: 'data-pcm', data, transient: true });
      }
      case 'failed':
        return this.failed(active, out);
      case 'heard':
      case 'interrupted':
      case 'turn-complete':
        return;
      default:
        messages.say(active, out);
    }
  }

  /** Announces a call. While an earlier call is not announced yet, the call waits, so that the message shows its calls in order. */
  private announce(draft: Draft, { id, name: toolName, args }: MadeCall, view: RunView): void {
    const { run, calls } = this;
    const facts = view.factsOf(id);
    const isLate = calls.chunks.isAnnouncedLate(facts) || view.mayChange(id);
    if (isLate || run.hasMadeCalls)
      return this.noteCall(draft, { type: 'call', id, name: toolName, args }, view, !isLate);
    calls.chunks.announceEarly({ id, toolName, args }, facts, draft);
  }

  private noteCall(
    draft: Draft,
    { id, name: toolName, args }: MadeCall,
    view: RunView,
    isAnnouncedNext: boolean,
  ): void {
    this.run.noteCall(id, { toolName, args, facts: view.factsOf(id), draft, isAnnouncedNext });
  }

  private sound({ id: messageId }: Draft, { data, sampleRate }: Audio): void {
    this.speech.spoke(messageId, (base64Bytes(data) / SAMPLE_BYTES / sampleRate) * 1000);
    this.context.emit({ type: 'sound', messageId, data, sampleRate });
  }

  /** Logs a failure of the agent, and makes the message end with it. */
  failed(draft: Draft, failure: Failure): void {
    const { log, code, text } = reportFailure(failure);
    for (const effect of [log, ...code]) this.context.emit(effect);
    draft.fail(text);
  }

  /** Whether a response belongs to a call that is already announced, and whose tool ADK's own loop ran. */
  private ranInside({ id }: ToolResponse): boolean {
    const { context, calls, run } = this;
    const { chunks } = calls;
    if (run.takeAnnounced(id)) return true;
    return context.policy.hasResponse && !chunks.usesConfirmations && !run.hasCall(id);
  }

  private reportRun(draft: Draft, { id: call, name: tool, response }: ToolResponse, view: RunView): void {
    const chunk = view.outputChunk(call, response);
    const outcome = chunk.type === 'tool-output-available' ? 'output' : 'error';
    this.context.emit({ type: 'log', level: 'info', text: 'a tool ran', fields: { call, tool, outcome } });
    this.messages.say(draft, chunk);
  }

  /**
   * Sends the call and the output for a response that ADK gave inside the run, when the call is not announced: the call of one of ADK's own tools, of
   * an unknown tool, or of a tool that cannot be deferred.
   */
  private answeredInside(draft: Draft, { id, name: toolName, response }: ToolResponse, view: RunView): void {
    const args = this.run.takeCall(id)?.args ?? {};
    if (!this.open.get(id)) this.calls.chunks.announceInside({ id, toolName, args }, draft);
    if (this.calls.reports.waiting.has(id)) this.calls.reports.finish(id, draft);
    this.messages.say(draft, view.outputChunk(id, response));
  }

  /** Handles a live model that stopped by itself because the user spoke: its message ends, or pauses while one of its calls is open. */
  private stopped(draft: Draft): void {
    const { messages } = this;
    const { isWorking } = messages;
    if (!this.open.hasIn(draft.id)) {
      messages.finish(draft, { interrupted: true });
      // The model has not reported the end of its turn yet, so it is still working.
      messages.setWorking(true);
      return;
    }
    // The message has an open call. So the message pauses now and continues when the call is answered: it finishes only once. The agent answers the user's
    // speech in another message.
    messages.pause(draft);
    messages.deactivate();
    messages.setWorking(isWorking);
  }

  private turnCompleted({ continues, isIdle }: Extract<MessageOutput, { type: 'turn-complete' }>): void {
    const { run } = this;
    if (!run.isMuted && !isIdle) return this.completed(continues);
    if (!run.isMuted && continues) return this.paused();
    run.unmute();
    this.unassigned = new MessageChunks();
  }

  /** Handles a pause of the model: it is silent until the calls that it made are answered. */
  private paused(): void {
    const { messages } = this;
    const { active } = messages;
    if (active && !this.open.hasIn(active.id)) return;
    if (active) messages.pause(active);
    // No message is active, because the model was interrupted: its message has ended, or waits for the answer to a call.
    else if (!messages.activateNext()) messages.setWorking(false);
  }

  /** Handles the end of a turn of the model. `continues`: whether another answer follows at once; undefined when the model does not report that. */
  private completed(continues: boolean | undefined): void {
    const { messages, open, run, speech } = this;
    speech.answered();
    run.endTurn();
    const conclude = (draft: Draft) => {
      // A message with open calls continues when they are answered, so it must not finish now.
      const waits = draft.failure === null && open.hasIn(draft.id);
      if (waits) messages.pause(draft);
      else messages.finish(draft);
    };
    messages.setWorking(false);
    if (messages.active) conclude(messages.active);
    // The model may have got the outcomes of several messages at once. Then it answers all of them in one message, and the others end here.
    for (const draft of messages.dropNext(continues === false ? 0 : 1)) conclude(draft);
    messages.activateNext(continues === true);
  }
}
