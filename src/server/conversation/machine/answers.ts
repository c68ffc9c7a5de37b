import { type Answer, ProtocolError } from '../../../protocol/index.ts';
import { type Identity, NO_LONGER_SIGNED_IN, type Standing } from '../../access/sign-in.ts';
import { NothingOpen } from '../../ledger/approvals.ts';
import type { AcceptedRequest } from '../../store/store.ts';
import type { CallEnds } from './call-ends.ts';
import type { Calls } from './calls.ts';
import type { Decisions } from './decisions.ts';
import type { About, Asker, GivenAnswers, LateCall } from './effects.ts';
import type { Inbox } from './inbox.ts';
import type { Posted, WriteResults } from './inputs.ts';
import type { Step } from './open-call.ts';
import type { Responses } from './responses.ts';
import type { Shared } from './shared.ts';
import type { TurnBegins } from './turn-begins.ts';

type Decided = Extract<About, { what: 'decision' }>;

/** Answers of one message that are read; nobody waits for more at once. */
const MAX_ANSWERS = 100;

/** What answers need of other parts. */
interface Needs extends Shared {
  readonly callEnds: CallEnds;
  readonly calls: Calls;
  readonly decisions: Decisions;
  readonly inbox: Inbox;
  readonly responses: Responses;
  readonly turnBegins: TurnBegins;
}

/** What the person answers to open calls: read one after the other, decided in the store, and then done. */
export class Answers {
  /** Answers that came over the socket while a response over SSE was given. */
  private readonly held: { answers: Answer[]; by: Identity; asker: Asker }[] = [];
  private areRead = false;
  private readonly parts: Needs;

  constructor(parts: Needs) {
    this.parts = parts;
  }

  /** Whether answers are being read: those behind them do not overtake them, and nothing posted begins. */
  get isReading(): boolean {
    return this.areRead;
  }

  /** Takes answers to open calls, while everything else goes on. */
  take(answers: Answer[], by: Identity, asker: Asker): void {
    const { core, life, open, isResponding, turnBegins, callEnds } = this.parts;
    if (life.isClosed) return core.emit({ type: 'begun', asker });
    if (this.areRead || isResponding || turnBegins.isPosting) {
      this.held.push({ answers, by, asker });
      return;
    }
    callEnds.expire();
    if (open.areExpiring) {
      this.held.push({ answers, by, asker });
      return;
    }
    this.read({ wire: 'bidi', asker, by, answers, messageId: undefined, late: [] });
  }

  /** Reads the answers that waited for something else to be over, as far as they may be read now. */
  takeHeld(): void {
    for (const { answers, by, asker } of this.held.splice(0)) this.take(answers, by, asker);
  }

  /** Reads answers that came as a request of their own. */
  readPosted({ wire, asker, by, answers, messageId }: Posted, late: LateCall[]): void {
    this.read({ wire, asker, by, answers, messageId, late });
  }

  /** Reads answers; whoever decides must still be signed in. */
  private read(given: GivenAnswers): void {
    const { core, decisions } = this.parts;
    const answers = given.answers.slice(0, MAX_ANSWERS).map((answer) => decisions.asDecision(answer));
    const asked = { ...given, answers };
    this.areRead = true;
    const decides = answers.some(({ kind }) => kind === 'decision');
    if (!decides) return this.decide(asked, true);
    core.emit({ type: 'ask-sign-in', by: given.by, question: { why: 'decision', given: asked } });
  }

  /** It is known whether whoever decides is still signed in. */
  signedIn(given: GivenAnswers, standing: Standing): void {
    if (standing !== 'unknown') return this.decide(given, standing === 'signed-in');
    const error = new ProtocolError(
      'internal',
      'It could not be found out whether you are still signed in. Please decide again in a moment.',
      { retryAfterMs: 2000 },
    );
    this.refused(given, error);
  }

  private decide(given: GivenAnswers, isSignedIn: boolean): void {
    const { core, open } = this.parts;
    const decisions = given.answers.filter((answer) => answer.kind === 'decision');
    const { messageId } = given;
    const isLooking = given.wire === 'sse' && open.size === 0;
    const accepted = this.acceptedIn(given);
    // Outputs are stored when their calls end, and the request with the last of them.
    const withDecisions = decisions.length === given.answers.length ? accepted : undefined;
    core.storing(
      [
        { do: 'decide', decisions, shown: open.shown, isSignedIn, accepted: withDecisions },
        ...(isLooking ? [{ do: 'find-unfinished' as const, messageId }] : []),
      ],
      { what: 'decision', given, isSignedIn, accepted },
    );
  }

  /** What is written down of a request with answers: over SSE the agent goes on with the message of the first. */
  private acceptedIn({ wire, asker, answers }: GivenAnswers): AcceptedRequest | undefined {
    const { acceptances, open, messages } = this.parts;
    const [call] = wire === 'sse' ? answers.flatMap(({ toolCallId }) => open.get(toolCallId) ?? []) : [];
    const owner = call && messages.get(call.record.messageId)?.message;
    return acceptances.of(asker, owner?.id, owner?.parts.length);
  }

  /** Something of a request counts: it begins, when it is written down if it has a name, with the decisions or with the last end. */
  private accept({ given: { asker }, accepted }: Decided, steps: Step[], isAccepted = false): void {
    const { core, acceptances } = this.parts;
    const last = isAccepted ? undefined : steps.findLast((step) => step.next === 'end');
    if (accepted && last) {
      last.accepts = { asker, accepted };
      return;
    }
    if (accepted && !isAccepted) return acceptances.alone({ asker, accepted });
    acceptances.tell(asker, accepted);
    core.emit({ type: 'begun', asker });
  }

  /** Nothing came of answers. */
  refused({ asker, wire, late }: GivenAnswers, error: ProtocolError): void {
    const { core, inbox, turnBegins } = this.parts;
    this.tellLate(late);
    core.emit({ type: 'refuse', asker, error });
    this.areRead = false;
    if (wire === 'sse') turnBegins.wasRead();
    this.takeHeld();
    inbox.advance();
  }

  /** No response is given that could tell of calls whose time was up: whoever listens is told all the same. */
  private tellLate(late: readonly LateCall[]): void {
    for (const one of late) this.parts.callEnds.tellSettled(one);
  }

  /** The store knows what was decided: it is done. */
  decided(about: Decided, results: WriteResults): void {
    if (about.given.wire === 'bidi') this.decidedLive(about, results);
    else this.decidedByPost(about, results);
  }

  private decidedLive(about: Decided, { verdicts = [], isAccepted }: WriteResults): void {
    const { asker } = about.given;
    const { steps, refused } = this.parts.decisions.apply(about.given, verdicts);
    const error = about.isSignedIn && steps.length === 0 ? nothingCounts(refused) : null;
    if (error) this.parts.core.emit({ type: 'refuse', asker, error });
    else {
      this.tellRefused(asker, refused);
      // Whoever is signed in no more is gone already.
      if (about.isSignedIn) this.accept(about, steps, isAccepted);
      else this.parts.core.emit({ type: 'begun', asker });
    }
    for (const step of steps) this.parts.calls.take(step);
    this.areRead = false;
    this.takeHeld();
    this.parts.changed();
  }

  private decidedByPost(
    about: Decided,
    { verdicts = [], unfinished = null, isAccepted }: WriteResults,
  ): void {
    const { core, messages, open, turnBegins, responses, callEnds } = this.parts;
    const { given, isSignedIn } = about;
    const { asker, late } = given;
    const isInterrupted = turnBegins.wasRead();
    this.areRead = false;
    const { steps, refused } = this.parts.decisions.apply(given, verdicts);
    if (!isSignedIn) {
      const ended = steps.map((step) =>
        step.next === 'end' ? callEnds.endQuietly(step.call, step.settlement) : null,
      );
      this.tellLate([...late, ...ended.filter((one) => one !== null)]);
      core.emit({ type: 'refuse', asker, error: new ProtocolError('unauthorized', NO_LONGER_SIGNED_IN) });
      return responses.over();
    }
    const target = steps[0]?.call.record.messageId ?? late[0]?.messageId;
    const owner = target === undefined ? undefined : messages.get(target)?.message;
    const message = owner ?? (open.size === 0 ? unfinished : null);
    if (!message) {
      this.tellLate(late);
      const isOver = refused.length === 0 && open.size === 0;
      core.emit({ type: 'refuse', asker, error: isOver ? new NothingOpen() : nothingCounts(refused) });
      return responses.over();
    }
    const writing = messages.add(message);
    this.tellRefused(asker, refused);
    this.accept(about, isInterrupted ? [] : steps, isAccepted);
    responses.beginWith(writing, inOrder(steps));
    messages.resume(writing);
    for (const one of late) {
      if (one.messageId !== message.id) callEnds.tellSettled(one);
      else for (const chunk of one.chunks) messages.inject(chunk);
    }
    if (isInterrupted) responses.stop();
    this.parts.changed();
  }

  /** Tells whoever answered, and nobody else, what of it does not count. */
  private tellRefused(asker: Asker, refused: readonly string[]): void {
    for (const why of refused) {
      const error = new ProtocolError('answer_refused', `An answer was refused: ${why}.`);
      this.parts.core.emit({ type: 'tell', asker, error });
    }
  }
}

/** The order of the calls; but a request that is taken with an end does not wait for tools that take their time. */
function inOrder(steps: Step[]): Step[] {
  const isEnd = (step: Step) => step.next === 'end';
  if (!steps.some((step) => step.next === 'end' && step.accepts)) return steps;
  return [...steps.filter(isEnd), ...steps.filter((step) => !isEnd(step))];
}

/** Why nothing comes of answers. */
function nothingCounts(refused: readonly string[]): ProtocolError {
  if (refused.length === 0)
    return new ProtocolError('nothing_to_answer', 'The last message answers no call that is open.');
  return new ProtocolError('answer_refused', `The answer was refused: ${refused.join('; ')}.`);
}
