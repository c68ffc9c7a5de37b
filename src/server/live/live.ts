import { createEvent } from '@google/adk';
import type { Blob } from '@google/genai';
import { toContent } from '../../adk/engine.ts';
import { type Answer, ProtocolError, toProtocolError } from '../../protocol/index.ts';
import { admit } from '../files.ts';
import type { Session } from '../session.ts';
import { INTERRUPTION } from '../settlement.ts';
import type { Identity } from '../sign-in.ts';
import { LiveCalls } from './calls.ts';
import { Inbox, type TypedMessage } from './inbox.ts';
import { LiveMessages } from './messages.ts';
import { LiveRun, type Sound } from './run.ts';

/**
 * A session spoken live: everything goes in and out at once. What comes in is taken in order (`inbox`), the agent speaks
 * in its run (`run`) and writes messages (`messages`), and calls are taken out of the run and fed back (`calls`).
 */
export class Live {
  /** Gets the sound; set by the connection that holds the session. */
  onSound: ((sound: Sound) => void) | null = null;
  private readonly session: Session;
  private readonly inbox: Inbox;
  private readonly messages: LiveMessages;
  private readonly run: LiveRun;
  private readonly calls: LiveCalls;
  private readonly resting = new Set<() => void>();
  /** Nothing more is taken: whoever says something now says it again to the next process. */
  private isClosed = false;

  constructor(session: Session) {
    this.session = session;
    const onFree = () => this.onFree();
    const inbox = new Inbox(() => this.rest());
    const messages = new LiveMessages(session, () => this.rest());
    const run = new LiveRun({
      session,
      messages,
      defer: (call) => this.calls.defer(call),
      cancel: (callIds) => this.calls.cancel(callIds),
      onFree,
      onSound: (sound) => this.onSound?.(sound),
    });
    this.inbox = inbox;
    this.messages = messages;
    this.run = run;
    this.calls = new LiveCalls({
      session,
      messages,
      run,
      inOrder: (work) => inbox.inOrder(work),
      detach: (work) => this.detach(work),
      onFree,
    });
  }

  /** Whether the agent's run is open. */
  get isRunning(): boolean {
    return this.run.isOpening;
  }

  /** Whether the agent is at work, as opposed to waiting for the person or the browser. */
  get isBusy(): boolean {
    return this.messages.generating || this.session.runs.isBusy;
  }

  /** The message that is being written or that waits for an answer. */
  get current(): string | null {
    return this.messages.speaking?.message.id ?? this.session.calls.all[0]?.messageId ?? null;
  }

  /** Takes a typed message: at once, or when the agent is done. Resolves when it was taken. */
  async say(
    message: TypedMessage,
    { again, requestId }: { again: boolean; requestId?: string | undefined },
  ): Promise<void> {
    const { inbox } = this;
    const { engine, key } = this.session;
    if (this.isClosed) return;
    inbox.checkRoom();
    if (inbox.hasHeard(requestId)) return;
    // A client that lost its connection cannot know whether its message arrived, and sends it again.
    if (!again && message.id !== undefined && (await this.isRepeated(message.id, message))) return;
    if (this.isBusy && engine.options.whenBusy === 'interrupt') await this.interrupt();
    inbox.checkRoom();
    const taken = inbox.put(message, requestId);
    try {
      // Bad files are refused now, not when their turn comes.
      await admit(message.parts, engine, key);
    } catch (error) {
      inbox.takeBack(message, requestId);
      throw error;
    }
    await inbox.inOrder(() => this.drain());
    await taken;
  }

  /** Takes answers to open calls, while everything else goes on. */
  async answer(answers: Answer[], by: Identity): Promise<void> {
    if (this.isClosed) return;
    this.inbox.checkRoom();
    const { calls, output } = this.session;
    return this.inbox.inOrder(async () => {
      // In order: the output of a browser tool follows its approval closely, and must not overtake it.
      const isSignedIn = await this.session.mayDecide(answers, by);
      await this.calls.expire();
      const { steps, refused } = await calls.answer(answers, { by, isSignedIn });
      // Whoever answered is gone already.
      if (!isSignedIn) refused.length = 0;
      for (const why of refused) {
        output.tell(new ProtocolError('answer_refused', `The answer was refused: ${why}.`));
      }
      if (isSignedIn && steps.length === 0 && refused.length === 0) {
        output.tell(new ProtocolError('nothing_to_answer', 'The answer belongs to no call that is open.'));
      }
      for (const step of steps) await this.calls.take(step);
    });
  }

  /** Sound or a picture from the person. What comes while the session is busy otherwise is too late to be heard. */
  async hear(blob: Blob): Promise<void> {
    if (this.isClosed || this.session.isBusy) return;
    if (!this.run.isOpen) await this.inbox.inOrder(() => this.run.ready());
    this.run.sendMedia(blob);
  }

  /** Ends what the agent says and what waits. The next message finds everything in order. */
  interrupt(): Promise<void> {
    return this.inbox.inOrder(async () => {
      const { messages, calls, run } = this;
      const open = this.session.calls.all;
      const { speaking } = messages;
      if (!messages.generating && !speaking && open.length === 0) return;
      calls.stop();
      const isAtIt = open.some((call) => call.messageId === speaking?.message.id);
      if (messages.generating || isAtIt) run.mute();
      const touched = new Set(speaking ? [speaking, ...messages.next] : messages.next);
      for (const call of open) {
        touched.add(await messages.load(call.messageId));
        await calls.finish(call, INTERRUPTION);
      }
      messages.generating = false;
      messages.next = [];
      for (const message of touched) await messages.finish(message, true);
      // What was typed before is still to be answered.
      this.onFree();
    });
  }

  /** Someone is there: takes up what another run, or another process, left open. */
  takeUp(): void {
    if (!this.isClosed) this.calls.takeUp();
  }

  /** Resolves when the agent is not at work. */
  async settled(): Promise<void> {
    while (this.isBusy) {
      await new Promise<void>((resolve) => {
        this.resting.add(resolve);
      });
    }
  }

  /**
   * Lets something else have the session, once the agent is at rest: its run ends, and whatever comes in waits until the
   * work is done.
   */
  async yieldTo<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      await this.settled();
      const done = await this.inbox.inOrder(async () => {
        if (this.isBusy) return null;
        await this.end();
        return { value: await work() };
      });
      if (!done) continue;
      if (this.session.holder) this.calls.arm();
      this.onFree();
      return done.value;
    }
  }

  /** Nobody came back: lets go of the run and all that runs for it. */
  async abandon(): Promise<void> {
    this.calls.isAbandoned = true;
    await this.end();
  }

  /** Ends everything, for good: what the agent was saying is kept, as interrupted. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.inbox.clear();
    this.calls.close();
    this.calls.disarm();
    await this.run.close();
  }

  /** Ends the run; what waits stays open in the store, and a later input opens a new run. */
  private async end(): Promise<void> {
    this.calls.disarm();
    await this.run.end();
  }

  /** Whether a message was heard before and is answered, or being answered. */
  private async isRepeated(id: string, { parts }: TypedMessage): Promise<boolean> {
    const { session, inbox } = this;
    if (!session.hasSaid(id, parts) && !inbox.has(id)) return false;
    return inbox.inOrder(async () => {
      if (this.messages.speaking || this.isBusy || inbox.has(id)) return true;
      // It was stored, and its process died before the agent said anything to it.
      return (await session.engine.store.loadMessages(session.key)).at(-1)?.id !== id;
    });
  }

  /** Begins the turn of the next typed message, if the agent is free for it. */
  private async drain(): Promise<void> {
    if (this.isBusy || this.calls.isAbandoned) return;
    const message = this.inbox.next();
    if (!message) return;
    const { session } = this;
    const { engine, key } = session;
    try {
      await this.begin(message);
    } catch (thrown) {
      const error = toProtocolError(thrown);
      if (error.code === 'internal')
        engine.logger.error('a message failed', { session: key.id, error: String(thrown) });
      session.output.tell(error);
    }
  }

  private async begin(message: TypedMessage): Promise<void> {
    const { session, messages, run } = this;
    const { engine, key } = session;
    const parts = await admit(message.parts, engine, key);
    const { id = `msg_${engine.newId()}` } = message;
    await session.rewindTo(id, async () => {
      // The open run remembers what is being taken back: a new one starts from the history.
      await this.end();
      await session.supersede();
    });
    await session.store(id, parts);
    await run.ready();
    const content = toContent(parts);
    await session.history.append(createEvent({ author: 'user', content, customMetadata: { messageId: id } }));
    // The agent may have begun to speak by itself meanwhile, or not have gone on as was expected.
    const { speaking } = messages;
    if (speaking && (messages.generating || !messages.hasOpenCalls(speaking)))
      await messages.finish(speaking, messages.generating);
    messages.begin();
    messages.generating = true;
    run.send(content);
  }

  /** The agent may be free for what waits. */
  private onFree(): void {
    this.rest();
    this.detach(this.inbox.inOrder(() => this.drain()));
  }

  /** Work that nobody waits for: when it fails, the log says so. */
  private detach(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      const { engine, key } = this.session;
      engine.logger.error('something failed in a live session', { session: key.id, error: String(error) });
    });
  }

  private rest(): void {
    if (this.isBusy) return;
    for (const resolve of this.resting) resolve();
    this.resting.clear();
  }
}
