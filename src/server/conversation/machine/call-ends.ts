import type { Content } from '@google/genai';
import { APPROVAL_TIMED_OUT, stateConflict } from '../../../protocol/index.ts';
import { endEvent, isUndecided, responseOf, type Settlement } from '../../ledger/approvals.ts';
import type { CallRecord } from '../../store/store.ts';
import type { Accepting } from './acceptances.ts';
import type { AgentRun } from './agent-run.ts';
import type { CallChunks } from './call-chunks.ts';
import { anyway } from './core.ts';
import type { Decisions } from './decisions.ts';
import type { About, LateCall, Write } from './effects.ts';
import type { DecidedBefore } from './inputs.ts';
import type { Writing } from './messages.ts';
import { modelErrorText } from './model-error.ts';
import type { OpenCall, Step } from './open-call.ts';
import type { Shared } from './shared.ts';
import type { TurnByTurn } from './turn-by-turn.ts';

type Expiry = Extract<About, { what: 'expiry' }>;

/** What a call cannot be kept with; the model and the person are told the same. */
const NOT_KEPT = 'The result of the tool could not be kept.';

/** What ends of calls need of other parts. */
interface Needs extends Shared {
  readonly callChunks: CallChunks;
  readonly decisions: Decisions;
  readonly run: AgentRun;
  readonly turnByTurn: TurnByTurn;
  readonly answers: { takeHeld(): void };
  readonly calls: { take(step: Step): void; showNext(): void };
  readonly executions: { giveSlotBack(call: OpenCall): void };
  readonly turnBegins: { goOn(): boolean };
  readonly turnEnds: { endLeftover(writing: Writing | undefined): void };
}

/** How calls end, whoever ends them: the history first, then the person, then the model. */
export class CallEnds {
  /** Calls whose time was up when something posted was about to begin, until it tells them. */
  private readonly late: LateCall[] = [];
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  /** Ends a call. `isOffline`: the model will not hear of it. `accepts`: the request that is taken with its end. */
  end(
    call: OpenCall,
    settlement: Settlement,
    how: { isOffline?: boolean; accepts?: Accepting | undefined } = {},
  ): void {
    const { core, open, messages, run, life, policy, callChunks, executions, acceptances, turnByTurn } =
      this.parts;
    const { pauseEndsResponse: isPosted, pauseEndsRun } = policy;
    const { isOffline = false, accepts = open.acceptedWith(call) } = how;
    if (open.unwant(call)) return;
    const isInterrupted = settlement.kind === 'error' && settlement.interrupted === true;
    const isForgotten = run.hasForgotten(call.record.id);
    const isHeard = !isInterrupted && !isOffline && !isForgotten && !life.isAbandoned && !isPosted;
    if (isHeard && !pauseEndsRun && !run.isOpen) {
      // What is stored before ADK has read the session would reach the model twice.
      if (open.endLater(call, settlement, accepts)) run.openLive();
      return;
    }
    const owner = messages.get(call.record.messageId);
    const { record } = call;
    if (!owner) return;
    // Another message is being written: this one is mended where it stands, and told beside.
    if (isPosted && owner !== messages.speaking) {
      this.tellSettled(this.endQuietly(call, settlement, accepts));
      return this.parts.changed();
    }
    if (!open.move(call, 'settle')) return;
    messages.turnTo(owner);
    const reply = pauseEndsRun ? null : run.expectReply(record.id, settlement);
    if (pauseEndsRun && isHeard) turnByTurn.settled(record, settlement);
    const tell = (end: Settlement, isStored = true) =>
      core.collect(() => {
        if (accepts && isStored) acceptances.taken(accepts);
        else if (accepts) acceptances.notTaken(accepts);
        for (const chunk of callChunks.ofEnd(call, end)) messages.say(owner, chunk);
        messages.save(owner);
        if (reply !== null) core.emit({ type: 'send', n: reply, content: replyTo(record, end) });
      });
    const writes = endWrites(record, settlement, accepts);
    if (settlement.kind === 'output') {
      const instead = (errorText: string) => {
        const end: Settlement = { kind: 'error', errorText };
        return [anyway(endWrites(record, end, accepts), tell(end), tell(end, false))];
      };
      core.emit({
        type: 'store',
        writes,
        after: tell(settlement),
        failed: instead(NOT_KEPT),
        conflicted: instead(stateConflict(record.toolName)),
        about: null,
      });
    } else core.emit(anyway(writes, tell(settlement), tell(settlement, false)));
    executions.giveSlotBack(call);
    this.goOn(owner, record, isHeard);
    if (isForgotten) this.leave(owner);
  }

  /** The model hears nothing that it could answer to: a message goes on only if it is being spoken already. */
  private leave(owner: Writing): void {
    const { messages, open } = this.parts;
    const isSpoken = owner === messages.speaking && messages.isAtWork;
    if (owner.isUnderWay && !isSpoken && open.in(owner.message.id).length === 0) messages.finish(owner);
  }

  /** Ends the calls that waited for a run, now that there is one, or that there will be none. */
  endPending(isOnline: boolean): void {
    const { open, messages } = this.parts;
    for (const { call, settlement } of open.ending) {
      this.end(call, settlement, { isOffline: !isOnline });
      const owner = messages.get(call.record.messageId);
      if (isOnline || !owner) continue;
      owner.failure ??= modelErrorText('UNKNOWN_ERROR', '');
      messages.finish(owner);
    }
  }

  /** Ends a call while nobody listens: the history and the stored message say so. Returns the chunks that would tell. */
  endQuietly(call: OpenCall, settlement: Settlement, accepts = this.parts.open.acceptedWith(call)): LateCall {
    const { core, open, callChunks, executions, acceptances } = this.parts;
    const { record } = call;
    const { messageId } = record;
    const chunks = callChunks.ofEnd(call, settlement);
    open.move(call, 'settle');
    const amend = (isStored: boolean) => {
      if (accepts && isStored) acceptances.taken(accepts);
      else if (accepts) acceptances.notTaken(accepts);
      // A call that was never shown stands in no message.
      if (chunks.length > 0) core.emit({ type: 'amend', messageId, chunks });
    };
    core.storingAnyway(
      endWrites(record, settlement, accepts),
      () => amend(true),
      () => amend(false),
    );
    executions.giveSlotBack(call);
    return { messageId, chunks };
  }

  /** Ends a call that nobody has heard of. */
  endUnheard(call: OpenCall, settlement: Settlement): void {
    const { core, open, messages, run, turnEnds } = this.parts;
    const { record } = call;
    open.move(call, 'settle');
    turnEnds.endLeftover(messages.get(record.messageId));
    core.storingAnyway(endWrites(record, settlement), () => run.sendResponse(record, responseOf(settlement)));
    this.parts.changed();
  }

  /** Ends every call whose time is up and that is on screen. */
  expire(): void {
    const { core, open } = this.parts;
    for (const { call, settlement } of open.overdue(core.now)) {
      if (open.isAsked(call)) this.runOut(call, false);
      else if (!open.isUndecided(call)) this.end(call, settlement);
    }
  }

  /**
   * Ends every call whose time is up before something posted begins. Returns the chunks that tell it, or null while it is not known
   * whether a card was decided before.
   */
  expireQuietly(): LateCall[] | null {
    const { core, open } = this.parts;
    for (const { call, settlement } of open.overdue(core.now)) {
      if (open.isUndecided(call)) this.runOut(call, true);
      else this.late.push(this.endQuietly(call, settlement));
    }
    return open.areExpiring ? null : this.late.splice(0);
  }

  /** The time of a card is up: the store knows whether someone decided it before, here or where the session was then. */
  private runOut(call: OpenCall, isQuiet: boolean): void {
    const { id: callId } = call.record;
    call.isExpiring = true;
    this.parts.core.storing([{ do: 'expire', call: call.record, reason: APPROVAL_TIMED_OUT }], {
      what: 'expiry',
      callId,
      isQuiet,
    });
  }

  /** A card has run out of time, unless it was decided before. */
  expired({ callId, isQuiet }: Expiry, decided: DecidedBefore | null): void {
    const { open, decisions, calls } = this.parts;
    const call = open.get(callId);
    if (!call || !open.isUndecided(call)) return this.ranOut(call);
    const step = decided ? decisions.decidedBefore(call, decided) : null;
    if (!decided) {
      call.record = { ...call.record, status: 'expired' };
      this.endLate(call, isQuiet);
    } else if (!isQuiet && step) calls.take(step);
    else if (step?.next === 'end') this.late.push(this.endQuietly(call, step.settlement));
    this.ranOut(call);
  }

  /** That a card ran out of time could not be written: it ends all the same. */
  notExpired({ callId, isQuiet }: Expiry): void {
    const { open } = this.parts;
    const call = open.get(callId);
    if (call && open.isUndecided(call)) this.endLate(call, isQuiet);
    this.ranOut(call);
  }

  private endLate(call: OpenCall, isQuiet: boolean): void {
    const settlement: Settlement = { kind: 'error', errorText: APPROVAL_TIMED_OUT };
    call.isExpiring = false;
    if (isQuiet) this.late.push(this.endQuietly(call, settlement));
    else this.end(call, settlement);
  }

  /** What waited for the store to know goes on. */
  private ranOut(call: OpenCall | undefined): void {
    const { open, turnBegins, answers } = this.parts;
    if (call) call.isExpiring = false;
    if (open.areExpiring) return;
    // Whatever was about to begin may have been given up meanwhile.
    if (!turnBegins.goOn()) for (const one of this.late.splice(0)) this.tellSettled(one);
    answers.takeHeld();
    this.parts.changed();
  }

  /** Tells what ended in an earlier message. */
  tellSettled({ messageId, chunks }: LateCall): void {
    for (const chunk of chunks) {
      if (chunk.type !== 'tool-output-error') continue;
      const { toolCallId, errorText } = chunk;
      this.parts.messages.inject({
        type: 'data-settled',
        data: { toolCallId, messageId, errorText },
        transient: true,
      });
    }
  }

  /** Ends calls that the model wants no more of; it gets no response to them. One that runs has its effect, and ends with it. */
  cancel(callIds: readonly string[], settlement: Settlement): void {
    const { open, run, calls } = this.parts;
    for (const id of callIds) {
      const call = open.get(id);
      if (!call) continue;
      run.forgetCall(id);
      if (!open.hasBegun(call)) this.end(call, settlement);
    }
    calls.showNext();
    this.parts.changed();
  }

  private goOn(owner: Writing, record: CallRecord, isHeard: boolean): void {
    const { open, messages, life, calls, turnByTurn } = this.parts;
    if (life.isAbandoned) {
      // What the agent would have said to it, it does not say.
      if (open.in(owner.message.id).length === 0) messages.finish(owner, { interrupted: true });
    } else if (isHeard) {
      const isComplete = !open
        .in(owner.message.id)
        .some((other) => other.record.invocationId === record.invocationId);
      messages.expect(owner, isComplete);
      turnByTurn.goOn();
      calls.showNext();
    }
    this.parts.changed();
  }
}

function endWrites(record: CallRecord, settlement: Settlement, accepts?: Accepting): Write[] {
  const expires = isUndecided(record) && settlement.kind === 'error';
  const seen = settlement.kind === 'output' ? settlement.session : undefined;
  return [
    ...(expires ? [{ do: 'expire' as const, call: record, reason: settlement.errorText }] : []),
    { do: 'append', event: endEvent(record, settlement), seen, accepted: accepts?.accepted },
  ];
}

/** What a live model is told of the end of a call. */
function replyTo({ id, toolName: name }: CallRecord, settlement: Settlement): Content {
  return { role: 'user', parts: [{ functionResponse: { id, name, response: responseOf(settlement) } }] };
}
