import type { Rule } from '../rule.ts';
import { say } from '../understand/language.ts';
import { withoutClosing, withoutOpening } from '../understand/text.ts';

const ENGLISH =
  /^(?:who|what) (?:are|r) (?:you|u)(?: exactly| really)?$|^(?:what'?s|what is|tell me) your name$|^(?:are you|is this) (?:an? |really an? |the )?(?:ai|a\.i\.|llm|large language model|language model|bot|robot|chatbot|human|person|machine|program|real(?: person| ai| model)?|gemini|gpt|chatgpt|claude|model|real llm)(?: model)?$|^(?:what|which) (?:model|llm|ai)(?: (?:are you|is this|do you use|are you using|runs here|is behind you))?$|^(?:introduce yourself|tell me about yourself|who am i talking to|who is this|how do you work|how were you made|who made you)$/i;
const JAPANESE =
  /^(?:あなた|君|きみ|お前|これ|そちら)?(?:は|って|の名前は)?(?:、)?(?:(?:誰|だれ|何者|なにもの|何|なに|どなた)(?:です)?(?:か|なの|なんですか|ですか)?|(?:ai|AI|LLM|人工知能|ロボット|人間|ボット|機械|チャットボット|Gemini|ChatGPT|Claude|GPT|本物のAI|言語モデル)(?:です|なの|なんです|でしょう)?(?:か)?)$|^(?:あなた|君)の名前(?:は|を)?(?:何|なに|なん)?(?:です)?(?:か)?(?:教えて(?:ください)?)?$|^(?:自己紹介|自己紹介を)(?:して)?(?:ください)?$|^(?:どんな|何の|どの)(?:モデル|AI)(?:を)?(?:です|使って(?:い)?(?:る|ます)|なの)?(?:か)?$|^名前は(?:何|なん)?(?:です)?(?:か)?$|^どうやって動いて(?:い)?(?:る|ます)(?:の|か)?$/;

/** What the embedded model is: rules, not a language model, and how to get a real one. */
export const identity: Rule = {
  name: 'identity',
  match({ text, language }) {
    const core = withoutClosing(withoutOpening(text));
    if (!ENGLISH.test(core) && !JAPANESE.test(core)) return null;
    return {
      thought: say(language, 'The person asks what I am.', '私が何者かという質問です。'),
      text: say(
        language,
        'I am the embedded model of Duologue: a set of hand-written rules, not an LLM. I run offline and need no key, and I only understand what my rules cover. To talk to a real model, start the server with a key, for example `GOOGLE_API_KEY`.',
        '私はDuologueの組み込みモデルです。LLMではなく、手書きのルールの集まりです。オフラインで動き、キーは不要ですが、ルールにあることしか分かりません。本物のモデルと話すには、`GOOGLE_API_KEY`などのキーを設定してサーバーを起動してください。',
      ),
    };
  },
};
