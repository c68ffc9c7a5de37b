import type { DecodeImage } from './colours.ts';
import type { Conversation } from './conversation.ts';
import type { Settled } from './results.ts';
import type { Bilingual, Language } from './understand/language.ts';

/** A tool call that a rule wants the model to make. */
export interface ToolRequest {
  name: string;
  args: Record<string, unknown>;
}

/** The answer of a rule: a thought about what it understood, with text or tool calls. */
export interface Reply {
  /** One short sentence about how the rule understood the message, shown as reasoning. */
  thought: string;
  text?: string;
  calls?: ToolRequest[];
  /** Whether the text is a question that the user has to answer before the rule calls a tool. */
  asks?: boolean;
  /** Whether the rule recognised only the topic of the message. The model then applies the rules to each sentence. */
  isUnsure?: boolean;
}

/** Everything that a rule can read to find its answer. */
export interface RuleContext {
  /** The user's last message with unified spelling; one sentence of it when no rule understood the whole message. */
  text: string;
  language: Language;
  conversation: Conversation;
  /** Whether the agent offers this tool. */
  can(tool: string): boolean;
  decodeImage: DecodeImage;
  /** Every rule of the model, in the order in which the rules are tried. */
  rules: readonly Rule[];
}

/** The tool that a rule calls, and the texts about its calls. */
export interface RuleTool {
  name: string;
  /** Returns the text that tells the user the outcomes of these calls. */
  report(settled: readonly Settled[], context: RuleContext): string;
  /**
   * For a tool that must not run twice by mistake: returns the answer to a user who writes "again" when the last call may have had its
   * effect. The model calls such a tool only when the rules understood every sentence of the message.
   */
  again?(context: RuleContext): Reply;
}

/** One kind of message that the embedded model understands. */
export interface Rule {
  name: string;
  /** Returns the answer to the user's message, or null when the message is not about the topic of this rule. */
  match(context: RuleContext): Reply | null | Promise<Reply | null>;
  /** The tool that this rule calls. */
  tool?: RuleTool;
  /** `example` is a line for the list of abilities; `does` says what the tool does ("send payments"), for a greeting. */
  ability?: { does?: Bilingual; example: Bilingual };
}

/** The tool of this name, if one of the rules calls it. */
export function toolOf(rules: readonly Rule[], name: string): RuleTool | undefined {
  return rules.find(({ tool }) => tool?.name === name)?.tool;
}
