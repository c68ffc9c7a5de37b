import type { Reply, Rule, RuleContext } from './rule.ts';
import { type Bilingual, say } from './understand/language.ts';
import { LONGEST_UNDERSTOOD } from './understand/text.ts';

const GENERAL: readonly Bilingual[] = [
  {
    en: 'pictures: send one, and I tell its format, its size and, if I can decode it, its main colours',
    ja: '画像：送っていただくと、形式・大きさと、復号できれば主な色をお答えします',
  },
  {
    en: 'this conversation: “What did I ask before?”, “What is my name?”',
    ja: 'この会話のこと：「さっき何を聞いた？」「私の名前は？」',
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

/** The words by which such an answer is known again. */
const MARK = { en: 'I did not understand that', ja: '理解できませんでした' };

/** The answer to what no rule understands: the whole list of abilities at first, then one example each time. */
export function unknownReply(context: RuleContext): Reply {
  const { language, conversation } = context;
  const isTooLong = conversation.turns.at(-1)?.excerpt !== undefined;
  const opening = isTooLong
    ? say(
        language,
        `This message is too long for my rules (more than ${LONGEST_UNDERSTOOD} characters), so I did nothing.`,
        `メッセージが長すぎて（${LONGEST_UNDERSTOOD}文字超）、ルールでは理解できません。何も行っていません。`,
      )
    : say(
        language,
        `${MARK.en}: I am a set of rules, not an LLM.`,
        `すみません、${MARK.ja}。私はLLMではなく、ルールの集まりです。`,
      );
  const thought = say(language, 'No rule of mine fits this.', '当てはまるルールがありません。');
  const misses = conversation.turns
    .slice(0, -1)
    .filter(({ spoken }) => spoken.includes(MARK[language])).length;
  const examples = abilitiesOf(context).map(({ example }) => say(language, example.en, example.ja));
  const example = examples[misses % examples.length];
  // The whole list a second time would tell the person nothing new.
  if (misses > 0 && !isTooLong && example !== undefined) {
    const text = say(
      language,
      `${MARK.en} either. One thing that I can do: ${example}. Ask “What can you do?” for all of them.`,
      `${MARK.ja}。できることの一つ：${example}。すべて見るには「何ができますか？」と聞いてください。`,
    );
    return { thought, text };
  }
  return {
    thought,
    text: `${opening}${say(language, ' I can help with:', 'できることはこちらです。')}\n\n${abilities(context)}`,
  };
}
