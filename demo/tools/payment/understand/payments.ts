import { languageOf } from 'duologue/models/embedded';
import { understandPaymentsEn } from './payments-en.ts';
import { understandPaymentsJa } from './payments-ja.ts';
import type { PaymentHistory, PaymentIntent } from './requests.ts';

/** Reads a message as a request to pay; null for a message about something else. */
export function understandPayments(text: string, history: PaymentHistory): PaymentIntent | null {
  return languageOf(text) === 'ja'
    ? understandPaymentsJa(text, history)
    : understandPaymentsEn(text, history);
}

const CANCELS_EN =
  /^(?:oh |ok |okay |actually |sorry )*(?:never ?mind|cancel(?: (?:it|that|this|the payment|the transfer))?|forget (?:it|that|about it)|stop|no|nope|no thanks|no thank you|not (?:any ?more|now|today)|don'?t|abort|drop it|leave it|let'?s not|i changed my mind|scratch that)(?: (?:please|then|thanks))?$/i;
const CANCELS_JA =
  /^(?:やっぱり?|ああ|いや|ごめん|すみません)?[、,\s]*(?:(?:それは|送金は|送金を)?(?:やめて(?:おき(?:ます)?|おく|ください|おこう)?|やめ(?:ます|た|とく|よう|る)?|キャンセル(?:して(?:ください)?|します|で)?|中止(?:して(?:ください)?|します)?|取り消し(?:て(?:ください)?|ます)?)|いい(?:です|や|よ)?|結構です|けっこうです|いらない(?:です)?|要りません|いりません|なし(?:で|にして)?|なんでもない(?:です)?|何でもない(?:です)?|忘れて(?:ください)?|いいえ|いや)$/;

/** Whether a message only withdraws the request before it: "never mind", やっぱりやめて. */
export function takesBack(text: string): boolean {
  const bare = text.replace(/[\s.!。、,]+$/, '').replace(/[.,!]+ /g, ' ');
  return CANCELS_EN.test(bare) || CANCELS_JA.test(bare);
}
