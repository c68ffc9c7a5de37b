import { waitingCalls } from '../memory.ts';
import type { Rule } from '../rule.ts';
import { say } from '../understand/language.ts';
import { coreOf } from '../understand/text.ts';

const DECISION =
  /^(?:yes|yeah|yep|ok|okay|sure|i )?,?\s*(?:approve|approved|accept|confirm|confirmed|allow|go ahead|do it|deny|denied|reject|decline|refuse|yes|no|ok|okay)(?: (?:it|that|the payment|please))?$|^(?:はい、?|いいえ、?)?(?:承認|許可|拒否|却下|確認)(?:します|して(?:ください)?|する|です)?$|^(?:はい|いいえ)$/i;

/** A decision typed while a card is open: only the card can take it. */
export const approval: Rule = {
  name: 'approval',
  match({ text, language, conversation }) {
    if (waitingCalls(conversation).length === 0) return null;
    if (!DECISION.test(coreOf(text)) && !DECISION.test(text.replace(/[.!。]+$/, ''))) return null;
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
