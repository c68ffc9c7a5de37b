import { abilitiesOf } from '../abilities.ts';
import type { Reply, Rule } from '../rule.ts';
import { listOf, say } from '../understand/language.ts';
import { withoutClosing } from '../understand/text.ts';
import { knownName } from './about-conversation.ts';

/** What is answered, knowing the person's name and what the tools do. */
type Says = (name: string, abilities: string) => string;

interface Phrase {
  english: RegExp;
  japanese: RegExp;
  thought: [en: string, ja: string];
  reply: [en: Says, ja: Says];
}

const PHRASES: readonly Phrase[] = [
  {
    english:
      /^(?:hi|hii+|hello|hey|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day)|hi there|hello there|hey there|hello again|hello world|nice to meet you|what'?s up|sup|welcome)(?: (?:there|everyone|bot|duologue|friend|assistant))?$/i,
    japanese:
      /^(?:こんにち[はわ]|こんばん[はわ]|おはよう(?:ございます)?|やあ|もしもし|はじめまして|初めまして|どうも|ハロー|ヘイ|よろしく(?:お願い(?:いた)?します|ね)?|ただいま|ご?きげんよう|久しぶり(?:です)?)$/,
    thought: ['The person greets me.', '挨拶だと理解しました。'],
    reply: [
      (name, abilities) =>
        `Hello${name === '' ? '' : ` ${name}`}!${abilities === '' ? '' : ` I can ${abilities}.`} What would you like?`,
      (name, abilities) =>
        `${name === '' ? '' : `${name}さん、`}こんにちは！${abilities === '' ? '' : `${abilities}などができます。`}何をしましょうか？`,
    ],
  },
  {
    english:
      /^(?:how are you(?: doing)?(?: today)?|how do you do|how'?s it going|are you (?:ok|okay|well|there))$/i,
    japanese: /^(?:お?元気(?:です)?(?:か)?|調子は(?:どう(?:です(?:か)?)?)?|いますか|いる)$/,
    thought: ['The person asks how I am.', '調子を尋ねられています。'],
    reply: [
      () => 'I am a set of rules, so always the same, thank you. What can I do for you?',
      () => 'ルールの集まりなので、いつもと同じです。ありがとうございます。何をしましょうか？',
    ],
  },
  {
    english:
      /^(?:(?:ok|okay|great|cool|perfect|nice|awesome),? )?(?:thanks|thank you|thx|ty|cheers|many thanks|thanks a lot|thank you (?:very|so) much|thanks so much|much appreciated|i appreciate it|that helps|that was helpful|well done|good job|great job|nice work)(?: (?:a lot|very much|so much|again|for (?:that|the help|your help|everything)|bot|duologue|for me))*$/i,
    japanese:
      /^(?:どうも)?(?:ありがとう(?:ございま(?:す|した))?|有難う(?:ございま(?:す|した))?|サンキュー|助かりました|助かる|感謝(?:します|です)?|どうもありがとう|お疲れ様(?:です|でした)?|すごい(?:です(?:ね)?)?|さすが(?:です)?|ありがと)(?:ね|よ)?$/,
    thought: ['The person thanks me.', 'お礼だと理解しました。'],
    reply: [(name) => `You are welcome${name === '' ? '' : `, ${name}`}!`, () => 'どういたしまして！'],
  },
  {
    english:
      /^(?:bye|goodbye|bye bye|see you(?: later| soon| tomorrow)?|good night|farewell|take care|later|cya|that'?s all|that is all|i'?m done|have a (?:nice|good) day|talk to you later)(?: (?:then|now|for now|for today))?$/i,
    japanese:
      /^(?:さようなら|さよなら|バイバイ|またね|また(?:明日|今度|後で|あとで)|おやすみ(?:なさい)?|それでは|じゃあね|では(?:また)?|以上です|終わりです|失礼します)$/,
    thought: ['The person says goodbye.', '別れの挨拶だと理解しました。'],
    reply: [(name) => `Goodbye${name === '' ? '' : `, ${name}`}!`, () => 'さようなら。またどうぞ！'],
  },
  {
    english:
      /^(?:yes|yeah|yep|sure|ok|okay|k|no|nope|fine|alright|all right|good|great|cool|nice|right|i see|got it|understood|never ?mind|cancel|forget it|stop)(?: please| then)?$/i,
    japanese:
      /^(?:はい|うん|ええ|いいえ|いや|ううん|了解(?:です|しました)?|わかった|分かった|わかりました|分かりました|なるほど|そう(?:です)?(?:か|ね)?|オッケー|OK|いいね|いいです(?:よ|ね)?|やっぱり?(?:いい(?:です|や)?|やめ(?:て|ます|る|た)?)|やめて|キャンセル|結構です)(?:。)?$/,
    thought: [
      'A short word, and no question of mine is open.',
      '短い返事ですが、こちらからの質問はありません。',
    ],
    reply: [
      () => 'All right. I have no open question; tell me what you would like next.',
      () => 'わかりました。お尋ねしていることはありません。次は何をしましょうか？',
    ],
  },
];

/** Greetings, thanks, goodbyes and short words. */
export const smallTalk: Rule = {
  name: 'small-talk',
  match(context): Reply | null {
    const { text, language, conversation } = context;
    const whole = phraseOf(text);
    // "Thanks, bye": several small words are answered by what the last one says.
    const pieces = text.split(/[,、。!?.]\s*/).filter((piece) => /\p{L}/u.test(piece));
    const each = pieces.map(phraseOf);
    const phrase = whole ?? (each.every((one) => one !== undefined) ? each.at(-1) : undefined);
    if (phrase === undefined) return null;
    const name = knownName(conversation.turns) ?? '';
    const does = abilitiesOf(context).flatMap((ability) => ability.does?.[language] ?? []);
    const [en, ja] = phrase.reply;
    const reply = language === 'ja' ? ja : en;
    return { thought: say(language, ...phrase.thought), text: reply(name, listOf(language, does)) };
  },
};

function phraseOf(text: string): Phrase | undefined {
  const bare = text.replace(/(?:[\s.!?。、,…~〜♪]|\p{Extended_Pictographic}|\u{fe0f})+$/u, '');
  const forms = [bare, withoutClosing(text)];
  return PHRASES.find(({ english, japanese }) =>
    forms.some((form) => english.test(form) || japanese.test(form)),
  );
}
