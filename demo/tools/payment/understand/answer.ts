import { coreOf, isNegated, languageOf, personName, personNameJa } from 'duologue/models/embedded';
import { markAmounts } from './money.ts';
import { isComplete, type PaymentRequest } from './requests.ts';

const LEAD_EN =
  /^(?:(?:make it|about|only|exactly|it'?s|it is|it was|that'?s|let'?s say|say|i said|send (?:it|them|that)|give (?:it|them)|pay|send|the recipient is|the amount is|how about|maybe|to|for)\s+)+/i;
const TAIL_JA =
  /(?:です|だ|で|でお願い|にして|を|分|だけ|にお願い|宛て?に|に|へ|まで|に送って|へ送って|に送金して|を送って|を送金して|送って|送金して)$/;

/** Adds the answer to "How much?" or "To whom?" to the first incomplete payment; null when the message answers neither. */
export function answerPayment(drafts: readonly PaymentRequest[], text: string): PaymentRequest[] | null {
  const index = drafts.findIndex((draft) => !isComplete(draft));
  const draft = drafts[index];
  if (draft === undefined || isNegated(text) || /[?]/.test(text)) return null;
  const reported = answerOf(text, draft);
  if (reported === null) return null;
  return drafts.map((other, at) => (at === index ? { ...other, ...reported } : other));
}

function answerOf(text: string, draft: PaymentRequest): PaymentRequest | null {
  const { marked, amounts } = markAmounts(text);
  const isJapanese = languageOf(text) === 'ja';
  const core = isJapanese ? withoutTail(coreOf(marked)) : coreOf(marked).replace(LEAD_EN, '').trim();
  const money = amounts[0];
  const priced =
    money === undefined ? {} : { amount: money.amount, currency: money.currency ?? draft.currency ?? 'USD' };
  if (/^⟦0⟧$/.test(core)) return draft.amount === undefined ? priced : null;

  const pair = isJapanese
    ? (/^(?<name>[^⟦]+?)(?:に|へ)\s*⟦0⟧$/.exec(core) ?? /^⟦0⟧(?:を)?\s*(?<name>[^⟦]+)$/.exec(core))
    : (/^⟦0⟧,? to (?<name>[^⟦]+)$/i.exec(core) ?? /^(?<name>[^⟦]+?),? ⟦0⟧$/.exec(core));
  const written = pair?.groups?.name ?? (amounts.length === 0 ? core : undefined);
  if (written === undefined) return null;
  const recipient = isJapanese ? personNameJa(withoutTail(written)) : personName(written);
  if (recipient === undefined) return null;
  if (pair !== null) return { ...priced, recipient };
  return draft.recipient === undefined ? { recipient } : null;
}

function withoutTail(text: string): string {
  const shorter = text.replace(TAIL_JA, '').trim();
  return shorter === '' || shorter === text ? text : withoutTail(shorter);
}
