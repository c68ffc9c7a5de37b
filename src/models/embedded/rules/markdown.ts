import type { Rule } from '../rule.ts';
import { say } from '../understand/language.ts';
import { coreOf } from '../understand/text.ts';

const ENGLISH =
  /^(?:show|test|demonstrate|give|print|render)(?: me| us)?(?: some| a| the)? ?(?:markdown|formatting|rich text)(?: (?:demo|test|sample|example|features))?$|^markdown(?: (?:demo|test|sample|example))?$/i;
const JAPANESE =
  /^(?:マークダウン|Markdown|markdown|書式)(?:の(?:例|サンプル|テスト|見本))?(?:を)?(?:見せて|表示して|テストして|試して|出して)?(?:ください|下さい|くれ(?:る|ますか)?)?$/;

/** Every kind of Markdown a chat page should show. */
export const markdown: Rule = {
  name: 'markdown',
  match({ text, language }) {
    const core = coreOf(text);
    if (!ENGLISH.test(core) && !JAPANESE.test(core)) return null;
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
