import { coreOf, type Reply, type Rule, type RuleContext, say } from 'duologue/models/embedded';
import { type KnownPayment, paymentsIn } from './known-payments.ts';
import { moneyText } from './understand/money-text.ts';

const PAID_EN =
  /^(?:(?:what|how much|who|whom) (?:did|have) (?:i|you|we) (?:already )?(?:pay|paid|send|sent|transfer|transferred)(?: to)?(?: (?<name>\p{L}[\p{L}' -]*?))?(?: so far| already| before| in total)?|did (?:you|i|we) (?:already )?(?:send|pay|transfer)(?: (?:money|anything|something|it|that))?(?: to)?(?: (?<who>\p{L}[\p{L}' -]*?))?(?: (?:already|yet|anything|money|the money))*|(?:show|list|tell)(?: me)?(?: my| the)? (?:payments?|transactions?|transfers?)(?: history)?|(?:payment|transaction|transfer) history|what (?:payments?|transfers?) (?:did|have) i (?:make|made)|to whom did i (?:pay|send)(?: money)?)$/iu;
const PAID_JA =
  /^(?:(?:誰|だれ)に(?:、)?(?:いくら|何ドル)?(?:を)?(?:送金|送り|払い|支払い|送っ|払っ|支払っ)(?:し)?(?:た|ました)(?:っけ|の|か)?|いくら(?:を)?(?:送金し|送り|払い|支払い|送っ|払っ)(?:た|ました)(?:っけ|の|か)?|(?:(?<name>.+?)(?:さん|様)?に(?:は)?(?:もう|すでに)?(?:いくら)?(?:送金し|送り|払い|送っ|払っ)(?:た|ました)(?:っけ|の|か)?)|(?:送金|支払い|取引)(?:の)?履歴(?:は|を)?(?:見せて|教えて|表示して)?(?:ください)?|(?:何|なに)に(?:いくら)?払(?:った|いました)(?:っけ|の|か)?)$/;

/** What was paid earlier in this conversation. */
export const pastPayments: Rule = {
  name: 'past-payments',
  match(context) {
    const core = coreOf(context.text);
    const groups = (PAID_EN.exec(core) ?? PAID_JA.exec(core))?.groups;
    return groups === undefined ? null : paidSoFar(context, groups.name ?? groups.who);
  },
};

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
