import { RESUME } from '../../../adk/for-server.ts';
import { INTERRUPTED } from '../../../protocol/index.ts';
import { INTERRUPTION } from '../../ledger/approvals.ts';
import { agentFailure, type Failure } from './agent-failure.ts';
import { type AgentRun, NOT_COMPLETED } from './agent-run.ts';
import type { CallChunks } from './call-chunks.ts';
import type { CallEnds } from './call-ends.ts';
import type { Calls } from './calls.ts';
import type { Inbox } from './inbox.ts';
import type { WriteResults } from './inputs.ts';
import type { Writing } from './messages.ts';
import type { Step } from './open-call.ts';
import type { Shared } from './shared.ts';
import type { TurnEnds } from './turn-ends.ts';

/**
 * What a response is at. `answering`: what the answers allow is done, one after the other. `taking`: one of that is being done.
 * `speaking`: the agent is at work. `ending`: nothing may stay open.
 */
type Stage = { is: 'answering' | 'taking'; steps: Step[] } | { is: 'speaking' } | { is: 'ending' };

/** One response over SSE, from its `start` to its `finish`. */
interface Response {
  writing: Writing;
  stage: Stage;
  isStopped: boolean;
}

const FAULT = 'Something went wrong on the server. Please try again.';

/** What responses need of other parts. */
interface Needs extends Shared {
  readonly callChunks: CallChunks;
  readonly callEnds: CallEnds;
  readonly calls: Calls;
  readonly inbox: Inbox;
  readonly run: AgentRun;
  readonly turnEnds: TurnEnds;
  readonly answers: { takeHeld(): void };
}

/** Responses over SSE: one at a time, and it ends when everything that is open waits for the person or the browser. */
export class Responses {
  private response: Response | null = null;
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  /** The response that is being given. */
  get current(): Readonly<Response> | null {
    return this.response;
  }

  /** The agent answers a message. */
  begin(writing: Writing): void {
    this.response = { writing, stage: { is: 'speaking' }, isStopped: false };
  }

  /** What was answered is done, and then the agent goes on. */
  beginWith(writing: Writing, steps: Step[]): void {
    this.response = { writing, stage: { is: 'answering', steps }, isStopped: false };
  }

  /** Goes on with what the answers allow; false when it is not about answers. */
  goOn(): boolean {
    const { response } = this;
    const { open, messages, core, run, calls } = this.parts;
    if (response?.stage.is !== 'answering' || open.areAtWork) return false;
    const { steps } = response.stage;
    if (response.isStopped) this.conclude();
    else if (steps.length > 0) this.answering(response, steps);
    else {
      calls.showNext();
      if (open.size > 0) this.pause(response);
      else {
        response.stage = { is: 'speaking' };
        if (core.options.confirmations === 'tool') messages.say(response.writing, { type: 'start-step' });
        run.openTurn({ role: 'user', parts: [{ text: '' }] }, RESUME);
      }
    }
    return true;
  }

  private answering(response: Response, [step, ...steps]: Step[]): void {
    // What a step leads to comes back here before it is taken whole.
    response.stage = { is: 'taking', steps };
    if (step) this.parts.calls.take(step);
    response.stage = { is: 'answering', steps };
    this.parts.changed();
  }

  /** Ends what is being given, once; false when there is nothing to stop. */
  stop(): boolean {
    const { response } = this;
    if (!response) return false;
    if (response.isStopped) return true;
    response.isStopped = true;
    this.parts.core.emit({ type: 'abort-tools' });
    // A call that is being written down is shown to nobody any more.
    for (const call of this.parts.open.issuing) this.parts.callEnds.end(call, INTERRUPTION);
    if (response.stage.is === 'speaking') this.parts.run.close();
    else if (response.stage.is === 'answering') this.conclude();
    else if (response.stage.is === 'ending') this.endCalls();
    return true;
  }

  /** Nothing of a response that was stopped waits for anyone. */
  private endCalls(): void {
    const { open, callEnds } = this.parts;
    for (const call of open.all) callEnds.end(call, { kind: 'error', errorText: INTERRUPTED });
  }

  /** The response ends: everything that is still open waits for the person or the browser. */
  private pause({ writing }: Response): void {
    this.parts.messages.finish(writing);
    this.over();
  }

  /** The conversation is free for what waited for the response to end. */
  over(): void {
    const { life, calls, answers, inbox, turnEnds } = this.parts;
    this.response = null;
    turnEnds.forgetSettled();
    if (life.hasListener) calls.takeUp();
    answers.takeHeld();
    inbox.advance();
  }

  /** The agent, turn by turn, has said what it had to say. */
  turnEnded(error: Failure | null): void {
    const { response } = this;
    if (!response) return;
    const { chunks } = response.writing;
    if (error !== null) this.failed(response.writing, error);
    const said = chunks.hasSpoken || chunks.hasCalled || this.parts.open.size > 0 || response.isStopped;
    if (!said && response.writing.failure === null) {
      this.failed(response.writing, { code: 'EMPTY_RESPONSE', message: '' });
    }
    this.conclude();
  }

  private failed(writing: Writing, failure: Failure): void {
    const { note, code, text } = agentFailure(failure);
    for (const effect of [note, ...code]) this.parts.core.emit(effect);
    writing.failure = text;
  }

  /** No call stays without an answer, in the history or on the screen, but those that wait. */
  private conclude(): void {
    const { core, messages, open } = this.parts;
    const { response } = this;
    if (!response || response.stage.is === 'ending') return;
    // What was answered and is not done any more is taken all the same.
    for (const step of 'steps' in response.stage ? response.stage.steps : [])
      if ('accepts' in step && step.accepts) this.parts.acceptances.alone(step.accepts);
    response.stage = { is: 'ending' };
    const { writing, isStopped } = response;
    const { id: messageId } = writing.message;
    messages.interject(writing);
    const text = writing.chunks.unfinishedText;
    const isCutOff = isStopped || writing.failure !== null;
    if (isStopped) this.endCalls();
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
      { what: 'conclusion', messageId },
    );
  }

  concluded(messageId: string, { missed = [] }: WriteResults): void {
    const { response } = this;
    const { messages, callChunks } = this.parts;
    if (response?.writing.message.id !== messageId) return;
    const { writing, isStopped } = response;
    callChunks.takeAnnounced();
    for (const chunk of missed) messages.say(writing, chunk);
    messages.finish(writing, { interrupted: isStopped });
    this.over();
  }

  notConcluded(messageId: string): void {
    const { messages, callChunks } = this.parts;
    const writing = messages.get(messageId);
    if (writing) writing.failure ??= FAULT;
    // The history could not be mended; on the screen nothing stays open.
    const missed = callChunks
      .takeAnnounced()
      .map((toolCallId) => ({ type: 'tool-output-error' as const, toolCallId, errorText: NOT_COMPLETED }));
    this.concluded(messageId, { missed });
  }
}
