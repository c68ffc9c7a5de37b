import { type Heard, SUPERSEDED } from '../../../protocol/index.ts';
import { INTERRUPTION, type Settlement } from '../../ledger/approvals.ts';
import type { AgentEvents } from './agent-events.ts';
import type { AgentRun } from './agent-run.ts';
import type { CallEnds } from './call-ends.ts';
import type { Asker } from './effects.ts';
import type { Hearing } from './hearing.ts';
import type { Inbox } from './inbox.ts';
import type { Writing } from './messages.ts';
import type { Shared } from './shared.ts';
import type { TurnByTurn } from './turn-by-turn.ts';

/** What ends of turns need of other parts. */
interface Needs extends Shared {
  readonly callEnds: CallEnds;
  readonly events: AgentEvents;
  readonly hearing: Hearing;
  readonly inbox: Inbox;
  readonly run: AgentRun;
  readonly turnByTurn: TurnByTurn;
  readonly responses: { readonly current: { readonly writing: Writing } | null; stop(): boolean };
  readonly turnBegins: { enterEarly(): boolean };
}

/** How turns end that do not end by themselves: interrupted, superseded by another, or left behind. */
export class TurnEnds {
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  /** Someone wants it quiet. Who names a message means no other: the agent may be at the next one already. */
  interruptFor(asker: Asker, heard: Heard): void {
    const { core, hearing, acceptances } = this.parts;
    const isMeant = heard.messageId === undefined || this.isUnderWay(heard.messageId);
    if (isMeant && !heard.isSpeech) this.interrupt();
    core.emit({ type: 'flush-sound' });
    hearing.cut(heard);
    core.emit({ type: 'begun', asker });
    acceptances.write(asker);
  }

  private isUnderWay(messageId: string): boolean {
    const { messages, open, responses } = this.parts;
    const current = responses.current?.writing ?? messages.speaking;
    return current?.message.id === messageId || open.in(messageId).length > 0;
  }

  /** Ends what the agent says and what waits. The next message finds everything in order. */
  interrupt(): void {
    const { messages, open, run, events, responses, core, inbox, callEnds, policy, turnBegins, turnByTurn } =
      this.parts;
    if (responses.stop()) return;
    const { speaking, next } = messages;
    if (!turnBegins.enterEarly() && !messages.isAtWork && !speaking && open.size === 0) return;
    core.emit({ type: 'abort-tools' });
    const isAtIt = open.all.some(({ record }) => record.messageId === speaking?.message.id);
    if (policy.pauseEndsRun) turnByTurn.stop();
    else if (messages.isAtWork || isAtIt || events.hasCalls) run.hush();
    const touched = new Set(messages.speaking ? [messages.speaking, ...next] : next);
    for (const call of open.all) {
      const owner = messages.get(call.record.messageId);
      if (owner) touched.add(owner);
      callEnds.end(call, INTERRUPTION);
    }
    messages.isAtWork = false;
    messages.next = [];
    // Some may have had their end with their last call.
    for (const writing of touched) {
      if (writing.isUnderWay) messages.finish(writing, { interrupted: true });
    }
    // What was typed before is still to be answered.
    inbox.advance();
  }

  /** Ends the turns that wait for an answer. */
  finishWaiting(): void {
    const { messages } = this.parts;
    for (const writing of messages.all) {
      if (writing.isUnderWay) messages.finish(writing, { interrupted: true });
    }
  }

  /** A new message of the person replaces what still waits, and leaves no call unanswered in the history. */
  supersede(): void {
    const { open, callEnds, core } = this.parts;
    const settlement: Settlement = { kind: 'error', errorText: SUPERSEDED };
    for (const call of open.all) callEnds.tellSettled(callEnds.endQuietly(call, settlement));
    this.forgetSettled();
    core.storing(
      [{ do: 'close-dangling', errorText: SUPERSEDED, messageId: null, waiting: new Set() }],
      null,
    );
  }

  /** Lets go of messages that nothing waits for any more; a turn that is still under way has its end first. */
  forgetSettled(): void {
    for (const writing of this.parts.messages.all) this.endLeftover(writing);
  }

  /** Ends a message that nobody will go on with: its calls are settled, and the agent is not at it. */
  endLeftover(writing: Writing | undefined): void {
    const { messages, open } = this.parts;
    if (!writing || writing === messages.speaking || messages.next.includes(writing)) return;
    if (open.in(writing.message.id).length > 0) return;
    if (writing.isUnderWay) messages.finish(writing, { interrupted: true });
    messages.forget(writing);
  }
}
