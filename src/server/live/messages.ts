import type { Turn } from '../../adk/engine.ts';
import type { Message } from '../../protocol/index.ts';
import type { Session } from '../session.ts';
import type { CallRecord } from '../store/store.ts';

/** A message that the agent writes live. */
export interface LiveMessage {
  readonly message: Message;
  readonly turn: Turn;
  /** What the person is told when it ends, if the agent failed. */
  failure: string | null;
}

/**
 * The messages that the agent writes live. A call may be answered long after the conversation has moved on, so several
 * can be unfinished: one is being written, and the agent goes on with others after it.
 */
export class LiveMessages {
  /** The message the agent writes now; null between turns. */
  speaking: LiveMessage | null = null;
  /** Messages the agent will go on with after this one. */
  next: LiveMessage[] = [];
  /** The model is at work on `speaking`. */
  generating = false;
  /** The message the agent said or called something in last: what came before it, the conversation has left behind. */
  lastToSpeak: string | null = null;
  private readonly session: Session;
  private readonly unfinished = new Map<string, LiveMessage>();
  private readonly onFinished: () => void;

  constructor(session: Session, onFinished: () => void) {
    this.session = session;
    this.onFinished = onFinished;
  }

  /** Begins a message of the agent. */
  begin(): LiveMessage {
    const { session } = this;
    const message = session.newMessage();
    const live: LiveMessage = { message, turn: session.newTurn(message), failure: null };
    message.metadata = { createdAt: session.engine.clock.now() };
    this.speak(live);
    this.lastToSpeak = message.id;
    this.turnTo(live);
    return live;
  }

  /** The agent goes on with a message. */
  speak(live: LiveMessage): void {
    this.unfinished.set(live.message.id, live);
    this.speaking = live;
  }

  /** An unfinished message, from memory or from the store. */
  async load(messageId: string): Promise<LiveMessage> {
    const known = this.unfinished.get(messageId);
    if (known) return known;
    const { session } = this;
    const message = (await session.output.load(messageId)) ?? { ...session.newMessage(), id: messageId };
    const live: LiveMessage = { message, turn: session.newTurn(message), failure: null };
    this.unfinished.set(messageId, live);
    return live;
  }

  hasOpenCalls({ message }: LiveMessage): boolean {
    return this.session.calls.areOpenIn(message.id);
  }

  /** Makes a message the one that chunks go to; what the one before had begun to say is closed first. */
  turnTo({ message }: LiveMessage): void {
    const { output } = this.session;
    const before = output.message;
    if (before && before.id !== message.id) {
      for (const chunk of this.unfinished.get(before.id)?.turn.close() ?? []) output.say(chunk);
    }
    output.switchTo(message);
  }

  /** Turns to a message and closes what it had begun to say: something else of it comes next. */
  interject(live: LiveMessage): void {
    this.turnTo(live);
    for (const chunk of live.turn.close()) this.session.output.say(chunk);
  }

  /** Whom the model will speak for once it has the response to a call. */
  expect(owner: LiveMessage, call: CallRecord): void {
    if (this.generating) {
      const isKnown = [this.speaking, ...this.next].some((one) => one?.message.id === owner.message.id);
      if (!isKnown) this.next.push(owner);
      return;
    }
    const waits = this.session.calls.all.some(
      (other) => other.messageId === owner.message.id && other.invocationId === call.invocationId,
    );
    this.speak(owner);
    // The calls of one step are answered together, unless the conversation has moved on.
    this.generating = !waits || this.lastToSpeak !== owner.message.id;
  }

  /** Says how a message ended; one whose calls still wait is only set aside. */
  async finish(live: LiveMessage, interrupted = false): Promise<void> {
    const { session } = this;
    const { message, turn } = live;
    const waits = this.hasOpenCalls(live);
    const failure = live.failure === null ? [] : [{ type: 'error' as const, errorText: live.failure }];
    const reason = interrupted ? 'other' : failure.length > 0 ? 'error' : waits ? 'tool-calls' : undefined;
    live.failure = null;
    this.interject(live);
    const end = turn.end(reason, interrupted ? { interrupted: true } : {});
    if (this.speaking === live) this.speaking = null;
    await session.output.conclude(message, [...failure, ...end], {
      prepare: () => session.keepImages(message),
      turnTo: () => this.turnTo(live),
    });
    this.onFinished();
    // Meanwhile the model may have been given something to go on with.
    if (this.hasOpenCalls(live) || this.speaking === live || this.next.includes(live)) return;
    this.unfinished.delete(message.id);
    session.output.release(message.id);
  }

  /** The run is over: gives the messages that it leaves in the middle, and forgets all of them. */
  cutOff(): LiveMessage[] {
    const { speaking, next, generating } = this;
    this.generating = false;
    this.speaking = null;
    this.next = [];
    this.unfinished.clear();
    this.lastToSpeak = null;
    return generating && speaking ? [speaking, ...next] : next;
  }
}
