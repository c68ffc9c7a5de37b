import { CONFIRMATION_TOOL } from 'duologue/protocol';
import type { Messages } from '../i18n/en.ts';
import { isShownExactly, money } from '../i18n/format.ts';
import type { Language } from '../i18n/language.tsx';
import { fields, type ToolPart, toolName } from '../tools/tool-part.ts';
import { reveal } from './reveal.ts';

/** What a card asks or tells: a sentence with places, and what stands in them. */
export interface Question {
  tool: string;
  input: Readonly<Record<string, unknown>>;
  template: string;
  values: Readonly<Record<string, string>>;
  /** The arguments that the sentence tells without loss. */
  told: readonly string[];
}

/** The call that a card is about: in the confirmation dialect, the one inside. */
function subjectOf(part: ToolPart): { tool: string; input: Readonly<Record<string, unknown>> } {
  const tool = toolName(part);
  if (tool !== CONFIRMATION_TOOL) return { tool, input: fields(part.input) };
  const original = fields(fields(part.input).originalFunctionCall);
  return { tool: String(original.name ?? tool), input: fields(original.args) };
}

/** Whether a call did what it was asked for. */
function isDone(part: ToolPart): boolean {
  if (part.state !== 'output-available' || toolName(part) === CONFIRMATION_TOOL) return false;
  const { success, error } = fields(part.output);
  return success !== false && error === undefined;
}

/** Says in plain words what a call will do, or did. */
export function questionOf(part: ToolPart, messages: Messages, language: Language): Question {
  const { tool, input } = subjectOf(part);
  const { sentences: future, doneSentences: past } = messages.approval;
  const sentences = isDone(part) ? past : future;
  switch (tool) {
    case 'process_payment': {
      const { amount, recipient, currency } = input;
      if (typeof amount !== 'number' || typeof recipient !== 'string') {
        return { tool, input, template: sentences.paymentBare, values: {}, told: [] };
      }
      const isNamed = typeof currency === 'string' && currency !== '';
      const unit = isNamed ? currency : 'USD';
      // An amount that is rounded in the sentence stands below it too.
      const isExact = isShownExactly(amount, unit, language);
      return {
        tool,
        input,
        template: sentences.payment,
        values: { amount: money(amount, unit, language), recipient: reveal(recipient) },
        told: ['recipient', ...(isExact ? ['amount'] : []), ...(isNamed ? ['currency'] : [])],
      };
    }
    case 'get_location':
      return { tool, input, template: sentences.location, values: {}, told: [] };
    case 'change_bgm': {
      const track = reveal(String(input.track ?? input.track_name ?? '?'));
      const told = input.track === undefined ? ['track_name'] : ['track'];
      return { tool, input, template: sentences.music, values: { track }, told };
    }
    default:
      return { tool, input, template: sentences.other, values: { tool: reveal(tool) }, told: [] };
  }
}

/** The question as one sentence. */
export function sentenceOf({ template, values }: Question): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
}
