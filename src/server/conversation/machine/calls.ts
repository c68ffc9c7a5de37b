import { type DeferredCall, responseEvent } from '../../../adk/for-server.ts';
import type { ToolFacts } from '../../../protocol/index.ts';
import { INTERRUPTION, responseOf, type Settlement } from '../../ledger/settlement.ts';
import type { AgentEvents } from './agent-events.ts';
import type { AgentRun } from './agent-run.ts';
import type { CallChunks } from './call-chunks.ts';
import type { CallEnds } from './call-ends.ts';
import { issuedAs } from './call-flow.ts';
import type { About, Ticket, Write } from './effects.ts';
import type { Writing } from './messages.ts';
import type { OpenCall, Step } from './open-call.ts';
import type { Shared } from './shared.ts';
import type { TurnEnds } from './turn-ends.ts';

/** What calls need of other parts. */
interface Needs extends Shared {
  readonly callChunks: CallChunks;
  readonly callEnds: CallEnds;
  readonly events: AgentEvents;
  readonly run: AgentRun;
  readonly turnEnds: TurnEnds;
  readonly executions: { standInLine(call: OpenCall): void };
}

/** The flow of every call, in both modes: written down, shown, answered, handed to the browser or to the server's tools. */
export class Calls {
  /** Browser calls that do not ask and are not announced yet: they are announced together with the card of their step. */
  private held: OpenCall[] = [];
  /** Whether a card waits until the browser calls of its step that do not ask are written down. */
  private isCardHeld = false;
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  /** A call that ADK made: written down, and only then shown, handed over or run. */
  issue(call: DeferredCall, writing: Writing, ticket: Ticket, n: number): void {
    const { core, open, messages, callChunks } = this.parts;
    const { now, newId } = core;
    messages.interject(writing);
    const issued = open.issue(call, writing.message.id, {
      now,
      newId,
      clientDeadline: this.clientDeadline(),
    });
    issued.isAnnounced = callChunks.wasAnnounced(call.id);
    // An interrupt does not wait for it: nobody has heard of the call yet.
    core.emit({
      type: 'store-apart',
      writes: [{ do: 'issue', call: issued.record }],
      about: { what: 'call', callId: call.id, ticket, n },
    });
  }

  /** A call is written down: it is shown, handed over or run. */
  issued(callId: string, ticket: Ticket): void {
    const { core, open, messages, run, events, callChunks, callEnds, executions, policy } = this.parts;
    const call = open.get(callId);
    const writing = call && messages.get(call.record.messageId);
    if (!call) return core.emit({ type: 'let-go', ticket, error: null });
    const isUnwanted = open.isUnwanted(call);
    const becomes = issuedAs(call.record);
    open.move(call, becomes);
    if (isUnwanted || !writing) {
      // Interrupted while it was written down. Nobody has heard of it, unless ADK announced it before.
      if (call.isAnnounced) this.settleLate(call, INTERRUPTION);
      else callEnds.endUnheard(call, INTERRUPTION);
      return core.emit({ type: 'let-go', ticket, error: null });
    }
    if (run.isLive && becomes !== 'allow') messages.isAtWork = false;
    messages.interject(writing);
    if (becomes === 'hand-over' && !call.isAnnounced && !policy.pauseEndsResponse) this.held.push(call);
    else if (becomes !== 'ask') {
      callChunks.announce(call, writing);
      messages.save(writing);
      if (becomes === 'allow') executions.standInLine(call);
    }
    this.showNext();
    events.tellNext();
    core.emit({ type: 'let-go', ticket, error: null });
    this.parts.changed();
  }

  /** The call could not be written down: nobody has heard of it, and the agent gets an error. */
  notIssued({ callId, ticket, n }: Extract<About, { what: 'call' }>): void {
    const { core, open, run, callChunks } = this.parts;
    const call = open.get(callId);
    const errorText = 'The call could not be written down.';
    if (call?.isAnnounced && !run.isOpenAs(n)) this.settleLate(call, { kind: 'error', errorText });
    else if (call) {
      if (call.isAnnounced) callChunks.giveBack(callId);
      open.move(call, 'settle');
      this.endLeftover(call);
    }
    core.emit({ type: 'let-go', ticket, error: errorText });
    this.parts.changed();
  }

  /** Ends a call that was announced in a response which is over. */
  private settleLate(call: OpenCall, settlement: Settlement): void {
    const { callEnds } = this.parts;
    callEnds.tellSettled(callEnds.endQuietly(call, settlement));
    this.endLeftover(call);
    this.parts.changed();
  }

  private endLeftover({ record }: OpenCall): void {
    this.parts.turnEnds.endLeftover(this.parts.messages.get(record.messageId));
  }

  /** A call of a turn that was interrupted: nobody hears of it, but it does not stay open either. */
  turnDown(call: DeferredCall, ticket: Ticket): void {
    const { core, run } = this.parts;
    const { id, toolName: name, agent, invocationId, branch = null } = call;
    const response = responseOf(INTERRUPTION);
    const event = responseEvent({ agent, invocationId, branch }, [{ id, name, response }]);
    core.storingAnyway([{ do: 'append', event }], () => run.sendResponse(call, response));
    core.emit({ type: 'let-go', ticket, error: null });
  }

  /** Shows what waited for other calls of its step, as soon as these are written down, answered or gone. */
  showHeld(): void {
    if (this.isCardHeld || this.held.length > 0) this.showNext();
  }

  /**
   * Shows the next card, or all of them. A client ends its response at a card, and sends the answers of a step together: so
   * the browser calls of the step that do not ask are announced before the request of its first card.
   */
  showNext(): void {
    const { core, open, messages, policy, callChunks } = this.parts;
    const { cardsTogether, approvalTimeoutMs, pauseEndsResponse } = policy;
    // A response over SSE ends with the run, when every call of the step is shown.
    this.isCardHeld = !pauseEndsResponse && open.hidden.length > 0 && this.isExpecting(isForBrowserAlone);
    if (this.isCardHeld) return;
    for (const call of open.hidden) {
      if (!cardsTogether && open.isShowing) break;
      const writing = messages.get(call.record.messageId);
      // A response turn by turn shows the cards of its own message.
      if (!writing || (pauseEndsResponse && writing !== messages.speaking)) continue;
      open.move(call, 'show');
      const expiresAt = approvalTimeoutMs === null ? null : core.now + approvalTimeoutMs;
      // The ledger knows of the call; what it may not know is the deadline.
      const isKnown = call.record.expiresAt === expiresAt;
      call.record = { ...call.record, expiresAt };
      messages.interject(writing);
      const beside = this.takeHeld(writing);
      const about: About = {
        what: 'card',
        callId: call.record.id,
        isAnnounced: call.isAnnounced,
        beside: beside.map(({ record }) => record.id),
      };
      const writes: Write[] = isKnown ? [] : [{ do: 'show', call: call.record }];
      core.storing(writes, about, () => {
        // A client that sees only browser calls ends its response: it must know of the card by then.
        if (beside.length > 0 && !callChunks.areConfirmed) callChunks.announce(call, writing);
        for (const one of beside) callChunks.announce(one, writing);
        callChunks.ask(call, writing, cardsTogether ? 0 : this.countQueued(writing));
      });
    }
    if (open.isShowing || !this.isExpecting(({ asks }) => asks)) this.announceHeld();
  }

  /** How many approval requests of this message are still to be sent, one after the other. */
  private countQueued({ message }: Writing): number {
    const { open, events } = this.parts;
    const isQueued = ({ record }: OpenCall) => record.approvalId !== null && record.messageId === message.id;
    const known = [...open.hidden, ...open.issuing].filter(isQueued).length;
    return known + events.countExpected(({ asks }) => asks);
  }

  /** Whether the agent made such a call that is not written down yet and of which no client knows. */
  private isExpecting(isSuch: (facts: ToolFacts) => boolean): boolean {
    const { open, events } = this.parts;
    const isToCome = ({ isAnnounced, record: { runsOn, approvalId } }: OpenCall) =>
      !isAnnounced && isSuch({ runsOn, asks: approvalId !== null });
    return events.countExpected(isSuch) > 0 || open.issuing.some(isToCome);
  }

  private takeHeld(writing: Writing): OpenCall[] {
    const isOf = ({ record }: OpenCall) => record.messageId === writing.message.id;
    const taken = this.held.filter((call) => isOf(call) && this.parts.open.get(call.record.id) === call);
    this.held = this.held.filter((call) => !isOf(call));
    return taken;
  }

  /** Announces browser calls that no card of their step comes with. */
  private announceHeld(): void {
    const { messages, callChunks } = this.parts;
    for (const { record } of this.held) {
      const writing = messages.get(record.messageId);
      const taken = writing ? this.takeHeld(writing) : [];
      // A call that was interrupted meanwhile is not announced, and its message may have ended.
      if (!writing || taken.length === 0) continue;
      messages.interject(writing);
      for (const call of taken) callChunks.announce(call, writing);
      messages.save(writing);
    }
    this.held = [];
  }

  /** A card could not be written down: nobody has seen it, and its call ends. */
  notShown({ callId, isAnnounced, beside }: Extract<About, { what: 'card' }>): void {
    const { open, callEnds } = this.parts;
    // The chunks after the failed write were not sent: the browser calls beside the card are still to be announced.
    for (const id of beside) {
      const one = open.get(id);
      if (!one) continue;
      one.isAnnounced = false;
      this.held.push(one);
    }
    const call = open.get(callId);
    if (!call) return;
    call.isAnnounced = isAnnounced;
    call.isConfirming = false;
    callEnds.end(call, { kind: 'error', errorText: 'The question could not be written down.' });
  }

  /** Does what an answer allows. */
  take(step: Step): void {
    const { open, callChunks, callEnds, executions } = this.parts;
    const { call, next } = step;
    if (next === 'run') return executions.standInLine(call);
    if (next === 'hand-over') return this.handOver(call);
    if (step.settlement.kind === 'output' && this.parts.core.options.callsBack)
      return this.callBack(step, step.settlement.output);
    if (!open.holdsApproval(call)) {
      callChunks.confirm(call);
      return callEnds.end(call, step.settlement, step);
    }
    // Decision and output came together: the approval is used up all the same.
    this.consume(call, () => callChunks.confirm(call));
    callEnds.end(call, step.settlement, step);
  }

  /** Calls the after-tool callbacks with an output from outside, before the output is stored or sent. */
  private callBack({ call, accepts }: Extract<Step, { next: 'end' }>, output: unknown): void {
    const { core, open, callChunks } = this.parts;
    const holdsApproval = open.holdsApproval(call);
    if (!open.receive(call, accepts)) return;
    const then = () => {
      callChunks.confirm(call);
      core.emit({ type: 'call-back', call: call.record, output });
    };
    if (holdsApproval) this.consume(call, then);
    else then();
  }

  /** Lets the browser do it. */
  private handOver(call: OpenCall): void {
    const { open, messages, policy, callChunks } = this.parts;
    const writing = messages.get(call.record.messageId);
    if (!writing || !open.move(call, 'hand-over')) return;
    call.record = { ...call.record, expiresAt: this.clientDeadline() };
    this.consume(call, () => {
      callChunks.confirm(call);
      if (policy.pauseEndsResponse) callChunks.repeatInput(call, writing);
      messages.save(writing);
    });
    this.parts.changed();
  }

  /** Takes up what another run, or another process, left open. */
  takeUp(): void {
    const { open, executions } = this.parts;
    for (const call of open.due) {
      if (call.record.runsOn === 'server') executions.standInLine(call);
      else this.handOver(call);
    }
    this.showNext();
  }

  /** Until when whoever is outside of the server has time with a call. */
  clientDeadline(): number | null {
    const { now, options } = this.parts.core;
    return options.clientTimeoutMs === null ? null : now + options.clientTimeoutMs;
  }

  /** Writes down that an approval is used. */
  private consume(call: OpenCall, then: () => void): void {
    const { id: callId } = call.record;
    const { core } = this.parts;
    core.storing([{ do: 'take', call: call.record }], { what: 'execution', callId }, then);
  }
}

/** Whether a call runs in the browser and needs no approval. */
function isForBrowserAlone({ runsOn, asks }: ToolFacts): boolean {
  return runsOn === 'client' && !asks;
}
