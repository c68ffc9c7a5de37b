import type { Chunk, ToolFacts } from '../../../../protocol/index.ts';
import { type CallOutcome, decisionIn, outputChunk } from '../../../ledger/approvals.ts';
import { approvalRequest, confirmationOf } from '../../../ledger/questions.ts';
import type { CallRecord } from '../../../store/store.ts';
import type { AgentRun } from '../agent-run.ts';
import type { Context } from '../context.ts';
import type { Draft, Messages } from '../messages.ts';
import type { OpenCall } from '../open-calls.ts';
import { CallSteps } from '../paused-agents.ts';

type NamedCall = Pick<CallRecord, 'id' | 'toolName' | 'args'>;

/**
 * Sends the chunks of a call: its announcement (the tool input), its approval request, and its outcome. With the option `confirmations: 'tool'`, an
 * approval request is not an AI SDK chunk but a confirmation: a browser tool call of its own, whose output is the decision.
 */
export class CallChunks {
  private readonly context: Context;
  private readonly messages: Messages;
  private readonly run: AgentRun;
  private readonly steps = new CallSteps();

  constructor(context: Context, messages: Messages, run: AgentRun) {
    this.context = context;
    this.messages = messages;
    this.run = run;
  }

  /** Whether approval requests are confirmations (`confirmations: 'tool'`). */
  get usesConfirmations(): boolean {
    return this.context.options.confirmations === 'tool';
  }

  /**
   * Whether a call is announced only after it was stored. True for questions, and over a socket for calls that need approval or run in the browser. With
   * `confirmations: 'tool'`, a call that needs approval is announced when it is decided, whatever this method returns.
   */
  isAnnouncedLate({ asks, runsOn, question }: ToolFacts): boolean {
    if (question) return true;
    return !this.context.policy.hasResponse && (asks || runsOn === 'client');
  }

  /**
   * Announces a call before it is stored: when the model makes it, or after the calls before it. ADK has neither run its tool nor deferred the call by
   * then. Does nothing for a call whose user gets a confirmation instead.
   */
  announceEarly(call: NamedCall, facts: ToolFacts, draft: Draft): void {
    if (this.usesConfirmations && facts.asks) return;
    this.run.noteAnnounced(call.id);
    this.sayCall(call, facts, draft);
  }

  /** Announces a call that ADK has answered inside the run. */
  announceInside(call: NamedCall, draft: Draft): void {
    this.sayCall(call, { runsOn: 'server', asks: false }, draft);
  }

  /** Announces a stored call, once. */
  announce(call: OpenCall, draft: Draft): void {
    if (call.isAnnounced) return;
    call.setAnnounced(true);
    const { runsOn, approvalId, question, expiresAt } = call.record;
    const expiry = expiresAt === null ? {} : { expiresAt };
    const asked = call.asksForAnswer && question ? { question: { ...question, ...expiry } } : {};
    this.beginStep(call.record, draft);
    this.sayCall(
      call.record,
      { runsOn, asks: approvalId !== null, ...asked, ...agentsOf(call.record) },
      draft,
    );
  }

  /**
   * Sends the input of an approved call again, so that the new HTTP response shows the client which browser tool to run. Does nothing with
   * `confirmations: 'tool'`, because clients got no input of the call before that.
   */
  repeatInput({ record }: OpenCall, draft: Draft): void {
    if (this.usesConfirmations) return;
    const { id: toolCallId, toolName, args: input, runsOn } = record;
    const toolMetadata = { runsOn, asks: true, ...agentsOf(record) };
    this.messages.say(draft, { type: 'tool-input-available', toolCallId, toolName, input, toolMetadata });
  }

  /** Sends the approval request or the question of a call. `queued`: how many more approval requests of its message will follow. */
  ask(call: OpenCall, draft: Draft, queued: number): void {
    const { context, messages } = this;
    if (call.asksForAnswer) {
      this.announce(call, draft);
      messages.save(draft, call.record);
      return;
    }
    if (this.usesConfirmations) {
      this.announceConfirmation(call, draft);
      messages.save(draft, call.record);
      return;
    }
    this.announce(call, draft);
    const { messageId } = call.record;
    const chunk = approvalRequest(call.record, queued, call.approvalMessage);
    context.emit({ type: 'say-stored', messageId, chunk, inStep: context.policy.steps, asks: call.record });
  }

  /** With `confirmations: 'tool'`: sends the confirmation of a call. Its input contains the call. */
  private announceConfirmation(call: OpenCall, draft: Draft): void {
    const confirmation = confirmationOf(call.record);
    if (!confirmation) return;
    call.setConfirming(true);
    this.beginStep(call.record, draft);
    this.sayCall(confirmation, { runsOn: 'client', asks: false, ...agentsOf(call.record) }, draft);
  }

  /** Over SSE: begins a step before a call inside an agent that is used as a tool, when `CallSteps` says so. */
  private beginStep(call: CallRecord, draft: Draft): void {
    if (this.context.policy.hasResponse && this.steps.beginsWith(call, draft))
      this.messages.say(draft, { type: 'start-step' });
  }

  /** With `confirmations: 'tool'`: sends the output of the confirmation, if it is open, and announces the call. Otherwise does nothing. */
  confirm(call: OpenCall): void {
    const { messages } = this;
    const { approvalId, messageId } = call.record;
    const draft = messages.get(messageId);
    if (!this.usesConfirmations || approvalId === null || !draft) return;
    if (call.isConfirming) {
      call.setConfirming(false);
      const output = { confirmed: decisionIn(call.record) !== false };
      messages.say(draft, { type: 'tool-output-available', toolCallId: approvalId, output });
    }
    this.announce(call, draft);
  }

  /**
   * The chunks that report an outcome: for the call, if clients have it, for its confirmation, if that is open, and then the files that the tool saved. Empty
   * when clients have neither.
   */
  forOutcome(call: OpenCall, outcome: CallOutcome): Chunk[] {
    const { denials } = this.context.options;
    const { approvalId, id } = call.record;
    const shown = [
      ...(call.isConfirming && approvalId !== null ? [approvalId] : []),
      ...(call.isAnnounced ? [id] : []),
    ];
    const files = outcome.kind !== 'denied' && shown.length > 0 ? (outcome.files ?? []) : [];
    return [...shown.map((one) => outputChunk(one, outcome, denials)), ...files];
  }

  private sayCall(
    { id: toolCallId, toolName, args: input }: NamedCall,
    facts: ToolFacts,
    draft: Draft,
  ): void {
    const { messages } = this;
    const toolMetadata = { ...facts };
    // Another agent may still write text in this message while this agent calls a browser tool. The client ends the response at such a call, so no
    // text block may stay open.
    if (facts.runsOn === 'client' && !facts.asks) messages.closeBlocksOf(draft);
    this.steps.add(toolCallId, facts, draft);
    messages.say(draft, { type: 'tool-input-start', toolCallId, toolName, toolMetadata });
    messages.say(draft, { type: 'tool-input-available', toolCallId, toolName, input, toolMetadata });
  }
}

/**
 * If an agent that is used as a tool made the call: the names of the agents from the conversation's own agent down to that agent, which the user sees with
 * the approval request, and the call of that agent, which waits meanwhile.
 */
function agentsOf({ agents }: CallRecord): Pick<ToolFacts, 'agents' | 'within'> {
  return agents?.within ? { agents: agents.path, within: agents.within } : {};
}
