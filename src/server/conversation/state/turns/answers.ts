import { type Answer, ProtocolError } from '../../../../protocol/index.ts';
import { type Identity, NO_LONGER_SIGNED_IN, type SignInStatus } from '../../../access/sign-in.ts';
import { NothingOpen } from '../../../ledger/approvals.ts';
import type { AcceptedRequest } from '../../../store/store.ts';
import type { Calls } from '../calls/calls.ts';
import type { Step } from '../calls/decisions.ts';
import { acceptedRequest, type Context } from '../context.ts';
import type { Driver } from '../driver/driver.ts';
import type { GivenAnswers, LateCall, Purpose, RequestRef } from '../effects.ts';
import { nothingCounts, tooManyWait } from '../errors.ts';
import type { AnswersRequest, WriteResults } from '../inputs.ts';
import type { Messages } from '../messages.ts';
import type { OpenCalls } from '../open-calls.ts';
import type { Starting } from './next-turn.ts';

type DecisionPurpose = Extract<Purpose, { for: 'decision' }>;

/** How many answers of one request are read. Further answers are ignored. */
const MAX_ANSWERS = 100;

/** How many requests with answers may wait, for instance while the store is slow. A page that answers a whole large step at once sends fewer requests. */
const MAX_HELD = 100;

/**
 * Handles answers to open calls: reads one request after the other, passes its decisions to the ledger, and then performs the steps that the answers
 * allow.
 */
export class Answers {
  private readonly context: Context;
  private readonly open: OpenCalls;
  private readonly messages: Messages;
  private readonly calls: Calls;
  private readonly driver: Driver;
  private readonly starting: Starting;
  /** Answers that came over a socket, or of the application while a client has one, and that wait until `isBlocked` is false. */
  private readonly held: { answers: Answer[]; by: Identity; request: RequestRef }[] = [];
  private areRead = false;

  constructor(
    context: Context,
    open: OpenCalls,
    messages: Messages,
    calls: Calls,
    driver: Driver,
    starting: Starting,
  ) {
    this.context = context;
    this.open = open;
    this.messages = messages;
    this.calls = calls;
    this.driver = driver;
    this.starting = starting;
  }

  /** Whether answers are being read. Later answers wait meanwhile, and no HTTP request starts. */
  get isReading(): boolean {
    return this.areRead;
  }

  /** Handles answers that came over a socket, or of the application while a client has one: reads them now, or holds them until they can be read. */
  take(answers: Answer[], by: Identity, request: RequestRef): void {
    const { context } = this;
    // The conversation is closed in this process: the process ends, hands the session over, or removes it. The client sends the answers again on its next
    // connection.
    if (context.isClosed) return context.takeRequest(request);
    if (!this.isBlocked) this.calls.expire();
    if (!this.isBlocked)
      return this.read({ wire: 'bidi', request, by, answers, messageId: undefined, late: [] });
    if (this.held.length >= MAX_HELD) return context.reject(request, tooManyWait('answers'));
    this.held.push({ answers, by, request });
  }

  /** Passes the held answers to `take`, if they can be read now, or if the conversation is closed. Returns false when it did not. */
  takeHeld(): boolean {
    if (this.held.length === 0 || (this.isBlocked && !this.context.isClosed)) return false;
    for (const { answers, by, request } of this.held.splice(0)) this.take(answers, by, request);
    return true;
  }

  /** Whether answers over the socket must wait: for earlier answers, for an HTTP response, or for the store. */
  private get isBlocked(): boolean {
    const { context, starting, open } = this;
    const { request } = starting;
    const isPosting = request !== null && context.policyFor(request.wire).hasResponse;
    return this.areRead || context.isResponding || isPosting || open.areExpiring;
  }

  /** Reads answers that were sent with POST. */
  readPosted({ wire, request, by, answers, messageId }: AnswersRequest, late: LateCall[]): void {
    this.read({ wire, request, by, answers, messageId, late });
  }

  /** Reads answers. If one is a decision, the application is first asked whether the user is still signed in. */
  private read(given: GivenAnswers): void {
    const { context, calls } = this;
    const answers = given.answers.slice(0, MAX_ANSWERS).map((answer) => calls.decisions.asDecision(answer));
    const read = { ...given, answers };
    this.areRead = true;
    const decides = answers.some(({ kind }) => kind === 'decision');
    if (!decides) return this.decide(read, true);
    context.emit({ type: 'check-sign-in', by: given.by, question: { why: 'decision', given: read } });
  }

  /** Continues after the check whether the user who decides is still signed in. */
  signInChecked(given: GivenAnswers, status: SignInStatus): void {
    if (status !== 'unknown') return this.decide(given, status === 'signed-in');
    const error = new ProtocolError(
      'internal',
      'The server could not check whether you are still signed in. Please decide again in a moment.',
      { retryAfterMs: 2000 },
    );
    this.reject(given, error);
  }

  private decide(given: GivenAnswers, isSignedIn: boolean): void {
    const { context, open } = this;
    const decisions = given.answers.filter((answer) => answer.kind === 'decision');
    const { messageId } = given;
    const { user: person, application } = given.by;
    const by = application === undefined ? undefined : { application, person };
    const isLooking = context.policyFor(given.wire).hasResponse && open.size === 0;
    const accepted = this.acceptedIn(given);
    // An output is stored when its call ends, and a request with outputs is stored together with its last output. So only a request that contains
    // nothing but decisions is stored with the decisions.
    const withDecisions = decisions.length === given.answers.length ? accepted : undefined;
    context.store(
      [
        { do: 'decide', decisions, shown: open.shown, isSignedIn, by, accepted: withDecisions },
        ...(isLooking ? [{ do: 'find-unfinished' as const, messageId }] : []),
      ],
      { for: 'decision', given, isSignedIn, accepted },
    );
  }

  /**
   * The stored form of a request with answers. For a POST it names the message that shows the first answered call, because the response continues that
   * message. Undefined for a request without a name.
   */
  private acceptedIn({ wire, request, answers }: GivenAnswers): AcceptedRequest | undefined {
    const { open, messages } = this;
    const isPosted = this.context.policyFor(wire).hasResponse;
    const [call] = isPosted ? answers.flatMap(({ toolCallId }) => open.get(toolCallId) ?? []) : [];
    const owner = call && messages.get(call.record.messageId)?.message;
    return acceptedRequest(request, owner?.id, owner?.parts.length);
  }

  /**
   * Accepts a request with answers. Acknowledges it now, or lets the last step that ends a call acknowledge it with the outcome. Returns the steps.
   * `isAccepted`: the request is already stored.
   */
  private accept(
    { given: { request }, accepted }: DecisionPurpose,
    steps: Step[],
    isAccepted = false,
  ): Step[] {
    const { context } = this;
    const last = isAccepted ? -1 : steps.findLastIndex((step) => step.next === 'end');
    if (accepted && last !== -1)
      return steps.map((step, index) =>
        index === last && step.next === 'end' ? { ...step, acknowledges: { request, accepted } } : step,
      );
    if (accepted && !isAccepted) context.settleRequestAlone({ request, accepted });
    else {
      context.acknowledge(request, accepted);
      context.takeRequest(request);
    }
    return steps;
  }

  /** Rejects a request with answers, and ends its reading. Messages that only a response would have continued end. */
  reject({ request, wire, late }: GivenAnswers, error: ProtocolError): void {
    this.publishLate(late);
    this.context.reject(request, error);
    this.areRead = false;
    if (!this.context.policyFor(wire).hasResponse) return;
    this.starting.finishReading();
    // The calls of `late` have ended, and no response continues their messages.
    this.driver.endResponse();
  }

  /** Sends clients the errors of calls that timed out, because no response reports them. */
  private publishLate(late: readonly LateCall[]): void {
    for (const one of late) this.calls.outcomes.publishSettled(one);
  }

  /** Continues after the decisions of a request, if it has any, are stored: performs the steps that its answers allow. */
  decided(purpose: DecisionPurpose, results: WriteResults): void {
    this.areRead = false;
    if (this.context.policyFor(purpose.given.wire).hasResponse) this.respond(purpose, results);
    else this.perform(purpose, results);
  }

  private perform(purpose: DecisionPurpose, { verdicts = [], isAccepted }: WriteResults): void {
    const { context, calls } = this;
    const { given, isSignedIn } = purpose;
    const { request } = given;
    const { steps, rejected } = calls.decisions.apply(given, verdicts);
    const error = isSignedIn && steps.length === 0 ? nothingCounts(rejected) : null;
    let allowed = steps;
    if (error) context.reject(request, error);
    else {
      this.warn(request, rejected);
      // The connection of a user who has signed out is already closed, so no acknowledgement is sent.
      if (isSignedIn) allowed = this.accept(purpose, steps, isAccepted);
      else context.takeRequest(request);
    }
    for (const step of allowed) calls.perform(step);
  }

  /** Starts the HTTP response to answers that were sent with POST; the response performs their steps. */
  private respond(
    purpose: DecisionPurpose,
    { verdicts = [], unfinished = null, isAccepted }: WriteResults,
  ): void {
    const { messages, open, calls, driver } = this;
    const { given, isSignedIn } = purpose;
    const { request, late } = given;
    const isInterrupted = this.starting.finishReading();
    const { steps, rejected } = calls.decisions.apply(given, verdicts);
    if (!isSignedIn) {
      const ended = steps.flatMap((step) =>
        step.next === 'end' ? [calls.outcomes.endQuietly(step.call, step.outcome)] : [],
      );
      const error = new ProtocolError('unauthorized', NO_LONGER_SIGNED_IN);
      return this.reject({ ...given, late: [...late, ...ended] }, error);
    }
    const target = steps[0]?.call.record.messageId ?? late[0]?.messageId;
    const owner = target === undefined ? undefined : messages.get(target)?.message;
    const message = owner ?? (open.size === 0 ? unfinished : null);
    if (!message) {
      const isOver = rejected.length === 0 && open.size === 0;
      return this.reject(given, isOver ? new NothingOpen() : nothingCounts(rejected));
    }
    const draft = messages.add(message);
    this.warn(request, rejected);
    // The steps of an interrupted request are not performed, so none of them may be the step that acknowledges the request.
    const accepted = this.accept(purpose, isInterrupted ? [] : steps, isAccepted);
    const allowed = isInterrupted ? steps : accepted;
    driver.startAnswering(draft, outcomesFirst(allowed));
    messages.resume(draft);
    calls.outcomes.endPending(true);
    for (const one of late) {
      if (one.messageId !== message.id) calls.outcomes.publishSettled(one);
      else for (const chunk of one.chunks) messages.inject(chunk);
    }
    if (isInterrupted) driver.stopResponse();
  }

  /** Reports the rejected answers to the client that sent them. */
  private warn(request: RequestRef, rejected: readonly string[]): void {
    for (const why of rejected) {
      const error = new ProtocolError('answer_refused', `An answer was refused: ${why}.`);
      this.context.emit({ type: 'warn', request, error });
    }
  }
}

/**
 * Returns the steps in the order in which they are performed: the order of their calls. If the request is acknowledged with an outcome, the steps with
 * outcomes come first, so that the acknowledgement does not wait for slow tools.
 */
function outcomesFirst(steps: Step[]): Step[] {
  const isOutcome = (step: Step) => step.next === 'end';
  if (!steps.some((step) => step.next === 'end' && step.acknowledges)) return steps;
  return [...steps.filter(isOutcome), ...steps.filter((step) => !isOutcome(step))];
}
