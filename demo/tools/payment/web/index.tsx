import { CreditCard, Users } from 'lucide-react';
import { reveal } from '../../../web/src/approval/reveal.ts';
import { isShownExactly, money } from '../../../web/src/i18n/format.ts';
import { type Language, useLanguage } from '../../../web/src/i18n/language.tsx';
import { translated } from '../../../web/src/i18n/translate.ts';
import type { CallSentence, PageTool } from '../../../web/src/tools/page-tool.ts';
import { PAGE, REASONS_JA } from '../texts/index.ts';

/** The page part of the payment tool. */
const tool: PageTool = {
  name: 'process_payment',
  icon: CreditCard,
  words: PAGE,
  suggestionIcons: [CreditCard, Users],
  sentence,
  failure,
  Result,
};

function sentence(
  input: Readonly<Record<string, unknown>>,
  isDone: boolean,
  language: Language,
): CallSentence {
  const { whole, bare } = isDone ? PAGE[language].done : PAGE[language].asked;
  const { amount, recipient, currency } = input;
  if (typeof amount !== 'number' || typeof recipient !== 'string') {
    return { template: bare, values: {}, inSentence: [] };
  }
  const isNamed = typeof currency === 'string' && currency !== '';
  const unit = isNamed ? currency : 'USD';
  // If the sentence rounds the amount, the details below it show the exact one.
  const isExact = isShownExactly(amount, unit, language);
  return {
    template: whole,
    values: { amount: money(amount, unit, language), recipient: reveal(recipient) },
    inSentence: ['recipient', ...(isExact ? ['amount'] : []), ...(isNamed ? ['currency'] : [])],
  };
}

function failure(errorText: string, language: Language): string | undefined {
  return language === 'ja' ? translated(errorText, REASONS_JA) : undefined;
}

function Result({
  output,
  isBrief,
  className,
}: {
  output: Readonly<Record<string, unknown>>;
  isBrief: boolean;
  className: string;
}) {
  const { language } = useLanguage();
  const words = PAGE[language];
  const { amount, currency, recipient, wallet_balance: balance, transaction_id: transaction } = output;
  if (typeof amount !== 'number') return null;
  const unit = typeof currency === 'string' ? currency : 'USD';
  return (
    <div className={`flex flex-wrap gap-x-4 gap-y-1 text-sm text-soft ${className}`}>
      {isBrief ? null : <span>{words.sent(money(amount, unit, language), String(recipient ?? ''))}</span>}
      {typeof balance === 'number' ? <span>{words.balance(money(balance, unit, language))}</span> : null}
      {typeof transaction === 'string' ? (
        <span>
          {words.transaction} <code className="font-mono text-xs">{transaction}</code>
        </span>
      ) : null}
    </div>
  );
}

export default tool;
