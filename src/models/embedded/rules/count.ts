import type { Rule } from '../rule.ts';
import { say } from '../understand/language.ts';
import { coreOf } from '../understand/text.ts';

const MOST = 500;
const ENGLISH =
  /^(?:count|keep counting|count up|count slowly|count for me)(?: for me)?(?: slowly| up)?(?: from (?:1|one))?(?: up)? (?:to|until|till) (?<to>\d{1,9})$/i;
const JAPANESE =
  /^(?:1から|一から|いちから)?(?<to>\d{1,9})まで(?:ゆっくり)?(?:数え|カウントし)て(?:ください|下さい|くれ(?:る|ますか)?|みて)?$/;

/** Counts aloud: a text of a known length. */
export const count: Rule = {
  name: 'count',
  match({ text, language }) {
    const core = coreOf(text);
    const wanted = (ENGLISH.exec(core) ?? JAPANESE.exec(core))?.groups?.to;
    if (wanted === undefined) return null;
    const to = Math.min(Number(wanted), MOST);
    const numbers = Array.from({ length: to }, (_, index) => String(index + 1)).join(' ');
    const limit =
      Number(wanted) > MOST ? say(language, `\n\nI stop at ${MOST}.`, `\n\n${MOST}までにします。`) : '';
    return {
      thought: say(language, `The person wants me to count to ${wanted}.`, `${wanted}まで数える依頼です。`),
      text:
        numbers === ''
          ? say(language, 'There is nothing to count.', '数えるものがありません。')
          : `${numbers}${limit}`,
    };
  },
};
