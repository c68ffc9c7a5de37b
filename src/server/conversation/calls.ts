import { type DeferredCall, type Outcome, responseEvent } from '../../adk/engine.ts';
import {
  type Answer,
  type Chunk,
  CONFIRMATION_TOOL,
  ProtocolError,
  stateConflict,
  type ToolFacts,
} from '../../protocol/index.ts';
import type { Verdict } from '../approvals.ts';
import { modelErrorText } from '../model-error.ts';
import {
  endEvent,
  INTERRUPTION,
  outputChunk,
  responseOf,
  type Settlement,
  SIGNED_OUT_END,
  settlementOf,
} from '../settlement.ts';
import type { Identity } from '../sign-in.ts';
import type { CallRecord } from '../store/store.ts';
import type { AgentRun } from './agent-run.ts';
import type { Core } from './core.ts';
import type { About, LateCall, Ticket, Write } from './effects.ts';
import type { Messages, Writing } from './messages.ts';
import type { OpenCall, OpenCalls, Step } from './open-calls.ts';
import type { Policy } from './policy.ts';

/** What the calls need from around them. */
export interface CallsContext {
  core: Core;
  open: OpenCalls;
  messages: Messages;
  run: AgentRun;
  /** The policy of the wire that is used now. */
  policy: () => Policy;
  /** Nobody came back: what still ends is written down, but the agent is not asked to go on. */
  isAbandoned: () => boolean;
  /** Something was settled, or may go on. */
  onChange: () => void;
}

/** What a call cannot be kept with; the model and the person are told the same. */
const NOT_KEPT = 'The result of the tool could not be kept.';

/** What is done with calls: written down, shown, answered or run, and ended. The one flow of every call, in both modes. */
export class Calls {
  private readonly context: CallsContext;
  /** Calls that ADK announced over SSE, before the gate had them. */
  private readonly announced = new Set<string>();

  constructor(context: CallsContext) {
    this.context = context;
  }

  /** In the confirmation dialect a confirmation is a call of its own. */
  private get areConfirmed(): boolean {
    return this.context.core.options.confirmations === 'tool';
  }

  /** A call that ADK made: written down, and only then shown, handed over or run. */
  issue(call: DeferredCall, writing: Writing, ticket: Ticket): void {
    const { core, open, messages } = this.context;
    const { now, newId } = core;
    messages.interject(writing);
    const issued = open.issue(call, writing.message.id, {
      now,
      newId,
      clientDeadline: this.clientDeadline(),
    });
    issued.isAnnounced = this.announced.delete(call.id);
    // An interrupt does not wait for it: nobody has heard of the call yet.
    core.emit({
      type: 'store-apart',
      writes: [{ do: 'issue', call: issued.record }],
      about: { what: 'call', callId: call.id, ticket },
    });
  }

  /** A call is written down: it is shown, handed over or run. */
  issued(callId: string, ticket: Ticket): void {
    const { core, open, messages, run } = this.context;
    const call = open.get(callId);
    const writing = call && messages.get(call.record.messageId);
    if (!call || !writing) return core.emit({ type: 'let-go', ticket, error: null });
    const { status, runsOn } = call.record;
    open.move(call, status === 'requested' ? 'ask' : runsOn === 'server' ? 'allow' : 'hand-over');
    if (call.isUnwanted) {
      // Interrupted while it was written down: nobody has heard of it.
      this.endUnheard(call, INTERRUPTION);
      return core.emit({ type: 'let-go', ticket, error: null });
    }
    if (run.isLive && call.standing !== 'ready') messages.isAtWork = false;
    messages.interject(writing);
    if (call.standing === 'hidden') this.showNext();
    else {
      if (!call.isAnnounced) this.announce(call, writing);
      messages.save(writing);
      if (call.standing === 'ready') this.standInLine(call);
    }
    core.emit({ type: 'let-go', ticket, error: null });
    this.context.onChange();
  }

  /** Ends a call that nobody has heard of. */
  private endUnheard(call: OpenCall, settlement: Settlement): void {
    const { core, open, messages, run } = this.context;
    const { record } = call;
    open.move(call, 'settle');
    const owner = messages.get(record.messageId);
    if (owner && owner !== messages.speaking && open.in(record.messageId).length === 0)
      messages.forget(owner);
    core.storing(this.endWrites(record, settlement), null, () =>
      run.sendResponse(record, responseOf(settlement)),
    );
    this.context.onChange();
  }

  /** The call could not be written down: nobody has heard of it, and the agent gets an error. */
  notIssued(callId: string, ticket: Ticket): void {
    const { core, open } = this.context;
    const call = open.get(callId);
    if (call) open.move(call, 'settle');
    core.emit({ type: 'let-go', ticket, error: 'The call could not be written down.' });
    this.context.onChange();
  }

  /** A call of a turn that was interrupted: nobody hears of it, but it does not stay open either. */
  turnDown(call: DeferredCall, ticket: Ticket): void {
    const { core, run } = this.context;
    const { id, toolName: name, agent, invocationId, branch = null } = call;
    const response = responseOf(INTERRUPTION);
    const event = responseEvent({ agent, invocationId, branch }, [{ id, name, response }]);
    core.storing([{ do: 'append', event }], null, () => run.sendResponse(call, response));
    core.emit({ type: 'let-go', ticket, error: null });
  }

  /** Says that there is a call, when ADK announces it itself. */
  announceEarly(
    call: { id: string; toolName: string; args: Record<string, unknown> },
    facts: ToolFacts,
    writing: Writing,
  ): void {
    if (this.areConfirmed && facts.asks) return;
    this.announced.add(call.id);
    this.sayCall(call, facts, writing);
  }

  /** Says that there is a call which the run itself answers. */
  announceInside(
    call: { id: string; toolName: string; args: Record<string, unknown> },
    writing: Writing,
  ): void {
    if (!this.context.open.get(call.id)) this.sayCall(call, { runsOn: 'server', asks: false }, writing);
  }

  /** Shows the next card, or all of them. */
  showNext(): void {
    const { core, open, messages, policy } = this.context;
    const { cardsTogether, approvalTimeoutMs, steps } = policy();
    for (const call of open.all) {
      if (call.standing !== 'hidden') continue;
      if (!cardsTogether && open.isShowing) break;
      const writing = messages.get(call.record.messageId);
      // A response turn by turn shows the cards of its own message.
      if (!writing || (this.isTurnByTurn && writing !== messages.speaking)) continue;
      open.move(call, 'show');
      const expiresAt = approvalTimeoutMs === null ? null : core.now + approvalTimeoutMs;
      call.record = { ...call.record, expiresAt };
      messages.interject(writing);
      const about: About = { what: 'card', callId: call.record.id, isAnnounced: call.isAnnounced };
      core.storing([{ do: 'show', call: call.record }], about, () => {
        if (this.areConfirmed) {
          this.announceConfirmation(call, writing);
          messages.save(writing);
          return;
        }
        if (!call.isAnnounced) this.announce(call, writing);
        core.emit({ type: 'say-stored', chunk: approvalRequest(call.record), inStep: steps });
      });
    }
  }

  /** Applies what the client said. Gives what may happen next, in the order of the calls, and why answers were refused. */
  answered(answers: Answer[], by: Identity, verdicts: Verdict[]): { steps: Step[]; refused: string[] } {
    const { core, open, messages } = this.context;
    const steps = new Map<string, Step>();
    const refused: string[] = [];
    const decided = new Set<Writing>();
    const decisions = answers.filter((answer) => answer.kind === 'decision');
    decisions.forEach((answer, index) => {
      const verdict = verdicts[index];
      if (verdict?.kind === 'refused') refused.push(verdict.why);
      const over = verdict?.kind === 'ended' ? open.get(verdict.call.id) : undefined;
      if (over) {
        open.move(over, 'deny');
        steps.set(over.record.id, { call: over, next: 'end', settlement: SIGNED_OUT_END });
      }
      const call = verdict?.kind === 'counts' ? open.get(verdict.call.id) : undefined;
      if (!call || verdict?.kind !== 'counts') return;
      const { messageId, runsOn } = call.record;
      const { approved, reason } = answer;
      core.emit({ type: 'mark-card', messageId, callId: call.record.id, approved, reason });
      const writing = messages.get(messageId);
      if (writing) decided.add(writing);
      if (!approved) {
        open.move(call, 'deny');
        const settlement: Settlement = { kind: 'denied', reason: verdict.call.reason };
        steps.set(call.record.id, { call, next: 'end', settlement });
        return;
      }
      open.move(call, 'approve');
      call.by = by;
      steps.set(call.record.id, { call, next: runsOn === 'server' ? 'run' : 'hand-over' });
    });
    // A tool may run for long, or for ever: whoever looks meanwhile sees what was decided.
    for (const writing of decided) messages.save(writing);
    for (const answer of answers) {
      if (answer.kind === 'decision') continue;
      const meant = open.outputFor(answer);
      if (!meant) continue;
      if ('refused' in meant) refused.push(meant.refused);
      else steps.set(meant.call.record.id, { call: meant.call, next: 'end', settlement: meant.settlement });
    }
    const order = [...open.ids()];
    const placeOf = ({ call }: Step) => order.indexOf(call.record.id);
    return { steps: [...steps.values()].sort((a, b) => placeOf(a) - placeOf(b)), refused };
  }

  /** Does what an answer allows. */
  take(step: Step): void {
    const { call, next } = step;
    if (next === 'run') return this.standInLine(call);
    if (next === 'hand-over') return this.handOver(call);
    if (call.standing !== 'approved') {
      this.confirm(call);
      return this.end(call, step.settlement);
    }
    // Decision and output came together: the approval is used up all the same.
    this.consume(call, () => this.confirm(call));
    this.end(call, step.settlement);
  }

  /** Lets the browser do it. */
  handOver(call: OpenCall): void {
    const { open, messages, policy } = this.context;
    const writing = messages.get(call.record.messageId);
    if (!writing || !open.move(call, 'hand-over')) return;
    call.record = { ...call.record, expiresAt: this.clientDeadline() };
    this.consume(call, () => {
      this.confirm(call);
      // A response of its own that began with the answer shows what the browser is to do.
      if (policy().pauseEndsResponse && !this.areConfirmed) this.sayInput(call, writing);
      messages.save(writing);
    });
    this.context.onChange();
  }

  /** Waits for its turn among the server tools of the session. */
  standInLine(call: OpenCall): void {
    if (call.isInLine) return;
    call.isInLine = true;
    this.context.core.emit({ type: 'want-slot', call: call.record });
  }

  /** The call has the slot: it runs, if whoever approved it is still signed in. */
  run(callId: string): void {
    const { core, open } = this.context;
    const by = open.get(callId)?.by;
    if (by) core.emit({ type: 'ask-sign-in', by, question: { why: 'execution', callId } });
    else this.begin(callId);
  }

  /** Whoever approved a call is signed in no more: it never runs. */
  withdraw(callId: string): void {
    const { core, open } = this.context;
    core.emit({ type: 'give-slot-back', callId });
    const call = open.get(callId);
    if (!call) return;
    core.storing([{ do: 'withdraw', call: call.record }], null);
    this.confirm(call);
    this.end(call, SIGNED_OUT_END);
  }

  /** The call runs, once. */
  begin(callId: string): void {
    const { core, open } = this.context;
    const call = open.get(callId);
    if (!call || !open.move(call, 'take')) return core.emit({ type: 'give-slot-back', callId });
    core.storing([{ do: 'take', call: call.record }], { what: 'execution', callId }, () => {
      this.confirm(call);
      core.emit({ type: 'run-tool', call: call.record });
    });
  }

  /** Somebody else has it, or it could not be written down that it runs. */
  notRun(callId: string, isFailure: boolean): void {
    const { core, open, messages } = this.context;
    core.emit({ type: 'give-slot-back', callId });
    const call = open.get(callId);
    if (!call) return;
    if (!isFailure) open.move(call, 'settle');
    else {
      // It stands as it did before, and is taken up when someone comes back.
      open.putBack(call);
      const error = new ProtocolError('internal', 'The call could not be written down.');
      messages.inject({ type: 'data-error', data: error.toWire(), transient: true });
    }
    this.context.onChange();
  }

  /** A tool of the server came to its end, or was started and is ended from outside. */
  toolEnded(callId: string, outcome: Outcome): void {
    const { core, open } = this.context;
    const call = open.get(callId);
    if (call?.standing !== 'running') return core.emit({ type: 'give-slot-back', callId });
    call.givesSlotBack = true;
    if (outcome.kind === 'waits') {
      open.move(call, 'park');
      call.record = { ...call.record, expiresAt: this.clientDeadline() };
      core.storing([{ do: 'show', call: call.record }], null);
      this.giveSlotBack(call);
      return this.context.onChange();
    }
    if (outcome.kind !== 'asks') return this.end(call, settlementOf(outcome));
    const errorText =
      call.record.approvalId === null
        ? `${call.record.toolName} asks for a confirmation while it runs, which it can only do over SSE.`
        : `${call.record.toolName} asked again for a confirmation it already had.`;
    this.end(call, { kind: 'error', errorText });
  }

  /** Ends a call: the history first, then the person, then the model. */
  end(call: OpenCall, settlement: Settlement, isOffline = false): void {
    const { open, messages, run, isAbandoned } = this.context;
    if (call.standing === 'issuing') {
      call.isUnwanted = true;
      return;
    }
    const isInterrupted = settlement.kind === 'error' && settlement.interrupted === true;
    const isHeard = !isInterrupted && !isOffline && !isAbandoned() && !this.isTurnByTurn;
    if (isHeard && !run.isOpen) {
      // What is stored before ADK has read the session would reach the model twice.
      if (!open.move(call, 'end')) return;
      call.ending = settlement;
      return run.openLive();
    }
    const owner = messages.get(call.record.messageId);
    const { record } = call;
    if (!owner) return;
    // Another message is being written: this one is mended where it stands.
    if (this.isTurnByTurn && owner !== messages.speaking) {
      this.endQuietly(call, settlement);
      return this.context.onChange();
    }
    if (!open.move(call, 'settle')) return;
    const response = responseOf(settlement);
    const chunks = this.endChunks(call, settlement);
    messages.turnTo(owner);
    this.context.core.storing(
      this.endWrites(record, settlement),
      { what: 'end', call: record, wasOutput: settlement.kind === 'output' },
      () => {
        for (const chunk of chunks) messages.say(owner, chunk);
        messages.save(owner);
        if (!this.isTurnByTurn) run.sendResponse(record, response);
      },
    );
    this.giveSlotBack(call);
    this.goOn(owner, record, isHeard);
  }

  /** The next tool begins when this one's changes are stored, and sees them. */
  private giveSlotBack(call: OpenCall): void {
    if (!call.givesSlotBack) return;
    call.givesSlotBack = false;
    this.context.core.emit({ type: 'give-slot-back', callId: call.record.id });
  }

  /** Ends the calls that waited for a run, now that there is one, or that there will be none. */
  endPending(isOnline: boolean): void {
    const { open, messages } = this.context;
    for (const call of open.all) {
      const { ending } = call;
      if (!ending) continue;
      call.ending = null;
      this.end(call, ending, !isOnline);
      const owner = messages.get(call.record.messageId);
      if (isOnline || !owner) continue;
      owner.failure ??= modelErrorText('UNKNOWN_ERROR', '');
      messages.finish(owner);
    }
  }

  /** Ends a call while nobody listens: the history and the stored message say so. Gives the chunks that would tell. */
  endQuietly(call: OpenCall, settlement: Settlement): LateCall {
    const { core, open } = this.context;
    const { record } = call;
    const { messageId } = record;
    const chunks = this.endChunks(call, settlement);
    open.move(call, 'settle');
    core.storing(this.endWrites(record, settlement), null, () => {
      // A call that was never shown stands in no message.
      if (chunks.length > 0) core.emit({ type: 'amend', messageId, chunks });
    });
    this.giveSlotBack(call);
    return { messageId, chunks };
  }

  /** How the call ended was not kept: it ends with an error that says so, or not at all before a restart. */
  notEnded(record: CallRecord, wasOutput: boolean, isConflict: boolean): void {
    const { core, open, messages } = this.context;
    const owner = messages.get(record.messageId);
    if (!isConflict)
      core.emit({ type: 'note', level: 'error', text: 'a result was not kept', fields: { call: record.id } });
    if (!owner) return;
    const errorText = isConflict ? stateConflict(record.toolName) : NOT_KEPT;
    if (wasOutput) {
      const again = Object.assign(open.add(record, 'running'), { isAnnounced: true });
      return this.end(again, { kind: 'error', errorText });
    }
    messages.say(owner, { type: 'tool-output-error', toolCallId: record.id, errorText });
    if (messages.speaking !== owner) return;
    owner.failure = 'Something went wrong on the server. Please try again.';
    messages.finish(owner);
  }

  /** Ends every call whose time is up and that is on screen. */
  expire(): void {
    const { core, open } = this.context;
    for (const { call, settlement } of open.overdue(core.now)) {
      if (call.standing !== 'hidden') this.end(call, settlement);
    }
  }

  /** Ends calls that the model wants no more of; it gets no response to them. */
  cancel(callIds: readonly string[], settlement: Settlement): void {
    for (const id of callIds) {
      const call = this.context.open.get(id);
      if (!call) continue;
      this.context.run.forgetCall(id);
      this.end(call, settlement);
    }
  }

  /** Takes up what another run, or another process, left open. */
  takeUp(): void {
    const { open } = this.context;
    for (const call of open.all) {
      if (call.standing === 'ready') this.standInLine(call);
      if (call.standing !== 'approved') continue;
      if (call.record.runsOn === 'server') this.standInLine(call);
      else this.handOver(call);
    }
    this.showNext();
  }

  /** Whether responses come turn by turn, so that the model reads answers from the history. */
  private get isTurnByTurn(): boolean {
    return this.context.policy().pauseEndsResponse;
  }

  private goOn(owner: Writing, record: CallRecord, isHeard: boolean): void {
    const { open, messages, isAbandoned } = this.context;
    if (isAbandoned()) {
      // What the agent would have said to it, it does not say.
      if (open.in(owner.message.id).length === 0) messages.finish(owner, { interrupted: true });
    } else if (isHeard) {
      const isComplete = !open
        .in(owner.message.id)
        .some((other) => other.record.invocationId === record.invocationId);
      messages.expect(owner, isComplete);
      this.showNext();
    }
    this.context.onChange();
  }

  private endWrites(record: CallRecord, settlement: Settlement): Write[] {
    const isUndecided = record.status === 'requested' && settlement.kind === 'error';
    const seen = settlement.kind === 'output' ? settlement.session : undefined;
    return [
      ...(isUndecided ? [{ do: 'expire' as const, call: record, reason: settlement.errorText }] : []),
      { do: 'append', event: endEvent(record, settlement), ...(seen ? { seen } : {}) },
    ];
  }

  /** The chunks that tell how a call ended: in the confirmation dialect the confirmation is what a message shows. */
  private endChunks(call: OpenCall, settlement: Settlement): Chunk[] {
    const { denials } = this.context.core.options;
    const { approvalId, id } = call.record;
    return [
      ...(call.isConfirming && approvalId !== null ? [approvalId] : []),
      ...(call.isAnnounced ? [id] : []),
    ].map((shown) => outputChunk(shown, settlement, denials));
  }

  /** Writes down that an approval is used. */
  private consume(call: OpenCall, then: () => void): void {
    const { id: callId } = call.record;
    const { core } = this.context;
    core.storing([{ do: 'take', call: call.record }], { what: 'execution', callId }, then);
  }

  private announce(call: OpenCall, writing: Writing): void {
    call.isAnnounced = true;
    const { runsOn, approvalId } = call.record;
    this.sayCall(call.record, { runsOn, asks: approvalId !== null }, writing);
  }

  private sayCall(
    { id: toolCallId, toolName, args: input }: Pick<CallRecord, 'id' | 'toolName' | 'args'>,
    facts: ToolFacts,
    writing: Writing,
  ): void {
    const { messages } = this.context;
    const toolMetadata = { ...facts };
    messages.say(writing, { type: 'tool-input-start', toolCallId, toolName, toolMetadata });
    messages.say(writing, { type: 'tool-input-available', toolCallId, toolName, input, toolMetadata });
  }

  private sayInput({ record }: OpenCall, writing: Writing): void {
    const { id: toolCallId, toolName, args: input, runsOn } = record;
    const toolMetadata = { runsOn, asks: true };
    this.context.messages.say(writing, {
      type: 'tool-input-available',
      toolCallId,
      toolName,
      input,
      toolMetadata,
    });
  }

  /** In the confirmation dialect: a call of its own that asks about the original one. */
  private announceConfirmation(call: OpenCall, writing: Writing): void {
    const { approvalId, id, toolName: name, args } = call.record;
    if (approvalId === null) return;
    call.isConfirming = true;
    this.sayCall(
      {
        id: approvalId,
        toolName: CONFIRMATION_TOOL,
        args: { originalFunctionCall: { id, name, args }, toolConfirmation: { confirmed: false } },
      },
      { runsOn: 'client', asks: false },
      writing,
    );
  }

  /** In the confirmation dialect the answer closes the confirmation, and the original call is announced. */
  private confirm(call: OpenCall): void {
    const { messages } = this.context;
    const { approvalId, messageId, status } = call.record;
    const writing = messages.get(messageId);
    if (!this.areConfirmed || approvalId === null || !writing) return;
    if (call.isConfirming) {
      call.isConfirming = false;
      const output = { confirmed: status !== 'denied' };
      messages.say(writing, { type: 'tool-output-available', toolCallId: approvalId, output });
    }
    if (!call.isAnnounced) this.announce(call, writing);
  }

  private clientDeadline(): number | null {
    const { now, options } = this.context.core;
    return options.clientTimeoutMs === null ? null : now + options.clientTimeoutMs;
  }
}

/** The request chunk of a card. */
function approvalRequest({ approvalId, id, expiresAt }: CallRecord): Chunk {
  return {
    type: 'tool-approval-request',
    approvalId: approvalId ?? '',
    toolCallId: id,
    ...(expiresAt === null ? {} : { approvalDescriptor: { expiresAt } }),
  };
}
