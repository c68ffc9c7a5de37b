import type { SessionOptions } from '../../engine.ts';
import { Acceptances } from './acceptances.ts';
import { AgentEvents } from './agent-events.ts';
import { AgentRun } from './agent-run.ts';
import { Answers } from './answers.ts';
import { CallChunks } from './call-chunks.ts';
import { CallEnds } from './call-ends.ts';
import { Calls } from './calls.ts';
import { Core } from './core.ts';
import { Decisions } from './decisions.ts';
import { Executions } from './executions.ts';
import { Hearing } from './hearing.ts';
import { Inbox } from './inbox.ts';
import type { Recovered } from './inputs.ts';
import { Life } from './life.ts';
import { Media } from './media.ts';
import { Messages } from './messages.ts';
import { OpenCalls } from './open-calls.ts';
import { type Policy, policies } from './policy.ts';
import { Responses } from './responses.ts';
import { SaidBefore } from './said-before.ts';
import type { Shared } from './shared.ts';
import { Transcript } from './transcript.ts';
import { TurnBegins } from './turn-begins.ts';
import { TurnByTurn } from './turn-by-turn.ts';
import { TurnEnds } from './turn-ends.ts';

/**
 * What a machine is made of. Each part alone changes its own state, and calls the others directly: all of it happens within one
 * input. Each says in its own file what it needs of the others: the type of those before it in this list, and the few methods that
 * it calls of those behind it. So no file imports, by way of others, itself.
 */
export class Parts implements Shared {
  readonly core: Core;
  readonly said: SaidBefore;
  readonly messages: Messages;
  readonly open = new OpenCalls();
  readonly acceptances = new Acceptances(this);
  readonly decisions = new Decisions(this);
  readonly hearing = new Hearing(this);
  readonly transcript = new Transcript(this);
  readonly callChunks = new CallChunks(this);
  readonly inbox = new Inbox(this);
  readonly events = new AgentEvents(this);
  readonly run = new AgentRun(this);
  readonly turnByTurn = new TurnByTurn(this);
  readonly callEnds = new CallEnds(this);
  readonly turnEnds = new TurnEnds(this);
  readonly calls = new Calls(this);
  readonly responses = new Responses(this);
  readonly turnBegins = new TurnBegins(this);
  readonly answers = new Answers(this);
  readonly executions = new Executions(this);
  readonly life = new Life(this);
  readonly media = new Media(this);
  private readonly policies: ReturnType<typeof policies>;

  constructor(options: SessionOptions, newId: () => string, recovered: Recovered) {
    const core = new Core(options, newId);
    this.core = core;
    this.policies = policies(options);
    this.said = new SaidBefore(recovered.said, recovered.unanswered);
    this.messages = new Messages({
      emit: core.emit,
      images: options.images,
      newMessageId: () => core.newMessageId(),
      now: () => core.now,
      hasOpenCalls: (messageId) => this.open.in(messageId).length > 0,
      isClosed: () => this.life.isClosed,
    });
    this.inbox.restore(recovered.waiting);
    for (const message of recovered.messages) this.messages.add(message);
    for (const { record, standing, isAnnounced, isConfirming } of recovered.calls) {
      Object.assign(this.open.add(record, standing), { isAnnounced, isConfirming });
    }
  }

  get policy(): Policy {
    const { sse, bidi } = this.policies;
    return this.isResponding ? sse.turn : bidi[this.core.options.driver];
  }

  get isBusy(): boolean {
    const { messages, open, events, isResponding } = this;
    return messages.isAtWork || open.areAtWork || events.hasCalls || isResponding;
  }

  get isResponding(): boolean {
    return this.responses.current !== null;
  }

  changed(): void {
    if (!this.responses.goOn()) this.inbox.advance();
  }
}
