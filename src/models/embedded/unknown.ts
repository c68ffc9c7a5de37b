import { abilities } from './abilities.ts';
import type { Reply, RuleContext } from './rule.ts';
import { say } from './understand/language.ts';
import { LONGEST_UNDERSTOOD } from './understand/text.ts';

/** The answer to what no rule understands. */
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
        'I did not understand that: I am a set of rules, not an LLM.',
        'すみません、理解できませんでした。私はLLMではなく、ルールの集まりです。',
      );
  return {
    thought: say(language, 'No rule of mine fits this.', '当てはまるルールがありません。'),
    text: `${opening}${say(language, ' I can help with:', 'できることはこちらです。')}\n\n${abilities(context)}`,
  };
}
