import { RESUME } from '../../../adk/for-server.ts';
import { noticeOf } from '../../../models/for-server.ts';
import { INTERRUPTED } from '../../../protocol/index.ts';
import { responseOf, type Settlement } from '../../ledger/approvals.ts';
import type { CallRecord } from '../../store/store.ts';
import type { AgentEvents } from './agent-events.ts';
import { agentFailure, type Failure } from './agent-failure.ts';
import { type AgentRun, NOT_COMPLETED } from './agent-run.ts';
import type { CallChunks } from './call-chunks.ts';
import type { Write } from './effects.ts';
import type { Inbox } from './inbox.ts';
import type { WriteResults } from './inputs.ts';
import type { Writing } from './messages.ts';
import type { Shared } from './shared.ts';

const FAULT = 'Something went wrong on the server. Please try again.';

/** What an agent without a live mode needs of other parts. */
interface Needs extends Shared {
  readonly callChunks: CallChunks;
  readonly events: AgentEvents;
  readonly inbox: Inbox;
  readonly run: AgentRun;
  readonly turnBegins: { ready(): void };
}

/**
 * An agent without a live mode behind a socket: each answer is a run of its own. A run ends at a call that waits, the message stays open, and
 * when the call is answered another run goes on with it.
 */
export class TurnByTurn {
  /** What the agent has yet to hear of calls that ended, by message: what tells it so when the conversation has moved on. */
  private readonly owed = new Map<string, string[]>();
  /** The message whose run is over: what it left in the history is being brought in order. */
  private concluding: Writing | null = null;
  /** What an interrupted run said, and ADK does not keep. */
  private cutOff: { messageId: string; text: string } | null = null;
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  /** A call ended, which the agent is to hear of: at the place of the call, or by a notice when it has said something else since. */
  settled({ messageId, toolName, args }: CallRecord, settlement: Settlement): void {
    const isLate = this.parts.messages.lastToSpeak !== messageId;
    const notices = isLate ? [noticeOf(toolName, args, responseOf(settlement))] : [];
    this.owed.set(messageId, [...(this.owed.get(messageId) ?? []), ...notices]);
  }

  /** Goes on with the message whose calls are answered, unless the agent is at something else. */
  goOn(): void {
    const { messages, run, isResponding, policy, life } = this.parts;
    const { speaking, isAtWork } = messages;
    if (!policy.pauseEndsRun || isResponding || this.concluding || life.isAbandoned) return;
    if (!run.isNone || !speaking || !isAtWork) return;
    const notices = this.owed.get(speaking.message.id) ?? [];
    this.owed.delete(speaking.message.id);
    const parts = notices.length === 0 ? [{ text: '' }] : notices.map((text) => ({ text }));
    run.openTurn({ role: 'user', parts }, RESUME);
  }

  /** The person interrupts: what the run was doing is told to have ended, and what still comes of it is not heard. */
  stop(): void {
    const { core, messages, callChunks, run, events, open } = this.parts;
    const { speaking } = messages;
    this.owed.clear();
    events.forgetCalls();
    if (!speaking || !messages.isAtWork) return;
    const { id: messageId } = speaking.message;
    const text = run.isOpen ? speaking.chunks.unfinishedText : '';
    if (text) this.cutOff = { messageId, text };
    const running = callChunks.takeAnnounced();
    if (running.length > 0) {
      messages.interject(speaking);
      core.storingAnyway([closeDangling(INTERRUPTED, messageId, open.ids())], () => {
        for (const toolCallId of running)
          messages.say(speaking, { type: 'tool-output-error', toolCallId, errorText: INTERRUPTED });
      });
    }
    run.close();
  }

  /** A run is over. What it leaves in the history without an answer gets one, before anything else begins. */
  ended(error: Failure | null, isClosing: boolean): void {
    const { core, messages, open, turnBegins } = this.parts;
    const { speaking } = messages;
    if (isClosing || !speaking || !messages.isAtWork) {
      const { cutOff } = this;
      this.cutOff = null;
      core.storing([...keepWords(cutOff), closeDangling(INTERRUPTED, null, open.ids())], null);
      turnBegins.ready();
      this.next();
      return;
    }
    const { chunks, message } = speaking;
    if (error !== null) this.failed(speaking, error);
    const said = chunks.hasSpoken || chunks.hasCalled || open.in(message.id).length > 0;
    if (!said && speaking.failure === null) this.failed(speaking, { code: 'EMPTY_RESPONSE', message: '' });
    messages.interject(speaking);
    this.concluding = speaking;
    const { id: messageId } = message;
    const text = speaking.failure === null ? '' : chunks.unfinishedText;
    core.storing([...keepWords({ messageId, text }), closeDangling(NOT_COMPLETED, messageId, open.ids())], {
      what: 'conclusion',
      messageId,
    });
  }

  private failed(writing: Writing, failure: Failure): void {
    const { note, code, text } = agentFailure(failure);
    for (const effect of [note, ...code]) this.parts.core.emit(effect);
    writing.failure ??= text;
  }

  /** The history is in order: the message waits, goes on, or is over. */
  concluded({ missed = [] }: WriteResults): void {
    const { concluding: writing } = this;
    const { messages, open, callChunks } = this.parts;
    this.concluding = null;
    // It may have been interrupted meanwhile.
    if (writing && writing === messages.speaking && messages.isAtWork) {
      const { id } = writing.message;
      callChunks.takeAnnounced();
      for (const chunk of missed) messages.say(writing, chunk);
      if (writing.failure === null && open.in(id).length > 0) messages.pause(writing);
      else if (writing.failure !== null || !this.owed.has(id)) messages.finish(writing);
    }
    this.next();
  }

  /** The history could not be mended; on the screen nothing stays open. */
  notConcluded(): void {
    const { concluding: writing } = this;
    if (writing) writing.failure ??= FAULT;
    const missed = this.parts.callChunks
      .takeAnnounced()
      .map((toolCallId) => ({ type: 'tool-output-error' as const, toolCallId, errorText: NOT_COMPLETED }));
    this.concluded({ missed });
  }

  /** The agent goes on with what it was told of meanwhile, or is free. */
  private next(): void {
    const { messages, inbox } = this.parts;
    if (!messages.isAtWork) {
      const next = messages.next.shift();
      if (next) messages.speak(next);
    }
    this.goOn();
    inbox.advance();
  }
}

function keepWords(said: { messageId: string; text: string } | null): Write[] {
  return said?.text ? [{ do: 'keep-words', ...said }] : [];
}

function closeDangling(errorText: string, messageId: string | null, waiting: ReadonlySet<string>): Write {
  return { do: 'close-dangling', errorText, messageId, waiting };
}
