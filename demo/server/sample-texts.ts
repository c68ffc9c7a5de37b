import { coreOf, isNegated, type Rule, say } from 'duologue/models/embedded';

const MAX_COUNT = 500;
const COUNT_EN =
  /^(?:count|keep counting|count up|count slowly|count for me)(?: for me)?(?: slowly| up)?(?: from (?:1|one))?(?: up)? (?:to|until|till) (?<to>\d{1,9})$/i;
const COUNT_JA =
  /^(?:1から|一から|いちから)?(?<to>\d{1,9})まで(?:ゆっくり)?(?:数え|カウントし)て(?:ください|下さい|くれ(?:る|ますか)?|みて)?$/;

/** Counts aloud: a text of a known length. */
const count: Rule = {
  name: 'count',
  ability: {
    example: {
      en: 'longer texts: “Tell me a story”, “Count to 50”, “Show Markdown”',
      ja: '長い文章：「長い話をして」「50まで数えて」「マークダウンを見せて」',
    },
  },
  match({ text, language }) {
    const core = coreOf(text);
    const wanted = (COUNT_EN.exec(core) ?? COUNT_JA.exec(core))?.groups?.to;
    if (wanted === undefined) return null;
    const to = Math.min(Number(wanted), MAX_COUNT);
    const numbers = Array.from({ length: to }, (_, index) => String(index + 1)).join(' ');
    const limit =
      Number(wanted) > MAX_COUNT
        ? say(language, `\n\nI stop at ${MAX_COUNT}.`, `\n\n${MAX_COUNT}までにします。`)
        : '';
    return {
      thought: say(language, `The person wants me to count to ${wanted}.`, `${wanted}まで数える依頼です。`),
      text:
        numbers === ''
          ? say(language, 'There is nothing to count.', '数えるものがありません。')
          : `${numbers}${limit}`,
    };
  },
};

const STORY_ASKED_EN =
  /^(?:tell|write|read|give|make up|invent|say|show)(?: me| us)?(?: an?| another| some| the)?(?: (?:long|short|nice|good|little|very long|longer|funny|bedtime))* (?:story|stories|tale|text|answer|fairy tale|essay|something long)$|^(?:long|a long|another) (?:story|text|answer)$|^story$|^(?:say|write) something long$/i;
const STORY_ASKED_JA =
  /^(?:何か)?(?:(?:長い|短い|面白い|楽しい|すごく長い|別の|もう一つ)(?:の)?)?(?:お?話|物語|ストーリー|おはなし|昔話|文章|答え|長文)(?:を)?(?:して|聞かせて|書いて|話して|教えて|読んで|作って)?(?:ください|下さい|くれ(?:る|ない|ますか|ませんか)?|ほしい(?:です)?|ちょうだい)?$/;

/** A longer text with Markdown, to watch streaming, rendering and interruption. */
const story: Rule = {
  name: 'story',
  match({ text, language }) {
    const core = coreOf(text);
    if ((!STORY_ASKED_EN.test(core) && !STORY_ASKED_JA.test(core)) || isNegated(text)) return null;
    return {
      thought: say(language, 'The person wants a longer text.', '長い文章の依頼です。'),
      text: say(language, STORY_EN, STORY_JA),
    };
  },
};

const STORY_EN = `# The two lighthouses

Two lighthouses stood on either side of a strait. Every evening the one in the east lit its lamp and told the one in the west what it had seen. The other listened until the light went dark, and only then did it answer. A single exchange took most of the night.

One winter a fishing boat drifted into the strait while the eastern light was in the middle of a very long tale. The western keeper saw the boat and could not say so: it was not her turn. She waited, the boat drifted on, and it was only luck that carried it past the rocks.

The next morning the keepers met halfway and agreed on three rules:

1. **Both may speak at any time.** Two lights do not disturb each other.
2. **Whoever is interrupted stops at once.** The story can wait, a boat cannot.
3. **What matters is asked first.** Nobody moves a boat without its captain's word.

They wrote the rules on a board so that nobody would forget them:

\`\`\`text
east -> west   a story, a warning, a question
west -> east   at the same time
captain        says yes or no
\`\`\`

From then on the strait was full of light. Sometimes one of them stopped in the middle of a word, and the other knew why. The captains came to like it, for they were always asked, and nothing ever happened behind their backs.

The board still hangs there, a little faded. If you pass by at night, you can see *both* lamps at once, and with some patience you can even read what they say.
`;

const STORY_JA = `# 二つの灯台

海峡の両側に、二つの灯台が立っていました。東の灯台は毎晩あかりをともして、その日に見たことを西の灯台に話しました。西の灯台は、あかりが消えるまでじっと聞き、それからようやく答えました。一度のやりとりに、一晩のほとんどがかかりました。

ある冬の夜、東の灯台がとても長い話をしている最中に、一そうの漁船が海峡に流されてきました。西の灯台守は船に気づきましたが、自分の番ではないので知らせることができません。船が岩にぶつからずにすんだのは、ただ運がよかったからでした。

翌朝、二人の灯台守は話し合い、三つの決まりを作りました。

1. **いつでも、どちらからでも話してよい。** 二つの光は互いに邪魔をしません。
2. **さえぎられたら、すぐに止まる。** 話は待てますが、船は待てません。
3. **大事なことは先に尋ねる。** 船長の返事なしに船を動かしてはいけません。

決まりを忘れないように、板に書いておきました。

\`\`\`text
東 -> 西   物語、知らせ、質問
西 -> 東   同時に
船長      「はい」か「いいえ」を言う
\`\`\`

それから海峡は光でいっぱいになりました。ときどき一方が言葉の途中で止まりましたが、もう一方にはその理由が分かっていました。船長たちも喜びました。必ず尋ねてもらえて、知らないうちに何かが起こることはなかったからです。

板は今も、少し色あせて掛かっています。夜にそこを通れば、*二つ*のあかりが同時に見えるでしょう。
`;

const MARKDOWN_EN =
  /^(?:show|test|demonstrate|give|print|render)(?: me| us)?(?: some| a| the)? ?(?:markdown|formatting|rich text)(?: (?:demo|test|sample|example|features))?$|^markdown(?: (?:demo|test|sample|example))?$/i;
const MARKDOWN_JA =
  /^(?:マークダウン|Markdown|markdown|書式)(?:の(?:例|サンプル|テスト|見本))?(?:を)?(?:見せて|表示して|テストして|試して|出して)?(?:ください|下さい|くれ(?:る|ますか)?)?$/;

/** Every kind of Markdown a chat page should show. */
const markdown: Rule = {
  name: 'markdown',
  match({ text, language }) {
    const core = coreOf(text);
    if (!MARKDOWN_EN.test(core) && !MARKDOWN_JA.test(core)) return null;
    return {
      thought: say(language, 'The person wants to see Markdown.', 'Markdownの表示例の依頼です。'),
      text: say(
        language,
        sample(
          'A heading',
          'Text with **strong**, *emphasis*, `code` and ~~deleted~~ words.',
          'a point',
          'a point below it',
          'first',
          'second',
          'A quoted line.',
          ['Tool', 'Asks'],
          ['yes', 'no'],
        ),
        sample(
          '見出し',
          '**強調**、*斜体*、`コード`、~~取り消し~~を含む文です。',
          '項目',
          '下の階層の項目',
          '一番目',
          '二番目',
          '引用した行です。',
          ['ツール', '承認'],
          ['必要', '不要'],
        ),
      ),
    };
  },
};

function sample(
  heading: string,
  text: string,
  point: string,
  inner: string,
  first: string,
  second: string,
  quote: string,
  [tool, asks]: [string, string],
  [yes, no]: [string, string],
): string {
  return `## ${heading}

${text}

- ${point}
  - ${inner}

1. ${first}
2. ${second}

> ${quote}

| ${tool} | ${asks} |
|---|---|
| \`process_payment\` | ${yes} |
| \`get_weather\` | ${no} |

\`\`\`ts
const answer: number = 6 * 7;
\`\`\`
`;
}

/** Rules of the embedded model for texts to watch: streaming, Markdown, interruption. */
export const SAMPLE_TEXTS: readonly Rule[] = [count, story, markdown];
