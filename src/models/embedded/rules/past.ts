import { earlierTurns } from '../memory.ts';
import type { Reply, Rule, RuleContext } from '../rule.ts';
import { say } from '../understand/language.ts';
import { coreOf } from '../understand/text.ts';

const ASKED_EN =
  /^(?:what (?:did|have) i (?:just )?(?:ask|asked|say|said|want|wanted|write|written)(?: you)?(?: for| about)?(?: before| earlier| last| just now| previously)?|what was my (?:last|previous) (?:question|request|message)|(?:repeat|do you remember) (?:my (?:last|previous) (?:question|request)|what i (?:asked|said)(?: before)?))$/i;
const ASKED_JA =
  /^(?:さっき|先ほど|前に|以前|直前に)?(?:は|、)?(?:私(?:は|が)?)?(?:何|なに|なん)(?:を|て|と)?(?:聞い|聞きま|頼ん|頼みま|質問し|言っ|お願いし)(?:た|だ|した|ました)(?:っけ|の|か|のか)?$|^(?:前|さっき|先ほど|直前)の(?:質問|依頼|メッセージ)(?:は|を)?(?:何|なに|なん)?(?:です)?(?:か|だっけ|でしたか)?(?:教えて(?:ください)?)?$/;

/** What the person said earlier in this conversation. */
export const past: Rule = {
  name: 'past',
  match(context) {
    const core = coreOf(context.text);
    return ASKED_EN.test(core) || ASKED_JA.test(core) ? lastRequest(context) : null;
  },
};

function lastRequest({ language, conversation }: RuleContext): Reply {
  const before = earlierTurns(conversation).findLast((turn) => turn.text !== '')?.text;
  return {
    thought: say(language, 'The person asks what they said before.', '以前の発言についての質問です。'),
    text:
      before === undefined
        ? say(language, 'This is the first thing you have asked me.', 'これが最初のメッセージです。')
        : say(language, `Before this you wrote: “${before}”`, `直前のメッセージは「${before}」です。`),
  };
}
