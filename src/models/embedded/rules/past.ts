import { earlierTurns, type KnownPayment, paymentsIn } from '../memory.ts';
import type { Reply, Rule, RuleContext } from '../rule.ts';
import { say } from '../understand/language.ts';
import { moneyText } from '../understand/money-text.ts';
import { coreOf } from '../understand/text.ts';

const ASKED_EN =
  /^(?:what (?:did|have) i (?:just )?(?:ask|asked|say|said|want|wanted|write|written)(?: you)?(?: for| about)?(?: before| earlier| last| just now| previously)?|what was my (?:last|previous) (?:question|request|message)|(?:repeat|do you remember) (?:my (?:last|previous) (?:question|request)|what i (?:asked|said)(?: before)?))$/i;
const ASKED_JA =
  /^(?:さっき|先ほど|前に|以前|直前に)?(?:は|、)?(?:私(?:は|が)?)?(?:何|なに|なん)(?:を|て|と)?(?:聞い|聞きま|頼ん|頼みま|質問し|言っ|お願いし)(?:た|だ|した|ました)(?:っけ|の|か|のか)?$|^(?:前|さっき|先ほど|直前)の(?:質問|依頼|メッセージ)(?:は|を)?(?:何|なに|なん)?(?:です)?(?:か|だっけ|でしたか)?(?:教えて(?:ください)?)?$/;
const PAID_EN =
  /^(?:(?:what|how much|who|whom) (?:did|have) (?:i|you|we) (?:already )?(?:pay|paid|send|sent|transfer|transferred)(?: to)?(?: (?<name>\p{L}[\p{L}' -]*?))?(?: so far| already| before| in total)?|did (?:you|i|we) (?:already )?(?:send|pay|transfer)(?: (?:money|anything|something|it|that))?(?: to)?(?: (?<who>\p{L}[\p{L}' -]*?))?(?: (?:already|yet|anything|money|the money))*|(?:show|list|tell)(?: me)?(?: my| the)? (?:payments?|transactions?|transfers?)(?: history)?|(?:payment|transaction|transfer) history|what (?:payments?|transfers?) (?:did|have) i (?:make|made)|to whom did i (?:pay|send)(?: money)?)$/iu;
const PAID_JA =
  /^(?:(?:誰|だれ)に(?:、)?(?:いくら|何ドル)?(?:を)?(?:送金|送り|払い|支払い|送っ|払っ|支払っ)(?:し)?(?:た|ました)(?:っけ|の|か)?|いくら(?:を)?(?:送金し|送り|払い|支払い|送っ|払っ)(?:た|ました)(?:っけ|の|か)?|(?:(?<name>.+?)(?:さん|様)?に(?:は)?(?:もう|すでに)?(?:いくら)?(?:送金し|送り|払い|送っ|払っ)(?:た|ました)(?:っけ|の|か)?)|(?:送金|支払い|取引)(?:の)?履歴(?:は|を)?(?:見せて|教えて|表示して)?(?:ください)?|(?:何|なに)に(?:いくら)?払(?:った|いました)(?:っけ|の|か)?)$/;

/** What was asked and what was paid earlier in this conversation. */
export const past: Rule = {
  name: 'past',
  match(context) {
    const core = coreOf(context.text);
    if (ASKED_EN.test(core) || ASKED_JA.test(core)) return lastRequest(context);
    const paidEn = PAID_EN.exec(core);
    const paidJa = PAID_JA.exec(core);
    if (paidEn === null && paidJa === null) return null;
    const groups = (paidEn ?? paidJa)?.groups;
    return paidSoFar(context, groups?.name ?? groups?.who);
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

function paidSoFar({ language, conversation }: RuleContext, name: string | undefined): Reply {
  const wanted = name?.trim().toLowerCase();
  const known = paymentsIn(conversation.turns).filter(
    (payment) => wanted === undefined || payment.recipient.toLowerCase() === wanted,
  );
  const lines = known.map((payment) => line(language, payment));
  return {
    thought: say(language, 'The person asks about earlier payments.', 'これまでの送金についての質問です。'),
    text:
      lines.length === 0
        ? say(
            language,
            'No payment was made in this conversation that I know of.',
            'この会話では、該当する送金はありません。',
          )
        : `${say(language, 'In this conversation:', 'この会話での送金：')}\n\n${lines.join('\n')}`,
  };
}

function line(
  language: 'en' | 'ja',
  { amount, currency, recipient, settled: { outcome } }: KnownPayment,
): string {
  const state: Record<typeof outcome.kind, [en: string, ja: string]> = {
    done: ['sent', '送金済み'],
    pending: ['waiting for approval', '承認待ち'],
    denied: ['denied', '拒否'],
    'approval-timeout': ['not approved in time', '承認の期限切れ'],
    'result-timeout': ['no result in time', '結果の期限切れ'],
    unknown: ['outcome unknown', '結果不明'],
    cancelled: ['cancelled', '取り消し'],
    refused: ['refused', '不可'],
    failed: ['failed', '失敗'],
    silent: ['no result', '結果なし'],
  };
  const isSent = outcome.kind !== 'done' || outcome.value.success === true;
  const [en, ja] = state[isSent ? outcome.kind : 'silent'];
  return say(
    language,
    `- ${moneyText('en', amount, currency)} to ${recipient}: ${en}`,
    `- ${recipient}さんに${moneyText('ja', amount, currency)}：${ja}`,
  );
}
