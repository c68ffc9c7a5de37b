import {
  earlierTurns,
  type Language,
  listOf,
  type Reply,
  type Rule,
  type RuleContext,
  type Settled,
  troubleText,
  waitingCalls,
} from 'duologue/models/embedded';
import { TOOL } from './known-payments.ts';
import { MODEL, REASONS_JA } from './texts/index.ts';
import { paymentStep } from './understand/dialogue.ts';
import { moneyText } from './understand/money-text.ts';
import { isComplete, type PaymentRequest } from './understand/requests.ts';

/** The rule for payments, one or several in a message. It asks for a missing amount or recipient. */
export const payment: Rule = {
  name: 'payment',
  match(context) {
    const step = paymentStep(earlierTurns(context.conversation), context.text);
    return step === null ? null : replyTo(step, context);
  },
  tool: { name: TOOL, report, again },
  ability: {
    does: { en: MODEL.en.does, ja: MODEL.ja.does },
    example: { en: MODEL.en.example, ja: MODEL.ja.example },
  },
};

/** The answer to a user who writes "again": such a short message must not repeat a payment. */
function again({ language }: RuleContext): Reply {
  return MODEL[language].again;
}

function replyTo(step: NonNullable<ReturnType<typeof paymentStep>>, context: RuleContext): Reply {
  const { language } = context;
  const texts = MODEL[language];
  switch (step.kind) {
    case 'taken-back':
      return texts.takenBack;
    case 'negated': {
      const { thought, text, whileWaiting } = texts.negated;
      const isWaiting = waitingCalls(context.conversation).some(({ call }) => call.name === TOOL);
      return { thought, text: isWaiting ? whileWaiting : text };
    }
    case 'later':
      return texts.later;
    case 'to-self':
      return texts.toSelf;
    case 'each': {
      const names = listOf(language, step.recipients.map(texts.name));
      const money = moneyText(language, step.amount, step.currency);
      return { thought: texts.each.thought, text: texts.each.text(names, step.recipients, money) };
    }
    case 'unclear':
      return { isUnsure: true, ...texts.unclear };
    case 'payments':
      return pay(step.payments, context);
  }
}

function pay(payments: readonly PaymentRequest[], context: RuleContext): Reply {
  const { language } = context;
  const texts = MODEL[language];
  if (!context.can(TOOL)) return texts.noTool;
  const missing = payments.find((one) => !isComplete(one));
  if (missing !== undefined) {
    return { thought: texts.missing, text: question(language, missing), asks: true };
  }
  const complete = payments.filter(isComplete);
  const calls = complete.map(({ amount, recipient, currency, description }) => ({
    name: TOOL,
    args: { amount, recipient, currency, ...(description === undefined ? {} : { description }) },
  }));
  const waiting = new Set(waitingCalls(context.conversation).map(({ call }) => fingerprint(call.args)));
  const isRepeated = calls.some((call) => waiting.has(fingerprint(call.args)));
  if (isRepeated) return texts.repeated;
  return { thought: texts.wanted(listed(language, complete)), calls };
}

function question(language: Language, { amount, currency = 'USD', recipient }: PaymentRequest): string {
  const texts = MODEL[language];
  if (recipient !== undefined) return texts.howMuch(texts.name(recipient));
  if (amount !== undefined) return texts.toWhom(moneyText(language, amount, currency));
  return texts.howMuchToWhom;
}

interface Payment {
  amount: number;
  currency: string;
  recipient: string;
}

/** Payments as a list of the language: "$30 to Alice and $40 to Bob". */
function listed(language: Language, payments: readonly Payment[]): string {
  const { one, name } = MODEL[language];
  return listOf(
    language,
    payments.map(({ amount, currency, recipient }) =>
      one(moneyText(language, amount, currency), name(recipient)),
    ),
  );
}

function fingerprint(args: Record<string, unknown>): string {
  return JSON.stringify([args.amount, args.recipient, args.currency]);
}

function isPlain(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** The payment of a call, from the output of the tool, otherwise from the arguments of the call. */
function paid({ call, outcome }: Settled): Payment {
  const facts = outcome.kind === 'done' ? { ...call.args, ...outcome.value } : call.args;
  // A tool may return values of any type. Where it returned neither a text nor a number, the argument of the call counts.
  const plain = (key: string, fallback: string | number): string | number =>
    [facts[key], call.args[key], fallback].find(isPlain) ?? '';
  return {
    amount: Number(plain('amount', 0)),
    currency: String(plain('currency', 'USD')),
    recipient: String(plain('recipient', '')),
  };
}

function report(settled: readonly Settled[], { language }: RuleContext): string {
  const texts = MODEL[language];
  const isPaid = ({ outcome }: Settled): boolean => outcome.kind === 'done' && outcome.value.success === true;
  const sentences: string[] = [];
  const successes = settled.filter(isPaid).map(paid);
  if (successes.length > 0) sentences.push(texts.sent(listed(language, successes)));
  for (const one of settled) {
    if (isPaid(one)) continue;
    const { amount, currency, recipient } = paid(one);
    // A response without `success: true` does not say that the payment was made, so the report must not say so either.
    const outcome = one.outcome.kind === 'done' ? ({ kind: 'silent' } as const) : one.outcome;
    if (outcome.kind === 'pending') {
      sentences.push(texts.waiting(moneyText(language, amount, currency), texts.name(recipient)));
      continue;
    }
    const subject = {
      en: MODEL.en.subject(moneyText('en', amount, currency), MODEL.en.name(recipient)),
      ja: MODEL.ja.subject(moneyText('ja', amount, currency), MODEL.ja.name(recipient)),
    };
    sentences.push(troubleText(language, subject, outcome, REASONS_JA) ?? '');
  }
  return sentences.join(language === 'ja' ? '' : ' ');
}
