import { dominantColours } from '../colours.ts';
import type { Picture } from '../conversation.ts';
import { imageHeader } from '../image-header.ts';
import type { Rule, RuleContext } from '../rule.ts';
import { listOf, say } from '../understand/language.ts';

const ABOUT_ENGLISH = /\b(?:picture|image|photo|photograph|screenshot|drawing|pic)s?\b/i;
const ASKS_ENGLISH =
  /\b(?:what|which|describe|explain|see|look|show|tell|analy[sz]e|colou?rs?|size|big|format|how|who|inspect|this)\b/i;
const WITH_PICTURE =
  /\b(?:what|describe|colou?rs?|size|see|look|this|that|analy[sz]e|format)\b|何|なに|なん|色|大きさ|サイズ|説明|見て|これ|どう|形式/i;
const ABOUT_JAPANESE = /画像|写真|絵|スクリーンショット|スクショ|イラスト|ピクチャー/;
const ASKS_JAPANESE =
  /何|なに|なん|説明|見て|見え|教えて|どんな|色|大きさ|サイズ|形式|分析|解析|写って|描|調べ|これ/;

/** A picture: its format, size and main colours, which is all that rules can see in one. */
export const picture: Rule = {
  name: 'picture',
  async match(context) {
    const { text, language, conversation } = context;
    const sent = conversation.turns.at(-1)?.pictures ?? [];
    const asks =
      (ABOUT_ENGLISH.test(text) && ASKS_ENGLISH.test(text)) ||
      (ABOUT_JAPANESE.test(text) && ASKS_JAPANESE.test(text));
    if (sent.length > 0 ? !(text === '' || asks || WITH_PICTURE.test(text)) : !asks) return null;
    const pictures =
      sent.length > 0
        ? sent
        : (conversation.turns.findLast((turn) => turn.pictures.length > 0)?.pictures ?? []);
    const thought = say(language, 'The person asks about a picture.', '画像についての質問です。');
    if (pictures.length === 0) {
      return {
        thought,
        text: say(
          language,
          'I see no picture in this conversation. Send one (PNG, JPEG or WebP), and I tell its format, size and main colours.',
          'この会話にはまだ画像がありません。PNG・JPEG・WebPの画像を送っていただければ、形式・大きさ・主な色をお答えします。',
        ),
      };
    }
    const described: string[] = [];
    for (const one of pictures) described.push(await describe(one, context));
    const numbered =
      described.length === 1 ? described : described.map((one, index) => `${index + 1}. ${one}`);
    const limits = say(
      language,
      'As a set of rules I cannot tell what it shows.',
      'ルールの集まりなので、何が写っているかまでは分かりません。',
    );
    return { thought, text: `${numbered.join('\n')}\n\n${limits}` };
  },
};

async function describe({ base64 }: Picture, { language, decodeImage }: RuleContext): Promise<string> {
  const bytes = Buffer.from(base64, 'base64');
  const header = imageHeader(bytes);
  if (header === null) {
    return say(
      language,
      'I could not read this picture: it is no PNG, JPEG, WebP or GIF I know.',
      'この画像は読み取れませんでした。PNG・JPEG・WebP・GIFのどれでもないようです。',
    );
  }
  const size = `${header.width} x ${header.height}`;
  const facts = say(
    language,
    `This is a ${header.format} picture of ${size} pixels.`,
    `${size}ピクセルの${header.format}画像です。`,
  );
  const pixels = await decodeImage(bytes);
  if (pixels === null) {
    return `${facts}${say(language, ` I cannot compute its colours (${header.format} data I cannot decode).`, `色は計算できませんでした（この${header.format}データは復号できません）。`)}`;
  }
  const { colours, transparent } = dominantColours(pixels);
  const percent = (share: number): string => `${Math.round(share * 100)}%`;
  const names = colours.map(({ en, ja, hex, share }) =>
    say(language, `${en} (${hex}, ${percent(share)})`, `${ja}（${hex}、${percent(share)}）`),
  );
  const clear =
    transparent >= 0.01
      ? say(language, ` ${percent(transparent)} of it is transparent.`, `${percent(transparent)}は透明です。`)
      : '';
  if (names.length === 0) return `${facts}${clear}`;
  return `${facts}${say(language, ` Its main colours: ${listOf('en', names)}.`, `主な色は${listOf('ja', names)}です。`)}${clear}`;
}
