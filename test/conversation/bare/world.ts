import { type EventActions, getFunctionResponses } from '@google/adk';
import type { Outcome } from '../../../src/adk/for-server.ts';
import type { Answer, Heard, ProtocolError } from '../../../src/protocol/index.ts';
import { insteadOf } from '../../../src/server/conversation/effect-runner.ts';
import { ConversationState } from '../../../src/server/conversation/state/conversation-state.ts';
import type { Effect, RequestRef, Write } from '../../../src/server/conversation/state/effects.ts';
import type { Input, WriteResults } from '../../../src/server/conversation/state/inputs.ts';
import type { SessionOptions } from '../../../src/server/engine.ts';
import { OutputGuard } from '../../../src/server/output/output-guard.ts';
import { type CallRecord, StateConflict } from '../../../src/server/store/store.ts';
import { FakeRun, type ToolName } from './agent.ts';
import { ClientView } from './client-view.ts';
import { Ledger } from './ledger.ts';

/** What differs from one conversation to the next. */
export interface Setup {
  driver?: SessionOptions['driver'];
  approvals: SessionOptions['approvals'];
  whenBusy: SessionOptions['whenBusy'];
  /** Whether steps without a real wait happen at once: tool lock, sign-in, opening of a run. */
  isEager: boolean;
  /** Whether the application has callbacks that see what comes from the browser. */
  callsBack?: boolean;
  confirmations?: SessionOptions['confirmations'];
}

type Writing = Extract<Effect, { type: 'store' | 'say-stored' | 'finish' | 'amend' }>;
type Question = Extract<Effect, { type: 'check-sign-in' }>['question'];

/** More often than this a state does not wake up while some time passes. */
const MAX_WAKES = 1_000;

/** Who asked for something: answered once, in one way. */
class FakeRequest {
  readonly ref: RequestRef;
  readonly wire: 'sse' | 'bidi';
  readonly name: string;
  readonly words: string | null;
  is: 'waiting' | 'begun' | 'refused' = 'waiting';
  isAccepted = false;
  /** Why it was refused. */
  error: ProtocolError | null = null;

  constructor(id: number, wire: 'sse' | 'bidi', name: string, words: string | null) {
    this.ref = { id, name, connection: null };
    this.wire = wire;
    this.name = name;
    this.words = words;
  }

  begin(): void {
    if (this.is === 'waiting') this.is = 'begun';
  }

  accept(): void {
    this.isAccepted = true;
  }

  refuse(error: ProtocolError): void {
    if (this.is !== 'waiting') return;
    this.is = 'refused';
    this.error = error;
  }
}

/** A conversation state alone: everything around it is played by the test, one step at a time, and written down. */
export class World {
  readonly setup: Setup;
  readonly ledger = new Ledger();
  readonly clientView: ClientView;
  readonly transcript: string[] = [];
  readonly wrong: string[] = [];
  readonly runs: FakeRun[] = [];
  readonly requests: FakeRequest[] = [];
  /** Writes that go on beside everything else. */
  readonly apart: Extract<Effect, { type: 'store-apart' }>[] = [];
  readonly questions: Question[] = [];
  /** Calls that wait for the slot, the one that has it, and the tools that run. */
  readonly line: CallRecord[] = [];
  slot: string | null = null;
  readonly tools: string[] = [];
  /** Calls whose output the callbacks of the application look at. */
  readonly callbacks: string[] = [];
  isHeld = false;
  hasListener = false;
  isClosed = false;
  failing: 'no' | 'fault' | 'conflict' = 'no';
  /** The kind of write that fails next, while every other one is stored. */
  failingKind: Write['do'] | null = null;
  wakesAt: number | null = null;
  now = 1_000_000;
  private readonly guard = new OutputGuard();
  private writing: Writing | null = null;
  private readonly state: ConversationState;
  private readonly queue: (Effect | { type: 'hushed' })[] = [];
  private readonly soon: (() => void)[] = [];
  private isPumping = false;
  private isPosted = false;
  /** Whether a message was started since a post that brings answers began to be read. */
  private hasStarted = false;
  private readonly started = new Set<string>();
  private count = 0;

  constructor(setup: Setup) {
    this.setup = setup;
    this.clientView = new ClientView(this.ledger, setup.approvals === 'sequential');
    const options: SessionOptions = {
      images: 'file',
      attachments: [],
      denials: 'tool-output-error',
      confirmations: setup.confirmations ?? 'approval',
      approvals: setup.approvals,
      approvalTimeoutMs: { sse: null, bidi: 30_000 },
      clientTimeoutMs: 60_000,
      questionTimeoutMs: null,
      signInTimeoutMs: null,
      toolTimeoutMs: null,
      concurrentTools: [],
      data: {},
      tellsDecisions: false,
      toolRequest: null,
      whenBusy: setup.whenBusy,
      maxSessionBytes: 512 * 1024 * 1024,
      limits: {} as SessionOptions['limits'],
      live: {},
      driver: setup.driver ?? 'live',
      isWorkflow: false,
      callsBack: setup.callsBack ?? false,
    };
    const recovered = {
      calls: [],
      messages: [],
      newest: null,
      userMessages: [],
      unanswered: null,
      queue: [],
    };
    this.state = new ConversationState(options, () => String(++this.count), recovered);
  }

  get isBusy(): boolean {
    return this.state.isBusy || this.state.isStarting;
  }

  get isSpokenTo(): boolean {
    return this.state.isInSpeech(this.now);
  }

  get openCalls(): CallRecord[] {
    return this.state.openCalls;
  }

  get isWriting(): boolean {
    return this.writing !== null;
  }

  note(text: string): void {
    this.transcript.push(text);
  }

  push(input: Input): void {
    this.note(`  ${brief(input)}`);
    // What ADK answers itself, it has written before it tells.
    if (input.type === 'event')
      for (const { id = '' } of getFunctionResponses(input.event)) this.ledger.answered.add(id);
    // And so are the calls that it runs itself.
    for (const run of this.runs) for (const { id } of run.inside) this.ledger.inside.add(id);
    const effects = this.state.apply(input, () => this.now);
    for (const effect of effects) this.wrong.push(...fixed(effect, effect.type));
    if (input.type === 'interrupt' && !input.heard.isSpeech) this.queue.push({ type: 'hushed' });
    for (const effect of effects) if (effect.type === 'mute') this.runOf(effect.n)?.interrupt();
    this.queue.push(...effects);
    this.pump();
  }

  /** What the person says, over one wire or the other. */
  say(wire: 'sse' | 'bidi', how: { again?: string; replaces?: boolean } = {}): FakeRequest {
    const text = `text ${++this.count}`;
    const id = how.again ?? `m${this.count}`;
    const request = this.newRequest(wire, 'message', text);
    const message = {
      kind: 'message' as const,
      wire,
      request: request.ref,
      id,
      parts: [{ type: 'text' as const, text }],
    };
    const { replaces = wire === 'sse' || how.again !== undefined } = how;
    this.push({ type: 'message', message, replaces });
    return request;
  }

  /** A text of the application, which clients see as a message of the agent. */
  speak(): void {
    const request = this.newRequest('bidi', 'spoken', null).ref;
    const answerId = `spoken_${request.id}`;
    this.push({
      type: 'speak',
      spoken: { kind: 'spoken', wire: 'sse', request, text: 'By the way.', answerId },
    });
  }

  interrupt(heard: Heard = { messageId: undefined, playedMs: undefined }): void {
    this.push({ type: 'interrupt', request: this.newRequest('bidi', 'interrupt', null).ref, heard });
  }

  answer(wire: 'sse' | 'bidi', answers: Answer[]): void {
    const request = this.newRequest(wire, 'answers', null).ref;
    const by = { user: 'someone' };
    if (wire === 'bidi') return this.push({ type: 'answer', answers, by, request });
    this.push({
      type: 'post-answers',
      posted: { kind: 'answers', wire, request, answers, by, messageId: undefined },
    });
  }

  /** The model calls something. */
  call(run: FakeRun, names: ToolName[]): void {
    run.call(names.map((name) => ({ id: `${++this.count}-${name}`, name })));
  }

  /** The write that everything waits for is done, or not. */
  finishWrite(how: World['failing']): void {
    const { writing } = this;
    if (!writing) return;
    this.writing = null;
    if (how !== 'no') this.note(`  ${brief(writing)} is not written`);
    this.finished(writing, how);
    this.pump();
  }

  finishApart(isWritten: boolean): void {
    const effect = this.apart.shift();
    if (!effect) return;
    const results: WriteResults = {};
    if (isWritten) for (const write of effect.writes) this.ledger.write(write, this.now, results);
    const { purpose } = effect;
    this.push(
      isWritten
        ? { type: 'stored', purpose, results }
        : { type: 'store-failed', purpose, error: new Error('The disk is full.') },
    );
  }

  /** The next call in line gets the slot. */
  grant(): void {
    const call = this.slot === null ? this.line.shift() : undefined;
    if (!call) return;
    this.slot = call.id;
    this.push({ type: 'lock-acquired', callId: call.id });
  }

  endTool(how: Outcome['kind']): void {
    const callId = this.tools.shift();
    if (callId === undefined) return;
    // A tool that asks while it runs runs once more when the user has approved the call.
    if (how === 'asks') this.started.delete(callId);
    this.push({ type: 'tool-ended', callId, outcome: outcomeOf(how) });
  }

  endCallbacks(how: 'output' | 'error'): void {
    const callId = this.callbacks.shift();
    if (callId !== undefined) this.push({ type: 'tool-ended', callId, outcome: outcomeOf(how) });
  }

  signIn(status: 'signed-in' | 'signed-out' | 'unknown'): void {
    const question = this.questions.shift();
    if (question) this.push({ type: 'signed-in', question, status });
  }

  /** Time passes, up to so many milliseconds, and the state wakes up when it wanted to. */
  pass(ms: number): void {
    const end = this.now + ms;
    for (let count = 0; this.wakesAt !== null && this.wakesAt <= end; count++) {
      if (count === MAX_WAKES) throw new Error(`The state wakes up again and again at ${this.now}.`);
      this.now = Math.max(this.now, this.wakesAt);
      this.wakesAt = null;
      this.push({ type: 'time' });
    }
    this.now = end;
  }

  private newRequest(wire: 'sse' | 'bidi', kind: string, words: string | null): FakeRequest {
    const request = new FakeRequest(this.requests.length, wire, `${kind} ${this.requests.length + 1}`, words);
    this.requests.push(request);
    return request;
  }

  /** Does what is to be done, as the shell does: up to a write, if the disk is slow. */
  private pump(): void {
    if (this.isPumping) return;
    this.isPumping = true;
    while (!this.writing) {
      const effect = this.queue.shift();
      if (effect) this.act(effect);
      else {
        const next = this.soon.shift();
        if (!next) break;
        next();
      }
    }
    this.isPumping = false;
  }

  private act(effect: Effect | { type: 'hushed' }): void {
    const { clientView, ledger, guard } = this;
    if (!QUIET.has(effect.type)) this.note(`    ${brief(effect)}`);
    switch (effect.type) {
      case 'hushed':
        return clientView.interrupted();
      case 'start':
        if (!guard.start(effect.message.id)) return;
        clientView.start(effect.message, this.isPosted);
        this.isPosted = false;
        this.hasStarted = true;
        return;
      case 'say':
        if (!guard.maySend(effect.messageId, effect.chunk)) return;
        if (effect.chunk.type === 'tool-input-start') this.announced(effect.chunk.toolCallId);
        clientView.say(effect.chunk);
        return;
      case 'say-deltas':
        for (const chunk of effect.chunks) if (guard.maySend(effect.messageId, chunk)) clientView.say(chunk);
        return;
      case 'inject':
        return clientView.say(effect.chunk);
      case 'store':
      case 'say-stored':
      case 'finish':
      case 'amend':
        if (effect.type === 'say-stored' && !guard.maySend(effect.messageId, effect.chunk)) return;
        if (effect.type === 'finish' && !guard.mayFinish(effect.message.id)) return;
        if (this.isHeld) this.writing = effect;
        else {
          const how = this.fate(effect);
          if (how !== 'no') this.note('    is not written');
          this.finished(effect, how);
        }
        return;
      case 'store-apart':
        this.apart.push(effect);
        if (this.setup.isEager && !this.isHeld) this.soon.push(() => this.finishApart(true));
        return;
      case 'open-run':
        return this.open(effect);
      case 'close-run': {
        const run = this.runOf(effect.n);
        if (run && run.is !== 'over') run.is = 'closing';
        return;
      }
      case 'send':
        this.heardByModel(effect.content.parts?.map(({ text }) => text) ?? []);
        return this.runOf(effect.n)?.listen(effect.content);
      case 'send-media':
        return this.runOf(effect.n)?.sense();
      case 'mute':
        return this.runOf(effect.n)?.mute();
      case 'release-call':
        for (const run of this.runs) run.letGo(effect.ticket, effect.error);
        return;
      case 'acquire-lock':
        this.line.push(effect.call);
        if (this.setup.isEager) this.soon.push(() => this.grant());
        return;
      case 'release-lock':
        if (this.slot === effect.callId) this.slot = null;
        return;
      case 'run-tool': {
        const { id, approvalId } = effect.call;
        if (this.started.has(id)) this.wrong.push(`[T12] ${id} runs twice`);
        if (approvalId !== null && !ledger.approved.has(id))
          this.wrong.push(`[T12] ${id} runs without a yes`);
        if (ledger.calls.get(id)?.status !== 'running')
          this.wrong.push(`[T12] ${id} runs before it is written`);
        this.started.add(id);
        this.tools.push(id);
        return;
      }
      case 'run-callbacks': {
        const { id, approvalId } = effect.call;
        if (this.started.has(`after ${id}`)) this.wrong.push(`[T25] the callbacks of ${id} run twice`);
        if (approvalId !== null && !ledger.approved.has(id))
          this.wrong.push(`[T12] ${id} has an output without a yes`);
        this.started.add(`after ${id}`);
        this.callbacks.push(id);
        return;
      }
      case 'check-sign-in':
        this.questions.push(effect.question);
        if (this.setup.isEager) this.soon.push(() => this.signIn('signed-in'));
        return;
      case 'abort-tools':
        // Calls that wait for the tool lock leave the line without an outcome.
        this.line.length = 0;
        return;
      case 'take-request': {
        const request = this.requests[effect.request.id];
        if (request) this.begun(request);
        return;
      }
      case 'acknowledge':
        return this.requests[effect.request.id]?.accept();
      case 'reject': {
        const request = this.requests[effect.request.id];
        request?.refuse(effect.error);
        // The response of a post has its own end, also when its call could not be started.
        if (request?.wire === 'sse' && request.words === null && this.hasStarted) clientView.posted();
        return;
      }
      case 'mark-response':
        this.hasStarted = false;
        return;
      case 'wake':
        this.wakesAt = effect.at;
        return;
      case 'release':
        return guard.release(effect.messageId);
      case 'mark-decided':
      case 'sound':
      case 'log':
        return;
    }
  }

  /** A call of a turn that the person interrupted is announced in no message. */
  private announced(callId: string): void {
    if (this.runs.some(({ interrupted }) => interrupted.has(callId)))
      this.wrong.push(`[B6] ${callId} of an interrupted turn is told`);
  }

  /** Whether a write is stored, while the store is not held. */
  private fate(effect: Writing): World['failing'] {
    const { failing, failingKind } = this;
    if (effect.type === 'store' && effect.writes.some((write) => write.do === failingKind)) {
      this.failingKind = null;
      return 'fault';
    }
    this.failing = 'no';
    return failing;
  }

  private begun(request: FakeRequest): void {
    request.begin();
    // What begins next is its response; that of one which is taken with the end of a call has begun already.
    this.isPosted = request.wire === 'sse';
    if (this.isPosted && request.words === null && !request.isAccepted) this.clientView.posted();
  }

  private finished(effect: Writing, how: World['failing']): void {
    const { clientView } = this;
    switch (effect.type) {
      case 'finish':
        this.isPosted = false;
        return clientView.finish(effect.message, effect.chunks);
      case 'say-stored':
        return clientView.say(effect.chunk);
      case 'amend':
        return clientView.amend(effect.chunks);
      case 'store':
        return this.stored(effect, how);
    }
  }

  private stored(effect: Extract<Effect, { type: 'store' }>, how: World['failing']): void {
    const { writes, purpose, after } = effect;
    const results: WriteResults = {};
    if (how !== 'no') {
      const isConflict =
        how === 'conflict' &&
        writes.some(
          (write) =>
            write.do === 'append-outcome' &&
            write.outcome.kind === 'output' &&
            write.outcome.session !== undefined,
        );
      for (const write of writes) {
        if (write.do === 'append-outcome') this.clientView.notWritten(write.call.id);
        if (write.do === 'append-interrupted') this.clientView.notWritten(write.call.id);
        if (write.do === 'close-dangling' && write.messageId !== null)
          this.clientView.notMended(write.messageId);
      }
      const error = isConflict ? new StateConflict('It was changed.') : new Error('The disk is full.');
      this.guard.writeFailed(purpose);
      this.queue.unshift(...insteadOf(effect, error));
      return this.push({ type: 'store-failed', purpose, error });
    }
    for (const write of writes) {
      this.ledger.write(write, this.now, results);
      if (write.do === 'close-dangling' && write.messageId !== null)
        results.missed = this.clientView.missed(write.messageId, write.waiting, write.errorText);
    }
    this.queue.unshift(...after);
    if (purpose) this.push({ type: 'stored', purpose, results });
  }

  private open({ n, request }: Extract<Effect, { type: 'open-run' }>): void {
    const isOpen = this.runs.some(({ is }) => is !== 'over');
    if (isOpen) this.wrong.push(`run ${n} is opened while another is open`);
    const run = new FakeRun(n, request.driver, (input) => this.push(input));
    this.runs.push(run);
    if (request.driver === 'turn') this.heardByModel(request.content.parts?.map(({ text }) => text) ?? []);
    else if (this.setup.isEager) this.soon.push(() => run.is === 'opening' && run.open());
  }

  /** Nothing reaches the model before it is kept. */
  private heardByModel(texts: readonly (string | undefined)[]): void {
    for (const text of texts) {
      if (text?.startsWith('text ') && !this.ledger.kept.has(text))
        this.wrong.push(`[E4] the model hears "${text}" before it is kept`);
    }
  }

  private runOf(n: number): FakeRun | undefined {
    return this.runs.find((run) => run.n === n);
  }
}

function outcomeOf(kind: Outcome['kind']): Outcome {
  switch (kind) {
    case 'output':
      return { kind, output: 'done', actions: {} as EventActions, session: {} as never };
    case 'error':
      return { kind, errorText: 'It broke.' };
    case 'asks':
      return { kind, question: { kind: 'approve' } };
    default:
      return { kind };
  }
}

/**
 * Freezes an effect, so that a state that changes it later throws. Returns what is in it besides plain data: functions, and objects of a class other than
 * errors and sets. A message may change, because the output adds to it what it sends.
 */
function fixed(value: unknown, at: string): string[] {
  if (typeof value === 'function') return [`${at} of an effect is a function`];
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return [];
  if (at.endsWith('.message') && 'parts' in value && 'role' in value) return [];
  Object.freeze(value);
  const inside = value instanceof Set ? [...value].entries() : Object.entries(value);
  const wrong = [...inside].flatMap(([name, one]) => fixed(one, `${at}.${name}`));
  const isPlain = [Object, Array, Set].some((kind) => Object.getPrototypeOf(value) === kind.prototype);
  return isPlain || value instanceof Error ? wrong : [`${at} of an effect is no plain data`, ...wrong];
}

const QUIET = new Set(['wake', 'mark-response', 'mark-decided', 'release', 'log', 'hushed']);

/** An input or an effect on one line. */
function brief(value: { type: string }): string {
  const seen = new Set<unknown>();
  const text = JSON.stringify(value, (name, inner: unknown) => {
    if (
      [
        'view',
        'request',
        'ticket',
        'messageMetadata',
        'seen',
        'session',
        'actions',
        'by',
        'after',
        'argsHash',
      ].includes(name)
    )
      return undefined;
    if (inner instanceof Set) return [...inner];
    if (inner instanceof Error) return inner.message;
    if (typeof inner === 'object' && inner !== null) {
      if (seen.has(inner)) return undefined;
      seen.add(inner);
    }
    return inner;
  });
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
