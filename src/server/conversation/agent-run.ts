import type { Event } from '@google/adk';
import type { Blob, Content } from '@google/genai';
import { type DeferredCall, type RunView, Turn, type TurnOutput } from '../../adk/engine.ts';
import { CANCELLED, ProtocolError } from '../../protocol/index.ts';
import { agentFailure, type Failure } from './agent-failure.ts';
import type { Calls } from './calls.ts';
import type { Core } from './core.ts';
import type { RunRequest, Ticket } from './effects.ts';
import type { Messages, Writing } from './messages.ts';
import type { OpenCalls } from './open-calls.ts';

/** Where the agent's run is. What comes of an older one, by its number, is bookkeeping only. */
type Run =
  | { is: 'none' }
  | { is: 'opening'; n: number; driver: RunRequest['driver'] }
  | { is: 'open'; n: number; driver: RunRequest['driver']; isMuted: boolean; hasSpoken: boolean }
  | { is: 'closing'; n: number; driver: RunRequest['driver'] };

/** What the run needs from around it. */
export interface RunContext {
  core: Core;
  messages: Messages;
  open: OpenCalls;
  calls: () => Calls;
  /** The person said something aloud. */
  onHeard: (text: string) => void;
  /** A run is open, or will not be. */
  onReady: () => void;
  /** One answer, turn by turn, came to its end. */
  onTurnEnded: (error: Failure | null) => void;
  /** The agent is free for what waits. */
  onFree: () => void;
  isClosed: () => boolean;
}

/** The text of a call that an earlier run left without an answer. */
export const NOT_COMPLETED = 'The call was not completed';
/** Sound and pictures that wait for a run to open: two seconds of sound. */
const MAX_HELD = 100;
/** After a run that could not be opened for sound, how long sound opens no other. */
const DEAF_MS = 10_000;

/** The agent's run as the machine sees it: what goes in, and what its events mean. */
export class AgentRun {
  private readonly context: RunContext;
  private run: Run = { is: 'none' };
  private count = 0;
  private held: Blob[] = [];
  /** Whether the run was given sound or pictures. */
  private isFedMedia = false;
  private deafUntil = Number.NEGATIVE_INFINITY;
  /** Reads what belongs to no message. */
  private silent = new Turn();
  private heard = '';
  /** Whether the person gave the model something since it ended its turn. */
  private isFed = false;
  /** Calls that a live run announced and nobody took out of it yet: their arguments, and the message they belong to. */
  private readonly called = new Map<string, { args: Record<string, unknown>; writing: Writing }>();
  /** Whether the model speaks though nobody gave it anything to answer: it keeps nothing waiting. */
  private isUnasked = false;
  /** Calls that the model took back: it must get no response to them. */
  private readonly forgotten = new Set<string>();

  constructor(context: RunContext) {
    this.context = context;
  }

  get isNone(): boolean {
    return this.run.is === 'none';
  }

  get isOpen(): boolean {
    return this.run.is === 'open';
  }

  /** Whether the model hears what is said as it is said. */
  get isLive(): boolean {
    return this.run.is !== 'none' && this.run.driver === 'live';
  }

  /** Whether calls that the model made are still to come out of the run. */
  get hasCalls(): boolean {
    return this.called.size > 0;
  }

  /** Opens a live run, if there is none. */
  openLive(): void {
    if (this.run.is === 'none') this.begin({ driver: 'live' });
  }

  /** Lets the agent give one answer. */
  openTurn(content: Content, customMetadata: Record<string, unknown>): void {
    this.begin({ driver: 'turn', content, customMetadata });
    // Nothing is fed to it later: it is open as soon as it is begun.
    this.run = { is: 'open', n: this.count, driver: 'turn', isMuted: false, hasSpoken: false };
  }

  /** Ends the run; what waits stays open. */
  close(): void {
    const { run } = this;
    if (run.is === 'none' || run.is === 'closing') return;
    this.run = { is: 'closing', n: run.n, driver: run.driver };
    this.context.core.emit({ type: 'close-run', n: run.n });
  }

  /** Ends the run at once: there may be no time to wait for its end. */
  letGo(): void {
    const { run } = this;
    if (run.is === 'none') return;
    if (run.is !== 'closing') this.context.core.emit({ type: 'close-run', n: run.n });
    this.run = { is: 'none' };
    this.cutOff(true, '');
  }

  /** What the run was to begin with was not kept. */
  neverOpened(): void {
    this.run = { is: 'none' };
  }

  /** Tells the model something, if the run is open. */
  send(content: Content): void {
    if (this.run.is !== 'open') return;
    this.isFed = true;
    this.isUnasked = false;
    this.context.core.emit({ type: 'send', n: this.run.n, content });
  }

  /** Tells the model what came of a call. */
  sendResponse(
    { id, toolName: name }: { id: string; toolName: string },
    response: Record<string, unknown>,
  ): void {
    if (this.forgotten.delete(id)) return;
    const { isFed } = this;
    this.send({ role: 'user', parts: [{ functionResponse: { id, name, response } }] });
    // That nobody wants a call any more is nothing to answer to.
    if (response.interrupted === true) this.isFed = isFed;
  }

  /** The model wants to hear no more of a call. */
  forgetCall(id: string): void {
    this.forgotten.add(id);
  }

  /** Lets the model hear or see something. What cannot be heard in time is dropped. */
  feed(blob: Blob): void {
    const { core } = this.context;
    const { run } = this;
    this.isFed = true;
    if (core.now >= this.deafUntil) this.isFedMedia = true;
    if (run.is === 'open' && run.driver === 'live') {
      core.emit({ type: 'show-media', n: run.n, blob });
      return;
    }
    if (run.is === 'closing' || core.now < this.deafUntil) return;
    this.openLive();
    this.isFedMedia = true;
    this.held.push(blob);
    if (this.held.length > MAX_HELD) this.held.shift();
  }

  /** Sound may open a run again: the person turned the microphone on. */
  listen(): void {
    this.deafUntil = Number.NEGATIVE_INFINITY;
  }

  /** Interrupts the model: nothing more of its turn is heard. */
  hush(): void {
    const { run } = this;
    if (run.is !== 'open') return;
    run.isMuted = true;
    this.isFed = false;
    this.called.clear();
    this.context.core.emit({ type: 'hush', n: run.n });
  }

  opened(n: number): void {
    const { core, onReady } = this.context;
    if (this.run.is !== 'opening' || this.run.n !== n) return;
    this.run = { is: 'open', n, driver: this.run.driver, isMuted: false, hasSpoken: false };
    for (const blob of this.held.splice(0)) core.emit({ type: 'show-media', n, blob });
    onReady();
  }

  /** A call that ADK made. */
  deferred(n: number, call: DeferredCall, ticket: Ticket): void {
    const { core, messages, calls } = this.context;
    const { run } = this;
    const writing = this.called.get(call.id)?.writing ?? messages.speaking;
    this.called.delete(call.id);
    if (run.is !== 'open' || run.n !== n) {
      core.emit({ type: 'let-go', ticket, error: 'The run is over.' });
      return;
    }
    if (!writing || run.isMuted) calls().turnDown(call, ticket);
    else calls().issue(call, writing, ticket);
  }

  event(n: number, event: Event, view: RunView): void {
    const { run } = this;
    if (run.is !== 'open' || run.n !== n) return;
    run.hasSpoken = true;
    // The user's words are in the history already, and an event without a message has nothing to show.
    for (const out of this.turnFor(event, run).push(event)) {
      if (run.driver === 'live') this.tellLive(out, view);
      else this.tellTurn(out, view);
    }
  }

  /** The run is over: what it was saying ends with it. */
  ended(n: number, error: Failure | null): void {
    const { run } = this;
    if (run.is === 'none' || run.n !== n) return;
    this.run = { is: 'none' };
    this.called.clear();
    this.forgotten.clear();
    if (run.driver === 'turn') return this.context.onTurnEnded(error);
    const isLetGo = run.is === 'closing';
    const { note, text } = agentFailure(error ?? { code: 'UNKNOWN_ERROR', message: '' });
    if (error) this.context.core.emit(note);
    const isMute = run.is === 'opening' || (run.is === 'open' && !run.hasSpoken);
    if (isMute) this.notOpened(text);
    this.cutOff(isLetGo, text);
    this.context.onReady();
    this.context.onFree();
  }

  private begin(request: RunRequest): void {
    this.count++;
    this.isFedMedia = false;
    this.run = { is: 'opening', n: this.count, driver: request.driver };
    const { core, open } = this.context;
    if (request.driver === 'live') {
      // A call without an answer would be the first thing that the model hears of.
      const waiting = open.ids();
      core.storing([{ do: 'close-dangling', errorText: NOT_COMPLETED, messageId: null, waiting }], null);
    }
    core.emit({ type: 'open-run', n: this.count, request });
  }

  /** Says so at once when it was opened for sound: nobody would tell the person otherwise. */
  private notOpened(text: string): void {
    const { core, messages } = this.context;
    const { isAtWork } = messages;
    if (!this.isFedMedia || isAtWork) return;
    this.held = [];
    this.deafUntil = core.now + DEAF_MS;
    messages.inject({
      type: 'data-error',
      data: new ProtocolError('model_error', text).toWire(),
      transient: true,
    });
  }

  private cutOff(isLetGo: boolean, text: string): void {
    const { messages, open, isClosed } = this.context;
    const { speaking, next, isAtWork } = messages;
    // Also one that the model was to go on with, and did not.
    const isOwed = speaking !== null && open.in(speaking.message.id).length === 0;
    for (const writing of speaking && (isAtWork || isOwed) ? [speaking, ...next] : next) {
      const { id, parts } = writing.message;
      if (isClosed() && parts.length === 0) {
        // A message without a word in it never was, and can be asked for again.
        messages.forget(writing);
        continue;
      }
      const hasFailed = writing === speaking && isAtWork && !isLetGo;
      if (!hasFailed && open.in(id).length > 0) {
        // It goes on when its calls are answered, in this process or the next.
        messages.rest(writing);
        continue;
      }
      if (hasFailed) writing.failure ??= text;
      messages.finish(writing, { interrupted: isLetGo && isAtWork && writing === speaking });
    }
    if (messages.speaking) messages.isAtWork = false;
    messages.speaking = null;
    messages.next = [];
    messages.lastToSpeak = null;
  }

  private turnFor(event: Event, run: Extract<Run, { is: 'open' }>): Turn {
    const { messages } = this.context;
    // What still comes of an interrupted turn is not the next message's.
    if (run.isMuted) return this.silent;
    if (messages.speaking) return messages.speaking.turn;
    const says = (event.content?.parts?.length ?? 0) > 0 && event.author !== 'user';
    if (!says && !event.outputTranscription?.text) return this.silent;
    const { turn } = messages.begin();
    // The agent speaks first, or goes on by itself; or it is what was left of a turn that ended, and nothing follows.
    this.isUnasked = !this.isFed;
    messages.isAtWork = this.isFed;
    return turn;
  }

  private tellLive(out: TurnOutput, view: RunView): void {
    const { messages, core } = this.context;
    const { run } = this;
    if (run.is !== 'open') return;
    const { speaking } = messages;
    if (out.type === 'turn-complete') {
      if (!run.isMuted && !out.isIdle) return this.completed(out.goesOn);
      run.isMuted = false;
      this.silent = new Turn();
      return;
    }
    if (out.type === 'heard') return this.listenTo(out.text, out.finished);
    if (out.type === 'interrupted' && out.cancelled.length > 0) {
      this.context.calls().cancel(out.cancelled, { kind: 'error', errorText: CANCELLED });
      return;
    }
    if (run.isMuted || !speaking) return;
    switch (out.type) {
      case 'call':
        messages.lastToSpeak = speaking.message.id;
        this.called.set(out.id, { args: out.args, writing: speaking });
        return;
      case 'response':
        return this.answeredInside(speaking, out, view);
      case 'audio':
        core.emit({ type: 'sound', data: out.data, sampleRate: out.sampleRate });
        return;
      case 'failed':
        return this.failed(speaking, out);
      case 'interrupted':
        // The model stopped by itself, because the person spoke; it still says that its turn is over.
        messages.finish(speaking, { interrupted: true });
        messages.isAtWork = true;
        return;
      default:
        messages.isAtWork ||= !this.isUnasked;
        messages.lastToSpeak = speaking.message.id;
        messages.say(speaking, out);
    }
  }

  private tellTurn(out: TurnOutput, view: RunView): void {
    const { messages, calls } = this.context;
    const { speaking } = messages;
    if (!speaking) return;
    switch (out.type) {
      case 'call':
        calls().announceEarly(
          { id: out.id, toolName: out.name, args: out.args },
          view.factsOf(out.id),
          speaking,
        );
        return;
      case 'response':
        return this.ranInside(speaking, out, view);
      case 'audio': {
        const { data: chunk, sampleRate } = out;
        messages.say(speaking, {
          type: 'data-pcm',
          data: { chunk, sampleRate, channels: 1, bitDepth: 16 },
          transient: true,
        });
        return;
      }
      case 'failed':
        return this.failed(speaking, out);
      case 'heard':
      case 'interrupted':
      case 'turn-complete':
        return;
      default:
        messages.say(speaking, out);
    }
  }

  private failed(speaking: Writing, failure: Failure): void {
    const { note, text } = agentFailure(failure);
    this.context.core.emit(note);
    speaking.failure = text;
  }

  /** Only callbacks of the application, ADK's own tools and calls of unknown tools are answered inside the run. */
  private answeredInside(
    speaking: Writing,
    { id, name: toolName, response }: Extract<TurnOutput, { type: 'response' }>,
    view: RunView,
  ): void {
    const { messages, calls } = this.context;
    const args = this.called.get(id)?.args ?? {};
    this.called.delete(id);
    calls().announceInside({ id, toolName, args }, speaking);
    messages.say(speaking, view.outputChunk(id, response));
  }

  /** A tool that ADK's own loop ran. */
  private ranInside(
    speaking: Writing,
    { id: call, name: tool, response }: Extract<TurnOutput, { type: 'response' }>,
    view: RunView,
  ): void {
    const { core, messages } = this.context;
    const chunk = view.outputChunk(call, response);
    const outcome = chunk.type === 'tool-output-available' ? 'output' : 'error';
    core.emit({ type: 'note', level: 'info', text: 'a tool ran', fields: { call, tool, outcome } });
    messages.say(speaking, chunk);
  }

  /** The person's speech: shown as it is understood, and kept as their message when it is. */
  private listenTo(text: string, finished: boolean): void {
    this.heard = finished ? text : this.heard + text;
    this.isFed = true;
    this.context.messages.inject({
      type: 'data-transcript',
      data: { role: 'user', text: this.heard, finished },
      transient: true,
    });
    if (!finished) return;
    this.heard = '';
    this.context.onHeard(text);
  }

  /** The model has nothing more to say for now, or goes on at once about calls of other messages. */
  private completed(goesOn: boolean | undefined): void {
    const { messages, open, onFree } = this.context;
    this.isFed = false;
    this.isUnasked = false;
    this.called.clear();
    const conclude = (writing: Writing) => {
      // The turn goes on when what is open is answered: it has one end.
      const waits = writing.failure === null && open.in(writing.message.id).length > 0;
      if (waits) messages.rest(writing);
      else messages.finish(writing);
    };
    messages.isAtWork = false;
    if (messages.speaking) conclude(messages.speaking);
    // Several results may have been told to the model at once: it speaks once for all of them.
    for (const writing of messages.next.splice(goesOn === false ? 0 : 1)) conclude(writing);
    const next = messages.next.shift();
    if (next) messages.speak(next, goesOn === true);
    if (!messages.isAtWork) onFree();
  }
}
