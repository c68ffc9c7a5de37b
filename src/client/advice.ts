import { toolNameOf } from '../protocol/tool-call.ts';
import { factsOf, type ToolPart } from './parts.ts';

/** Tells whoever writes the page, once, of a set-up in which an answer may never be sent. */
export class Advice {
  readonly #runs: (toolName: string) => boolean;
  #isGiven = false;

  constructor(runs: (toolName: string) => boolean) {
    this.#runs = runs;
  }

  /** Answers leave. The approval of a browser tool that leaves alone has an output that someone must send. */
  hear(answers: readonly ToolPart[]): void {
    const alone = answers.find((part) => this.#isAlone(part));
    if (!alone || this.#isGiven) return;
    this.#isGiven = true;
    const name = toolNameOf(alone);
    console.warn(
      `duologue: nothing sends the output of "${name}": use an executor or resumeWhen(transport).`,
    );
  }

  #isAlone(part: ToolPart): boolean {
    const isApproved = part.state === 'approval-responded' && part.approval?.approved === true;
    return (
      isApproved && factsOf(part.toolMetadata).runsOn === 'client' && !this.#runs(String(toolNameOf(part)))
    );
  }
}
