import type { SessionOptions } from '../engine.ts';
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
import { TurnBegins } from './turn-begins.ts';
import { TurnByTurn } from './turn-by-turn.ts';
import { TurnEnds } from './turn-ends.ts';

/**
 * What a machine is made of. Each part alone changes its own state, and calls the others directly: all of it happens within one
 * input.
 */
export class Parts {
  readonly core: Core;
  readonly said: SaidBefore;
  readonly messages: Messages;
  readonly open = new OpenCalls();
  readonly life = new Life(this);
  readonly acceptances = new Acceptances(this);
  readonly inbox = new Inbox(this);
  readonly answers = new Answers(this);
  readonly decisions = new Decisions(this);
  readonly responses = new Responses(this);
  readonly turnBegins = new TurnBegins(this);
  readonly turnByTurn = new TurnByTurn(this);
  readonly turnEnds = new TurnEnds(this);
  readonly hearing = new Hearing(this);
  readonly run = new AgentRun(this);
  readonly media = new Media(this);
  readonly events = new AgentEvents(this);
  readonly calls = new Calls(this);
  readonly callChunks = new CallChunks(this);
  readonly callEnds = new CallEnds(this);
  readonly executions = new Executions(this);
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

  /** The policy of the wire that is used now, and of what drives the agent on it. */
  get policy(): Policy {
    const { sse, bidi } = this.policies;
    return this.responses.current ? sse.turn : bidi[this.core.options.driver];
  }

  /** Whether the agent is at work, as opposed to waiting for the person or the browser. */
  get isBusy(): boolean {
    const { messages, open, events, responses } = this;
    return messages.isAtWork || open.areAtWork || events.hasCalls || responses.current !== null;
  }

  /** Something was settled or shown: what waited for it may go on. */
  changed(): void {
    if (!this.responses.goOn()) this.inbox.advance();
  }
}
