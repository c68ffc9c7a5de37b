import type { RuleContext } from './rule.ts';
import { say } from './understand/language.ts';

/** A Markdown list of what the embedded model can do with the tools of this agent. */
export function abilities({ language, can }: Pick<RuleContext, 'language' | 'can'>): string {
  const lines = [
    ...(can('get_weather')
      ? [say(language, 'the weather: “What is the weather in Tokyo?”', '天気：「東京の天気を教えて」')]
      : []),
    ...(can('process_payment')
      ? [
          say(
            language,
            'payments, after your approval: “Send $30 to Alice and $40 to Bob”',
            '送金（承認が必要）：「Aliceに30ドル、Bobに40ドル送金してください」',
          ),
        ]
      : []),
    ...(can('change_bgm')
      ? [say(language, 'the music: “Play track 2”', '音楽：「トラック2に変更して」')]
      : []),
    ...(can('get_location')
      ? [
          say(
            language,
            'where you are, after your approval: “Where am I?”',
            '現在地（承認が必要）：「現在地を教えて」',
          ),
        ]
      : []),
    say(
      language,
      'pictures: send one, and I tell its format, size and main colours',
      '画像：送っていただくと、形式・大きさ・主な色をお答えします',
    ),
    say(
      language,
      'this conversation: “What is my balance?”, “What did I ask before?”',
      'この会話のこと：「残高は？」「さっき何を聞いた？」',
    ),
    say(
      language,
      'longer texts: “Tell me a story”, “Count to 50”, “Show Markdown”',
      '長い文章：「長い話をして」「50まで数えて」「マークダウンを見せて」',
    ),
  ];
  return lines.map((line) => `- ${line}`).join('\n');
}
