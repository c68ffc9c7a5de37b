import type { Reply, Rule, RuleContext } from './rule.ts';
import { TEXTS } from './texts/index.ts';
import { LONGEST_UNDERSTOOD } from './understand/text.ts';

type Known = Pick<RuleContext, 'can' | 'rules'>;

/** The abilities of the rules whose tools this agent has, and of the rules without a tool. */
export function abilitiesOf({ rules, can }: Known): NonNullable<Rule['ability']>[] {
  return rules.flatMap(({ ability, tool }) =>
    ability === undefined || (tool !== undefined && !can(tool.name)) ? [] : [ability],
  );
}

/** A Markdown list of what the embedded model can do with the tools of this agent. */
export function abilities(context: Known & Pick<RuleContext, 'language'>): string {
  const { language } = context;
  return [...abilitiesOf(context).map(({ example }) => example[language]), ...TEXTS[language].abilities]
    .map((one) => `- ${one}`)
    .join('\n');
}

/**
 * The answer to a message that is too long, or that no rule understands: the whole list of abilities. After the first message that no rule understood, each
 * further one gets one example instead.
 */
export function unknownReply(context: RuleContext): Reply {
  const { language, conversation } = context;
  const { thought, mark, tooLong, first, next } = TEXTS[language].unknown;
  const isTooLong = conversation.turns.at(-1)?.excerpt !== undefined;
  const misses = conversation.turns.slice(0, -1).filter(({ spoken }) => spoken.includes(mark)).length;
  const examples = abilitiesOf(context).map(({ example }) => example[language]);
  const example = examples[misses % examples.length];
  // The user has already seen the whole list in an earlier answer, so show one example.
  if (misses > 0 && !isTooLong && example !== undefined) return { thought, text: next(mark, example) };
  const opening = isTooLong ? tooLong(LONGEST_UNDERSTOOD) : first(mark);
  return { thought, text: `${opening}\n\n${abilities(context)}` };
}
