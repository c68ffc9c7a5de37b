import { abilities } from '../abilities.ts';
import type { Rule } from '../rule.ts';
import { TEXTS } from '../texts/index.ts';
import { withoutClosing, withoutOpening } from '../understand/text.ts';

const HELP_EN =
  /^(?:(?:please |hi,? |hello,? |hey,? )?(?:help|help me|i need (?:some )?help|can you help(?: me)?|could you help(?: me)?)(?: please)?|what (?:can|could|do) (?:you|i) (?:do|ask|say|help(?: me)? with)(?: for me| you| here)?|what (?:are your|else can you) (?:abilities|skills|features|do)|what (?:are you able|do you know how) to do|how (?:do|can) i use (?:this|you|it)|how does this work|(?:show|list)(?: me)?(?: your| the)? (?:commands|features|options|abilities|help)|commands|menu|options|usage|what now|what are my options|give me (?:some )?examples)$/i;
const HELP_JA =
  /^(?:(?:ヘルプ|メニュー|使い方|助けて|手伝って|コマンド|機能)(?:を|は|が)?(?:見せて|教えて|表示して|一覧|知りたい)?(?:ください|くれる|くれますか|です)?|(?:何|なに)(?:が|を)(?:でき(?:る|ます)|して(?:くれ(?:る|ます)|もらえ(?:る|ます)))(?:の|か)?|(?:あなたは|君は)?(?:何|なに)ができ(?:る|ます)(?:の|か)?|できること(?:は|を)?(?:何|なに)?(?:です)?(?:か)?(?:教えて(?:ください)?)?|どう(?:やって)?使(?:う|え(?:ば|る))(?:の|いい(?:の|ですか)?)?(?:か)?|(?:何|なに)を(?:聞け|頼め|言え)(?:る|ます|ば(?:いい(?:です)?)?)(?:の|か)?|困って(?:い)?(?:る|ます)|例を(?:見せて|教えて)(?:ください)?)$/;

/** Answers questions about what the embedded model can do. */
export const help: Rule = {
  name: 'help',
  match(context) {
    const { language } = context;
    const whole = withoutClosing(context.text);
    const asked = [whole, withoutOpening(whole)].some((text) => HELP_EN.test(text) || HELP_JA.test(text));
    if (!asked) return null;
    const { help, canHelp } = TEXTS[language];
    return { thought: help.thought, text: `${canHelp}\n\n${abilities(context)}` };
  },
};

const IDENTITY_EN =
  /^(?:who|what) (?:are|r) (?:you|u)(?: exactly| really)?$|^(?:what'?s|what is|tell me) your name$|^(?:are you|is this) (?:an? |really an? |the )?(?:ai|a\.i\.|llm|large language model|language model|bot|robot|chatbot|human|person|machine|program|real(?: person| ai| model)?|gemini|gpt|chatgpt|claude|model|real llm)(?: model)?$|^(?:what|which) (?:model|llm|ai)(?: (?:are you|is this|do you use|are you using|runs here|is behind you))?$|^(?:introduce yourself|tell me about yourself|who am i talking to|who is this|how do you work|how were you made|who made you)$/i;
const IDENTITY_JA =
  /^(?:あなた|君|きみ|お前|これ|そちら)?(?:は|って|の名前は)?(?:、)?(?:(?:誰|だれ|何者|なにもの|何|なに|どなた)(?:です)?(?:か|なの|なんですか|ですか)?|(?:ai|AI|LLM|人工知能|ロボット|人間|ボット|機械|チャットボット|Gemini|ChatGPT|Claude|GPT|本物のAI|言語モデル)(?:です|なの|なんです|でしょう)?(?:か)?)$|^(?:あなた|君)の名前(?:は|を)?(?:何|なに|なん)?(?:です)?(?:か)?(?:教えて(?:ください)?)?$|^(?:自己紹介|自己紹介を)(?:して)?(?:ください)?$|^(?:どんな|何の|どの)(?:モデル|AI)(?:を)?(?:です|使って(?:い)?(?:る|ます)|なの)?(?:か)?$|^名前は(?:何|なん)?(?:です)?(?:か)?$|^どうやって動いて(?:い)?(?:る|ます)(?:の|か)?$/;

/** Answers questions about what the embedded model is: a set of rules, and not a language model. The answer says how to get a language model. */
export const identity: Rule = {
  name: 'identity',
  match({ text, language }) {
    const core = withoutClosing(withoutOpening(text));
    if (!IDENTITY_EN.test(core) && !IDENTITY_JA.test(core)) return null;
    return TEXTS[language].identity;
  },
};
