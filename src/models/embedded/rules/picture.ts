import { dominantColours } from '../colours.ts';
import type { Picture } from '../conversation.ts';
import { imageHeader } from '../image-header.ts';
import type { Rule, RuleContext } from '../rule.ts';
import { TEXTS } from '../texts/index.ts';
import { listOf } from '../understand/language.ts';

const ABOUT_ENGLISH = /\b(?:picture|image|photo|photograph|screenshot|drawing|pic)s?\b/i;
const ASKS_ENGLISH =
  /\b(?:what|which|describe|explain|see|look|show|tell|analy[sz]e|colou?rs?|size|big|format|how|who|inspect|this)\b/i;
const WITH_PICTURE =
  /\b(?:what|describe|colou?rs?|size|see|look|this|that|analy[sz]e|format)\b|何|なに|なん|色|大きさ|サイズ|説明|見て|これ|どう|形式/i;
const ABOUT_JAPANESE = /画像|写真|絵|スクリーンショット|スクショ|イラスト|ピクチャー/;
const ASKS_JAPANESE =
  /何|なに|なん|説明|見て|見え|教えて|どんな|色|大きさ|サイズ|形式|分析|解析|写って|描|調べ|これ/;

/** Describes a picture by its format, its size and its main colours. Rules cannot recognise what it shows. */
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
    const { thought, none, limits } = TEXTS[language].picture;
    if (pictures.length === 0) return { thought, text: none };
    const described: string[] = [];
    for (const one of pictures) described.push(await describe(one, context));
    const numbered =
      described.length === 1 ? described : described.map((one, index) => `${index + 1}. ${one}`);
    return { thought, text: `${numbered.join('\n')}\n\n${limits}` };
  },
};

async function describe({ base64 }: Picture, { language, decodeImage }: RuleContext): Promise<string> {
  const texts = TEXTS[language].picture;
  const bytes = Buffer.from(base64, 'base64');
  const header = imageHeader(bytes);
  if (header === null) return texts.unreadable;
  const facts = texts.facts(header.format, `${header.width} x ${header.height}`);
  const pixels = await decodeImage(bytes);
  if (pixels === null) return `${facts}${texts.noColours(header.format)}`;
  const { colours, transparent } = dominantColours(pixels);
  const percent = (share: number): string => `${Math.round(share * 100)}%`;
  const names = colours.map(({ name, hex, share }) => texts.colour(texts.names[name], hex, percent(share)));
  const clear = transparent >= 0.01 ? texts.transparent(percent(transparent)) : '';
  return `${facts}${names.length === 0 ? '' : texts.colours(listOf(language, names))}${clear}`;
}
