import { isTextType } from '../../text-files.ts';
import type { AttachedFile } from '../conversation.ts';
import type { Rule } from '../rule.ts';
import { TEXTS } from '../texts/index.ts';
import type { Language } from '../understand/language.ts';

const WITH_FILE =
  /\b(?:what|which|describe|read|summari[sz]e|see|look|this|that|file|document|attachment|attached|pdf|csv|text|lines?|size|how|here|got)\b|何|なに|なん|要約|まとめ|読|見て|これ|どう|ファイル|文書|資料|添付|大きさ|サイズ|行/i;

/** How many characters of the first line of a text file are quoted. */
const QUOTED = 80;

/** Describes the files of a message: name, type and size of each, and of a text file also the number of lines and the first line. */
export const file: Rule = {
  name: 'file',
  match({ text, language, conversation }) {
    const files = conversation.turns.at(-1)?.files ?? [];
    if (files.length === 0 || !(text === '' || WITH_FILE.test(text))) return null;
    const { thought, limits } = TEXTS[language].file;
    const described = files.map((one) => describe(one, language));
    const numbered =
      described.length === 1 ? described : described.map((one, index) => `${index + 1}. ${one}`);
    return { thought, text: `${numbered.join('\n')}\n\n${limits}` };
  },
};

function describe({ name, mimeType, base64 }: AttachedFile, language: Language): string {
  const texts = TEXTS[language].file;
  const bytes = Buffer.from(base64, 'base64');
  const count = new Intl.NumberFormat(language).format(bytes.length);
  const facts = texts.facts(name ?? texts.unnamed, mimeType, count);
  if (!isTextType(mimeType)) return facts;
  const content = bytes.toString('utf8');
  const lines = content.replace(/\r?\n$/, '').split(/\r?\n/);
  const [first = ''] = lines;
  const quoted = first.length > QUOTED ? `${first.slice(0, QUOTED)}…` : first;
  return facts + texts.lines(lines.length, quoted);
}
