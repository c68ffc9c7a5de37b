import { coreOf, isNegated, personName, withoutClosing } from 'duologue/models/embedded';
import { type Money, markAmounts } from './money.ts';
import type { PaymentHistory, PaymentIntent, PaymentRequest } from './requests.ts';

const VERB =
  /^(?:(?<money>pay back|pay|repay|remit)|(?<hand>send|transfer|give|wire)|(?<noun>(?:make|process|do|start|initiate|submit|set up|perform) (?:an? |the |another )?(?:payment|money transfer|transfer|transaction|remittance)|(?:an? |another )?(?:payment|transfer) of(?= ⟦)))(?=[\s:]|$)/i;

const MENTIONS_PAYING = /\b(?:send|pay|transfer|give|wire|remit|payment|sending|paying)\b/i;

const LATER =
  /\b(?:tomorrow|tonight|later|next (?:week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|every (?:day|week|month|year)|each (?:day|week|month|year)|daily|weekly|monthly|yearly|in \S+ (?:minutes?|hours?|days?|weeks?|months?)|on (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)|per (?:day|week|month))\b/i;

const SAME = '(?:the )?same(?: amount| thing)?(?: again)?';
const MONEY_WORDS = '(?:(?:some|the|a little|a bit of|any) )?(?:money|cash|funds|payment|something)';
const NOT_PAID = /^(?:attention|respect|homage|heed|tribute|a visit|your respects)\b/i;

/** Reads an English message as one or more payments; null for a message about something else. */
export function understandPaymentsEn(text: string, history: PaymentHistory): PaymentIntent | null {
  const { marked, amounts } = markAmounts(text);
  const request = coreOf(marked)
    .replace(/^would you mind\s+(send|pay|transfer)(?:r?ing)\b/i, '$1')
    .replace(/\b(?:an?|the) (⟦\d+⟧) (?:payment|transfer|tip)\b/i, '$1')
    .replace(/^((?:make|process|do|start|send|initiate)) (⟦\d+⟧ to)/i, 'send $2');
  const verb = VERB.exec(request);
  if (isNegated(text)) {
    const isAboutPaying = MENTIONS_PAYING.test(text) && /\b(?:send|pay|transfer|wire|remit)\b/i.test(text);
    return isAboutPaying && !/^(?:why|how|what|when|who|did|is|are)\b/i.test(text)
      ? { kind: 'negated' }
      : null;
  }
  if (verb === null) return history.isTopic ? fragment(request, amounts, history) : null;

  const rest = request
    .slice(verb[0].length)
    .replace(/^\s*(?:of\b|:)/i, '')
    .trim();
  if (NOT_PAID.test(rest)) return null;
  const isAboutMoney = amounts.length > 0 || new RegExp(`\\b${MONEY_WORDS}\\b|\\b${SAME}\\b`, 'i').test(rest);
  if (!isAboutMoney && verb.groups?.hand !== undefined) return null;
  if (LATER.test(rest)) return amounts.length > 0 || isAboutMoney ? { kind: 'later' } : null;

  const shared = sharedAmount(rest, amounts);
  if (shared !== null) return shared;
  const isPay = verb.groups?.money !== undefined || verb.groups?.noun !== undefined;
  return clausesOf(rest, amounts, history, isPay) ?? (isAboutMoney ? { kind: 'unclear' } : null);
}

function fragment(request: string, amounts: Money[], history: PaymentHistory): PaymentIntent | null {
  const bare = request.replace(/^(?:and|plus|also|then|how about|what about|another)\s+/i, '');
  if (amounts.length === 0 && !new RegExp(`\\b${SAME}\\b`, 'i').test(bare)) return null;
  const intent = clausesOf(bare, amounts, history, false);
  const isWhole =
    intent?.kind === 'payments' && intent.payments.every((payment) => payment.recipient !== undefined);
  return isWhole ? intent : null;
}

function sharedAmount(rest: string, amounts: Money[]): PaymentIntent | null {
  const each =
    /^(?<before>.+?) ⟦(?<a>\d+)⟧ (?:each|apiece)$/i.exec(rest) ??
    /^⟦(?<b>\d+)⟧ (?:each )?to (?:each of )?(?<after>.+?)(?: each)?$/i.exec(rest);
  const names = (each?.groups?.before ?? each?.groups?.after)?.replace(/^(?:to )?(?:both )?/i, '');
  const money = amounts[Number(each?.groups?.a ?? each?.groups?.b)];
  if (names === undefined || money === undefined || names.includes('⟦')) return null;
  const recipients = names.split(/\s*(?:,\s*and\s+|,\s*|\s+and\s+|\s*&\s*)/i).map(personName);
  if (recipients.length < 2 || recipients.some((name) => name === undefined)) return null;
  const known = recipients.filter((name) => name !== undefined);
  if (!/\beach\b|\bapiece\b/i.test(rest)) {
    return { kind: 'each', recipients: known, amount: money.amount, currency: money.currency ?? 'USD' };
  }
  return { kind: 'payments', payments: known.map((recipient) => paymentOf(money, recipient)) };
}

function paymentOf(money: Money, recipient?: string, description?: string): PaymentRequest {
  return {
    amount: money.amount,
    currency: money.currency ?? 'USD',
    ...(recipient === undefined ? {} : { recipient }),
    ...(description === undefined ? {} : { description }),
  };
}

function clausesOf(
  rest: string,
  amounts: Money[],
  history: PaymentHistory,
  isPay: boolean,
): PaymentIntent | null {
  const clauses = rest
    .split(
      /\s*(?:,?\s+and\s+(?:then\s+|also\s+)?|,\s*(?:then\s+|also\s+)?|;\s*|\.\s+|\s+plus\s+|\s+&\s+|\s+then\s+)/i,
    )
    .map((clause) =>
      withoutClosing(
        clause
          .replace(VERB, '')
          .replace(/^\s*(?:also|please)\s+/i, '')
          .trim(),
      ),
    );
  const payments: PaymentRequest[] = [];
  for (const clause of clauses) {
    const read = clauseOf(clause, amounts, history, isPay && clauses.length === 1);
    if (read === 'self') return { kind: 'to-self' };
    if (read === null) {
      const money = amounts[0];
      if (personName(clause) === undefined || amounts.length !== 1 || money === undefined) return null;
      const recipients = rest
        .replace(/⟦\d+⟧|\bto\b/gi, '')
        .split(/,|\band\b/i)
        .map((name) => personName(name.trim()))
        .filter((name) => name !== undefined);
      return { kind: 'each', recipients, amount: money.amount, currency: money.currency ?? 'USD' };
    }
    payments.push(read);
  }
  return { kind: 'payments', payments };
}

function clauseOf(
  clause: string,
  amounts: Money[],
  history: PaymentHistory,
  mayOmitMoney: boolean,
): PaymentRequest | 'self' | null {
  if (clause === '') return mayOmitMoney ? {} : null;
  const patterns = [
    /^⟦(?<n>\d+)⟧(?: more)? to (?<name>.+?)(?: for (?<why>.+))?$/i,
    /^⟦(?<n>\d+)⟧ for (?<why>.+?) to (?<name>.+)$/i,
    /^to (?<name>.+?),? ⟦(?<n>\d+)⟧(?: for (?<why>.+))?$/i,
    /^(?<name>.+?) ⟦(?<n>\d+)⟧(?: more)?(?: for (?<why>.+))?$/i,
    /^⟦(?<n>\d+)⟧(?: for (?<why>.+))?$/i,
    new RegExp(`^${SAME} to (?<same>.+)$`, 'i'),
    new RegExp(`^(?<same>.+?) ${SAME}$`, 'i'),
    new RegExp(`^(?:${MONEY_WORDS})(?: to (?<name>.+?))?(?: for (?<why>.+))?$`, 'i'),
    new RegExp(`^(?<name>.+?) ${MONEY_WORDS}$`, 'i'),
    ...(mayOmitMoney ? [/^(?:to )?(?<name>.+?)(?: for (?<why>.+))?$/i] : []),
  ];
  for (const pattern of patterns) {
    const groups = pattern.exec(clause)?.groups;
    if (groups === undefined) continue;
    const written = groups.name ?? groups.same;
    if (written !== undefined && /^(?:me|myself|us)$/i.test(written)) return 'self';
    const isPronoun = written !== undefined && /^(?:him|her|them)$/i.test(written);
    const recipient = isPronoun
      ? history.last?.recipient
      : written === undefined
        ? undefined
        : personName(written);
    if (written !== undefined && recipient === undefined && !isPronoun) continue;
    if (groups.why?.includes('⟦')) continue;
    const money = groups.same !== undefined ? history.last : amounts[Number(groups.n)];
    if (money !== undefined) return paymentOf(money, recipient, groups.why);
    return {
      ...(recipient === undefined ? {} : { recipient }),
      ...(groups.why === undefined ? {} : { description: groups.why }),
    };
  }
  return null;
}
