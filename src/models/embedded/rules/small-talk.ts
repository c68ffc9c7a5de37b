import { abilitiesOf } from '../abilities.ts';
import type { Reply, Rule } from '../rule.ts';
import type { EmbeddedTexts } from '../texts/en.ts';
import { TEXTS } from '../texts/index.ts';
import { listOf } from '../understand/language.ts';
import { withoutClosing } from '../understand/text.ts';
import { knownName } from './about-conversation.ts';

/** A kind of small talk: the patterns of what users write, and the key of the text that answers it. */
interface Phrase {
  text: keyof EmbeddedTexts['talk'];
  english: RegExp;
  japanese: RegExp;
}

const PHRASES: readonly Phrase[] = [
  {
    text: 'greeting',
    english:
      /^(?:hi|hii+|hello|hey|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day)|hi there|hello there|hey there|hello again|hello world|nice to meet you|what'?s up|sup|welcome)(?: (?:there|everyone|bot|duologue|friend|assistant))?$/i,
    japanese:
      /^(?:こんにち[はわ]|こんばん[はわ]|おはよう(?:ございます)?|やあ|もしもし|はじめまして|初めまして|どうも|ハロー|ヘイ|よろしく(?:お願い(?:いた)?します|ね)?|ただいま|ご?きげんよう|久しぶり(?:です)?)$/,
  },
  {
    text: 'howAreYou',
    english:
      /^(?:how are you(?: doing)?(?: today)?|how do you do|how'?s it going|are you (?:ok|okay|well|there))$/i,
    japanese: /^(?:お?元気(?:です)?(?:か)?|調子は(?:どう(?:です(?:か)?)?)?|いますか|いる)$/,
  },
  {
    text: 'thanks',
    english:
      /^(?:(?:ok|okay|great|cool|perfect|nice|awesome),? )?(?:thanks|thank you|thx|ty|cheers|many thanks|thanks a lot|thank you (?:very|so) much|thanks so much|much appreciated|i appreciate it|that helps|that was helpful|well done|good job|great job|nice work)(?: (?:a lot|very much|so much|again|for (?:that|the help|your help|everything)|bot|duologue|for me))*$/i,
    japanese:
      /^(?:どうも)?(?:ありがとう(?:ございま(?:す|した))?|有難う(?:ございま(?:す|した))?|サンキュー|助かりました|助かる|感謝(?:します|です)?|どうもありがとう|お疲れ様(?:です|でした)?|すごい(?:です(?:ね)?)?|さすが(?:です)?|ありがと)(?:ね|よ)?$/,
  },
  {
    text: 'goodbye',
    english:
      /^(?:bye|goodbye|bye bye|see you(?: later| soon| tomorrow)?|good night|farewell|take care|later|cya|that'?s all|that is all|i'?m done|have a (?:nice|good) day|talk to you later)(?: (?:then|now|for now|for today))?$/i,
    japanese:
      /^(?:さようなら|さよなら|バイバイ|またね|また(?:明日|今度|後で|あとで)|おやすみ(?:なさい)?|それでは|じゃあね|では(?:また)?|以上です|終わりです|失礼します)$/,
  },
  {
    text: 'shortWord',
    english:
      /^(?:yes|yeah|yep|sure|ok|okay|k|no|nope|fine|alright|all right|good|great|cool|nice|right|i see|got it|understood|never ?mind|cancel|forget it|stop)(?: please| then)?$/i,
    japanese:
      /^(?:はい|うん|ええ|いいえ|いや|ううん|了解(?:です|しました)?|わかった|分かった|わかりました|分かりました|なるほど|そう(?:です)?(?:か|ね)?|オッケー|OK|いいね|いいです(?:よ|ね)?|やっぱり?(?:いい(?:です|や)?|やめ(?:て|ます|る|た)?)|やめて|キャンセル|結構です)(?:。)?$/,
  },
];

/** Answers greetings, thanks, goodbyes and short words such as "ok". */
export const smallTalk: Rule = {
  name: 'small-talk',
  match(context): Reply | null {
    const { text, language, conversation } = context;
    const whole = phraseOf(text);
    // "Thanks, bye": a message of several phrases gets the answer to the last one.
    const pieces = text.split(/[,、。!?.]\s*/).filter((piece) => /\p{L}/u.test(piece));
    const each = pieces.map(phraseOf);
    const phrase = whole ?? (each.every((one) => one !== undefined) ? each.at(-1) : undefined);
    if (phrase === undefined) return null;
    const name = knownName(conversation.turns) ?? '';
    const does = abilitiesOf(context).flatMap((ability) => ability.does?.[language] ?? []);
    const { thought, reply } = TEXTS[language].talk[phrase.text];
    return { thought, text: reply(name, listOf(language, does)) };
  },
};

function phraseOf(text: string): Phrase | undefined {
  const bare = text.replace(/(?:[\s.!?。、,…~〜♪]|\p{Extended_Pictographic}|\u{fe0f})+$/u, '');
  const forms = [bare, withoutClosing(text)];
  return PHRASES.find(({ english, japanese }) =>
    forms.some((form) => english.test(form) || japanese.test(form)),
  );
}
