import type { Chunk } from '../../../protocol/index.ts';
import type { AgentRun } from './agent-run.ts';
import type { Context } from './context.ts';
import type { Draft, Messages } from './messages.ts';
import type { OpenCalls } from './open-calls.ts';

/** Collects what tools report while they run (preliminary outputs, data parts and metadata), and sends these reports in the messages that show the calls. */
export class CallReports {
  private readonly context: Context;
  private readonly open: OpenCalls;
  private readonly messages: Messages;
  private readonly run: AgentRun;
  /** The ids of the calls with reports that are not sent yet. */
  readonly waiting = new Set<string>();
  /** The newest preliminary output of each call, until it is sent or the call ends. */
  private readonly progress = new Map<string, unknown>();
  /** The data parts and metadata of each call, until they are sent. */
  private readonly pending = new Map<string, Chunk[]>();

  constructor(context: Context, open: OpenCalls, messages: Messages, run: AgentRun) {
    this.context = context;
    this.open = open;
    this.messages = messages;
    this.run = run;
  }

  /** Records a preliminary output of a call. `show` sends it. */
  takeProgress(callId: string, output: unknown): void {
    this.progress.set(callId, output);
    this.waiting.add(callId);
  }

  /** Records data parts or metadata of a call. `show` sends them, or `finish` when the call ends. */
  takeChunks(callId: string, chunks: readonly Chunk[]): void {
    this.pending.set(callId, [...(this.pending.get(callId) ?? []), ...chunks]);
    this.waiting.add(callId);
  }

  /**
   * Sends what running calls reported. A report waits while the agent writes another message, because every switch between messages would split the text of
   * that message into several blocks. The report also waits while an HTTP response streams another message. Called after every input while `waiting` is not
   * empty.
   */
  show(): void {
    const { context, messages, progress, pending } = this;
    for (const [toolCallId, output] of progress) {
      const draft = this.messageOf(toolCallId);
      if (draft && this.isElsewhere(draft)) continue;
      progress.delete(toolCallId);
      if (!draft || context.isAbandoned) continue;
      messages.say(draft, { type: 'tool-output-available', toolCallId, output, preliminary: true });
    }
    for (const callId of pending.keys()) {
      const draft = this.messageOf(callId);
      if (draft && !this.isElsewhere(draft) && !context.isAbandoned) this.sayChunks(callId, draft);
      // A call that ADK's own loop runs may not be announced yet (`run.hasCall`): its chunks wait until it is announced with its output. The chunks
      // of a call that has ended are discarded.
      else if (!draft && !this.run.hasCall(callId)) pending.delete(callId);
    }
    for (const callId of this.waiting)
      if (!progress.has(callId) && !pending.has(callId)) this.waiting.delete(callId);
  }

  /**
   * Sends the data parts and metadata of a call that is about to end, so that its message contains them. If an HTTP response streams another message,
   * the data parts and metadata are only stored in the message of the call.
   */
  finish(callId: string, draft = this.messageOf(callId)): void {
    if (!this.pending.has(callId) || !draft) return;
    if (!this.context.policy.hasResponse || draft === this.messages.active)
      return this.sayChunks(callId, draft);
    const chunks = this.pending.get(callId) ?? [];
    this.pending.delete(callId);
    this.context.emit({ type: 'amend', messageId: draft.id, chunks });
  }

  private sayChunks(callId: string, draft: Draft): void {
    for (const chunk of this.pending.get(callId) ?? []) this.messages.say(draft, chunk);
    this.pending.delete(callId);
  }

  /** Whether the agent writes another message, or an HTTP response streams another message. */
  private isElsewhere(draft: Draft): boolean {
    const { context, messages } = this;
    return draft !== messages.active && (messages.isWorking || context.policy.hasResponse);
  }

  /** The message that shows a call whose tool runs; null when no message shows it, or when the tool does not run. */
  private messageOf(callId: string): Draft | null {
    const { open, messages, run } = this;
    const call = open.running(callId);
    if (call) return (call.isAnnounced && messages.get(call.record.messageId)) || null;
    return run.isAnnounced(callId) ? messages.active : null;
  }
}
