import { abilities } from '../abilities.ts';
import type { Rule } from '../rule.ts';
import { say } from '../understand/language.ts';
import { withoutClosing } from '../understand/text.ts';

const ENGLISH =
  /^(?:(?:please |hi,? |hello,? |hey,? )?(?:help|help me|i need (?:some )?help|can you help(?: me)?|could you help(?: me)?)(?: please)?|what (?:can|could|do) (?:you|i) (?:do|ask|say|help(?: me)? with)(?: for me| you| here)?|what (?:are your|else can you) (?:abilities|skills|features|do)|what (?:are you able|do you know how) to do|how (?:do|can) i use (?:this|you|it)|how does this work|(?:show|list)(?: me)?(?: your| the)? (?:commands|features|options|abilities|help)|commands|menu|options|usage|what now|what are my options|give me (?:some )?examples)$/i;
const JAPANESE =
  /^(?:(?:ヘルプ|メニュー|使い方|助けて|手伝って|コマンド|機能)(?:を|は|が)?(?:見せて|教えて|表示して|一覧|知りたい)?(?:ください|くれる|くれますか|です)?|(?:何|なに)(?:が|を)(?:でき(?:る|ます)|して(?:くれ(?:る|ます)|もらえ(?:る|ます)))(?:の|か)?|(?:あなたは|君は)?(?:何|なに)ができ(?:る|ます)(?:の|か)?|できること(?:は|を)?(?:何|なに)?(?:です)?(?:か)?(?:教えて(?:ください)?)?|どう(?:やって)?使(?:う|え(?:ば|る))(?:の|いい(?:の|ですか)?)?(?:か)?|(?:何|なに)を(?:聞け|頼め|言え)(?:る|ます|ば(?:いい(?:です)?)?)(?:の|か)?|困って(?:い)?(?:る|ます)|例を(?:見せて|教えて)(?:ください)?)$/;

/** What the embedded model can do. */
export const help: Rule = {
  name: 'help',
  match(context) {
    const { language } = context;
    const core = withoutClosing(context.text);
    if (!ENGLISH.test(core) && !JAPANESE.test(core)) return null;
    return {
      thought: say(language, 'The person asks what I can do.', 'できることについての質問です。'),
      text: `${say(language, 'I can help with:', 'できることはこちらです。')}\n\n${abilities(context)}`,
    };
  },
};
