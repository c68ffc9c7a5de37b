import { coreOf, isNegated, type Rule } from 'duologue/models/embedded';
import { en } from './texts/en.ts';
import { ja } from './texts/ja.ts';

const TEXTS = { en, ja };

const MAX_COUNT = 500;
const COUNT_EN =
  /^(?:count|keep counting|count up|count slowly|count for me)(?: for me)?(?: slowly| up)?(?: from (?:1|one))?(?: up)? (?:to|until|till) (?<to>\d{1,9})$/i;
const COUNT_JA =
  /^(?:1から|一から|いちから)?(?<to>\d{1,9})まで(?:ゆっくり)?(?:数え|カウントし)て(?:ください|下さい|くれ(?:る|ますか)?|みて)?$/;

/** The rule that counts to a number, which gives a text of a known length. */
const count: Rule = {
  name: 'count',
  ability: { example: { en: TEXTS.en.example, ja: TEXTS.ja.example } },
  match({ text, language }) {
    const core = coreOf(text);
    const wanted = (COUNT_EN.exec(core) ?? COUNT_JA.exec(core))?.groups?.to;
    if (wanted === undefined) return null;
    const to = Math.min(Number(wanted), MAX_COUNT);
    const numbers = Array.from({ length: to }, (_, index) => String(index + 1)).join(' ');
    const texts = TEXTS[language].count;
    const limit = Number(wanted) > MAX_COUNT ? `\n\n${texts.limit(MAX_COUNT)}` : '';
    return { thought: texts.thought(wanted), text: numbers === '' ? texts.nothing : `${numbers}${limit}` };
  },
};

const STORY_ASKED_EN =
  /^(?:tell|write|read|give|make up|invent|say|show)(?: me| us)?(?: an?| another| some| the)?(?: (?:long|short|nice|good|little|very long|longer|funny|bedtime))* (?:story|stories|tale|text|answer|fairy tale|essay|something long)$|^(?:long|a long|another) (?:story|text|answer)$|^story$|^(?:say|write) something long$/i;
const STORY_ASKED_JA =
  /^(?:何か)?(?:(?:長い|短い|面白い|楽しい|すごく長い|別の|もう一つ)(?:の)?)?(?:お?話|物語|ストーリー|おはなし|昔話|文章|答え|長文)(?:を)?(?:して|聞かせて|書いて|話して|教えて|読んで|作って)?(?:ください|下さい|くれ(?:る|ない|ますか|ませんか)?|ほしい(?:です)?|ちょうだい)?$/;

/** The rule for a longer text with Markdown, to try streaming, rendering and interruption. */
const story: Rule = {
  name: 'story',
  match({ text, language }) {
    const core = coreOf(text);
    if ((!STORY_ASKED_EN.test(core) && !STORY_ASKED_JA.test(core)) || isNegated(text)) return null;
    return TEXTS[language].story;
  },
};

const MARKDOWN_EN =
  /^(?:show|test|demonstrate|give|print|render)(?: me| us)?(?: some| a| the)? ?(?:markdown|formatting|rich text)(?: (?:demo|test|sample|example|features))?$|^markdown(?: (?:demo|test|sample|example))?$/i;
const MARKDOWN_JA =
  /^(?:マークダウン|Markdown|markdown|書式)(?:の(?:例|サンプル|テスト|見本))?(?:を)?(?:見せて|表示して|テストして|試して|出して)?(?:ください|下さい|くれ(?:る|ますか)?)?$/;

/** The rule for a text with every kind of Markdown that the page renders. */
const markdown: Rule = {
  name: 'markdown',
  match({ text, language }) {
    const core = coreOf(text);
    if (!MARKDOWN_EN.test(core) && !MARKDOWN_JA.test(core)) return null;
    return TEXTS[language].markdown;
  },
};

/** Rules of the embedded model for longer texts, to try streaming, Markdown and interruption. */
export const SAMPLE_TEXTS: readonly Rule[] = [count, story, markdown];
