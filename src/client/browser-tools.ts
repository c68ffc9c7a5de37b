import type { Chunk, SessionInfo } from '../protocol/chunks.ts';
import { toolNameOf } from '../protocol/tool-call.ts';
import type { ExecutorResult, ToolRunner } from './executors.ts';
import type { LinkKind, RequestExtras } from './link/index.ts';
import type { Requests, Settle } from './requests.ts';
import { factsOf, settledCall, type ToolCalls, type ToolPart, type TrackedCall } from './tool-calls.ts';

/**
 * Answers the calls that wait for a page. It runs the browser tools that this page has to run, and sends their outputs and the user's decisions. Over
 * a link that batches answers, one request has the answers that `useChat` sends with a message, or the outputs of the tools that are due after a turn. Over
 * other links, each answer is sent at once.
 *
 * Over a link that can be active, the page with the active connection runs the browser tools. Over other links, a tool that needs approval runs on
 * the page where the user approved the call, and any other tool on the page that requested the message.
 */
export class BrowserTools {
  readonly #kind: LinkKind;
  readonly #calls: ToolCalls;
  readonly #requests: Requests;
  readonly #runner: ToolRunner;
  /** The id of the newest connection of this page; null before the first connection. */
  #connectionId: string | null = null;
  /** The id of the active connection; null when no connection is active, undefined when the server has not reported it. */
  #activeId: string | null | undefined;
  /** The ids of the messages that this page requested (or is assumed to have requested) or whose calls it answered, and the ids of these calls. */
  readonly #own = new Set<string>();
  /** The ids of calls that this page does not run. They were due before this page became active, so the page that was active before runs them. */
  readonly #elsewhere = new Set<string>();
  #isTurnOver = true;
  /** The id of the message that the newest `start` chunk named. The chunks after that chunk belong to this message. */
  #messageId: string | undefined;
  /** The ids of messages that ended with an error. */
  readonly #failed = new Set<string | undefined>();
  /** The ids of calls that got their outcome since the newest `start` chunk. Outcomes in replayed chunks do not count. */
  readonly #settled = new Set<string>();
  #hasWarned = false;

  constructor(kind: LinkKind, calls: ToolCalls, requests: Requests, runner: ToolRunner) {
    this.#kind = kind;
    this.#calls = calls;
    this.#requests = requests;
    this.#runner = runner;
  }

  /** Whether this page is the active one, which runs the browser tools. */
  get isActive(): boolean {
    const active = this.#activeId;
    // `undefined`: the server has not reported an active connection, so no other page is known to be active. `null` over HTTP: HTTP links
    // never become active, so every page may run its own browser tools.
    return (
      active === undefined || active === this.#connectionId || (active === null && !this.#kind.canBeActive)
    );
  }

  /** Handles the session info, which is the server's first chunk on a new link. */
  startSession({ running, floor, connectionId }: SessionInfo): void {
    this.#isTurnOver = running === null;
    // A reloaded page cannot know whether it requested the message in progress. On its first link it assumes that it did, and runs the browser
    // tools of that message.
    if (running !== null && this.#connectionId === null) this.#own.add(running);
    this.#setActive(floor, connectionId);
  }

  /** Records the id of the active connection; null when no connection is active. */
  setActive(connectionId: string | null): void {
    this.#setActive(connectionId, this.#connectionId);
  }

  /** Records that the server accepted a request of this page, and will answer the request with this message. */
  expect(messageId: string): void {
    this.#own.add(messageId);
    // Over HTTP, chunks of the message may arrive before the acceptance of the request. When a call of the message got its outcome by then, this
    // page did not know that the call was its own, so handle the outcome now.
    for (const id of this.#settled) this.#settle(id, false);
  }

  /** Observes a chunk. Call it after `ToolCalls.observe` of the same chunk. */
  observe(chunk: Chunk, isReplay: boolean): void {
    if (chunk.type === 'start') {
      this.#isTurnOver = false;
      this.#messageId = chunk.messageId;
      this.#failed.delete(chunk.messageId);
      this.#settled.clear();
    } else if (chunk.type === 'error') this.#failed.add(this.#messageId);
    const settled = settledCall(chunk);
    if (settled === null) return;
    this.#settle(settled, isReplay);
    if (!isReplay) this.#settled.add(settled);
  }

  endTurn(): void {
    this.#isTurnOver = true;
  }

  /** Runs the browser tool of each call that is due: the call was announced, is approved where needed, has no output, and this page has to run it. */
  runDue(): void {
    const due = this.#calls.open().filter((call) => this.#isDue(call));
    if (due.length === 0) return;
    if (this.#kind.batchesAnswers) return void this.#sendOutputs(due);
    for (const call of due) {
      void this.#runner.run(call).then((result) => result && this.answer(call.id, asPart(result)));
    }
  }

  /**
   * Sends one answer, even while the chat reads a response. Over a link that batches answers, the approval of a browser tool is sent when the tool has run,
   * with its output. `settle` is called when the server has accepted or rejected the answer.
   */
  answer(toolCallId: string, answer: Omit<ToolPart, 'type' | 'toolCallId'>, settle?: Settle): void {
    const call = this.#calls.get(toolCallId);
    const part = { type: `tool-${call?.toolName}`, toolCallId, ...answer };
    this.#calls.markSent([part]);
    if (call) this.claim(call.messageId, [part]);
    if (!this.#kind.batchesAnswers) return this.#requests.sendResult(part, settle);
    void this.#withOutput(part).then((whole) => this.#send(call?.messageId, [whole], { settle }));
  }

  /**
   * Sends the answers in a message. Over a link that batches answers, it first runs the browser tools that the answers approve. If
   * `isWanted` then returns false, the chat no longer reads the response, and nothing is sent.
   */
  async send(
    messageId: string,
    answers: ToolPart[],
    options: { response: number | undefined; extras: RequestExtras },
    isWanted: () => boolean,
  ): Promise<void> {
    this.#warnOf(answers);
    if (!this.#kind.batchesAnswers) return this.#send(messageId, answers, options);
    const parts = await Promise.all(answers.map((part) => this.#withOutput(part)));
    if (isWanted()) this.#send(messageId, parts, options);
  }

  /** Records that this page answers these calls of a message, so that their browser tools run on this page. */
  claim(messageId: string, answers: readonly ToolPart[]): void {
    this.#own.add(messageId);
    for (const { toolCallId } of answers) this.#own.add(toolCallId);
  }

  /** Aborts the browser tools that run. */
  cancelAll(): void {
    this.#runner.cancelAll();
  }

  #setActive(activeId: string | null | undefined, connectionId: string | null): void {
    const before = this.#activeId;
    // When this page becomes active, calls may be due already. The page that was active before runs them. If that page had left, `before` would be null.
    if (before && before !== activeId && activeId === this.#connectionId) {
      const due = this.#calls.open().filter((call) => this.#calls.isDue(call));
      for (const { id, confirmation = id } of due) if (!this.#own.has(confirmation)) this.#elsewhere.add(id);
    }
    this.#activeId = activeId;
    this.#connectionId = connectionId;
  }

  #isDue(call: TrackedCall): boolean {
    const isNew = !this.#runner.hasStarted(call.id) && !call.optimistic;
    // Over a link that batches answers, the page sends all outputs in one request after the turn, and none after a turn that failed.
    const isTime = !this.#kind.batchesAnswers || (this.#isTurnOver && !this.#failed.has(call.messageId));
    return isNew && isTime && this.#calls.isDue(call) && this.#isForThisPage(call);
  }

  /**
   * Whether this page runs the call. Over HTTP, a call that needs approval runs on the page where the user approved it, any other call on the page
   * that requested the message.
   */
  #isForThisPage({ id, asks, messageId, confirmation = id }: TrackedCall): boolean {
    const isOwn = this.#kind.canBeActive || this.#own.has(asks ? confirmation : messageId);
    return isOwn && this.isActive && !this.#elsewhere.has(id);
  }

  #settle(toolCallId: string, isReplay: boolean): void {
    const call = this.#calls.get(toolCallId);
    if (!call?.optimistic) return this.#runner.cancel(toolCallId);
    // The server itself makes the output of an optimistic tool. The browser then runs the tool only for its effect on the page.
    if (!isReplay && this.#isForThisPage(call)) void this.#runner.run(call);
  }

  /** Runs the browser tool that a decision approves, and returns the decision with the output of the tool. */
  async #withOutput(part: ToolPart): Promise<ToolPart> {
    const call = this.#calls.get(part.toolCallId);
    if (!isApproval(part) || call?.runsOn !== 'client') return part;
    const result = await this.#runner.run(call);
    return result ? { ...part, ...asPart(result) } : part;
  }

  async #sendOutputs(due: TrackedCall[]): Promise<void> {
    const results = await Promise.all(due.map((call) => this.#runner.run(call)));
    const answers = due.flatMap(({ id: toolCallId, toolName, input }, index): ToolPart[] => {
      const result = results[index];
      return result ? [{ type: `tool-${toolName}`, toolCallId, input, ...asPart(result) }] : [];
    });
    if (answers.length > 0) this.#send(due[0]?.messageId, answers, {});
  }

  #send(
    messageId: string | undefined,
    answers: ToolPart[],
    options: Parameters<Requests['sendAnswers']>[2],
  ): void {
    this.#calls.markSent(answers);
    this.#requests.sendAnswers(messageId, answers, options);
  }

  /** Warns once when the approval of a browser tool is sent without an output, and this page has no code that will send the output. */
  #warnOf(answers: readonly ToolPart[]): void {
    const alone = answers.find(
      (part) =>
        isApproval(part) &&
        factsOf(part.toolMetadata).runsOn === 'client' &&
        !this.#calls.runs(String(toolNameOf(part))),
    );
    if (!alone || this.#hasWarned) return;
    this.#hasWarned = true;
    const name = toolNameOf(alone);
    console.warn(
      `duologue: this page has no code that sends the output of "${name}". Pass an executor for the tool, or use resumeWhen(transport).`,
    );
  }
}

function isApproval({ state, approval }: ToolPart): boolean {
  return state === 'approval-responded' && approval?.approved === true;
}

/** The fields of a message part that show the outcome of a browser tool. */
export function asPart(result: ExecutorResult): ExecutorResult & Pick<ToolPart, 'state'> {
  return { state: 'output' in result ? 'output-available' : 'output-error', ...result };
}
