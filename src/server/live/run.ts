import { LiveRequestQueue, type RunConfig } from '@google/adk';
import type { Blob, Content } from '@google/genai';
import { type DeferredCall, type RunView, Turn, type TurnOutput } from '../../adk/engine.ts';
import { settlesWithin } from '../clock.ts';
import { modelErrorText } from '../model-error.ts';
import type { Session } from '../session.ts';
import type { LiveMessage, LiveMessages } from './messages.ts';

/** Sound for the person, as the model gave it. */
export interface Sound {
  data: string;
  sampleRate: number;
}

/** What a run needs from around it. */
export interface LiveRunContext {
  session: Session;
  messages: LiveMessages;
  /** Takes a call out of the run. */
  defer: (call: DeferredCall) => Promise<void>;
  /** Ends calls that the model wants no more of. */
  cancel: (callIds: string[]) => Promise<void>;
  /** The agent is free for what waits. */
  onFree: () => void;
  onSound: (sound: Sound) => void;
}

/** One opening of the agent's run. */
interface Opening {
  queue: LiveRequestQueue;
  view: RunView;
  ended: Promise<void>;
  /** We end it, in the middle of whatever it says: the agent did not fail. */
  isLetGo: boolean;
}

type AdkEvent = Parameters<Turn['push']>[0];

/** How long a run that is told to end may take; a model's connection that hangs is left behind. */
const END_MS = 5000;
/** So many events in one go, then everyone else gets a turn. */
const EVENTS_IN_A_ROW = 200;

/**
 * The agent's live run in ADK: what the person says goes in, events come out and become chunks. It is opened when it is
 * needed, may end at any time, and is opened again.
 */
export class LiveRun {
  private readonly context: LiveRunContext;
  private open: Opening | null = null;
  private opening: Promise<void> | null = null;
  /** What still comes of an interrupted turn is dropped, up to its end. */
  private muted = false;
  /** Reads what belongs to no message. */
  private silent = new Turn();
  private heard = '';
  /** Arguments of calls that the run announced and nobody took out of it yet. */
  private readonly called = new Map<string, Record<string, unknown>>();
  private isClosed = false;

  constructor(context: LiveRunContext) {
    this.context = context;
  }

  get isOpen(): boolean {
    return this.open !== null;
  }

  /** Whether the run is open, or about to be. */
  get isOpening(): boolean {
    return this.isOpen || this.opening !== null;
  }

  get isMuted(): boolean {
    return this.muted;
  }

  /** Opens the run if it is not. */
  ready(): Promise<void> {
    if (this.opening) return this.opening;
    if (this.open) return Promise.resolve();
    this.opening = this.begin().finally(() => {
      this.opening = null;
    });
    return this.opening;
  }

  /** Tells the model something, if the run is open. */
  send(content: Content): void {
    this.open?.queue.sendContent(content);
  }

  /** Tells the model what came of a call. */
  sendResponse(
    { id, toolName: name }: { id: string; toolName: string },
    response: Record<string, unknown>,
  ): void {
    this.send({ role: 'user', parts: [{ functionResponse: { id, name, response } }] });
  }

  /** Lets the model hear or see something, if the run is open. */
  sendMedia(blob: Blob): void {
    this.open?.queue.sendRealtime(blob);
  }

  /** Interrupts the model: nothing more of its turn is heard. */
  mute(): void {
    if (!this.open) return;
    this.muted = true;
    this.open.queue.sendActivityStart();
  }

  /** Ends the run; what waits stays open in the store, and a later input opens a new one. */
  async end(): Promise<void> {
    const { open } = this;
    if (!open) return;
    open.isLetGo = true;
    open.queue.close();
    const { engine, key } = this.context.session;
    if (await settlesWithin(open.ended, END_MS, engine.clock)) return;
    engine.logger.error('the live run does not end', { session: key.id });
    await this.over(open);
  }

  /** Ends the run for good. What it said is kept at once: there may be no time to wait for its end. */
  async close(): Promise<void> {
    this.isClosed = true;
    const { open } = this;
    if (!open) return;
    open.isLetGo = true;
    await this.over(open);
    await settlesWithin(open.ended, END_MS, this.context.session.engine.clock);
  }

  private async begin(): Promise<void> {
    const { session, defer } = this.context;
    await session.closeDangling('The call was not completed');
    const { runner, options } = session.engine;
    const { userId, sessionId } = session.history.key;
    const queue = new LiveRequestQueue();
    this.muted = false;
    const view = session.beginRun({
      live: true,
      defer: (call) => {
        this.called.delete(call.id);
        return defer(call);
      },
    });
    const events = runner.runLive({
      userId,
      sessionId,
      liveRequestQueue: queue,
      runConfig: options.live as RunConfig,
    });
    const open: Opening = { queue, view, ended: Promise.resolve(), isLetGo: false };
    this.open = open;
    open.ended = this.read(open, events).then(() => this.over(open));
    // What is stored before ADK has read the session would reach the model twice.
    await Promise.race([view.begun, open.ended]);
  }

  /** Never rejects. */
  private async read(open: Opening, events: AsyncIterable<AdkEvent>): Promise<void> {
    const { session, messages } = this.context;
    let count = 0;
    try {
      for await (const event of events) {
        if (this.open !== open) return;
        // The user's words are in the history already, and an event without a message has nothing to show.
        for (const out of this.turnFor(event).push(event)) {
          // Outputs of one event stay together, as far as they can.
          const work = this.tell(out, open.view);
          if (work) await work;
        }
        if (++count % EVENTS_IN_A_ROW === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      const failure = session.agentThrew(error);
      if (this.open === open && messages.speaking) messages.speaking.failure = failure;
    }
  }

  /** The run is over: what it was saying ends with it. */
  private async over(open: Opening): Promise<void> {
    const { session, messages, onFree } = this.context;
    const { plugin, logger } = session.engine;
    plugin.end(open.view);
    open.queue.close();
    if (this.open !== open) return;
    this.open = null;
    this.called.clear();
    const { speaking } = messages;
    for (const live of messages.cutOff()) {
      // A message without a word in it never was, and can be asked for again.
      if (this.isClosed && live.message.parts.length === 0) continue;
      if (live === speaking && !open.isLetGo) live.failure ??= modelErrorText('UNKNOWN_ERROR', '');
      // One that waits for an answer goes on when that comes.
      const isCutOff = open.isLetGo && live === speaking && !session.calls.isWaitingIn(live.message.id);
      await messages
        .finish(live, isCutOff)
        .catch((error: unknown) =>
          logger.error('a message was not kept', { session: session.key.id, error: String(error) }),
        );
    }
    onFree();
  }

  private turnFor(event: AdkEvent): Turn {
    const { messages } = this.context;
    // What still comes of an interrupted turn is not the next message's.
    if (this.muted) return this.silent;
    if (messages.speaking) return messages.speaking.turn;
    const says = event.content?.parts?.length && event.author !== 'user';
    if (!says && !event.outputTranscription?.text) return this.silent;
    // The agent speaks first, or goes on by itself.
    messages.generating = true;
    return messages.begin().turn;
  }

  private tell(out: TurnOutput, view: RunView): Promise<void> | undefined {
    const { session, messages } = this.context;
    const { speaking } = messages;
    if (out.type === 'turn-complete') {
      if (!this.muted && !out.isIdle) return this.completed(out.goesOn);
      this.muted = false;
      this.silent = new Turn();
      return undefined;
    }
    if (out.type === 'heard') return this.listen(out.text, out.finished);
    if (this.muted || !speaking) return undefined;
    switch (out.type) {
      case 'call':
        messages.lastToSpeak = speaking.message.id;
        this.called.set(out.id, out.args);
        return undefined;
      case 'response':
        return this.answeredInside(speaking, out, view);
      case 'audio':
        this.context.onSound({ data: out.data, sampleRate: out.sampleRate });
        return undefined;
      case 'failed':
        speaking.failure = session.agentFailed(out.code, out.message);
        return undefined;
      case 'interrupted':
        // The model stopped by itself, because the person spoke; or it wants no more of some calls.
        return out.cancelled.length === 0
          ? messages.finish(speaking, true)
          : this.context.cancel(out.cancelled);
      default:
        messages.generating = true;
        messages.lastToSpeak = speaking.message.id;
        messages.turnTo(speaking);
        session.output.say(out);
        return undefined;
    }
  }

  /** Only callbacks of the application, ADK's own tools and calls of unknown tools are answered inside the run. */
  private answeredInside(
    speaking: LiveMessage,
    { id, name: toolName, response }: Extract<TurnOutput, { type: 'response' }>,
    view: RunView,
  ): undefined {
    const { session, messages } = this.context;
    messages.turnTo(speaking);
    if (!session.output.fold(speaking.message.id)?.knows(id)) {
      const args = this.called.get(id) ?? {};
      session.cards.announce({ id, toolName, args }, { runsOn: 'server', asks: false });
    }
    this.called.delete(id);
    session.output.say(view.outputChunk(id, response));
  }

  /** The person's speech: shown as it is understood, and kept as their message when it is. */
  private async listen(text: string, finished: boolean): Promise<void> {
    const { session } = this.context;
    this.heard = finished ? text : this.heard + text;
    session.output.inject({
      type: 'data-transcript',
      data: { role: 'user', text: this.heard, finished },
      transient: true,
    });
    if (!finished) return;
    this.heard = '';
    await session.store(`msg_${session.engine.newId()}`, [{ type: 'text', text }]);
  }

  /** The model has nothing more to say for now, or goes on at once about calls of other messages. */
  private async completed(goesOn: boolean | undefined): Promise<void> {
    const { messages, onFree } = this.context;
    messages.generating = false;
    if (messages.speaking) await messages.finish(messages.speaking);
    // Several results may have been told to the model at once: it speaks once for all of them.
    const others = messages.next.splice(goesOn === false ? 0 : 1);
    for (const live of others) await messages.finish(live);
    // Another result may have come meanwhile.
    if (messages.generating) return;
    const next = messages.next.shift();
    if (next) {
      messages.speak(next);
      messages.generating = goesOn === true;
    }
    if (!messages.generating) onFree();
  }
}
