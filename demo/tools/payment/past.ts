import { coreOf, type Language, type Reply, type Rule, type RuleContext } from 'duologue/models/embedded';
import { type KnownPayment, paymentsIn } from './known-payments.ts';
import { MODEL } from './texts/index.ts';
import { moneyText } from './understand/money-text.ts';

const PAID_EN =
  /^(?:(?:what|how much|who|whom) (?:did|have) (?:i|you|we) (?:already )?(?:pay|paid|send|sent|transfer|transferred)(?: to)?(?: (?<name>\p{L}[\p{L}' -]*?))?(?: so far| already| before| in total)?|did (?:you|i|we) (?:already )?(?:send|pay|transfer)(?: (?:money|anything|something|it|that))?(?: to)?(?: (?<who>\p{L}[\p{L}' -]*?))?(?: (?:already|yet|anything|money|the money))*|(?:show|list|tell)(?: me)?(?: my| the)? (?:payments?|transactions?|transfers?)(?: history)?|(?:payment|transaction|transfer) history|what (?:payments?|transfers?) (?:did|have) i (?:make|made)|to whom did i (?:pay|send)(?: money)?)$/iu;
const PAID_JA =
  /^(?:(?:誰|だれ)に(?:、)?(?:いくら|何ドル)?(?:を)?(?:送金|送り|払い|支払い|送っ|払っ|支払っ)(?:し)?(?:た|ました)(?:っけ|の|か)?|いくら(?:を)?(?:送金し|送り|払い|支払い|送っ|払っ)(?:た|ました)(?:っけ|の|か)?|(?:(?<name>.+?)(?:さん|様)?に(?:は)?(?:もう|すでに)?(?:いくら)?(?:送金し|送り|払い|送っ|払っ)(?:た|ました)(?:っけ|の|か)?)|(?:送金|支払い|取引)(?:の)?履歴(?:は|を)?(?:見せて|教えて|表示して)?(?:ください)?|(?:何|なに)に(?:いくら)?払(?:った|いました)(?:っけ|の|か)?)$/;

/** The rule for questions about earlier payments of this conversation. */
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
  const { thought, none, heading } = MODEL[language].past;
  return { thought, text: lines.length === 0 ? none : `${heading}\n\n${lines.join('\n')}` };
}

function line(
  language: Language,
  { amount, currency, recipient, settled: { outcome } }: KnownPayment,
): string {
  const { past, name } = MODEL[language];
  const isSent = outcome.kind !== 'done' || outcome.value.success === true;
  const state = past.states[isSent ? outcome.kind : 'silent'];
  return past.line(moneyText(language, amount, currency), name(recipient), state);
}
