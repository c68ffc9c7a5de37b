import type { Answer } from '../../../src/protocol/index.ts';
import type { Write } from '../../../src/server/conversation/state/effects.ts';
import type { DecidedBefore, WriteResults } from '../../../src/server/conversation/state/inputs.ts';
import { LEDGER, type Verdict } from '../../../src/server/ledger/approvals.ts';
import type { CallRecord, CallStatus } from '../../../src/server/store/store.ts';

/** How long the text of every message is taken to be. */
const TEXT_LENGTH = 100;

/** What is stored, as far as the machine asks for it: the calls, the history's responses, the person's messages. */
export class Ledger {
  readonly calls = new Map<string, CallRecord>();
  /** Calls that the history answers. */
  readonly answered = new Set<string>();
  /** Calls that ADK itself runs: they stand in the history. */
  readonly inside = new Set<string>();
  /** The words of the person that are kept. */
  readonly kept = new Set<string>();
  /** Calls that were approved. */
  readonly approved = new Set<string>();

  write(write: Write, now: number, results: WriteResults): void {
    switch (write.do) {
      case 'issue':
        this.calls.set(write.call.id, write.call);
        return;
      case 'show':
      case 'park': {
        const { id, expiresAt } = write.call;
        const { from, to } = LEDGER[write.do];
        this.move(id, from, to, { expiresAt });
        return;
      }
      case 'take': {
        const { id, approvalId } = write.call;
        results.isTaken = this.move(id, approvalId === null ? 'ready' : 'approved', 'running') !== null;
        return;
      }
      case 'expire':
        results.decided = this.expire(write.call.id);
        return;
      case 'answer':
        this.move(write.call.id, 'requested', 'running');
        return;
      case 'decline':
        this.move(write.call.id, 'requested', 'denied');
        return;
      case 'ask': {
        const { id, approvalId, question } = write.call;
        this.move(id, LEDGER.ask.from, LEDGER.ask.to, { approvalId, question });
        return;
      }
      case 'withdraw':
        this.move(write.call.id, 'approved', 'expired');
        return;
      case 'append-outcome':
      case 'append-interrupted':
        this.settle(write.call.id);
        return;
      case 'store-message':
        for (const part of write.parts) if (part.type === 'text') this.kept.add(part.text);
        return;
      case 'decide':
        results.verdicts = write.decisions.map((decision) => this.decide(decision, write, now));
        results.isAccepted = write.accepted !== undefined && results.verdicts.some(counts);
        return;
      case 'cut':
        results.length = Math.round(TEXT_LENGTH * write.share);
        return;
      case 'find-unfinished':
        results.unfinished = null;
        return;
      default:
        return;
    }
  }

  /** Decides an approval request at a process that does not own the session. */
  decideElsewhere(id: string, to: 'approved' | 'denied'): void {
    if (this.move(id, 'requested', to) && to === 'approved') this.approved.add(id);
  }

  private expire(id: string): DecidedBefore | null {
    if (this.move(id, 'requested', 'expired')) return null;
    const call = this.calls.get(id);
    return call ? { call, by: 'someone' } : null;
  }

  private settle(id: string): void {
    this.answered.add(id);
    const call = this.calls.get(id);
    if (call) this.calls.set(id, { ...call, status: 'settled' });
  }

  private move(
    id: string,
    from: CallStatus,
    to: CallStatus,
    change: Partial<CallRecord> = {},
  ): CallRecord | null {
    const call = this.calls.get(id);
    if (call?.status !== from) return null;
    const moved = { ...call, ...change, status: to };
    this.calls.set(id, moved);
    return moved;
  }

  private decide(
    { toolCallId, approvalId, approved, reason }: Extract<Answer, { kind: 'decision' }>,
    { shown, isSignedIn }: Extract<Write, { do: 'decide' }>,
    now: number,
  ): Verdict {
    const call = this.calls.get(toolCallId);
    if (!call || call.approvalId === null) return { kind: 'refused', why: 'no such approval' };
    if (!isSignedIn) {
      const isMeant = call.status === 'requested' && shown.has(call.id) && approved;
      const ended = isMeant ? this.move(call.id, 'requested', 'expired') : null;
      return ended ? { kind: 'ended', call: ended } : { kind: 'ignored' };
    }
    const to = approved ? 'approved' : 'denied';
    if (call.status === 'settled' || call.status === 'running') return { kind: 'ignored' };
    if (call.status === to) return { kind: 'counts', call, isRepeated: true };
    if (call.status === 'approved' || call.status === 'denied')
      return { kind: 'refused', why: `already ${call.status}`, decided: call };
    if (call.status !== 'requested') return { kind: 'refused', why: `already ${call.status}` };
    if (!shown.has(call.id)) return { kind: 'refused', why: 'not asked yet' };
    if (approvalId !== undefined && approvalId !== call.approvalId)
      return { kind: 'refused', why: 'belongs to another call' };
    if (call.expiresAt !== null && call.expiresAt <= now) {
      this.move(call.id, 'requested', 'expired');
      return { kind: 'refused', why: 'expired' };
    }
    const moved = this.move(call.id, 'requested', to, { reason: reason ?? null });
    if (!moved) return { kind: 'ignored' };
    if (approved) this.approved.add(call.id);
    return { kind: 'counts', call: moved, isRepeated: false };
  }
}

function counts({ kind }: Verdict): boolean {
  return kind === 'counts';
}
