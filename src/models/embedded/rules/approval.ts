import { waitingCalls } from '../memory.ts';
import { outcomeOf } from '../results/outcome.ts';
import type { Rule } from '../rule.ts';
import { say } from '../understand/language.ts';
import { coreOf } from '../understand/text.ts';

const DECISION =
  /^(?:yes|yeah|yep|ok|okay|sure|i )?,?\s*(?:approve|approved|accept|confirm|confirmed|allow|go ahead|do it|deny|denied|reject|decline|refuse|yes|no|ok|okay)(?: (?:it|that|the payment|please))?$|^(?:はい、?|いいえ、?)?(?:承認|許可|拒否|却下|確認)(?:します|して(?:ください)?|する|です)?$|^(?:はい|いいえ)$/i;

const NO = /\b(?:no|deny|denied|reject|decline|refuse)\b|いいえ|拒否|却下/i;

/** A decision typed while a card is open, or in place of one: only the card can take it. */
export const approval: Rule = {
  name: 'approval',
  match({ text, language, conversation }) {
    const isWaiting = waitingCalls(conversation).length > 0;
    // Where a new message takes the place of open cards, a typed yes has just cancelled what it meant to approve.
    const isLost = conversation.fresh.some((call) => outcomeOf(call).kind === 'cancelled') && !NO.test(text);
    if (!isWaiting && !isLost) return null;
    if (!DECISION.test(coreOf(text)) && !DECISION.test(text.replace(/[.!。]+$/, ''))) return null;
    if (!isWaiting) {
      return {
        thought: say(
          language,
          'The person approves with words, but only the card could take that.',
          '言葉での承認ですが、決定はカードで行うものでした。',
        ),
        text: say(
          language,
          'A message cannot approve: it takes the place of the card. Please ask again, and use Approve on the card.',
          'メッセージでは承認できず、カードは取り消されました。もう一度依頼して、カードの「承認」を押してください。',
        ),
      };
    }
    return {
      thought: say(
        language,
        'The person decides about the open request, but only the card can take that.',
        '承認待ちの件についての返事ですが、決定はカードで行います。',
      ),
      text: say(
        language,
        'I cannot decide that for you from a message. Please use Approve or Deny on the card.',
        'メッセージからは決定できません。カードの「承認」か「拒否」を押してください。',
      ),
    };
  },
};
