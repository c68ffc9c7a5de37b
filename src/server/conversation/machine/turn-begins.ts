import { createEvent } from '@google/adk';
import { toContent } from '../../../adk/for-server.ts';
import type { Message, ProtocolError } from '../../../protocol/index.ts';
import type { AcceptedRequest } from '../../store/store.ts';
import { type AgentRun, NOT_COMPLETED } from './agent-run.ts';
import type { CallEnds } from './call-ends.ts';
import type { About, Asker, LateCall, Write } from './effects.ts';
import type { Inbox } from './inbox.ts';
import type { Posted, Said } from './inputs.ts';
import type { Writing } from './messages.ts';
import { modelErrorText } from './model-error.ts';
import { nothingToContinue } from './nothing-to-continue.ts';
import type { Responses } from './responses.ts';
import type { Shared } from './shared.ts';
import type { TurnEnds } from './turn-ends.ts';

/**
 * What is being begun. `finding`: the message that it continues is being read. `waiting`: the run of something else has to end first, or it is not known yet whether cards were decided in time. `reading`: posted answers are being read. `storing`: a
 * message is being stored. Both may be interrupted meanwhile. `kept`: it is stored, and the agent gets it when its live run is open.
 */
type Beginning =
  | { is: 'finding'; command: Said; isInterrupted: boolean }
  | { is: 'waiting'; command: Said | Posted }
  | { is: 'reading'; command: Posted; isInterrupted: boolean }
  | { is: 'storing'; command: Said; id: string; isInterrupted: boolean }
  | { is: 'kept'; command: Said; id: string };

/** Why a message has no answer, where nothing more is known. */
const FAILED = modelErrorText('UNKNOWN_ERROR', '');

/** What beginnings need of other parts. */
interface Needs extends Shared {
  readonly callEnds: CallEnds;
  readonly inbox: Inbox;
  readonly responses: Responses;
  readonly run: AgentRun;
  readonly turnEnds: TurnEnds;
  readonly answers: { readPosted(posted: Posted, late: LateCall[]): void };
}

/** How turns begin: what the person said or posted is stored, and the agent gets it; one at a time. */
export class TurnBegins {
  private beginning: Beginning | null = null;
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  /** What is being begun. */
  get command(): Said | Posted | null {
    return this.beginning?.command ?? null;
  }

  /** Whether a request over SSE is being begun: answers over the socket wait for it. */
  get isPosting(): boolean {
    return this.beginning?.command.wire === 'sse';
  }

  /** Begins something, as far as it can. */
  begin(command: Said | Posted): void {
    const { core, run, messages, said, open, answers, turnEnds, callEnds, acceptances } = this.parts;
    const { asker, wire } = command;
    const continues = command.kind === 'message' ? command.continues : undefined;
    if (command.kind === 'message' && continues?.message === null) {
      this.beginning = { is: 'finding', command, isInterrupted: false };
      return core.storing([{ do: 'find-cut', messageId: continues.messageId }], {
        what: 'continuation',
        asker,
      });
    }
    const rewinds = command.kind === 'message' && command.id !== undefined && said.has(command.id);
    // What was stored, and whose process died before anything was said to it, is begun again: that takes nothing back.
    const isUnanswered = rewinds && said.unanswered === command.id;
    const replaces = wire === 'sse' || (rewinds && !isUnanswered);
    this.beginning = { is: 'waiting', command };
    // One answer at a time. An open run still has the messages that a rewind removes, and may lack the words of a failed answer.
    if (run.isClosing || ((replaces || rewinds || continues) && !run.isNone)) return run.close();
    const late = wire === 'sse' ? callEnds.expireQuietly() : [];
    if (late === null) return;
    // What waits with an unfinished turn is about to be replaced: the turn has its end before anything else begins.
    if (command.kind === 'message' && replaces) turnEnds.finishWaiting();
    messages.closeBlocks();
    if (wire === 'sse') core.emit({ type: 'mark', asker });
    if (command.kind === 'answers') {
      this.beginning = { is: 'reading', command, isInterrupted: false };
      return answers.readPosted(command, late);
    }
    for (const one of late) callEnds.tellSettled(one);
    if (replaces) turnEnds.supersede();
    const { id = core.newMessageId(), parts, metadata } = command;
    this.beginning = { is: 'storing', command, id, isInterrupted: false };
    if (rewinds) said.forgetFrom(id);
    if (rewinds && replaces) for (const writing of messages.all) messages.forget(writing);
    // What was begun before stands before it, though it may have said nothing yet: clients heard of it in this order.
    for (const writing of messages.all) messages.save(writing);
    if (!continues) {
      said.add(id, parts);
      said.unanswered = id;
    }
    const accepted = this.acceptedWith(command);
    const again = { errorText: NOT_COMPLETED, waiting: open.ids() };
    const writes: Write[] = [
      ...(rewinds ? [{ do: 'rewind' as const, messageId: id, ...(replaces ? {} : { again }) }] : []),
      ...(continues ? [] : [{ do: 'keep' as const, id, parts, metadata, accepted }]),
      ...(continues && accepted ? [{ do: 'accept' as const, accepted }] : []),
    ];
    if (this.parts.policy.pauseEndsRun || wire === 'sse') return this.respond(writes, command, id);
    if (run.isOpen) return this.enter(writes, command, id, false);
    core.storing(writes, this.aboutMessage(command, id), () => {
      this.tellSaid(writes, id);
      core.emit({ type: 'begun', asker });
      acceptances.tell(asker, accepted);
    });
    run.openLive();
  }

  /** The message that is to be continued was looked for: it is continued if it is the last one, and was cut. */
  found(asker: Asker, message: Message | null): void {
    const { beginning } = this;
    if (beginning?.is !== 'finding' || beginning.command.asker !== asker) return;
    if (!message || this.parts.open.in(message.id).length > 0)
      return this.notFound(asker, nothingToContinue());
    const { command, isInterrupted } = beginning;
    const { id: messageId } = message;
    this.begin({ ...command, answerId: messageId, continues: { messageId, message } });
    if (isInterrupted) this.parts.turnEnds.interrupt();
  }

  /** The message that is to be continued is not there, or could not be read. */
  notFound(asker: Asker, error: ProtocolError): void {
    const { core, inbox } = this.parts;
    if (this.beginning?.command.asker === asker) this.beginning = null;
    core.emit({ type: 'refuse', asker, error });
    inbox.advance();
  }

  /** A live run is open, or will not be, for the reason that `failure` names: what waited for it goes on. */
  ready(failure = FAILED): void {
    const { beginning } = this;
    const { run, messages, callEnds } = this.parts;
    callEnds.endPending(run.isOpen);
    if (!beginning) return;
    if (beginning.is === 'waiting' || beginning.is === 'reading') return this.begin(beginning.command);
    if (beginning.is !== 'kept') return;
    this.enter([], beginning.command, beginning.id);
    if (run.isOpen) return;
    // It could not be opened: the message is answered with that.
    const { speaking } = messages;
    if (speaking) this.fail(speaking, failure);
  }

  /** Nothing comes of a message: it is answered with that. */
  private fail(writing: Writing, failure: string): void {
    writing.failure ??= failure;
    this.parts.messages.finish(writing);
  }

  /** What waited for something to be known goes on; false when nothing did. */
  goOn(): boolean {
    const { beginning } = this;
    if (beginning?.is !== 'waiting') return false;
    this.begin(beginning.command);
    return true;
  }

  /** Gives up what waits to be begun, if something does. */
  giveUp(): Said | Posted | null {
    const { beginning } = this;
    if (beginning?.is !== 'waiting' && beginning?.is !== 'finding') return null;
    this.beginning = null;
    return beginning.command;
  }

  /** A message that waits to be begun is not stored after all: it is when it begins. */
  notWaiting(id: string): void {
    const { beginning } = this;
    if (beginning?.is !== 'waiting' || beginning.command.kind !== 'message') return;
    const { isStored: _, ...said } = beginning.command;
    if (said.id === id) this.beginning = { is: 'waiting', command: said };
  }

  /** A message that is kept and waits for its run is begun at once, to be interrupted; false when there is none. */
  enterEarly(): boolean {
    const { beginning } = this;
    if (beginning && 'isInterrupted' in beginning) beginning.isInterrupted = true;
    if (beginning?.is !== 'kept') return false;
    this.enter([], beginning.command, beginning.id);
    return true;
  }

  /** A message that waits for its run is stored. */
  kept(asker: Asker): void {
    const { beginning } = this;
    const { inbox, turnEnds, run } = this.parts;
    inbox.isBegun(asker);
    if (beginning?.is !== 'storing' || beginning.command.asker !== asker) return;
    const { command, id } = beginning;
    this.beginning = { is: 'kept', command, id };
    if (beginning.isInterrupted) turnEnds.interrupt();
    else if (run.isOpen) this.enter([], command, id);
    else run.openLive();
  }

  /** What came of posted answers is known; true when they were interrupted meanwhile. */
  wasRead(): boolean {
    const { beginning } = this;
    this.beginning = null;
    return beginning?.is === 'reading' && beginning.isInterrupted;
  }

  /** A message was not kept: whoever said it is told, and nothing of it is left. One that was kept before is answered with that. */
  notBegun(
    { asker, said, messageId, run: n, isKept }: Extract<About, { what: 'message' }>,
    error: ProtocolError,
  ): void {
    const { core, messages, run, responses, inbox, said: before } = this.parts;
    // Said again, it is not passed over.
    before.forget(said);
    const writing = messageId === null ? undefined : messages.get(messageId);
    if (isKept && writing) {
      // Its `start` was to follow the write.
      messages.resume(writing);
      this.fail(writing, FAILED);
      return inbox.advance();
    }
    if (writing) messages.forget(writing);
    const hadRun = run.neverOpened(n);
    if (this.beginning?.command.asker === asker) this.beginning = null;
    if (!inbox.putBack(asker)) core.emit({ type: 'refuse', asker, error });
    if (writing && responses.current?.writing === writing) return responses.over();
    if (hadRun) this.ready();
    inbox.advance();
  }

  /** Those who watch hear what the person said, or took back. What is begun again they have. */
  private tellSaid(writes: readonly Write[], messageId: string): void {
    const { core, messages } = this.parts;
    if (isAgain(writes)) return;
    for (const write of writes) {
      if (write.do === 'rewind')
        messages.inject({ type: 'data-rewind', data: { messageId }, transient: true });
      if (write.do === 'keep') core.emit({ type: 'tell-kept', messageId });
    }
  }

  /** What is written down of a request with its message; nothing when that was done when it had to wait. */
  private acceptedWith({ asker, answerId, isStored, continues }: Said): AcceptedRequest | undefined {
    const parts = continues?.message?.parts.length;
    return isStored ? undefined : this.parts.acceptances.of(asker, answerId, parts);
  }

  private aboutMessage(command: Said, said: string, isKept = false): Extract<About, { what: 'message' }> {
    if (!isKept) this.parts.inbox.begins(command);
    return { what: 'message', asker: command.asker, said, messageId: null, run: null, isKept };
  }

  /** Sends a message of the person to the live run. `isKept`: the message was stored before, and its request was acknowledged. */
  private enter(writes: Write[], command: Said, id: string, isKept = true): void {
    const { parts, asker, answerId, continues } = command;
    const { core, messages, run, said, acceptances } = this.parts;
    const content = toContent(parts);
    const event = createEvent({ author: 'user', content, customMetadata: { messageId: id } });
    this.beginning = null;
    said.unanswered = null;
    this.endUnanswered();
    let writing: Writing | null = null;
    const about = this.aboutMessage(command, id, isKept);
    const begin = () => {
      this.tellSaid(writes, id);
      core.emit({ type: 'begun', asker });
      if (!isKept) acceptances.tell(asker, this.acceptedWith(command));
      writing = messages.begin(answerId, continues?.message);
      run.send(content);
    };
    // What is refused is not there. Nothing stands behind it yet.
    const undo: Write[] = isKept || continues || isAgain(writes) ? [] : [{ do: 'unkeep', messageId: id }];
    core.storing([...writes, { do: 'append', event }], about, begin, undo);
    about.messageId = (writing as Writing | null)?.message.id ?? null;
  }

  /** The agent may have begun to speak by itself meanwhile, or not have gone on as was expected. */
  private endUnanswered(): void {
    const { messages, open } = this.parts;
    const { speaking, isAtWork } = messages;
    if (!speaking) return;
    if (open.in(speaking.message.id).length === 0) messages.finish(speaking, { interrupted: isAtWork });
    // Its turn goes on when what is open is answered: it has one end.
    else if (isAtWork) messages.pause(speaking);
  }

  /** The agent gets a message of the person, turn by turn. */
  private respond(writes: Write[], command: Said, id: string): void {
    const { parts, asker, answerId, wire, continues } = command;
    const { core, messages, run, responses, said, acceptances } = this.parts;
    this.beginning = null;
    said.unanswered = null;
    if (wire === 'bidi') this.endUnanswered();
    const about = this.aboutMessage(command, id);
    core.storing(writes, about, () => {
      this.tellSaid(writes, id);
      core.emit({ type: 'begun', asker });
      acceptances.tell(asker, this.acceptedWith(command));
      const writing = messages.begin(answerId, continues?.message);
      about.messageId = writing.message.id;
      if (wire === 'sse') responses.begin(writing);
      about.run = run.openTurn(toContent(parts), { messageId: id });
    });
  }
}

/** Whether a message is begun again that was stored before, and that nothing was said to. */
function isAgain(writes: readonly Write[]): boolean {
  return writes.some((write) => write.do === 'rewind' && write.again);
}
