import { exhaustive } from '../../protocol/exhaustive.ts';
import type { Chunk, ProtocolError } from '../../protocol/index.ts';
import { Approvals } from '../ledger/approvals.ts';
import type { Output } from '../output/output.ts';
import { type CallRecord, StateConflict } from '../store/store.ts';
import { AdkRuns } from './adk-runs.ts';
import type { Asker, Effect } from './machine/effects.ts';
import type { Input, Recovered } from './machine/inputs.ts';
import type { Remains, TakenUp } from './recover.ts';
import { Told } from './told.ts';
import { ToolSlots } from './tool-slots.ts';
import { Writes } from './writes.ts';

/** What is around a conversation: where it is heard, and who wants to know what. */
export interface Surroundings extends Remains {
  output: Output;
  /** Where a line of the log comes from. */
  about: () => Record<string, unknown>;
  /** Sound for whoever listens. */
  play: (sound: { messageId: string; data: string; sampleRate: number }) => void;
  /** Nobody wants to hear what was said so far. */
  onHush: () => void;
  /** Something for one connection, if it is still there. */
  tellConnection: (connection: string, error: ProtocolError) => void;
  /** The turn of a request has come: what is said from now on is its answer. */
  onMark: (asker: Asker) => void;
}

/** What the hands need from whoever tells them what to do. */
export interface HandsContext extends Surroundings {
  push: (input: Input) => void;
  /** Something that is to be done before everything else that waits to be done. */
  first: (effects: readonly Effect[]) => void;
  openCalls: () => CallRecord[];
  /** Something was not written. */
  onFault: (error: unknown) => void;
  /** Whether nothing is done any more. */
  isDropped: () => boolean;
}

/** The hands of a conversation: each effect of the machine is done here, with the store, the agent, its tools, or whoever listens. */
export class Hands {
  private readonly context: HandsContext;
  private readonly writes: Writes;
  private readonly runs: AdkRuns;
  private readonly slots: ToolSlots;
  private readonly told: Told;
  private cancelWake: () => void = () => undefined;

  constructor({ recovered, isNew, waiting }: TakenUp, context: HandsContext) {
    const { key, engine, output, history, push, openCalls, onFault } = context;
    this.context = context;
    this.told = new Told(recovered.calls.flatMap(announcedBy));
    const log = (level: 'info' | 'warn', text: string, fields: Record<string, unknown>) =>
      engine.logger[level](text, { ...context.about(), ...fields });
    this.slots = new ToolSlots({ key, engine, history, push, log });
    this.runs = new AdkRuns({
      engine,
      history,
      push,
      tools: this.slots.tools,
      openCalls,
      room: () => output.readers.room(),
      onFault,
    });
    const approvals = new Approvals(engine, key);
    this.writes = new Writes({ key, engine, output, history, approvals, isNew, waiting, log });
  }

  /** Resolves when no run is open any more, or after a while. */
  runsEnded(): Promise<void> {
    return this.runs.ended();
  }

  /** Lets go of everything that is being done. */
  letGo(): void {
    this.cancelWake();
    this.runs.closeAll();
    this.slots.abort();
  }

  /** Does one thing. What it returns has to be waited for, and never rejects. */
  act(effect: Effect): Promise<void> | undefined {
    const { runs, slots, told } = this;
    const { output, engine } = this.context;
    switch (effect.type) {
      case 'say':
        this.say(effect.messageId, effect.chunk);
        return;
      case 'start':
        told.start(effect.message.id);
        output.begin(effect.message);
        return;
      case 'inject':
        output.inject(effect.chunk);
        return;
      case 'tell-kept': {
        const message = this.writes.kept(effect.messageId);
        if (message) output.inject({ type: 'data-message', data: { message }, transient: true });
        return;
      }
      case 'say-stored':
        if (!told.mayTell(effect.messageId, effect.chunk)) return;
        return this.note('a card was not kept', output.sayStored(effect.chunk, effect.inStep));
      case 'finish':
        if (!told.mayFinish(effect.message.id)) return;
        return this.note('a message was not kept', this.finish(effect));
      case 'amend':
        return this.note('a message was not kept', output.amend(effect.messageId, effect.chunks));
      case 'mark-card':
        output.fold(effect.messageId)?.decide(effect.callId, effect.approved, effect.reason);
        return;
      case 'release':
        output.release(effect.messageId);
        return;
      case 'sound':
        output.spoke(effect);
        this.context.play(effect);
        return;
      case 'flush-sound':
        this.context.onHush();
        return;
      case 'store':
        return this.store(effect);
      case 'store-apart':
        this.apart(this.store({ ...effect, type: 'store', after: [] }));
        return;
      case 'open-run':
        runs.open(effect.n, effect.request);
        return;
      case 'close-run':
        runs.close(effect.n);
        return;
      case 'send':
        runs.send(effect.n, effect.content);
        return;
      case 'show-media':
        runs.show(effect.n, effect.blob);
        return;
      case 'signal':
        runs.signal(effect.n, effect.activity);
        return;
      case 'hush':
        runs.hush(effect.n);
        return;
      case 'let-go':
        runs.letGo(effect.ticket, effect.error);
        return;
      case 'want-slot':
        this.apart(slots.want(effect.call));
        return;
      case 'give-slot-back':
        slots.giveBack(effect.callId);
        return;
      case 'run-tool':
        this.apart(slots.run(effect.call));
        return;
      case 'call-back':
        this.apart(slots.answer(effect.call, effect.output));
        return;
      case 'ask-sign-in':
        this.apart(this.askSignIn(effect));
        return;
      case 'abort-tools':
        slots.abort();
        return;
      case 'mark':
        effect.asker.mark();
        this.context.onMark(effect.asker);
        return;
      case 'begun':
        effect.asker.begin();
        return;
      case 'accept':
        effect.asker.accept(effect.accepted);
        return;
      case 'tell':
        effect.asker.tell(effect.error);
        return;
      case 'refuse':
        effect.asker.refuse(effect.error);
        return;
      case 'tell-connection':
        this.context.tellConnection(effect.connection, effect.error);
        return;
      case 'wake':
        this.wake(effect.at);
        return;
      case 'note':
        engine.logger[effect.level](effect.text, { ...this.context.about(), ...effect.fields });
        return;
      default:
        return exhaustive(effect);
    }
  }

  /** Says a chunk of a message, if that may be told. */
  say(messageId: string, chunk: Chunk): void {
    if (this.told.mayTell(messageId, chunk)) this.context.output.say(chunk);
  }

  private async store(effect: Extract<Effect, { type: 'store' }>): Promise<void> {
    const { writes, after, about } = effect;
    const { first, push, onFault, isDropped } = this.context;
    try {
      const results = await this.writes.all(writes);
      if (isDropped()) return;
      first(after);
      if (about) push({ type: 'stored', about, results });
    } catch (error) {
      onFault(error);
      if (!isDropped()) first(insteadOf(effect, error));
      push({ type: 'store-failed', about, error });
    }
  }

  private finish({ message, chunks }: Extract<Effect, { type: 'finish' }>): Promise<void> {
    return this.context.output.conclude(message, chunks, () => this.writes.keepImages(message));
  }

  private async askSignIn({ by, question }: Extract<Effect, { type: 'ask-sign-in' }>): Promise<void> {
    const standing = await this.context.engine.signIn.ask(by);
    this.context.push({ type: 'signed-in', question, standing });
  }

  private wake(at: number | null): void {
    const { engine, push } = this.context;
    const { clock } = engine;
    this.cancelWake();
    this.cancelWake =
      at === null ? () => undefined : clock.after(at - clock.now(), () => push({ type: 'time' }));
  }

  private note(text: string, work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => this.failed(text, error));
  }

  /** Work that nothing waits for: what it returns comes back as an input. */
  apart(work: Promise<void>): void {
    work.catch((error: unknown) => this.failed('something failed in a conversation', error));
  }

  /** Something failed in an unforeseen way: the log has it. */
  failed(text: string, error: unknown): void {
    const { engine, onFault, isDropped, about } = this.context;
    onFault(error);
    if (isDropped()) return;
    engine.logger.error(text, { ...about(), error: String(error) });
  }
}

/** What follows a write that failed. */
export function insteadOf(
  { failed = [], conflicted = failed }: Extract<Effect, { type: 'store' }>,
  error: unknown,
): Effect[] {
  return error instanceof StateConflict ? conflicted : failed;
}

/** What a message shows of a call: the call itself, and its confirmation where that is a call of its own. */
function announcedBy({ record, isAnnounced, isConfirming }: Recovered['calls'][number]): string[] {
  const { id, approvalId } = record;
  return [...(isAnnounced ? [id] : []), ...(isConfirming && approvalId !== null ? [approvalId] : [])];
}
