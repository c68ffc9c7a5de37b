import type { Turn } from '../conversation.ts';
import type { Rule } from '../rule.ts';
import { say } from '../understand/language.ts';
import { personName, personNameJa } from '../understand/names.ts';
import { withoutClosing, withoutOpening } from '../understand/text.ts';

const TOLD_EN = /^(?:my name is|my name'?s|call me|you can call me|i am called|the name'?s) (?<name>.+)$/i;
const TOLD_I_AM = /^(?:[Ii]'?m|[Ii] am|[Tt]his is) (?<name>\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)?)$/u;
const TOLD_JA =
  /^(?:私|わたし|僕|ぼく|俺)?(?:の名前|名前)?は?、?(?<name>.+?)(?:と申します|といいます|と言います|って言います|と呼んで(?:ください)?|って呼んで(?:ください)?)$|^(?:私|わたし|僕|ぼく|俺)の名前は(?<plain>.+?)(?:です|だ|だよ)?$/;
const ASKED_EN = /^(?:what'?s|what is|whats|do you (?:know|remember)|tell me|say) my name$|^who am i$/i;
const ASKED_JA =
  /^(?:私|わたし|僕|ぼく|俺)(?:の名前)?(?:は|を|って)(?:何|なん|なに|誰|だれ|覚えて(?:い)?(?:る|ます)|(?:分|わ)かり?(?:る|ます)|教えて|言って)(?:です)?(?:か)?(?:ください)?$|^(?:私|わたし|僕|ぼく|俺)の名前は$|^名前(?:を)?覚えて(?:い)?(?:る|ます)(?:か)?$/;

/** The person's name: told once, remembered in the conversation. */
export const name: Rule = {
  name: 'name',
  match({ text, language, conversation }) {
    const told = nameIn(text);
    if (told !== undefined) {
      return {
        thought: say(language, `The person is called ${told}.`, `お名前は${told}さんだと理解しました。`),
        text: say(language, `Nice to meet you, ${told}!`, `${told}さん、よろしくお願いします。`),
      };
    }
    // The opening 私は is cut off as politeness, so the whole sentence is looked at too.
    const forms = [withoutClosing(withoutOpening(text)), withoutClosing(text)];
    if (!forms.some((form) => ASKED_EN.test(form) || ASKED_JA.test(form))) return null;
    const known = knownName(conversation.turns);
    return {
      thought: say(language, 'The person asks for their own name.', '自分の名前についての質問です。'),
      text:
        known === undefined
          ? say(language, 'You have not told me your name yet.', 'まだお名前を伺っていません。')
          : say(language, `Your name is ${known}.`, `${known}さんです。`),
    };
  },
};

/** The name the person told last. */
export function knownName(turns: readonly Turn[]): string | undefined {
  return turns.map((turn) => nameIn(turn.text)).findLast((told) => told !== undefined);
}

const NOT_SAID_OF_NAMES =
  /^(?:I|Sorry|Tired|Fine|Good|Happy|Sad|Back|Here|Ready|Done|Not|Hungry|Sure|Afraid|In|At|Great|Great!|Bored|Ill|Sick)$/;

function nameIn(text: string): string | undefined {
  const core = withoutClosing(withoutOpening(text));
  const english = (TOLD_EN.exec(core) ?? TOLD_I_AM.exec(core))?.groups?.name;
  if (english !== undefined) return NOT_SAID_OF_NAMES.test(english) ? undefined : personName(english);
  const groups = (TOLD_JA.exec(withoutClosing(text)) ?? TOLD_JA.exec(core))?.groups;
  const japanese = groups?.name ?? groups?.plain;
  return japanese === undefined || /何|なん|なに|誰|だれ/.test(japanese)
    ? undefined
    : personNameJa(japanese.replace(/^(?:私|僕|俺)は/, ''));
}
