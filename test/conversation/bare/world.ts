import { type EventActions, getFunctionResponses } from '@google/adk';
import type { Outcome } from '../../../src/adk/for-server.ts';
import type { Answer } from '../../../src/protocol/index.ts';
import { insteadOf } from '../../../src/server/conversation/hands.ts';
import type { Asker, Effect } from '../../../src/server/conversation/machine/effects.ts';
import type { Input, WriteResults } from '../../../src/server/conversation/machine/inputs.ts';
import { Machine } from '../../../src/server/conversation/machine/machine.ts';
import { Told } from '../../../src/server/conversation/told.ts';
import type { SessionOptions } from '../../../src/server/engine.ts';
import { type CallRecord, StateConflict } from '../../../src/server/store/store.ts';
import { FakeRun, type ToolName } from './agent.ts';
import { Ears } from './ears.ts';
import { Ledger } from './ledger.ts';

/** What differs from one conversation to the next. */
export interface Setup {
  driver?: SessionOptions['driver'];
  approvals: SessionOptions['approvals'];
  whenBusy: SessionOptions['whenBusy'];
  /** Whether what nobody has to wait for happens at once: slots, sign-in, opening of a run. */
  isEager: boolean;
  /** Whether the application has callbacks that see what comes from the browser. */
  callsBack?: boolean;
}

type Writing = Extract<Effect, { type: 'store' | 'say-stored' | 'finish' | 'amend' }>;
type Question = Extract<Effect, { type: 'ask-sign-in' }>['question'];

/** Who asked for something: answered once, in one way. */
class FakeAsker implements Asker {
  readonly wire: 'sse' | 'bidi';
  readonly name: string;
  readonly connection = null;
  readonly words: string | null;
  is: 'waiting' | 'begun' | 'refused' = 'waiting';
  isAccepted = false;

  constructor(wire: 'sse' | 'bidi', name: string, words: string | null) {
    this.wire = wire;
    this.name = name;
    this.words = words;
  }

  mark(): void {}

  begin(): void {
    if (this.is === 'waiting') this.is = 'begun';
  }

  accept(): void {
    this.isAccepted = true;
  }

  tell(): void {}

  refuse(): void {
    if (this.is === 'waiting') this.is = 'refused';
  }
}

/** A machine alone: everything around it is played by the test, one step at a time, and written down. */
export class World {
  readonly setup: Setup;
  readonly ledger = new Ledger();
  readonly ears = new Ears(this.ledger);
  readonly transcript: string[] = [];
  readonly wrong: string[] = [];
  readonly runs: FakeRun[] = [];
  readonly askers: FakeAsker[] = [];
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
  wakesAt: number | null = null;
  now = 1_000_000;
  private readonly told = new Told();
  private writing: Writing | null = null;
  private readonly machine: Machine;
  private readonly queue: (Effect | { type: 'hushed' })[] = [];
  private readonly soon: (() => void)[] = [];
  private isPumping = false;
  private isPosted = false;
  private readonly started = new Set<string>();
  private count = 0;

  constructor(setup: Setup) {
    this.setup = setup;
    const options: SessionOptions = {
      images: 'file',
      denials: 'tool-output-error',
      confirmations: 'approval',
      approvals: setup.approvals,
      approvalTimeoutMs: { sse: null, bidi: 30_000 },
      clientTimeoutMs: 60_000,
      toolTimeoutMs: null,
      concurrentTools: [],
      whenBusy: setup.whenBusy,
      maxSessionBytes: 512 * 1024 * 1024,
      limits: {} as SessionOptions['limits'],
      live: {},
      driver: setup.driver ?? 'live',
      callsBack: setup.callsBack ?? false,
    };
    const recovered = { calls: [], messages: [], said: [], unanswered: null, waiting: [] };
    this.machine = new Machine(options, () => String(++this.count), recovered);
  }

  get isBusy(): boolean {
    return this.machine.isBusy || this.machine.isBeginning;
  }

  get isSpokenTo(): boolean {
    return this.machine.isSpokenTo(this.now);
  }

  get openCalls(): CallRecord[] {
    return this.machine.openCalls;
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
    const effects = this.words(input) ?? this.machine.push(input, this.now);
    if (input.type === 'interrupt') this.queue.push({ type: 'hushed' });
    this.queue.push(...effects);
    this.pump();
  }

  /** Words that nothing is to be done before are taken alone, as the shell does. */
  private words(input: Input): Effect[] | undefined {
    if (input.type !== 'event' || this.queue.length > 0 || this.writing || this.isPumping) return undefined;
    const words = this.machine.words(input.n, input.event);
    return words?.chunks.map((chunk) => ({ type: 'say', messageId: words.messageId, chunk }));
  }

  /** What the person says, over one wire or the other. */
  say(wire: 'sse' | 'bidi', how: { again?: string } = {}): FakeAsker {
    const text = `text ${++this.count}`;
    const id = how.again ?? `m${this.count}`;
    const asker = this.newAsker(wire, 'message', text);
    const said = {
      kind: 'message' as const,
      wire,
      asker,
      id,
      parts: [{ type: 'text' as const, text }],
    };
    this.push({ type: 'say', said, again: wire === 'sse' || how.again !== undefined });
    return asker;
  }

  interrupt(): void {
    const heard = { messageId: undefined, playedMs: undefined };
    this.push({ type: 'interrupt', asker: this.newAsker('bidi', 'interrupt', null), heard });
  }

  answer(wire: 'sse' | 'bidi', answers: Answer[]): void {
    const asker = this.newAsker(wire, 'answers', null);
    const by = { user: 'someone' };
    if (wire === 'bidi') return this.push({ type: 'answer', answers, by, asker });
    this.push({
      type: 'post-answers',
      posted: { kind: 'answers', wire, asker, answers, by, messageId: undefined },
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
    const { about } = effect;
    this.push(
      isWritten
        ? { type: 'stored', about, results }
        : { type: 'store-failed', about, error: new Error('The disk is full.') },
    );
  }

  /** The next call in line gets the slot. */
  grant(): void {
    const call = this.slot === null ? this.line.shift() : undefined;
    if (!call) return;
    this.slot = call.id;
    this.push({ type: 'slot', callId: call.id });
  }

  endTool(how: Outcome['kind']): void {
    const callId = this.tools.shift();
    if (callId === undefined) return;
    this.push({ type: 'tool-ended', callId, outcome: outcomeOf(how) });
  }

  endCallbacks(how: 'output' | 'error'): void {
    const callId = this.callbacks.shift();
    if (callId !== undefined) this.push({ type: 'tool-ended', callId, outcome: outcomeOf(how) });
  }

  signIn(standing: 'signed-in' | 'signed-out' | 'unknown'): void {
    const question = this.questions.shift();
    if (question) this.push({ type: 'signed-in', question, standing });
  }

  /** Time passes, up to so many milliseconds, and the machine wakes up when it wanted to. */
  pass(ms: number): void {
    const end = this.now + ms;
    while (this.wakesAt !== null && this.wakesAt <= end) {
      this.now = Math.max(this.now, this.wakesAt);
      this.wakesAt = null;
      this.push({ type: 'time' });
    }
    this.now = end;
  }

  private newAsker(wire: 'sse' | 'bidi', kind: string, words: string | null): FakeAsker {
    const asker = new FakeAsker(wire, `${kind} ${this.askers.length + 1}`, words);
    this.askers.push(asker);
    return asker;
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
    const { ears, ledger, told } = this;
    if (!QUIET.has(effect.type)) this.note(`    ${brief(effect)}`);
    switch (effect.type) {
      case 'hushed':
        return ears.interrupted();
      case 'start':
        told.start(effect.message.id);
        ears.start(effect.message, this.isPosted);
        this.isPosted = false;
        return;
      case 'say':
        if (told.mayTell(effect.messageId, effect.chunk)) ears.say(effect.chunk);
        return;
      case 'inject':
        return ears.say(effect.chunk);
      case 'store':
      case 'say-stored':
      case 'finish':
      case 'amend':
        if (effect.type === 'say-stored' && !told.mayTell(effect.messageId, effect.chunk)) return;
        if (effect.type === 'finish' && !told.mayFinish(effect.message.id)) return;
        if (this.isHeld) this.writing = effect;
        else {
          const how = this.failing;
          this.failing = 'no';
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
      case 'show-media':
        return this.runOf(effect.n)?.sense();
      case 'hush':
        return this.runOf(effect.n)?.hush();
      case 'let-go':
        for (const run of this.runs) run.letGo(effect.ticket, effect.error);
        return;
      case 'want-slot':
        this.line.push(effect.call);
        if (this.setup.isEager) this.soon.push(() => this.grant());
        return;
      case 'give-slot-back':
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
      case 'call-back': {
        const { id, approvalId } = effect.call;
        if (this.started.has(`after ${id}`)) this.wrong.push(`[T25] the callbacks of ${id} run twice`);
        if (approvalId !== null && !ledger.approved.has(id))
          this.wrong.push(`[T12] ${id} has an output without a yes`);
        this.started.add(`after ${id}`);
        this.callbacks.push(id);
        return;
      }
      case 'ask-sign-in':
        this.questions.push(effect.question);
        if (this.setup.isEager) this.soon.push(() => this.signIn('signed-in'));
        return;
      case 'abort-tools':
        // Whoever waits for the slot leaves the line and hears nothing.
        this.line.length = 0;
        return;
      case 'begun':
        if (effect.asker instanceof FakeAsker) this.begun(effect.asker);
        return;
      case 'accept':
        return effect.asker.accept(effect.accepted);
      case 'refuse':
        return effect.asker.refuse(effect.error);
      case 'wake':
        this.wakesAt = effect.at;
        return;
      case 'mark':
      case 'mark-card':
      case 'release':
      case 'sound':
      case 'note':
        return;
    }
  }

  private begun(asker: FakeAsker): void {
    asker.begin();
    // What begins next is its response; that of one which is taken with the end of a call has begun already.
    this.isPosted = asker.wire === 'sse';
    if (this.isPosted && asker.words === null && !asker.isAccepted) this.ears.posted();
  }

  private finished(effect: Writing, how: World['failing']): void {
    const { ears } = this;
    switch (effect.type) {
      case 'finish':
        this.isPosted = false;
        return ears.finish(effect.message, effect.chunks);
      case 'say-stored':
        return ears.say(effect.chunk);
      case 'amend':
        return ears.amend(effect.chunks);
      case 'store':
        return this.stored(effect, how);
    }
  }

  private stored(effect: Extract<Effect, { type: 'store' }>, how: World['failing']): void {
    const { writes, about, after } = effect;
    const results: WriteResults = {};
    if (how !== 'no') {
      const isConflict = how === 'conflict' && writes.some((write) => write.do === 'append' && write.seen);
      for (const write of writes) {
        if (write.do === 'append') this.ears.notWritten(write.event);
        if (write.do === 'close-dangling' && write.messageId !== null) this.ears.notMended(write.messageId);
      }
      const error = isConflict ? new StateConflict('It was changed.') : new Error('The disk is full.');
      this.queue.unshift(...insteadOf(effect, error));
      return this.push({ type: 'store-failed', about, error });
    }
    for (const write of writes) {
      this.ledger.write(write, this.now, results);
      if (write.do === 'close-dangling' && write.messageId !== null)
        results.missed = this.ears.missed(write.messageId, write.waiting, write.errorText);
    }
    this.queue.unshift(...after);
    if (about) this.push({ type: 'stored', about, results });
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
    default:
      return { kind };
  }
}

const QUIET = new Set(['wake', 'mark', 'mark-card', 'release', 'note', 'hushed']);

/** An input or an effect on one line. */
function brief(value: { type: string }): string {
  const seen = new Set<unknown>();
  const text = JSON.stringify(value, (name, inner: unknown) => {
    if (
      [
        'view',
        'asker',
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
