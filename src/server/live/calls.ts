import { type DeferredCall, type Outcome, responseEvent } from '../../adk/engine.ts';
import { toProtocolError } from '../../protocol/index.ts';
import type { Step } from '../calls.ts';
import { approvalRequest } from '../cards.ts';
import type { Session } from '../session.ts';
import { INTERRUPTION, responseOf, type Settlement, settlementOf } from '../settlement.ts';
import type { CallRecord } from '../store/store.ts';
import type { LiveMessages } from './messages.ts';
import type { LiveRun } from './run.ts';

/** What the calls of a live session need from around them. */
export interface LiveCallsContext {
  session: Session;
  messages: LiveMessages;
  run: LiveRun;
  /** Does something when everything before it is done. */
  inOrder: (work: () => Promise<void>) => Promise<void>;
  /** Lets work go on that nobody waits for. */
  detach: (work: Promise<void>) => void;
  /** The agent may be free for what waits. */
  onFree: () => void;
}

/**
 * The calls of a live session: taken out of the agent's run, shown, answered or run beside it, and their responses fed
 * back. The run never waits for one.
 */
export class LiveCalls {
  /** Nobody came back: what still ends is written down, but the agent is not asked to go on. */
  isAbandoned = false;
  private readonly context: LiveCallsContext;
  /** Calls that ask and are not shown yet. */
  private readonly hidden: CallRecord[] = [];
  private stopping = new AbortController();
  /** How often the calls were stopped: who waited for something meanwhile finds out. */
  private stops = 0;
  private cancelTimer: (() => void) | null = null;

  constructor(context: LiveCallsContext) {
    this.context = context;
  }

  /** A call that ADK made: taken out of its loop at once. */
  async defer(call: DeferredCall): Promise<void> {
    const { session, messages, run, detach, onFree } = this.context;
    const { speaking } = messages;
    if (!speaking || run.isMuted) return this.turnDown(call);
    const { stops } = this;
    const record = await session.calls.issue(call, speaking.message.id);
    if (this.stops !== stops) {
      // Interrupted while it was written down: nobody has heard of it.
      const settled = await session.calls.settle(record, INTERRUPTION);
      if (settled) run.sendResponse(record, settled.response);
      return;
    }
    messages.interject(speaking);
    if (call.asks) {
      this.hidden.push(record);
      messages.generating = false;
      return this.showNext();
    }
    if (call.runsOn === 'client') messages.generating = false;
    session.cards.announce(record, { runsOn: call.runsOn, asks: false });
    await session.output.save(speaking.message.id);
    if (call.runsOn === 'server') return detach(this.run(record));
    this.arm();
    onFree();
  }

  /** Does what an answer allows. */
  async take(step: Step): Promise<void> {
    const { session, messages, detach } = this.context;
    // What runs on the server takes its approval when its turn comes.
    const call = step.next === 'run' ? step.call : await session.calls.consume(step.call);
    if (!call) return;
    if (session.cards.areCalls && call.approvalId !== null) {
      messages.turnTo(await messages.load(call.messageId));
      session.cards.confirm(call);
    }
    if (step.next === 'settle') await this.finish(call, step.settlement);
    else if (step.next === 'run') detach(this.run(call));
    else {
      await session.output.save(call.messageId);
      this.arm();
    }
  }

  /** Ends a call: the history first, then the person, then the model. */
  async finish(call: CallRecord, ending: Settlement): Promise<void> {
    const { session, messages, run } = this.context;
    const { calls, output } = session;
    const interrupted = ending.kind === 'error' && ending.interrupted === true;
    if (!calls.get(call.id)) return;
    if (!interrupted && !this.isAbandoned) await run.ready();
    const settled = await calls.settle(call, ending);
    if (!settled) return;
    const { settlement, response } = settled;
    const owner = await messages.load(call.messageId);
    messages.turnTo(owner);
    for (const chunk of calls.chunksFor(call, settlement, output.fold(owner.message.id))) output.say(chunk);
    if (!interrupted && !this.isAbandoned) messages.expect(owner, call);
    await output.save(owner.message.id);
    if (this.isAbandoned) {
      // What the agent would have said to it, it does not say.
      if (!messages.hasOpenCalls(owner)) await messages.finish(owner, true);
      return;
    }
    this.arm();
    run.sendResponse(call, response);
    if (!interrupted) await this.showNext();
  }

  /** Ends calls that the model wants no more of. */
  async cancel(callIds: string[]): Promise<void> {
    for (const id of callIds) {
      const call = this.context.session.calls.get(id);
      if (call) await this.finish(call, INTERRUPTION);
    }
  }

  /** Ends every call whose time is up. */
  async expire(): Promise<void> {
    const { calls } = this.context.session;
    for (const { call, settlement } of calls.overdue()) {
      const wasOnScreen = calls.isShown(call) || call.approvalId === null;
      if (wasOnScreen) await this.finish(call, settlement);
    }
    this.arm();
  }

  /** Someone is there: takes up what another run, or another process, left open. */
  takeUp(): void {
    const { session, inOrder, detach } = this.context;
    const { calls } = session;
    this.isAbandoned = false;
    for (const call of calls.all) {
      const isHidden = call.status === 'requested' && !calls.isShown(call);
      if (isHidden && !this.hidden.some(({ id }) => id === call.id)) this.hidden.push(call);
    }
    this.arm();
    detach(
      inOrder(async () => {
        // Decided, or ready to run, and then its process died before anything came of it.
        for (const call of calls.all.filter(({ status }) => status === 'approved' || status === 'ready')) {
          await this.take({ call, next: call.runsOn === 'server' ? 'run' : 'await-client' });
        }
        await this.showNext();
      }),
    );
  }

  /** The agent is interrupted: tools are told to stop, and cards that were to come do not. */
  stop(): void {
    this.stops++;
    this.stopping.abort();
    this.stopping = new AbortController();
    this.hidden.length = 0;
  }

  /** Ends everything, for good: tools are told to stop, and what they still give is of no interest. */
  close(): void {
    this.isAbandoned = true;
    this.stopping.abort();
  }

  /** Wakes up when the next call runs out of time. */
  arm(): void {
    this.disarm();
    const { session, detach, inOrder } = this.context;
    const { clock } = session.engine;
    const deadline = session.calls.nextDeadline();
    if (deadline === null) return;
    this.cancelTimer = clock.after(deadline - clock.now(), () => detach(inOrder(() => this.expire())));
  }

  disarm(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }

  /** A call of a turn that was interrupted: nobody hears of it, but it does not stay open either. */
  private async turnDown(call: DeferredCall): Promise<void> {
    const { session, run } = this.context;
    const { id, toolName: name, agent, invocationId, branch = null } = call;
    const response = responseOf(INTERRUPTION);
    await session.history.append(responseEvent({ agent, invocationId, branch }, [{ id, name, response }]));
    run.sendResponse(call, response);
  }

  /** Shows the next card, or all of them. */
  private async showNext(): Promise<void> {
    const { session, messages, onFree } = this.context;
    const { calls, cards, output } = session;
    const { approvals, approvalTimeoutMs } = session.engine.options;
    while (this.hidden.length > 0) {
      const isShowing = calls.all.some((call) => call.approvalId !== null && calls.isShown(call));
      if (approvals === 'sequential' && isShowing) break;
      const record = this.hidden.shift();
      if (!record || calls.get(record.id)?.status !== 'requested' || calls.isShown(record)) continue;
      const call = await calls.show(record, approvalTimeoutMs.bidi);
      const owner = await messages.load(call.messageId);
      // Settled while its time was written down.
      if (!calls.get(call.id)) continue;
      messages.interject(owner);
      if (cards.areCalls) cards.announceConfirmation(call);
      else {
        cards.announceAsking(call);
        output.inject({ type: 'start-step' });
        output.say(approvalRequest(call));
        output.inject({ type: 'finish-step' });
      }
      await output.save(owner.message.id);
    }
    this.arm();
    onFree();
  }

  /** Runs a tool beside the agent, when its turn comes. */
  private async run(call: CallRecord): Promise<void> {
    const { session } = this.context;
    const { signal } = this.stopping;
    try {
      await session.runs.run(call, { signal, settle: (running, outcome) => this.settle(running, outcome) });
    } catch (error) {
      // It may be as it was before, and is taken up when someone comes back.
      session.output.tell(toProtocolError(error));
      throw error;
    } finally {
      this.context.onFree();
    }
  }

  private async settle(call: CallRecord, outcome: Outcome): Promise<void> {
    const { session, inOrder } = this.context;
    const { engine, key, calls } = session;
    // Ended meanwhile: nobody waits for it, and what is in order before might wait for the slot.
    if (!calls.get(call.id)) return;
    await inOrder(async () => {
      try {
        await this.finish(call, endOf(call, outcome));
      } catch (error) {
        if (!calls.get(call.id)) throw error;
        engine.logger.error('a result was not kept', {
          session: key.id,
          call: call.id,
          error: String(error),
        });
        await this.finish(call, { kind: 'error', errorText: 'The result of the tool could not be kept.' });
      }
    });
  }
}

function endOf(call: CallRecord, outcome: Outcome): Settlement {
  if (outcome.kind !== 'asks') return settlementOf(outcome);
  const errorText = `${call.toolName} asks for a confirmation while it runs, which it can only do over SSE.`;
  return { kind: 'error', errorText };
}
