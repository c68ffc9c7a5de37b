import type { TrackedCall } from './call-tracker.ts';
import type { Connection } from './connection.ts';
import type { ExecutorResult, ExecutorRuns } from './executors.ts';
import type { Hearing } from './hearing.ts';
import type { Outgoing, RequestExtras } from './outgoing.ts';
import type { ToolPart } from './parts.ts';

/** The answers of a page to the calls that wait for it: what the person decides, and what the tools of the browser give. */
export class Answers {
  readonly #connection: Connection;
  readonly #runs: ExecutorRuns;
  readonly #hearing: Hearing;
  readonly #outgoing: Outgoing;

  constructor(connection: Connection, runs: ExecutorRuns, hearing: Hearing, outgoing: Outgoing) {
    this.#connection = connection;
    this.#runs = runs;
    this.#hearing = hearing;
    this.#outgoing = outgoing;
  }

  get #calls(): Hearing['responses']['calls'] {
    return this.#hearing.responses.calls;
  }

  /** Gives one answer at once, beside whatever is being said. `data`: what a frame says of it. */
  give(toolCallId: string, answer: Omit<ToolPart, 'type' | 'toolCallId'>, data: object): void {
    const call = this.#calls.get(toolCallId);
    const part = { type: `tool-${call?.toolName}`, toolCallId, ...answer };
    this.#hearing.push({ type: 'answer', answers: [part] });
    if (call) this.#hearing.floor.claim(call.messageId, toolCallId);
    if (!this.#connection.isPosting) return this.#outgoing.result(part, data);
    void this.#complete(part).then((whole) => this.#post(call?.messageId, [whole]));
  }

  /** Gives the answers in a message to whoever reads it on. `isAwaited`: what is refused of them is told to that response. */
  async deliver(
    messageId: string,
    answers: ToolPart[],
    response: number,
    isAwaited: boolean,
    extras: RequestExtras,
  ): Promise<void> {
    const reader = isAwaited ? response : undefined;
    if (!this.#connection.isPosting) return this.#outgoing.answer(messageId, answers, reader);
    const parts = await Promise.all(answers.map((part) => this.#complete(part)));
    if (this.#hearing.isRead(response)) this.#post(messageId, parts, reader, extras);
  }

  /** Runs the browser tools that are due: announced, approved where they ask, and still waited for. */
  runDue(): void {
    const due = this.#calls.open().filter((call) => this.#isDue(call));
    if (due.length === 0) return;
    if (this.#connection.isPosting) return void this.#postResults(due);
    for (const call of due) {
      void this.#runs.run(call).then((result) => {
        if (!result) return;
        const data = 'output' in result ? { result: result.output } : { error: result.errorText };
        this.give(call.id, ended(result), data);
      });
    }
  }

  /** A call ended. `isReplay`: that was said before. */
  ended(toolCallId: string, isReplay: boolean): void {
    const call = this.#calls.get(toolCallId);
    if (!call?.optimistic) return this.#runs.cancel(toolCallId);
    // The server has gone on with an output of its own; the browser only acts.
    if (!isReplay && this.#hearing.floor.runs(call)) void this.#runs.run(call);
  }

  #isDue(call: TrackedCall): boolean {
    const isNew = !this.#runs.hasBegun(call.id) && !call.optimistic;
    return isNew && this.#calls.isDue(call) && this.#hearing.runsNow(call);
  }

  /** In a post a decision and the output of the browser tool that it allows go together. */
  async #complete(part: ToolPart): Promise<ToolPart> {
    const call = this.#calls.get(part.toolCallId);
    const isApproved = part.state === 'approval-responded' && part.approval?.approved === true;
    if (!isApproved || call?.runsOn !== 'client') return part;
    const result = await this.#runs.run(call);
    return result ? { ...part, ...ended(result) } : part;
  }

  /** What the tools give goes in one post. */
  async #postResults(due: TrackedCall[]): Promise<void> {
    const parts = await Promise.all(
      due.map(async (call): Promise<ToolPart[]> => {
        const { id: toolCallId, toolName, input } = call;
        const result = await this.#runs.run(call);
        return result ? [{ type: `tool-${toolName}`, toolCallId, input, ...ended(result) }] : [];
      }),
    );
    const answers = parts.flat();
    if (answers.length > 0) this.#post(due[0]?.messageId, answers);
  }

  #post(messageId: string | undefined, answers: ToolPart[], response?: number, extras?: RequestExtras): void {
    this.#hearing.push({ type: 'answer', answers });
    this.#outgoing.answer(messageId, answers, response, extras);
  }
}

/** How a part shows what a browser tool gave. */
function ended(result: ExecutorResult): ExecutorResult & Pick<ToolPart, 'state'> {
  return { state: 'output' in result ? 'output-available' : 'output-error', ...result };
}
