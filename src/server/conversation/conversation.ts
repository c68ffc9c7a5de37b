import type { Blob } from '@google/genai';
import { type Answer, type Detection, type Heard, ProtocolError } from '../../protocol/index.ts';
import type { Identity } from '../access/sign-in.ts';
import { settlesWithin } from '../clock.ts';
import type { Engine } from '../engine.ts';
import type {
  AnsweredBy,
  Asked,
  Joined,
  Listener,
  MessagePage,
  Place,
  PostedContinuation,
  PostedMessage,
  Response,
  Session,
  TypedMessage,
} from '../home/home.ts';
import { History } from '../ledger/history.ts';
import type { SessionLog } from '../log/logs.ts';
import { Output } from '../output/output.ts';
import { type OwnedKey, type PageRequest, type SessionKey, StaleFence } from '../store/store.ts';
import { Incoming } from './incoming.ts';
import { Joining } from './joining.ts';
import { Listeners } from './listeners.ts';
import { Reading } from './reading.ts';
import type { Remains, TakenUp } from './recover.ts';
import { Shell } from './shell.ts';
import { takeUp } from './take-up.ts';

/** How long whoever closes a conversation waits for what runs to end. */
const END_MS = 5000;
/** How often is looked whether someone who spoke still waits for an answer. */
const PAUSE_CHECK_MS = 500;
const DELETED = 'This conversation was deleted.';
const WAITS =
  'The answer waits: the server cannot reach its storage at the moment. It goes on by itself as soon as it can, and nothing is lost.';
const MOVED = 'Another server keeps this conversation now. Try again in a moment.';

/**
 * One conversation, as those see it who speak in it (`incoming.ts`), listen to it (`listeners.ts`) or read it (`reading.ts`), from when it
 * is taken up until it is let go of.
 */
export class Conversation implements Session {
  readonly key: OwnedKey;
  private readonly engine: Engine;
  /** Whether the session had no messages when this process opened it. */
  private readonly wasNew: boolean;
  private readonly log: SessionLog;
  private readonly output: Output;
  private readonly shell: Shell;
  private readonly incoming: Incoming;
  private readonly listeners: Listeners;
  private readonly reading: Reading;
  private readonly joining: Joining;
  /** Whether it is being removed: nobody joins it, and nothing is asked of it any more. */
  private isRemoved = false;

  private constructor(
    { key, engine, history }: Remains,
    taken: TakenUp,
    log: SessionLog,
    onLost: () => void,
  ) {
    const { store, clock, drafts } = engine;
    const onFault = (error: unknown) => this.shell.fault(error);
    const output = new Output({
      ...{ store, key, log, clock, drafts, onFault },
      onWait: (error) =>
        engine.logger.error('an answer waits until it can be stored', {
          ...this.about,
          error: String(error),
        }),
      isOver: () => this.shell.isGone,
    });
    this.key = key;
    this.engine = engine;
    this.wasNew = taken.isNew;
    this.log = log;
    this.output = output;
    this.shell = new Shell(taken, {
      key,
      engine,
      output,
      history,
      about: () => this.about,
      play: (sound) => this.listeners.play(sound),
      onHush: () => this.listeners.hush(),
      tellConnection: (connection, error) => this.listeners.tell(connection, error),
      onMark: (asker) => this.incoming.mark(asker),
      onRest: () => {
        const { machine } = this.shell;
        if (!machine.isResponding && !machine.isBeginning) this.incoming.unmark();
      },
      onLost: () => {
        onLost();
        this.moved();
      },
    });
    const { shell } = this;
    const { machine } = shell;
    this.listeners = new Listeners({
      engine,
      history,
      output,
      onFault,
      onLeft: () => shell.push({ type: 'left' }),
      onAbandoned: () => shell.push({ type: 'abandoned' }),
    });
    const isRunning = () => machine.isBusy || shell.isAtWork;
    this.reading = new Reading({ key, engine, output, isRunning, current: () => machine.current });
    this.incoming = new Incoming(taken.requests, taken.isNew, {
      key,
      engine,
      output,
      reading: this.reading,
      push: (input) => shell.push(input),
      openCalls: () => machine.openCalls,
      takeFloor: (listener) => this.listeners.takeFloor(listener),
      checkIsHere: () => this.checkIsHere(),
    });
    const { listeners, incoming, reading } = this;
    log.onStall?.(() => {
      engine.logger.warn('what is said waits, because it cannot be kept', this.about);
      listeners.tellAll(new ProtocolError('internal', WAITS, { retryAfterMs: 5000 }));
    });
    this.joining = new Joining({ key, engine, output, shell, listeners, incoming, reading });
  }

  /** Takes up a stored session, as its owner from now on. `onLost`: someone else became that. Of one that `isEmpty` nothing is read. */
  static async load(
    session: { key: SessionKey; isEmpty: boolean },
    engine: Engine,
    onLost: () => void,
  ): Promise<Conversation> {
    const { owners, sessionService } = engine;
    const key = await owners.take(session.key);
    if (!key) throw new ProtocolError('not_found', 'There is no such session.');
    sessionService.own(key, session);
    try {
      const remains = { key, engine, history: new History(sessionService, key) };
      const { taken, log } = await takeUp(remains, session.isEmpty);
      return new Conversation(remains, taken, log, onLost);
    } catch (error) {
      sessionService.disown(key);
      owners.release(key);
      throw inWords(error);
    }
  }

  /** Where a line of the log comes from: the session, and the connection and request that it hears at the moment. */
  private get about(): Record<string, unknown> {
    const { holder } = this.listeners;
    const { logged } = this.incoming;
    return {
      session: this.key.id,
      ...(holder && { connection: holder }),
      ...(logged && { request: logged }),
    };
  }

  /** Someone is about to use it. */
  touch(): void {
    this.shell.touch();
  }

  /** Whether nothing ran and nobody read for so long. */
  isUnusedFor(ms: number): boolean {
    const { machine, isAtWork, touchedAt } = this.shell;
    const isBusy = machine.isBusy || machine.isBeginning || machine.isRunOpen;
    const isUsed = isBusy || isAtWork || this.output.shown.readers > 0;
    return !isUsed && this.engine.clock.elapsed() - touchedAt > ms;
  }

  say(message: TypedMessage, asked: Asked & { again: boolean }): Promise<void> {
    return this.incoming.say(message, asked);
  }

  continueMessage(messageId: string, asked: Asked): Promise<void> {
    return this.incoming.continueMessage(messageId, asked);
  }

  answer(answers: Answer[], asked: Asked & { by: Identity }): Promise<void> {
    return this.incoming.answer(answers, asked);
  }

  media(blob: Blob, { id: from }: Listener): void {
    this.shell.push({ type: 'media', blob, from });
  }

  microphone(action: 'start' | 'stop', detection: Detection, { id: from }: Listener): void {
    this.shell.push({ type: 'microphone', action, detection, from });
  }

  async stop(asked: Partial<Asked> & { heard?: Heard } = {}): Promise<boolean> {
    const wasRunning = this.shell.machine.isBusy;
    return (await this.incoming.interrupt(asked)) && wasRunning;
  }

  async post(message: PostedMessage): Promise<Response> {
    return this.tellable(this.heardBy(await this.incoming.post(message)));
  }

  async postAnswers(answers: Answer[], from: AnsweredBy): Promise<Response> {
    return this.tellable(this.heardBy(await this.incoming.postAnswers(answers, from)));
  }

  async postContinuation(continuation: PostedContinuation): Promise<Response> {
    return this.tellable(this.heardBy(await this.incoming.postContinuation(continuation)));
  }

  async resume(last: string | null): Promise<Response | null> {
    const response = this.reading.resume(last);
    // Whoever says how far they are comes back; the others read along.
    return this.tellable(response && last !== null ? this.heardBy(response) : response);
  }

  /** A response of a client that has the floor, unless another connection has it. */
  private heardBy(response: Response): Response {
    return { hasFloor: this.listeners.holder === null, ...response };
  }

  page(request: PageRequest): Promise<MessagePage | null> {
    return this.reading.page(request);
  }

  async join(listener: Listener, at: Place): Promise<Joined> {
    this.checkIsHere();
    const joined = await this.joining.join(listener, at).catch((error: unknown) => {
      throw inWords(error);
    });
    return this.tellable(joined);
  }

  /** Whoever is given a place in the log can come back to it, whatever becomes of this process. */
  private async tellable<T>(place: T): Promise<T> {
    const told = this.log.told();
    if (told) await told;
    return place;
  }

  takeFloor(listener: Listener | null): void {
    this.listeners.takeFloor(listener);
  }

  leave(listener: Listener): void {
    this.listeners.leave(listener);
  }

  /** Resolves when the agent is not at work and nothing waits. */
  settled(): Promise<void> {
    const { machine } = this.shell;
    return this.shell.untilIdle(() => machine.isBusy || machine.isBeginning);
  }

  /** Whether it is settled, and nobody is in the middle of saying something aloud; or it is not here any more. */
  get isPaused(): boolean {
    const { machine, isAtWork, isGone } = this.shell;
    const isBusy = machine.isBusy || machine.isBeginning || isAtWork;
    return isGone || !(isBusy || machine.isSpokenTo(this.engine.clock.now()));
  }

  /** Resolves when it was paused, or after a while: what was said and is not answered is waited for no longer than that takes. */
  async paused(): Promise<void> {
    await settlesWithin(
      this.shell.untilIdle(() => !this.isPaused),
      PAUSE_CHECK_MS,
      this.engine.clock,
    );
  }

  /** Stops what runs and waits for it; calls that wait stay open in the store. */
  async close(): Promise<void> {
    const { shell } = this;
    this.listeners.close();
    shell.push({ type: 'shut-down' });
    const { machine } = shell;
    const stopped = shell.untilIdle(() => machine.isResponding || machine.isRunOpen);
    await settlesWithin(Promise.all([stopped, shell.runsEnded()]), END_MS, this.engine.clock);
    this.incoming.refuseAll(
      this.isRemoved
        ? new ProtocolError('not_found', DELETED)
        : new ProtocolError('shutting_down', 'The server is restarting. Try again in a moment.'),
    );
  }

  /** Whether the session has neither messages nor a title: such a session is not kept. */
  async isUnsaid(): Promise<boolean> {
    const { key, engine, wasNew } = this;
    const { store } = engine;
    if (!wasNew || (await store.loadPage(key, { count: 1, bytes: 0 }))?.messages.length !== 0) return false;
    const [summary, waiting] = await Promise.all([store.findSession(key), store.waitingMessages(key)]);
    return summary?.title === null && waiting.length === 0;
  }

  /** Lets go of the session, which nobody uses here. Resolves when another process can have it. */
  letGo(): Promise<void> {
    this.log.close();
    this.engine.sessionService.disown(this.key);
    return this.engine.owners.release(this.key);
  }

  /** The agent is at rest, and another process may have the session: whoever is here is told to come back, and finds it there. */
  async handOver(): Promise<void> {
    await this.close();
    // What cannot be kept is told by the next owner, from what is stored.
    await this.log.told()?.catch(() => undefined);
    this.shell.drop();
    await this.letGo();
    this.sendAway();
  }

  /** Another process owns the session, as the store says. */
  lose(): void {
    this.shell.fault(new StaleFence(this.key));
  }

  private checkIsHere(): void {
    if (this.isRemoved) throw new ProtocolError('not_found', DELETED);
    if (this.shell.isGone) throw moved();
  }

  /** Another process owns the session: whoever is here is told to come back, and finds it there. */
  private moved(): void {
    this.engine.logger.warn('a session has another owner now', this.about);
    this.listeners.close();
    this.letGo();
    this.sendAway();
  }

  /** Ends every connection and response, so that their clients come back to the process that owns the session then. */
  sendAway(): void {
    const why = moved();
    this.incoming.refuseAll(why);
    this.output.end(why);
    this.listeners.endAll(why.code, why.message);
  }

  /** Closes for good, and tells whoever is there: whatever still comes of what ran is of no interest. */
  async remove(): Promise<void> {
    this.isRemoved = true;
    this.listeners.endAll('not_found', DELETED);
    await this.close();
    this.shell.drop();
    this.log.remove();
  }
}

function moved(): ProtocolError {
  return new ProtocolError('moved', MOVED, { retryAfterMs: 1000 });
}

/** A failure to write, as it is told. */
function inWords(error: unknown): unknown {
  return error instanceof StaleFence ? moved() : error;
}
