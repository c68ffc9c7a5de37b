import type { Outcome } from '../../../adk/for-server.ts';
import { ProtocolError } from '../../../protocol/index.ts';
import type { Standing } from '../../access/sign-in.ts';
import { SIGNED_OUT_END, settlementOf } from '../../ledger/approvals.ts';
import type { CallChunks } from './call-chunks.ts';
import type { CallEnds } from './call-ends.ts';
import type { Calls } from './calls.ts';
import { RETRY_MS } from './core.ts';
import type { OpenCall } from './open-call.ts';
import type { Shared } from './shared.ts';

/** What executions need of other parts. */
interface Needs extends Shared {
  readonly callChunks: CallChunks;
  readonly callEnds: CallEnds;
  readonly calls: Calls;
}

/** Calls that the server runs itself: each waits for the slot, runs once, and gives the slot back when its end is stored. */
export class Executions {
  /** When calls that could not be taken are taken up again; null when there are none. */
  retryAt: number | null = null;
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  /** Waits for its turn among the server tools of the session. */
  standInLine(call: OpenCall): void {
    const { core, open } = this.parts;
    if (open.lineUp(call)) core.emit({ type: 'want-slot', call: call.record });
  }

  /** The call has the slot: it runs, if whoever approved it is still signed in. */
  run(callId: string): void {
    const { core, open } = this.parts;
    const by = open.get(callId)?.by;
    if (by) core.emit({ type: 'ask-sign-in', by, question: { why: 'execution', callId } });
    else this.begin(callId);
  }

  /** When it cannot be found out the call goes on: it was found out when they decided. */
  signedIn(callId: string, standing: Standing): void {
    if (standing === 'signed-out') this.withdraw(callId);
    else this.begin(callId);
  }

  /** Whoever approved a call is signed in no more: it never runs. */
  private withdraw(callId: string): void {
    const { core, open, callChunks, callEnds } = this.parts;
    core.emit({ type: 'give-slot-back', callId });
    const call = open.get(callId);
    if (!call) return;
    core.storing([{ do: 'withdraw', call: call.record }], null);
    callChunks.confirm(call);
    callEnds.end(call, SIGNED_OUT_END);
  }

  /** The call runs, once. */
  private begin(callId: string): void {
    const { core, open, callChunks } = this.parts;
    const call = open.get(callId);
    if (!call || !open.move(call, 'take')) return core.emit({ type: 'give-slot-back', callId });
    core.storing([{ do: 'take', call: call.record }], { what: 'execution', callId }, () => {
      callChunks.confirm(call);
      core.emit({ type: 'run-tool', call: call.record });
    });
  }

  /** Somebody else has it, or it could not be written down that it runs. */
  notRun(callId: string, isFailure: boolean): void {
    const { core, open, messages } = this.parts;
    core.emit({ type: 'give-slot-back', callId });
    const call = open.get(callId);
    if (!call) return;
    if (!isFailure) open.move(call, 'settle');
    else {
      // It stands as it did before, and is taken up when the disk has had a moment.
      open.putBack(call);
      this.retryAt = core.now + RETRY_MS;
      const error = new ProtocolError('internal', 'The call could not be written down.');
      const { approvedOver: connection } = call;
      if (connection !== null) core.emit({ type: 'tell-connection', connection, error });
      else messages.inject({ type: 'data-error', data: error.toWire(), transient: true });
    }
    this.parts.changed();
  }

  /** Time has passed: what could not be taken is tried again. */
  time(): void {
    if (this.retryAt === null || this.retryAt > this.parts.core.now) return;
    this.retryAt = null;
    this.parts.calls.takeUp();
  }

  /** A tool of the server came to its end, or was started and is ended from outside. */
  ended(callId: string, outcome: Outcome): void {
    const { core, open, messages, calls, callEnds } = this.parts;
    const call = open.running(callId);
    if (!call) return core.emit({ type: 'give-slot-back', callId });
    call.givesSlotBack = true;
    if (outcome.kind === 'waits') {
      open.move(call, 'park');
      // A model that is run live says nothing until it gets the output, which may take hours: the next message does not wait for that.
      if (messages.speaking?.message.id === call.record.messageId) messages.isAtWork = false;
      call.record = { ...call.record, expiresAt: calls.clientDeadline() };
      core.storing([{ do: 'park', call: call.record }], null);
      this.giveSlotBack(call);
      return this.parts.changed();
    }
    if (outcome.kind !== 'asks') return callEnds.end(call, settlementOf(outcome));
    const errorText =
      call.record.approvalId === null
        ? `${call.record.toolName} asks for a confirmation while it runs, which it can only do over SSE.`
        : `${call.record.toolName} asked again for a confirmation it already had.`;
    callEnds.end(call, { kind: 'error', errorText });
  }

  /** The next tool begins when this one's changes are stored, and sees them. */
  giveSlotBack(call: OpenCall): void {
    if (!call.givesSlotBack) return;
    call.givesSlotBack = false;
    this.parts.core.emit({ type: 'give-slot-back', callId: call.record.id });
  }
}
