import { ProtocolError } from '../../../protocol/index.ts';
import { RETRY_MS } from './core.ts';
import type { Asker } from './effects.ts';
import type { Posted, Said } from './inputs.ts';
import { nothingToContinue } from './nothing-to-continue.ts';
import { fingerprint } from './said-before.ts';
import type { Shared } from './shared.ts';

/** Messages that may wait for the agent. */
const MAX_WAITING = 16;

/** What the inbox needs of other parts. */
interface Needs extends Shared {
  readonly answers: { readonly isReading: boolean };
  readonly callEnds: { expire(): void };
  readonly turnBegins: {
    readonly command: Said | Posted | null;
    begin(command: Said | Posted): void;
    giveUp(): Said | Posted | null;
    notWaiting(id: string): void;
  };
  readonly turnEnds: { interrupt(): void };
}

/** What the person said and waits for the agent, each until its turn comes; what could not be begun waits once more. */
export class Inbox {
  private waiting: (Said | Posted)[] = [];
  /** Messages that had to wait and are being begun, by whoever said them. */
  private readonly stored = new Map<Asker, Said>();
  /** When something is begun again, after a disk that failed; null when nothing waits for that. */
  retryAt: number | null = null;
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  /** Whether something is beginning, or waits to begin. What is stored waits as well when nobody is here. */
  get isBeginning(): boolean {
    const { hasListener } = this.parts.life;
    const isPressing = (one: Said | Posted) => hasListener || one.kind !== 'message' || !one.isStored;
    return this.parts.turnBegins.command !== null || this.waiting.some(isPressing);
  }

  /** What was accepted and not answered waits again. */
  restore(waiting: Said[]): void {
    this.waiting = waiting;
  }

  /** The message that will be written next, if that is known. */
  get nextAnswer(): string | null {
    const command = this.parts.turnBegins.command ?? this.waiting[0];
    return (command?.kind === 'message' && command.answerId) || null;
  }

  /** Whether the agent may hear or see something: nothing else is about to begin. */
  get isFree(): boolean {
    return !this.parts.life.isClosed && !this.parts.isResponding && !this.isBeginning;
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
    const answerId = said.answerId ?? (said.asker.name === undefined ? undefined : core.newMessageId());
    if (!isLive) this.replace(said);
    this.queue(answerId === said.answerId ? said : { ...said, answerId });
  }

  /** Continues a message that was cut. Refused while the agent is at work: the message is then not the last one. */
  continue(said: Said): void {
    const { core, life } = this.parts;
    const { asker, wire } = said;
    if (wire === 'bidi' && life.isClosed) return core.emit({ type: 'begun', asker });
    if (this.parts.isBusy || this.isBeginning)
      return core.emit({ type: 'refuse', asker, error: nothingToContinue() });
    this.queue(said);
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
    const isKept = command.kind === 'message' && command.wire === 'bidi' && !command.continues;
    if (isLeft && isKept) this.store(command);
  }

  /** What has to wait is stored: it outlives the process. A post waits with its request. */
  private store(said: Said): void {
    const { core, acceptances } = this.parts;
    const { id = core.newMessageId(), parts, metadata, asker, answerId } = said;
    const accepted = acceptances.of(asker, answerId);
    this.waiting[this.waiting.length - 1] = { ...said, id, isStored: true };
    core.storing(
      [{ do: 'wait', id, parts, metadata, answerId, accepted }],
      { what: 'waiting', said: id },
      () => acceptances.tell(asker, accepted),
    );
  }

  /** A message that has to wait was not stored. One that has begun meanwhile is kept, or refused, by itself. */
  notWaiting(id: string, error: ProtocolError): void {
    const { core, acceptances, turnBegins } = this.parts;
    const isThat = (one: Said | Posted) => one.kind === 'message' && one.id === id;
    const index = this.waiting.findIndex(isThat);
    const [command] = index === -1 ? [] : this.waiting.splice(index, 1);
    if (command) core.emit({ type: 'refuse', asker: command.asker, error });
    turnBegins.notWaiting(id);
    for (const [asker, said] of this.stored) {
      if (!isThat(said)) continue;
      this.stored.delete(asker);
      acceptances.write(asker, acceptances.of(asker, said.answerId));
    }
  }

  /** The server closes: what waits is not begun. */
  refuseAll(): void {
    const { core, turnBegins } = this.parts;
    const blocked = turnBegins.giveUp();
    for (const { asker, wire } of [...(blocked ? [blocked] : []), ...this.waiting.splice(0)]) {
      // Over a socket, what waits is stored, and taken up by the next process; a client sends again what it has no answer to.
      if (wire === 'bidi') core.emit({ type: 'begun', asker });
      else core.emit({ type: 'refuse', asker, error: closing() });
    }
  }

  /** Begins the next thing that waits, if the agent is free for it. */
  advance(): void {
    const { life, answers, callEnds, turnBegins } = this.parts;
    if (turnBegins.command || this.parts.isBusy || life.isClosed) return;
    if (this.retryAt !== null) return;
    if (answers.isReading && this.waiting[0]?.wire === 'sse') return;
    // Whoever listens hears of what ran out of time before something else begins.
    if (life.hasListener && this.waiting.length > 0) callEnds.expire();
    if (turnBegins.command || this.parts.isBusy) return;
    const index = this.waiting.findIndex(({ wire }) => wire === 'sse' || life.isOpen);
    const [command] = index === -1 ? [] : this.waiting.splice(index, 1);
    if (command) turnBegins.begin(command);
  }

  /** Time has passed: what could not be begun is tried again. */
  time(): void {
    if (this.retryAt === null || this.retryAt > this.parts.core.now) return;
    this.retryAt = null;
    this.advance();
  }

  /** A message is being begun: one that had to wait, and is stored, is remembered until it has. */
  begins(said: Said): void {
    if (said.isStored) this.stored.set(said.asker, said);
  }

  /** A message has begun. */
  isBegun(asker: Asker): void {
    this.stored.delete(asker);
  }

  /** A message that had to wait, and is stored, waits on until the disk has had a moment; false when it is no such message. */
  putBack(asker: Asker): boolean {
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
    const { messages, said, turnBegins } = this.parts;
    const isThat = (one: Said | Posted | null) => one?.kind === 'message' && one.id === id;
    if (id === undefined) return false;
    if (this.waiting.some(isThat) || isThat(turnBegins.command)) return true;
    if (!said.matches(id, parts)) return false;
    // It was stored, and its process died before the agent said anything to it.
    return messages.speaking !== null || this.parts.isBusy || said.unanswered !== id;
  }
}

/** Why nothing begins any more. */
export function closing(): ProtocolError {
  return new ProtocolError('shutting_down', 'The server is restarting. Try again in a moment.');
}
