import {
  type Bilingual,
  earlierTurns,
  type Language,
  listOf,
  type Reply,
  type Rule,
  type RuleContext,
  type Settled,
  say,
  troubleText,
  waitingCalls,
} from 'duologue/models/embedded';
import { TOOL } from './known-payments.ts';
import { paymentStep } from './understand/dialogue.ts';
import { moneyText } from './understand/money-text.ts';
import { isComplete, type PaymentRequest } from './understand/requests.ts';

/** Payments: one or several in a message, asked back for what is missing. */
export const payment: Rule = {
  name: 'payment',
  match(context) {
    const step = paymentStep(earlierTurns(context.conversation), context.text);
    return step === null ? null : replyTo(step, context);
  },
  tool: { name: TOOL, report, again },
  ability: {
    does: { en: 'send payments', ja: '送金' },
    example: {
      en: 'payments, after your approval: “Send $30 to Alice and $40 to Bob”, “What is my balance?”',
      ja: '送金（承認が必要）：「Aliceに30ドル、Bobに40ドル送金してください」「残高は？」',
    },
  },
};

/** Payments are not made twice by a short word. */
function again({ language }: RuleContext): Reply {
  return {
    thought: say(
      language,
      'Again, but the payment may have happened.',
      'やり直しの依頼ですが、送金は済んでいるかもしれません。',
    ),
    text: say(
      language,
      'That payment was made, still waits, or may have been made. To be sure, please say the whole request again, for example: send $50 to Bob.',
      'その送金は済んでいるか、承認待ちか、済んでいる可能性があります。念のため「花子さんに50ドル送金して」のように依頼の全文を言ってください。',
    ),
  };
}

function replyTo(step: NonNullable<ReturnType<typeof paymentStep>>, context: RuleContext): Reply {
  const { language } = context;
  const isWaiting = waitingCalls(context.conversation).some(({ call }) => call.name === TOOL);
  switch (step.kind) {
    case 'taken-back':
      return {
        thought: say(language, 'The person no longer wants the payment.', '送金の取りやめと理解しました。'),
        text: say(language, 'All right, I will not send anything.', 'わかりました。送金はしません。'),
      };
    case 'negated':
      return {
        thought: say(
          language,
          'The person does not want a payment, so I make none.',
          '送金しないでほしいという内容なので、送金しません。',
        ),
        text: isWaiting
          ? say(
              language,
              'I will not send anything more. The payment that still waits can be denied on its card.',
              'これ以上の送金はしません。承認待ちの送金は、カードで拒否できます。',
            )
          : say(
              language,
              'All right, nothing is sent. If you do want a payment, say it without a “not”, for example: send $50 to Bob.',
              'わかりました。送金はしません。送金する場合は「花子さんに50ドル送金して」のように言ってください。',
            ),
      };
    case 'later':
      return {
        thought: say(
          language,
          'A payment for later; I can only pay now.',
          '後日の送金ですが、今すぐの送金しかできません。',
        ),
        text: say(
          language,
          'I can only send money right now, not at a later time or regularly, so I sent nothing.',
          '今すぐの送金しかできないため、何も送金していません。日時を指定した送金や定期的な送金はできません。',
        ),
      };
    case 'to-self':
      return {
        thought: say(
          language,
          'The person wants to receive money; I can only send it.',
          'お金を受け取りたいという内容ですが、送金しかできません。',
        ),
        text: say(
          language,
          'I can only send money from your wallet, not to you. Who should receive it?',
          'あなたのウォレットから送ることしかできません。誰に送金しますか？',
        ),
      };
    case 'each': {
      const names = listOf(
        language,
        step.recipients.map((name) => named(language, name)),
      );
      const money = moneyText(language, step.amount, step.currency);
      return {
        thought: say(
          language,
          'One amount for several people: each, or shared?',
          '一つの金額を複数の人に送る内容です。',
        ),
        text: say(
          language,
          `Do you mean ${money} for each of ${names}? Then say: send ${step.recipients.join(' and ')} ${money} each.`,
          `${names}にそれぞれ${money}ですか？その場合は「${step.recipients.join('と')}に${money}ずつ送金して」と言ってください。`,
        ),
      };
    }
    case 'unclear':
      return {
        isUnsure: true,
        thought: say(
          language,
          'Something about a payment that I do not fully understand, so I make none.',
          '送金の内容を完全には理解できないため、送金しません。',
        ),
        text: say(
          language,
          'I did not fully understand this payment, so I sent nothing. Please say it plainly, for example: send $50 to Bob, or: send $30 to Alice and $40 to Bob.',
          '内容を完全には理解できなかったため、何も送金していません。「花子さんに50ドル送金して」や「Aliceに30ドル、Bobに40ドル送金して」のように言ってください。',
        ),
      };
    case 'payments':
      return pay(step.payments, context);
  }
}

function pay(payments: readonly PaymentRequest[], context: RuleContext): Reply {
  const { language } = context;
  if (!context.can(TOOL)) {
    return {
      thought: say(
        language,
        'A payment, but there is no tool for it here.',
        '送金の依頼ですが、ここでは送金できません。',
      ),
      text: say(
        language,
        'I cannot send money here: this agent has no payment tool.',
        'ここでは送金できません。このエージェントには送金の機能がありません。',
      ),
    };
  }
  const missing = payments.find((one) => !isComplete(one));
  if (missing !== undefined) {
    return {
      thought: say(
        language,
        'A payment, but something is missing, so I ask.',
        '送金の依頼ですが、足りない情報があるので尋ねます。',
      ),
      text: question(language, missing),
      asks: true,
    };
  }
  const complete = payments.filter(isComplete);
  const calls = complete.map(({ amount, recipient, currency, description }) => ({
    name: TOOL,
    args: { amount, recipient, currency, ...(description === undefined ? {} : { description }) },
  }));
  const waiting = new Set(waitingCalls(context.conversation).map(({ call }) => fingerprint(call.args)));
  const repeated = calls.filter((call) => waiting.has(fingerprint(call.args)));
  if (repeated.length > 0) {
    return {
      thought: say(
        language,
        'This payment is already waiting for approval.',
        'この送金はすでに承認待ちです。',
      ),
      text: say(
        language,
        'That payment is already waiting for your approval, so I did not ask for it twice.',
        'その送金はすでに承認待ちなので、重ねて依頼していません。',
      ),
    };
  }
  const what = listOf(
    language,
    complete.map((one) =>
      say(
        language,
        `${moneyText('en', one.amount, one.currency)} to ${one.recipient}`,
        `${named('ja', one.recipient)}に${moneyText('ja', one.amount, one.currency)}`,
      ),
    ),
  );
  return {
    thought: say(language, `The person wants to send ${what}.`, `${what}を送金する依頼だと理解しました。`),
    calls,
  };
}

function question(language: Language, missing: PaymentRequest): string {
  const { amount, currency = 'USD', recipient } = missing;
  if (recipient !== undefined) {
    return say(
      language,
      `How much should I send to ${recipient}?`,
      `${named('ja', recipient)}にいくら送金しますか？`,
    );
  }
  if (amount !== undefined) {
    return say(
      language,
      `Who should receive the ${moneyText('en', amount, currency)}?`,
      `${moneyText('ja', amount, currency)}を誰に送金しますか？`,
    );
  }
  return say(language, 'How much should I send, and to whom?', 'いくらを誰に送金しますか？');
}

function fingerprint(args: Record<string, unknown>): string {
  return JSON.stringify([args.amount, args.recipient, args.currency]);
}

function named(language: Language, name: string): string {
  return language === 'ja' && !/(?:社|店|会|部|課|先生|社長|部長|母|父|兄|姉|弟|妹|@.*)$/.test(name)
    ? `${name}さん`
    : name;
}

function isPlain(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** What the call was about: what the tool says it paid, else what it was asked to pay. */
function paid({ call, outcome }: Settled): { amount: number; currency: string; recipient: string } {
  const facts = outcome.kind === 'done' ? { ...call.args, ...outcome.value } : call.args;
  // A tool may give anything back; what is no text or number is left as it was asked for.
  const plain = (key: string, fallback: string | number): string | number =>
    [facts[key], call.args[key], fallback].find(isPlain) ?? '';
  return {
    amount: Number(plain('amount', 0)),
    currency: String(plain('currency', 'USD')),
    recipient: String(plain('recipient', '')),
  };
}

const REASONS_JA: readonly [RegExp, string][] = [
  [/insufficient funds/i, '残高が足りません。'],
  [/currency|unsupported|payments in \S+ are not supported/i, 'その通貨は使えません。'],
  [
    /must be positive|non-?positive|greater than (?:0|zero)|positive/i,
    '金額は0より大きくなければなりません。',
  ],
  [/decimal|precis/i, '金額の小数点以下が細かすぎます。'],
  [/finite|amount/i, '金額が正しくありません。'],
  [/recipient/i, '宛先が正しくありません。'],
];

function report(settled: readonly Settled[], { language }: RuleContext): string {
  const isPaid = ({ outcome }: Settled): boolean => outcome.kind === 'done' && outcome.value.success === true;
  const sentences: string[] = [];
  const successes = settled.filter(isPaid).map(paid);
  if (successes.length > 0) {
    const en = successes.map((one) => `${moneyText('en', one.amount, one.currency)} to ${one.recipient}`);
    const ja = successes.map(
      (one) => `${named('ja', one.recipient)}に${moneyText('ja', one.amount, one.currency)}`,
    );
    sentences.push(say(language, `I sent ${listOf('en', en)}.`, `${listOf('ja', ja)}を送金しました。`));
  }
  for (const one of settled) {
    if (isPaid(one)) continue;
    const { amount, currency, recipient } = paid(one);
    const subject: Bilingual = {
      en: `the payment of ${moneyText('en', amount, currency)} to ${recipient}`,
      ja: `${named('ja', recipient)}への${moneyText('ja', amount, currency)}の送金`,
    };
    // A response without `success: true` claims nothing, so neither do we.
    const outcome = one.outcome.kind === 'done' ? ({ kind: 'silent' } as const) : one.outcome;
    if (outcome.kind === 'pending') {
      sentences.push(
        say(
          language,
          `The payment of ${moneyText('en', amount, currency)} to ${recipient} is waiting for your approval.`,
          `${subject.ja}は承認待ちです。`,
        ),
      );
    } else sentences.push(troubleText(language, subject, outcome, REASONS_JA) ?? '');
  }
  return sentences.join(language === 'ja' ? '' : ' ');
}
