import { coreOf, type Rule } from 'duologue/models/embedded';
import { paymentsIn } from './known-payments.ts';
import { MODEL } from './texts/index.ts';
import { moneyText } from './understand/money-text.ts';

const ENGLISH =
  /^(?:(?:what'?s|what is|whats|tell me|show me|check|give me|know|see|how much is|what was|get)(?: in)? )?(?:my |the |our )?(?:current |remaining |wallet |account |present )*(?:balance|wallet)(?: (?:now|left|is|in my (?:wallet|account)))*$|^how much (?:money )?(?:do|have) (?:i|we) (?:still )?(?:have|got)(?: (?:left|remaining|now|in my (?:wallet|account)))*$|^how much (?:money )?is (?:left|there|in my (?:wallet|account))(?: (?:in my (?:wallet|account)|left))*$|^(?:what do i have left|am i (?:broke|out of money)|how much (?:can i (?:still )?spend|money (?:is )?left|is left))$/i;
const JAPANESE =
  /^(?:(?:今の|現在の|私の|僕の|ウォレットの|財布の|口座の|アカウントの)*(?:残高|残金|所持金|財布の中身)(?:は|を|が|って|、)?(?:いくら(?:です(?:か)?|なの|ある|ありますか|残って(?:い)?(?:る|ます)(?:か)?)?|(?:教えて|見せて|確認して|調べて)(?:ください|下さい|くれ(?:る|ない|ますか)?|もらえ(?:る|ますか|ませんか)?|ほしい(?:です)?)?|知りたい(?:です)?|どう(?:です(?:か)?|なって(?:い)?(?:る|ます)(?:か)?)?|どれくらい(?:です(?:か)?|ありますか)?|確認|照会|いくら残って(?:い)?(?:る|ます)(?:か)?|(?:分|わ)かり?(?:る|ますか)?)?|(?:お金|手持ち)(?:は|が)?(?:あと|今|いま)?(?:、)?(?:いくら|どれくらい)(?:ある|あります(?:か)?|残って(?:い)?(?:る|ます)(?:か)?|使える)?(?:の|か)?|あと(?:いくら|どれくらい)(?:お金が)?(?:ある|使え(?:る|ます)|残って(?:い)?(?:る|ます))(?:の|か)?|(?:財布|ウォレット|口座)(?:には?|の中(?:には?|は)?)(?:いくら|どれくらい)(?:ある|あります|入って(?:い)?(?:る|ます)|残って(?:い)?(?:る|ます))(?:の|か)?)$/;

/** The rule for questions about the balance. It knows the balance only from the outputs of earlier payments. */
export const balance: Rule = {
  name: 'balance',
  match({ text, language, conversation }) {
    const core = coreOf(text);
    if (!ENGLISH.test(core) && !JAPANESE.test(core)) return null;
    const known = paymentsIn(conversation.turns)
      .map(({ settled, currency }) => ({ amount: settled.call.response?.wallet_balance, currency }))
      .findLast(({ amount }) => typeof amount === 'number');
    const { thought, unknown, known: reported } = MODEL[language].balance;
    if (typeof known?.amount !== 'number') return { thought, text: unknown };
    // The wallet counts in US dollars, whatever currency a refused payment named.
    return { thought, text: reported(moneyText(language, known.amount, 'USD')) };
  },
};
