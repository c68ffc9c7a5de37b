import type { Conversation } from './conversation.ts';
import type { DecodeImage } from './image/pixels.ts';
import type { Settled } from './results/outcome.ts';
import type { Language } from './understand/language.ts';

/** A tool call a rule wants to make. */
export interface ToolRequest {
  name: string;
  args: Record<string, unknown>;
}

/** What a rule answers: what it understood, and words or tool calls. */
export interface Reply {
  /** One short sentence about what was understood, shown as reasoning. */
  thought: string;
  text?: string;
  calls?: ToolRequest[];
  /** Whether the text is a question the person has to answer before anything is done. */
  asks?: boolean;
  /** Whether the rule only saw what the message is about, so that its sentences are tried one by one. */
  isUnsure?: boolean;
}

/** What a rule may look at. */
export interface RuleContext {
  /** The person's last message, tidied; one sentence of it when the whole was not understood. */
  text: string;
  language: Language;
  conversation: Conversation;
  /** Whether the agent offers this tool. */
  can(tool: string): boolean;
  decodeImage: DecodeImage;
}

/** One thing the embedded model understands: a rule is one file, and the list in `rules/index.ts` names it. */
export interface Rule {
  name: string;
  /** The answer to the person's message, or null when it is not about this. */
  match(context: RuleContext): Reply | null | Promise<Reply | null>;
  /** The tool this rule calls and how it tells what came of its calls. */
  tool?: { name: string; report(settled: readonly Settled[], context: RuleContext): string };
}
