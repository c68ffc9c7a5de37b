import { createEvent } from '@google/adk';
import { toContent } from '../../adk/for-server.ts';
import { ProtocolError } from '../../protocol/index.ts';
import type { AcceptedRequest } from '../store/store.ts';
import type { About, Asker, Write } from './effects.ts';
import type { Posted, Said } from './inputs.ts';
import { closing } from './life.ts';
import type { Writing } from './messages.ts';
import type { Parts } from './parts.ts';
import { fingerprint } from './said-before.ts';

/**
 * What is being begun. `waiting`: the run of something else has to end first, or it is not known yet whether cards were decided in time. `reading`: posted answers are being read. `storing`: a
 * message is being stored. Both may be interrupted meanwhile. `kept`: it is stored, and the agent gets it when its live run is open.
 */
type Beginning =
  | { is: 'waiting'; command: Said | Posted }
  | { is: 'reading'; command: Posted; isInterrupted: boolean }
  | { is: 'storing'; command: Said; id: string; isInterrupted: boolean }
  | { is: 'kept'; command: Said; id: string };

/** How long a message that was accepted and could not be begun waits before it is tried again. */
const RETRY_MS = 1000;
/** Messages that may wait for the agent. */
const MAX_WAITING = 16;

/** What the person said and waits for the agent, and how it begins when its turn comes. */
export class Inbox {
  private waiting: (Said | Posted)[] = [];
  private beginning: Beginning | null = null;
  /** Messages that had to wait and are being begun, by whoever said them. */
  private readonly stored = new Map<Asker, Said>();
  /** When something is begun again, after a disk that failed; null when nothing waits for that. */
  retryAt: number | null = null;
  private readonly parts: Parts;

  constructor(parts: Parts) {
    this.parts = parts;
  }

  /** Whether something is beginning, or waits to begin. What is stored waits as well when nobody is here. */
  get isBeginning(): boolean {
    const { hasListener } = this.parts.life;
    const isPressing = (one: Said | Posted) => hasListener || one.kind !== 'message' || !one.isStored;
    return this.beginning !== null || this.waiting.some(isPressing);
  }

  /** What was accepted and not answered waits again. */
  restore(waiting: Said[]): void {
    this.waiting = waiting;
  }

  /** The message that will be written next, if that is known. */
  get nextAnswer(): string | null {
    const command = this.beginning?.command ?? this.waiting[0];
    return (command?.kind === 'message' && command.answerId) || null;
  }

  /** Whether a request over SSE is being begun: answers over the socket wait for it. */
  get isPosting(): boolean {
    return this.beginning?.command.wire === 'sse';
  }

  /** Whether the agent may hear or see something: nothing else is about to begin. */
  get isFree(): boolean {
    return !this.parts.life.isClosed && !this.parts.responses.current && !this.isBeginning;
  }

  /** Takes a message of the person. `again`: it takes back what was said before, if it was. */
  say(said: Said, again: boolean): void {
    const { core, life, turnEnds } = this.parts;
    const isLive = said.wire === 'bidi';
    // A client that lost its connection cannot know whether its message arrived, and sends it again.
    if (isLive && life.isClosed) return core.emit({ type: 'begun', asker: said.asker });
    if (isLive && !again && this.isRepeated(said)) return this.passOver(said.asker);
    if (isLive && this.parts.isBusy && core.options.whenBusy === 'interrupt') turnEnds.interrupt();
    // Whoever gave the request a name hears what answers it before that begins.
    const answerId = said.answerId ?? (said.asker.name === undefined ? undefined : this.newMessageId());
    if (!isLive) this.replace(said);
    this.queue({ ...said, answerId });
  }

  /** What waits may be posted again, word for word: it is not answered twice. */
  private replace({ id, parts }: Said): void {
    const words = fingerprint(parts);
    const isSame = (one: Said | Posted) =>
      one.kind === 'message' && one.isStored && one.id === id && fingerprint(one.parts) === words;
    for (const { asker } of this.waiting.filter(isSame)) this.parts.core.emit({ type: 'begun', asker });
    this.waiting = this.waiting.filter((one) => !isSame(one));
  }

  private passOver(asker: Asker): void {
    this.parts.core.emit({ type: 'begun', asker });
    this.parts.acceptances.write(asker);
  }

  private newMessageId(): string {
    return `msg_${this.parts.core.newId()}`;
  }

  /** Lets something wait for the agent, unless too much waits already. */
  queue(command: Said | Posted): void {
    const { core, life } = this.parts;
    if (life.isClosed) {
      core.emit({ type: 'refuse', asker: command.asker, error: closing() });
      return;
    }
    if (this.waiting.length >= MAX_WAITING) {
      const error = new ProtocolError('busy', 'Too many messages are waiting. Try again in a moment.', {
        retryAfterMs: 2000,
      });
      core.emit({ type: 'refuse', asker: command.asker, error });
      return;
    }
    this.waiting.push(command);
    this.advance();
    const isLeft = this.waiting.at(-1) === command;
    if (isLeft && command.kind === 'message' && command.wire === 'bidi') this.store(command);
  }

  /** What has to wait is stored: it outlives the process. A post waits with its request. */
  private store(said: Said): void {
    const { core, acceptances } = this.parts;
    const { id = this.newMessageId(), parts, asker, answerId } = said;
    const accepted = acceptances.of(asker, answerId);
    this.waiting[this.waiting.length - 1] = { ...said, id, isStored: true };
    core.storing([{ do: 'wait', id, parts, answerId, accepted }], { what: 'waiting', said: id }, () =>
      acceptances.tell(asker, accepted),
    );
  }

  /** A message that has to wait was not stored. One that has begun meanwhile is kept, or refused, by itself. */
  notWaiting(id: string, error: ProtocolError): void {
    const { core, acceptances } = this.parts;
    const { beginning } = this;
    const isThat = (one: Said | Posted) => one.kind === 'message' && one.id === id;
    const index = this.waiting.findIndex(isThat);
    const [command] = index === -1 ? [] : this.waiting.splice(index, 1);
    if (command) core.emit({ type: 'refuse', asker: command.asker, error });
    if (beginning?.is === 'waiting' && beginning.command.kind === 'message' && isThat(beginning.command)) {
      const { isStored: _, ...said } = beginning.command;
      this.beginning = { is: 'waiting', command: said };
    }
    for (const [asker, said] of this.stored) {
      if (!isThat(said)) continue;
      this.stored.delete(asker);
      acceptances.write(asker, acceptances.of(asker, said.answerId));
    }
  }

  /** The server closes: what waits is not begun. */
  refuseAll(): void {
    const { core } = this.parts;
    const { beginning } = this;
    const isBlocked = beginning?.is === 'waiting';
    if (isBlocked) this.beginning = null;
    for (const { asker, wire } of [...(isBlocked ? [beginning.command] : []), ...this.waiting.splice(0)]) {
      // Over a socket, what waits is stored, and taken up by the next process; a client sends again what it has no answer to.
      if (wire === 'bidi') core.emit({ type: 'begun', asker });
      else core.emit({ type: 'refuse', asker, error: closing() });
    }
  }

  /** Begins the next thing that waits, if the agent is free for it. */
  advance(): void {
    const { life, answers, callEnds } = this.parts;
    if (this.beginning || this.parts.isBusy || life.isClosed) return;
    if (this.retryAt !== null) return;
    if (answers.isReading && this.waiting[0]?.wire === 'sse') return;
    // Whoever listens hears of what ran out of time before something else begins.
    if (life.hasListener && this.waiting.length > 0) callEnds.expire();
    if (this.beginning || this.parts.isBusy) return;
    const index = this.waiting.findIndex(({ wire }) => wire === 'sse' || life.isOpen);
    const [command] = index === -1 ? [] : this.waiting.splice(index, 1);
    if (command) this.begin(command);
  }

  /** Time has passed: what could not be begun is tried again. */
  time(): void {
    if (this.retryAt === null || this.retryAt > this.parts.core.now) return;
    this.retryAt = null;
    this.advance();
  }

  /** A live run is open, or will not be: what waited for it goes on. */
  ready(): void {
    const { beginning } = this;
    const { run, messages, callEnds } = this.parts;
    callEnds.endPending(run.isOpen);
    if (!beginning) return;
    if (beginning.is === 'waiting' || beginning.is === 'reading') return this.begin(beginning.command);
    if (beginning.is === 'storing') return;
    this.enter([], beginning.command, beginning.id);
    if (run.isOpen) return;
    // It could not be opened: the message is answered with that.
    const { speaking } = messages;
    if (speaking) this.fail(speaking);
  }

  /** Nothing comes of a message: it is answered with that. */
  private fail(writing: Writing): void {
    writing.failure ??= 'The agent failed to answer. Please try again.';
    this.parts.messages.finish(writing);
  }

  /** What waited for something to be known goes on; false when nothing did. */
  goOn(): boolean {
    const { beginning } = this;
    if (beginning?.is !== 'waiting') return false;
    this.begin(beginning.command);
    return true;
  }

  /** A message that is kept and waits for its run is begun at once, to be interrupted; false when there is none. */
  enterEarly(): boolean {
    const { beginning } = this;
    if (beginning?.is === 'storing' || beginning?.is === 'reading') beginning.isInterrupted = true;
    if (beginning?.is !== 'kept') return false;
    this.enter([], beginning.command, beginning.id);
    return true;
  }

  /** A message that waits for its run is stored. */
  kept(asker: Asker): void {
    const { beginning } = this;
    this.stored.delete(asker);
    if (beginning?.is !== 'storing' || beginning.command.asker !== asker) return;
    const { command, id } = beginning;
    this.beginning = { is: 'kept', command, id };
    if (beginning.isInterrupted) this.parts.turnEnds.interrupt();
    else if (this.parts.run.isOpen) this.enter([], command, id);
    else this.parts.run.openLive();
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
    const { core, messages, run, responses, said: before } = this.parts;
    // Said again, it is not passed over.
    before.forget(said);
    const writing = messageId === null ? undefined : messages.get(messageId);
    if (isKept && writing) {
      // Its `start` was to follow the write.
      messages.resume(writing);
      this.fail(writing);
      return this.advance();
    }
    if (writing) messages.forget(writing);
    const { beginning } = this;
    const hadRun = run.neverOpened(n);
    if (beginning?.command.asker === asker) this.beginning = null;
    if (!this.putBack(asker)) core.emit({ type: 'refuse', asker, error });
    if (writing && responses.current?.writing === writing) return responses.over();
    if (hadRun) this.ready();
    this.advance();
  }

  /** A message that had to wait, and is stored, waits on until the disk has had a moment; false when it is no such message. */
  private putBack(asker: Asker): boolean {
    const said = this.stored.get(asker);
    if (!said) return false;
    this.stored.delete(asker);
    // The next process takes it up.
    if (this.parts.life.isClosed) this.parts.core.emit({ type: 'begun', asker });
    else this.waiting.unshift(said);
    this.retryAt = this.parts.core.now + RETRY_MS;
    return true;
  }

  /** Whether a message was heard before and is answered, or being answered. */
  private isRepeated({ id, parts }: Said): boolean {
    const { messages, said } = this.parts;
    const isThat = (one: Said | Posted | undefined) => one?.kind === 'message' && one.id === id;
    if (id === undefined) return false;
    if (this.waiting.some(isThat) || isThat(this.beginning?.command)) return true;
    if (!said.matches(id, parts)) return false;
    // It was stored, and its process died before the agent said anything to it.
    return messages.speaking !== null || this.parts.isBusy || said.unanswered !== id;
  }

  /** Begins something, as far as it can. */
  private begin(command: Said | Posted): void {
    const { core, run, messages, said, answers, turnEnds, callEnds, acceptances } = this.parts;
    const { asker, wire } = command;
    const rewinds = command.kind === 'message' && command.id !== undefined && said.has(command.id);
    // What was stored, and whose process died before anything was said to it, is begun again: that takes nothing back.
    const isUnanswered = rewinds && said.unanswered === command.id;
    const replaces = wire === 'sse' || (rewinds && !isUnanswered);
    this.beginning = { is: 'waiting', command };
    // One answer at a time; and an open run remembers what is being taken back.
    if (run.isClosing || ((replaces || rewinds) && !run.isNone)) return run.close();
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
    const { id = this.newMessageId(), parts } = command;
    this.beginning = { is: 'storing', command, id, isInterrupted: false };
    if (rewinds) said.forgetFrom(id);
    if (rewinds && replaces) for (const writing of messages.all) messages.forget(writing);
    said.add(id, parts);
    said.unanswered = id;
    const accepted = this.acceptedWith(command);
    const writes: Write[] = [
      ...(rewinds ? [{ do: 'rewind' as const, messageId: id, isLast: !replaces }] : []),
      { do: 'keep' as const, id, parts, accepted },
    ];
    if (this.parts.policy.pauseEndsRun || wire === 'sse') return this.respond(writes, command, id);
    if (run.isOpen) return this.enter(writes, command, id);
    core.storing(writes, this.aboutMessage(command, id), () => {
      this.tellSaid(writes, id);
      core.emit({ type: 'begun', asker });
      acceptances.tell(asker, accepted);
    });
    run.openLive();
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
  private acceptedWith({ asker, answerId, isStored }: Said): AcceptedRequest | undefined {
    return isStored ? undefined : this.parts.acceptances.of(asker, answerId);
  }

  private aboutMessage(command: Said, said: string, isKept = false): Extract<About, { what: 'message' }> {
    const { asker, isStored } = command;
    if (isStored && !isKept) this.stored.set(asker, command);
    return { what: 'message', asker, said, messageId: null, run: null, isKept };
  }

  /** The agent gets a message of the person, live. */
  private enter(writes: Write[], command: Said, id: string): void {
    const { parts, asker, answerId } = command;
    const { core, messages, run, said, acceptances } = this.parts;
    const content = toContent(parts);
    const event = createEvent({ author: 'user', content, customMetadata: { messageId: id } });
    this.beginning = null;
    said.unanswered = null;
    this.endUnanswered();
    let writing: Writing | null = null;
    const about = this.aboutMessage(command, id, writes.length === 0);
    const begin = () => {
      this.tellSaid(writes, id);
      core.emit({ type: 'begun', asker });
      if (writes.length > 0) acceptances.tell(asker, this.acceptedWith(command));
      writing = messages.begin(answerId);
      run.send(content);
    };
    // What is refused is not there. Nothing stands behind it yet.
    const undo: Write[] = writes.length === 0 || isAgain(writes) ? [] : [{ do: 'unkeep', messageId: id }];
    core.storing([...writes, { do: 'append', event }], about, begin, undo);
    about.messageId = (writing as Writing | null)?.message.id ?? null;
  }

  /** The agent may have begun to speak by itself meanwhile, or not have gone on as was expected. */
  private endUnanswered(): void {
    const { messages, open } = this.parts;
    const { speaking, isAtWork } = messages;
    if (speaking && (isAtWork || open.in(speaking.message.id).length === 0))
      messages.finish(speaking, { interrupted: isAtWork });
  }

  /** The agent gets a message of the person, turn by turn. */
  private respond(writes: Write[], command: Said, id: string): void {
    const { parts, asker, answerId, wire } = command;
    const { core, messages, run, responses, said, acceptances } = this.parts;
    this.beginning = null;
    said.unanswered = null;
    if (wire === 'bidi') this.endUnanswered();
    const about = this.aboutMessage(command, id);
    core.storing(writes, about, () => {
      this.tellSaid(writes, id);
      core.emit({ type: 'begun', asker });
      acceptances.tell(asker, this.acceptedWith(command));
      const writing = messages.begin(answerId);
      about.messageId = writing.message.id;
      if (wire === 'sse') responses.begin(writing);
      about.run = run.openTurn(toContent(parts), { messageId: id });
    });
  }
}

/** Whether a message is begun again that was stored before, and that nothing was said to. */
function isAgain(writes: readonly Write[]): boolean {
  return writes.some((write) => write.do === 'rewind' && write.isLast);
}
