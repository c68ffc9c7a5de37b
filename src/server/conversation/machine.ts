import { createHash } from 'node:crypto';
import { createEvent } from '@google/adk';
import { RESUME, toContent } from '../../adk/engine.ts';
import {
  type Answer,
  INTERRUPTED,
  type Message,
  ProtocolError,
  SUPERSEDED,
  toProtocolError,
} from '../../protocol/index.ts';
import type { SessionOptions } from '../engine.ts';
import { INTERRUPTION, type Settlement } from '../settlement.ts';
import { type Identity, NO_LONGER_SIGNED_IN } from '../sign-in.ts';
import { type CallRecord, StateConflict } from '../store/store.ts';
import { agentFailure, type Failure } from './agent-failure.ts';
import { AgentRun, NOT_COMPLETED } from './agent-run.ts';
import type { Standing } from './call-flow.ts';
import { Calls } from './calls.ts';
import { Core } from './core.ts';
import type { About, Asker, Effect, GivenAnswers, LateCall, Write } from './effects.ts';
import type { Input, Posted, Said, WriteResults } from './inputs.ts';
import { Messages, type Writing } from './messages.ts';
import { OpenCalls, type Step } from './open-calls.ts';
import { type Policy, policies } from './policy.ts';

/** What a conversation begins with: what the store has of it. */
export interface Recovered {
  calls: { record: CallRecord; standing: Standing; isAnnounced: boolean; isConfirming: boolean }[];
  /** The messages that these calls belong to. */
  messages: Message[];
  /** The messages of the person, in order. */
  said: { id: string; fingerprint: string }[];
  /** The person's last message, when nothing answers it. */
  unanswered: string | null;
}

/** A message that is being begun: kept, but the agent does not have it yet. */
interface Beginning {
  command: Said | Posted;
  /** Its id in the history, once it is known. */
  id: string | null;
  isKept: boolean;
}

/** One response over SSE, from its `start` to its `finish`. */
interface Response {
  writing: Writing;
  /** `answering`: what the answers allow is done; `speaking`: the agent is at work; `ending`: nothing may stay open. */
  step: 'answering' | 'taking' | 'speaking' | 'ending';
  /** What the answers allow and is not begun: one after the other. */
  steps: Step[];
  isStopped: boolean;
}

/** Messages that may wait for the agent. */
const MAX_WAITING = 16;
/** Requests that are remembered, in case they are sent again. */
const MAX_REQUESTS = 256;

const FAULT = 'Something went wrong on the server. Please try again.';

/**
 * One conversation, in both modes, without any input or output: whatever happens is pushed in, and what is to be done about it
 * comes out. It is synchronous, and it alone changes the state of a session.
 */
export class Machine {
  readonly open = new OpenCalls();
  readonly messages: Messages;
  private readonly core: Core;
  private readonly run: AgentRun;
  private readonly calls: Calls;
  private readonly policies: Readonly<Record<'sse' | 'bidi', Policy>>;
  private readonly waiting: (Said | Posted)[] = [];
  /** Answers that came over the socket while a response over SSE was given. */
  private readonly heldAnswers: { answers: Answer[]; by: Identity; asker: Asker }[] = [];
  /** Whether answers are being read: those behind them do not overtake them. */
  private isReading = false;
  private readonly requests = new Set<string>();
  /** A fingerprint of each message of the person, by its id, in order. */
  private readonly said: Map<string, string>;
  private unanswered: string | null;
  private beginning: Beginning | null = null;
  private response: Response | null = null;
  private life: 'open' | 'abandoned' | 'closed' = 'open';
  private hasListener = false;
  private wakesAt: number | null = null;

  constructor(options: SessionOptions, newId: () => string, recovered: Recovered) {
    const core = new Core(options, newId);
    const { open } = this;
    this.core = core;
    this.policies = policies(options);
    this.messages = new Messages({
      emit: core.emit,
      images: options.images,
      newId,
      now: () => core.now,
      hasOpenCalls: (messageId) => open.in(messageId).length > 0,
    });
    this.run = new AgentRun({
      core,
      messages: this.messages,
      open,
      calls: () => this.calls,
      onHeard: (text) => this.heard(text),
      onReady: () => this.ready(),
      onTurnEnded: (error) => this.turnEnded(error),
      onFree: () => this.advance(),
      isClosed: () => this.life === 'closed',
    });
    this.calls = new Calls({
      core,
      open,
      messages: this.messages,
      run: this.run,
      policy: () => this.policies[this.response ? 'sse' : 'bidi'],
      isAbandoned: () => this.life !== 'open' && !this.response,
      onChange: () => this.changed(),
    });
    this.said = new Map(recovered.said.map(({ id, fingerprint }) => [id, fingerprint]));
    this.unanswered = recovered.unanswered;
    for (const message of recovered.messages) this.messages.add(message);
    for (const { record, standing, isAnnounced, isConfirming } of recovered.calls) {
      Object.assign(open.add(record, standing), { isAnnounced, isConfirming });
    }
  }

  /** Whether the agent is at work, as opposed to waiting for the person or the browser. */
  get isBusy(): boolean {
    return this.messages.isAtWork || this.open.areAtWork || this.run.hasCalls || this.response !== null;
  }

  /** Whether something waits to begin, or is beginning. */
  get isBeginning(): boolean {
    return this.beginning !== null || this.waiting.length > 0;
  }

  /** Whether a response over SSE is being given. */
  get isResponding(): boolean {
    return this.response !== null;
  }

  /** Whether the agent's run is open, or about to be. */
  get isRunOpen(): boolean {
    return !this.run.isNone;
  }

  /** The message that is being written or that waits for an answer. */
  get current(): string | null {
    return this.messages.speaking?.message.id ?? this.open.records[0]?.messageId ?? null;
  }

  /** Takes what happened; gives what is to be done, in order. */
  push(input: Input, now: number): Effect[] {
    this.core.now = now;
    this.take(input);
    this.arm();
    return this.core.take();
  }

  private take(input: Input): void {
    const { run, calls } = this;
    switch (input.type) {
      case 'event':
        return run.event(input.n, input.event, input.view);
      case 'say':
        return this.say(input);
      case 'post-answers':
        this.queue(input.posted);
        return;
      case 'answer':
        return this.answer(input.answers, input.by, input.asker);
      case 'signed-in':
        return this.signedIn(input);
      case 'interrupt':
        return this.interrupt();
      case 'media':
        if (this.life !== 'closed' && !this.response && !this.isBeginning) run.feed(input.blob);
        return;
      case 'joined':
        return this.joined();
      case 'left':
        this.hasListener = false;
        return;
      case 'abandoned':
        this.life = this.life === 'closed' ? 'closed' : 'abandoned';
        if (!this.response) run.close();
        return;
      case 'opened':
        return run.opened(input.n);
      case 'deferred':
        return run.deferred(input.n, input.call, input.ticket);
      case 'ended':
        return run.ended(input.n, input.error);
      case 'slot':
        return calls.run(input.callId);
      case 'tool-ended':
        return calls.toolEnded(input.callId, input.outcome);
      case 'stored':
        return this.stored(input.about, input.results);
      case 'store-failed':
        return this.storeFailed(input.about, input.error);
      case 'time':
        this.wakesAt = null;
        if (this.hasListener && !this.response) calls.expire();
        return;
      case 'recovered':
        this.expireQuietly();
        return this.forgetSettled();
      case 'shut-down':
        return this.shutDown();
    }
  }

  private say({ said, again }: Extract<Input, { type: 'say' }>): void {
    const { requestId } = said;
    const isHeard = requestId !== undefined && this.requests.has(requestId);
    // A client that lost its connection cannot know whether its message arrived, and sends it again.
    const isPassedOver = isHeard || (said.wire === 'bidi' && !again && this.isRepeated(said));
    const isTaken = isPassedOver || (this.life === 'closed' && said.wire === 'bidi');
    if (isTaken) return this.core.emit({ type: 'begun', asker: said.asker });
    if (said.wire === 'bidi') {
      if (this.isBusy && this.core.options.whenBusy === 'interrupt') this.interrupt();
    }
    if (this.queue(said) && requestId !== undefined) this.remember(requestId);
  }

  /** Lets something wait for the agent; false when too much waits already. */
  private queue(command: Said | Posted): boolean {
    if (this.life === 'closed') {
      this.core.emit({ type: 'refuse', asker: command.asker, error: closing() });
      return false;
    }
    if (this.waiting.length >= MAX_WAITING) {
      const error = new ProtocolError('busy', 'Too many messages are waiting. Try again in a moment.', {
        retryAfterMs: 2000,
      });
      this.core.emit({ type: 'refuse', asker: command.asker, error });
      return false;
    }
    this.waiting.push(command);
    this.advance();
    return true;
  }

  private remember(requestId: string): void {
    this.requests.add(requestId);
    const [oldest] = this.requests;
    if (this.requests.size > MAX_REQUESTS && oldest !== undefined) this.requests.delete(oldest);
  }

  /** Whether a message was heard before and is answered, or being answered. */
  private isRepeated({ id, parts }: Said): boolean {
    if (id === undefined) return false;
    if (this.waiting.some((one) => one.kind === 'message' && one.id === id)) return true;
    if (this.beginning?.command.kind === 'message' && this.beginning.command.id === id) return true;
    if (this.said.get(id) !== fingerprint(parts)) return false;
    // It was stored, and its process died before the agent said anything to it.
    return this.messages.speaking !== null || this.isBusy || this.unanswered !== id;
  }

  /** Begins the next thing that waits, if the agent is free for it. */
  private advance(): void {
    if (this.beginning || this.isBusy || this.life === 'closed') return;
    // Whoever listens hears of what ran out of time before something else begins.
    if (this.hasListener && this.waiting.length > 0) this.calls.expire();
    if (this.beginning || this.isBusy) return;
    const index = this.waiting.findIndex(({ wire }) => wire === 'sse' || this.life === 'open');
    const [command] = index === -1 ? [] : this.waiting.splice(index, 1);
    if (!command) return;
    this.beginning = { command, id: null, isKept: false };
    this.begin(this.beginning);
  }

  /** Goes on with what is being begun, as far as it can. */
  private begin(beginning: Beginning): void {
    const { core, run } = this;
    const { command } = beginning;
    const { asker, wire } = command;
    const rewinds = command.kind === 'message' && command.id !== undefined && this.said.has(command.id);
    // One answer at a time; and an open run remembers what is being taken back.
    if ((wire === 'sse' || rewinds) && !run.isNone) return run.close();
    // What waits with an unfinished turn is about to be replaced: the turn has its end before anything else begins.
    if (command.kind === 'message' && (wire === 'sse' || rewinds)) this.finishWaiting();
    this.messages.closeBlocks();
    if (wire === 'sse') core.emit({ type: 'mark', asker });
    if (command.kind === 'answers') {
      const { answers, by, messageId } = command;
      return this.read({ wire, asker, by, answers, messageId, late: this.expireQuietly() });
    }
    const late = wire === 'sse' ? this.expireQuietly() : [];
    for (const one of late) this.tellSettled(one);
    if (wire === 'sse' || rewinds) this.supersede();
    const { id = `msg_${core.newId()}`, parts, requestId } = command;
    beginning.id = id;
    beginning.isKept = true;
    if (rewinds) this.forgetFrom(id);
    this.said.set(id, fingerprint(parts));
    this.unanswered = id;
    const writes: Write[] = [
      ...(rewinds ? [{ do: 'rewind' as const, messageId: id }] : []),
      { do: 'keep' as const, id, parts },
    ];
    if (wire === 'sse') return this.respond(writes, asker, command, id);
    if (run.isOpen) return this.enter(writes, beginning);
    core.storing(writes, { what: 'message', asker, said: id, requestId, messageId: null }, () =>
      core.emit({ type: 'begun', asker }),
    );
    run.openLive();
  }

  /** The agent gets a message of the person, live. */
  private enter(writes: Write[], { command, id }: Beginning): void {
    if (command.kind !== 'message' || id === null) return;
    const { core, messages, run, open } = this;
    const content = toContent(command.parts);
    const event = createEvent({ author: 'user', content, customMetadata: { messageId: id } });
    this.beginning = null;
    this.unanswered = null;
    // The agent may have begun to speak by itself meanwhile, or not have gone on as was expected.
    const { speaking } = messages;
    if (speaking && (messages.isAtWork || open.in(speaking.message.id).length === 0)) {
      messages.finish(speaking, { interrupted: messages.isAtWork });
    }
    let writing: Writing | null = null;
    const { asker, requestId } = command;
    const about: About = { what: 'message', asker, said: id, requestId, messageId: null };
    core.storing([...writes, { do: 'append', event }], about, () => {
      core.emit({ type: 'begun', asker });
      writing = messages.begin();
      run.send(content);
    });
    about.messageId = (writing as Writing | null)?.message.id ?? null;
  }

  /** The agent gets a message of the person, turn by turn. */
  private respond(writes: Write[], asker: Asker, { parts, requestId }: Said, id: string): void {
    const { core, messages, run } = this;
    this.beginning = null;
    this.unanswered = null;
    const about: About = { what: 'message', asker, said: id, requestId, messageId: null };
    core.storing(writes, about, () => {
      core.emit({ type: 'begun', asker });
      const writing = messages.begin();
      about.messageId = writing.message.id;
      this.response = { writing, step: 'speaking', steps: [], isStopped: false };
      run.openTurn(toContent(parts), { messageId: id });
    });
  }

  /** A live run is open, or will not be: what waited for it goes on. */
  private ready(): void {
    const { beginning, run } = this;
    this.calls.endPending(run.isOpen);
    if (!beginning) return;
    if (!beginning.isKept) return this.begin(beginning);
    this.enter([], beginning);
    if (run.isOpen) return;
    // It could not be opened: the message is answered with that.
    const { speaking } = this.messages;
    if (!speaking) return;
    speaking.failure ??= 'The agent failed to answer. Please try again.';
    this.messages.finish(speaking);
  }

  /** Takes answers to open calls, while everything else goes on. */
  private answer(answers: Answer[], by: Identity, asker: Asker): void {
    if (this.life === 'closed') return this.core.emit({ type: 'begun', asker });
    if (this.isReading || this.response || this.beginning?.command.wire === 'sse') {
      this.heldAnswers.push({ answers, by, asker });
      return;
    }
    this.calls.expire();
    this.read({ wire: 'bidi', asker, by, answers, messageId: undefined, late: [] });
  }

  /** Reads answers; whoever decides must still be signed in. */
  private read(given: GivenAnswers): void {
    const { core, open } = this;
    const answers = given.answers.slice(0, MAX_ANSWERS).map((answer) => open.asDecision(answer));
    const asked = { ...given, answers };
    this.isReading = true;
    const decides = answers.some(({ kind }) => kind === 'decision');
    if (!decides) return this.decide(asked, true);
    core.emit({ type: 'ask-sign-in', by: given.by, question: { why: 'decision', given: asked } });
  }

  private signedIn({ question, standing }: Extract<Input, { type: 'signed-in' }>): void {
    const { calls, core } = this;
    if (question.why === 'execution') {
      // When it cannot be found out the call goes on: it was found out when they decided.
      return standing === 'signed-out' ? calls.withdraw(question.callId) : calls.begin(question.callId);
    }
    const { given } = question;
    if (standing !== 'unknown') return this.decide(given, standing === 'signed-in');
    const error = new ProtocolError(
      'internal',
      'It could not be found out whether you are still signed in. Please decide again in a moment.',
      { retryAfterMs: 2000 },
    );
    core.emit({ type: 'refuse', asker: given.asker, error });
    this.notAnswered(given);
  }

  private decide(given: GivenAnswers, isSignedIn: boolean): void {
    const { core, open } = this;
    const decisions = given.answers.filter((answer) => answer.kind === 'decision');
    const { messageId } = given;
    const isLooking = given.wire === 'sse' && open.size === 0;
    core.storing(
      [
        { do: 'decide', decisions, shown: open.shown, isSignedIn },
        ...(isLooking ? [{ do: 'find-unfinished' as const, messageId }] : []),
      ],
      { what: 'decision', given, isSignedIn },
    );
  }

  /** Nothing came of answers. */
  private notAnswered({ wire }: GivenAnswers): void {
    this.isReading = false;
    if (wire === 'sse') this.beginning = null;
    this.takeHeld();
    this.advance();
  }

  /** Reads the answers that waited for something else to be over, as far as they may be read now. */
  private takeHeld(): void {
    for (const { answers, by, asker } of this.heldAnswers.splice(0)) this.answer(answers, by, asker);
  }

  private stored(about: About, results: WriteResults): void {
    switch (about.what) {
      case 'decision':
        return about.given.wire === 'bidi'
          ? this.decided(about, results)
          : this.decidedByPost(about, results);
      case 'execution':
        if (results.isTaken === false) this.calls.notRun(about.callId, false);
        return;
      case 'rest':
        return this.concluded(about.messageId, results);
      case 'call':
        return this.calls.issued(about.callId, about.ticket);
      default:
        return;
    }
  }

  private decided({ given, isSignedIn }: Extract<About, { what: 'decision' }>, results: WriteResults): void {
    const { answers, by, asker } = given;
    const { steps, refused } = this.calls.answered(answers, by, results.verdicts ?? []);
    this.core.emit({ type: 'begun', asker });
    for (const why of refused) this.tell('answer_refused', `The answer was refused: ${why}.`);
    // Whoever is signed in no more is gone already.
    if (isSignedIn && steps.length === 0 && refused.length === 0) {
      this.tell('nothing_to_answer', 'The answer belongs to no call that is open.');
    }
    for (const step of steps) this.calls.take(step);
    this.isReading = false;
    this.takeHeld();
    this.changed();
  }

  private decidedByPost(
    { given, isSignedIn }: Extract<About, { what: 'decision' }>,
    { verdicts = [], unfinished = null }: WriteResults,
  ): void {
    const { core, messages, open } = this;
    const { asker, answers, by, late } = given;
    this.beginning = null;
    this.isReading = false;
    const { steps, refused } = this.calls.answered(answers, by, verdicts);
    if (!isSignedIn) {
      for (const step of steps) if (step.next === 'end') this.calls.endQuietly(step.call, step.settlement);
      core.emit({ type: 'refuse', asker, error: new ProtocolError('unauthorized', NO_LONGER_SIGNED_IN) });
      return this.responseOver();
    }
    const target = steps[0]?.call.record.messageId ?? late[0]?.messageId;
    const owner = target === undefined ? undefined : messages.get(target)?.message;
    const message = owner ?? (open.size === 0 ? unfinished : null);
    if (!message) {
      const error =
        refused.length > 0
          ? new ProtocolError('answer_refused', `The answer was refused: ${refused.join('; ')}.`)
          : new ProtocolError('nothing_to_answer', 'The last message answers no call that is open.');
      core.emit({ type: 'refuse', asker, error });
      return this.responseOver();
    }
    const writing = messages.add(message);
    this.response = { writing, step: 'answering', steps, isStopped: false };
    core.emit({ type: 'begun', asker });
    messages.resume(writing);
    for (const one of late) {
      if (one.messageId !== message.id) this.tellSettled(one);
      else for (const chunk of one.chunks) messages.inject(chunk);
    }
    for (const why of refused) this.tell('answer_refused', `An answer was refused: ${why}.`);
    this.changed();
  }

  /** Something was settled or shown: what waited for it may go on. */
  private changed(): void {
    const { response, open, messages, core, run } = this;
    if (response?.step === 'answering' && !open.areAtWork) {
      if (response.isStopped) return this.rest();
      const step = response.steps.shift();
      if (step) return this.answering(response, step);
      this.calls.showNext();
      if (open.size > 0) return this.pause(response);
      response.step = 'speaking';
      if (core.options.confirmations === 'tool') messages.say(response.writing, { type: 'start-step' });
      run.openTurn({ role: 'user', parts: [{ text: '' }] }, RESUME);
      return;
    }
    this.advance();
  }

  private answering(response: Response, step: Step): void {
    // What a step leads to comes back here before it is taken whole.
    response.step = 'taking';
    this.calls.take(step);
    response.step = 'answering';
    this.changed();
  }

  /** The response ends: everything that is still open waits for the person or the browser. */
  private pause({ writing }: Response): void {
    this.messages.finish(writing);
    this.responseOver();
  }

  /** The conversation is free for what waited for the response to end. */
  private responseOver(): void {
    this.response = null;
    this.forgetSettled();
    if (this.hasListener) this.calls.takeUp();
    this.takeHeld();
    this.advance();
  }

  /** The agent, turn by turn, has said what it had to say. */
  private turnEnded(error: Failure | null): void {
    const { response, open } = this;
    if (!response) return;
    const { turn } = response.writing;
    if (error !== null) this.failedTurn(response.writing, error);
    const said = turn.hasSpoken || turn.hasCalled || open.size > 0 || response.isStopped;
    if (!said && response.writing.failure === null) {
      this.failedTurn(response.writing, { code: 'EMPTY_RESPONSE', message: '' });
    }
    this.rest();
  }

  private failedTurn(writing: Writing, failure: Failure): void {
    const { note, text } = agentFailure(failure);
    this.core.emit(note);
    writing.failure = text;
  }

  /** No call stays without an answer, in the history or on the screen, but those that wait. */
  private rest(): void {
    const { core, messages, response, open } = this;
    if (!response || response.step === 'ending') return;
    response.step = 'ending';
    const { writing, isStopped } = response;
    const { id: messageId } = writing.message;
    messages.interject(writing);
    const text = writing.turn.unfinishedText;
    const isCutOff = isStopped || writing.failure !== null;
    if (isStopped) {
      for (const call of open.all) this.calls.end(call, { kind: 'error', errorText: INTERRUPTED });
    }
    core.storing(
      [
        ...(isCutOff && text ? [{ do: 'keep-words' as const, messageId, text }] : []),
        {
          do: 'close-dangling',
          errorText: isStopped ? INTERRUPTED : NOT_COMPLETED,
          messageId,
          waiting: open.ids(),
        },
      ],
      { what: 'rest', messageId },
    );
  }

  private concluded(messageId: string, { missed = [] }: WriteResults): void {
    const { messages, response } = this;
    if (response?.writing.message.id !== messageId) return;
    const { writing, isStopped } = response;
    for (const chunk of missed) messages.say(writing, chunk);
    messages.finish(writing, { interrupted: isStopped });
    this.responseOver();
  }

  private storeFailed(about: About | null, error: unknown): void {
    const { core, messages, calls } = this;
    core.emit({
      type: 'note',
      level: 'error',
      text: 'something was not kept',
      fields: { error: String(error), what: about?.what },
    });
    switch (about?.what) {
      case 'message':
        return this.notBegun(about, error);
      case 'decision':
        core.emit({ type: 'refuse', asker: about.given.asker, error: toProtocolError(error) });
        return this.notAnswered(about.given);
      case 'call':
        return calls.notIssued(about.callId, about.ticket);
      case 'card': {
        const call = this.open.get(about.callId);
        if (!call) return;
        // What was to follow the write was not said: only what was known before has an end to be told.
        call.isAnnounced = about.isAnnounced;
        call.isConfirming = false;
        return calls.end(call, { kind: 'error', errorText: 'The question could not be written down.' });
      }
      case 'execution':
        return calls.notRun(about.callId, true);
      case 'end':
        return calls.notEnded(about.call, about.wasOutput, error instanceof StateConflict);
      case 'rest': {
        const writing = messages.get(about.messageId);
        if (writing) writing.failure ??= FAULT;
        return this.concluded(about.messageId, {});
      }
      default:
        return;
    }
  }

  /** A message was not kept: whoever said it is told, and nothing of it is left. */
  private notBegun(
    { asker, said, requestId, messageId }: Extract<About, { what: 'message' }>,
    error: unknown,
  ): void {
    const { core, messages } = this;
    // Said again, it is not passed over.
    this.said.delete(said);
    if (requestId !== undefined) this.requests.delete(requestId);
    const writing = messageId === null ? undefined : messages.get(messageId);
    if (writing) messages.forget(writing);
    this.beginning = null;
    core.emit({ type: 'refuse', asker, error: toProtocolError(error) });
    if (writing && this.response?.writing === writing) {
      this.run.neverOpened();
      return this.responseOver();
    }
    this.advance();
  }

  /** Ends what the agent says and what waits. The next message finds everything in order. */
  private interrupt(): void {
    const { messages, open, run, response, core } = this;
    if (response) {
      if (response.isStopped) return;
      response.isStopped = true;
      core.emit({ type: 'abort-tools' });
      if (response.step === 'speaking') run.close();
      else if (response.step === 'answering') this.rest();
      return;
    }
    const { speaking, next } = messages;
    if (this.beginning?.isKept && !run.isOpen) this.enter([], this.beginning);
    else if (!messages.isAtWork && !speaking && open.size === 0) return;
    core.emit({ type: 'abort-tools' });
    const isAtIt = open.all.some(({ record }) => record.messageId === speaking?.message.id);
    if (messages.isAtWork || isAtIt) run.hush();
    const touched = new Set(messages.speaking ? [messages.speaking, ...next] : next);
    for (const call of open.all) {
      const owner = messages.get(call.record.messageId);
      if (owner) touched.add(owner);
      this.calls.end(call, INTERRUPTION);
    }
    messages.isAtWork = false;
    messages.next = [];
    // Some may have had their end with their last call.
    for (const writing of touched) {
      if (writing.isUnderWay) messages.finish(writing, { interrupted: true });
    }
    // What was typed before is still to be answered.
    this.advance();
  }

  /** Someone is there: takes up what another run, or another process, left open. */
  private joined(): void {
    if (this.life === 'closed') return;
    this.life = 'open';
    this.hasListener = true;
    if (this.response) return;
    this.calls.takeUp();
    this.advance();
  }

  private shutDown(): void {
    const { core, run, response } = this;
    this.life = 'closed';
    for (const { asker, wire } of this.waiting.splice(0)) {
      if (wire === 'bidi') {
        core.emit({ type: 'begun', asker });
        continue;
      }
      core.emit({ type: 'refuse', asker, error: closing() });
    }
    core.emit({ type: 'abort-tools' });
    if (response) this.interrupt();
    else if (!run.isNone) run.letGo();
  }

  /** Ends the turns that wait for an answer. */
  private finishWaiting(): void {
    const { messages } = this;
    for (const writing of messages.all) {
      if (writing.isUnderWay) messages.finish(writing, { interrupted: true });
    }
  }

  /** A new message of the person replaces what still waits, and leaves no call unanswered in the history. */
  private supersede(): void {
    const settlement: Settlement = { kind: 'error', errorText: SUPERSEDED };
    for (const call of this.open.all) this.tellSettled(this.calls.endQuietly(call, settlement));
    this.forgetSettled();
    this.core.storing(
      [{ do: 'close-dangling', errorText: SUPERSEDED, messageId: null, waiting: new Set() }],
      null,
    );
  }

  /** Lets go of messages that nothing waits for any more; a turn that is still under way has its end first. */
  private forgetSettled(): void {
    const { messages, open } = this;
    for (const writing of messages.all) {
      if (writing === messages.speaking || open.in(writing.message.id).length > 0) continue;
      if (writing.isUnderWay) messages.finish(writing, { interrupted: true });
      messages.forget(writing);
    }
  }

  /** Ends every call whose time is up while nobody listens; gives the chunks that would tell. */
  private expireQuietly(): LateCall[] {
    const { core, open, calls } = this;
    return open.overdue(core.now).map(({ call, settlement }) => calls.endQuietly(call, settlement));
  }

  /** Tells what ended in an earlier message. */
  private tellSettled({ messageId, chunks }: LateCall): void {
    for (const chunk of chunks) {
      if (chunk.type !== 'tool-output-error') continue;
      const { toolCallId, errorText } = chunk;
      this.messages.inject({
        type: 'data-settled',
        data: { toolCallId, messageId, errorText },
        transient: true,
      });
    }
  }

  private tell(code: 'answer_refused' | 'nothing_to_answer', text: string): void {
    const error = new ProtocolError(code, text);
    this.messages.inject({ type: 'data-error', data: error.toWire(), transient: true });
  }

  /** What the person said aloud is their message. */
  private heard(text: string): void {
    const { core } = this;
    const id = `msg_${core.newId()}`;
    this.said.set(id, fingerprint([{ type: 'text', text }]));
    core.storing([{ do: 'keep', id, parts: [{ type: 'text', text }] }], null);
  }

  /** Everything from a message on is taken back. */
  private forgetFrom(messageId: string): void {
    let isBehind = false;
    for (const id of [...this.said.keys()]) {
      isBehind ||= id === messageId;
      if (isBehind) this.said.delete(id);
    }
    const { messages } = this;
    for (const writing of messages.all) messages.forget(writing);
  }

  /** Wakes up when the next call runs out of time, while someone listens. */
  private arm(): void {
    const at = this.hasListener && !this.response ? this.open.nextDeadline() : null;
    if (at === this.wakesAt) return;
    this.wakesAt = at;
    this.core.emit({ type: 'wake', at });
  }
}

function closing(): ProtocolError {
  return new ProtocolError('shutting_down', 'The server is restarting. Try again in a moment.');
}

/** Answers of one message that are read; nobody waits for more at once. */
const MAX_ANSWERS = 100;

/** What was said, in a few bytes: a long conversation would otherwise be in memory twice. */
export function fingerprint(parts: readonly { type: string; text?: string }[]): string {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '[file]')).join('\n');
  return createHash('sha256').update(text).digest('base64');
}
