import type { DecodeImage } from './colours.ts';
import type { Conversation } from './conversation.ts';
import type { Settled } from './results.ts';
import type { Bilingual, Language } from './understand/language.ts';

/** A tool call a rule wants to make. */
export interface ToolRequest {
  name: string;
  args: Record<string, unknown>;
}

/** The answer of a rule: a thought about what it understood, with text or tool calls. */
export interface Reply {
  /** One short sentence about what was understood, shown as reasoning. */
  thought: string;
  text?: string;
  calls?: ToolRequest[];
  /** Whether the text is a question the person has to answer before anything is done. */
  asks?: boolean;
  /** Whether the rule recognised only the topic of the message. The model then applies the rules to each sentence. */
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
  /** Every rule of the model, in the order they are asked. */
  rules: readonly Rule[];
}

/** How a rule speaks about the calls of the tool that it makes. */
export interface RuleTool {
  name: string;
  /** Returns the text that tells the user the outcomes of these calls. */
  report(settled: readonly Settled[], context: RuleContext): string;
  /**
   * For a tool that must not run twice by mistake: what "again" is answered with when the last call may have had its
   * effect. Such a tool is also called only when every sentence of the message was understood.
   */
  again?(context: RuleContext): Reply;
}

/** One thing the embedded model understands. */
export interface Rule {
  name: string;
  /** The answer to the person's message, or null when it is not about this. */
  match(context: RuleContext): Reply | null | Promise<Reply | null>;
  /** The tool that this rule calls. */
  tool?: RuleTool;
  /** A line with an example, for help, and what the tool does ("send payments"), for a greeting. */
  ability?: { does?: Bilingual; example: Bilingual };
}

/** The tool of this name, if one of the rules calls it. */
export function toolOf(rules: readonly Rule[], name: string): RuleTool | undefined {
  return rules.find(({ tool }) => tool?.name === name)?.tool;
}
