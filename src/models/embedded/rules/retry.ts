import type { Call } from '../conversation.ts';
import { earlierTurns } from '../memory.ts';
import { outcomeOf } from '../results/outcome.ts';
import { type Rule, toolOf } from '../rule.ts';
import { say } from '../understand/language.ts';
import { coreOf } from '../understand/text.ts';

const ENGLISH =
  /^(?:(?:try|do|send|run|ask|pay|retry)(?: (?:it|that|this|the payment|the same))?(?: once more| one more time| again)|retry(?: (?:it|that|please))?|again|once more|one more time|repeat(?: (?:it|that))?)$/i;
const JAPANESE =
  /^(?:もう一度|もう一回|再度|再び|もういちど)(?:やって|試して|して|お願い(?:します)?|実行して|送金して|送って)?(?:ください|下さい|みて)?$|^(?:再試行|リトライ|やり直し)(?:て|して)?(?:ください|下さい)?$/;

/** Repeats the last tool calls, because the person says so. */
export const retry: Rule = {
  name: 'retry',
  match(context) {
    const { text, language, conversation, can } = context;
    const core = coreOf(text);
    if (!ENGLISH.test(core) && !JAPANESE.test(core)) return null;
    const last = earlierTurns(conversation).findLast((turn) => turn.calls.length > 0);
    const calls = (last?.calls ?? []).filter((call) => can(call.name));
    const again = (call: Call) => toolOf(context.rules, call.name)?.again;
    if (calls.length === 0) {
      return {
        thought: say(
          language,
          'Again, but nothing was done before.',
          'やり直しの依頼ですが、前の操作がありません。',
        ),
        text: say(language, 'There is nothing to repeat yet.', 'やり直す操作がまだありません。'),
      };
    }
    const doubtful = calls.find((call) => again(call) !== undefined && !isSurelyUndone(call));
    const instead = doubtful && again(doubtful);
    if (instead) return instead(context);
    return {
      thought: say(language, 'The person wants the same once more.', '同じ操作をもう一度行う依頼です。'),
      calls: calls.map(({ name, args }) => ({ name, args })),
    };
  },
};

/** Whether a call certainly had no effect: only then it is repeated by a short word. */
function isSurelyUndone(call: Call): boolean {
  return !['done', 'unknown', 'silent', 'pending', 'result-timeout'].includes(outcomeOf(call).kind);
}
