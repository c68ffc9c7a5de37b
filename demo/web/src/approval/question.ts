import { CONFIRMATION_TOOL } from 'duologue/protocol';
import type { Messages } from '../i18n/en.ts';
import type { Language } from '../i18n/language.tsx';
import type { CallSentence } from '../tools/page-tool.ts';
import { pageTool } from '../tools/page-tools.tsx';
import { fields, hasOutput, type ToolPart, toolName } from '../tools/tool-part.ts';
import { reveal } from './reveal.ts';

/** The call of a card, and the sentence about it. */
export interface Question extends CallSentence {
  toolCallId: string;
  tool: string;
  input: Readonly<Record<string, unknown>>;
}

/**
 * The call that a card is about. With `confirmations: 'tool'` the part is the call of the confirmation tool, and this
 * call is in its input.
 */
function subjectOf(part: ToolPart): Pick<Question, 'toolCallId' | 'tool' | 'input'> {
  const tool = toolName(part);
  if (tool !== CONFIRMATION_TOOL) return { toolCallId: part.toolCallId, tool, input: fields(part.input) };
  const original = fields(fields(part.input).originalFunctionCall);
  const toolCallId = String(original.id ?? part.toolCallId);
  return { toolCallId, tool: String(original.name ?? tool), input: fields(original.args) };
}

/** Whether a call succeeded: it has an output that reports no error. */
function isDone(part: ToolPart): boolean {
  if (!hasOutput(part) || toolName(part) === CONFIRMATION_TOOL) return false;
  const { success, error } = fields(part.output);
  return success !== false && error === undefined;
}

/** The sentence that says what a call will do, or what it did. */
export function questionOf(part: ToolPart, messages: Messages, language: Language): Question {
  const subject = subjectOf(part);
  const { tool, input } = subject;
  const own = pageTool(tool)?.sentence?.(input, isDone(part), language);
  if (own) return { ...subject, ...own };
  const { run, ran } = messages.approval;
  return { ...subject, template: isDone(part) ? ran : run, values: { tool: reveal(tool) }, inSentence: [] };
}

/** The sentence with its values filled in, as plain text. */
export function sentenceOf({ template, values }: Question): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
}
