import type { Rule, RuleContext } from './rule.ts';
import { type Bilingual, say } from './understand/language.ts';

const GENERAL: readonly Bilingual[] = [
  {
    en: 'pictures: send one, and I tell its format, its size and, if I can decode it, its main colours',
    ja: '画像：送っていただくと、形式・大きさと、復号できれば主な色をお答えします',
  },
  {
    en: 'this conversation: “What did I ask before?”, “What is my name?”',
    ja: 'この会話のこと：「さっき何を聞いた？」「私の名前は？」',
  },
  {
    en: 'longer texts: “Tell me a story”, “Count to 50”, “Show Markdown”',
    ja: '長い文章：「長い話をして」「50まで数えて」「マークダウンを見せて」',
  },
];

type Known = Pick<RuleContext, 'can' | 'rules'>;

/** What the rules can do with the tools of this agent. */
export function abilitiesOf({ rules, can }: Known): NonNullable<Rule['ability']>[] {
  return rules.flatMap(({ ability, tool }) =>
    ability === undefined || (tool !== undefined && !can(tool.name)) ? [] : [ability],
  );
}

/** A Markdown list of what the embedded model can do with the tools of this agent. */
export function abilities(context: Known & Pick<RuleContext, 'language'>): string {
  return [...abilitiesOf(context).map(({ example }) => example), ...GENERAL]
    .map(({ en, ja }) => `- ${say(context.language, en, ja)}`)
    .join('\n');
}
