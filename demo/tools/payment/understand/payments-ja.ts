import { coreOf, isNegated, personNameJa, withoutClosing } from 'duologue/models/embedded';
import { type Money, markAmounts } from './money.ts';
import type { PaymentHistory, PaymentIntent, PaymentRequest } from './requests.ts';

const ASKING =
  '(?:ください(?:ませ|ますか|ませんか)?|下さい|くれ(?:る|ない(?:か(?:な)?)?|ませんか|ますか)?|もらえ(?:ない(?:でしょうか|か(?:な)?)?|ますか|ませんか|る(?:かな)?)|もらいたい(?:です|んですが)?|(?:いただけ|頂け)(?:ない(?:でしょうか|か)|ますか|ませんか|ますでしょうか|る)?|(?:ほしい|欲しい)(?:です|んですが|んだけど|のですが)?|おいて(?:ください|くれ)?|ちょうだい|頂戴|お願い(?:します)?)';

const NOUN = '(?:送金|振込|振り込み|お?支払い?|決済)';
const MONEY_VERB = `(?:の|を)?${NOUN}(?:を|の)?(?:手続き?を|処理を)?(?:お願い(?:し(?:ます|たい(?:です|のですが|んですが)?))?|して${ASKING}?|し(?:たい(?:です|のですが|んですが|んだけど|と思います)?|といて|ましょう|よう)|する|でき(?:ますか|る|ませんか|ないでしょうか|ますでしょうか)|頼む|頼みます)?|(?:を)?(?:払って|支払って|振り込んで)${ASKING}?|(?:を)?(?:払い|支払い|振り込み)たい(?:です|のですが|んですが|んだけど)?|(?:を)?(?:払う|支払う|振り込む)$`;
const HAND_VERB = `(?:を)?(?:送って|渡して|あげて|届けて)${ASKING}?|(?:を)?(?:送り|渡し|あげ)たい(?:です|のですが|んですが|んだけど)?|(?:を)?(?:送る|渡す)$`;
const VERB = new RegExp(`${MONEY_VERB}|${HAND_VERB}`, 'g');
const IS_MONEY_VERB = new RegExp(MONEY_VERB);

const HAPPENED =
  /(?:送金|振込|振り込み|支払い?|決済)(?:を)?(?:し(?:た(?!い)|ました|てい(?!た?だ)|てた|てる|ちゃった)|済み|済)|(?:送っ|払っ|支払っ|渡し|もらっ|くれ)た(?!い)|振り込んだ|(?:送り|払い|支払い|渡し|振り込み)ました|(?:送っ|払っ|支払っ|渡し)て(?:いる|いた(?!だ)|る|た|しま)/;
const NO_REQUEST =
  /もし|たら|れば|なら|場合|方法|やり方|仕方|手順|とは|意味|仕組|いくら|どう(?:やって|すれば|したら|いう)|なぜ|どうして|予定|つもり|かもしれ|と言|って言|らしい|べき|(?:て|で)も?(?:いい|良い|大丈夫|よい|よろしい)(?:です)?か|手数料|履歴|何(?!か)|誰が|だれが|覚え/;
const LATER =
  /明日|明後日|あさって|来週|来月|来年|毎月|毎週|毎日|毎年|あとで|後で|今度|今夜|のちほど|後ほど|\d時|日後|時間後|分後/;

const TO = '(?:宛て?に|あてに|に対して|に|へ|まで)';

/** Reads a Japanese message as one or more payments; null for a message about something else. */
export function understandPaymentsJa(text: string, history: PaymentHistory): PaymentIntent | null {
  const { marked, amounts } = markAmounts(text);
  const mentions =
    marked.match(VERB) !== null || /送金|振り?込|支払|送[っらりるれ]|払[っわいうえ]/.test(text);
  if (isNegated(text)) {
    return mentions && !/[?]|か$|履歴|仕組|方法/.test(text) ? { kind: 'negated' } : null;
  }
  if (HAPPENED.test(text) || NO_REQUEST.test(text)) return null;
  const core = coreOf(marked);
  const verbs = marked.match(VERB);
  if (verbs === null) return history.isTopic ? fragment(core, amounts, history) : null;

  const rest = coreOf(marked.replace(VERB, ' ')).trim();
  const isSame = /同じ|おなじ/.test(rest);
  const isMoneyVerb = verbs.some((verb) => IS_MONEY_VERB.test(verb));
  const isAboutMoney = amounts.length > 0 || isSame || isMoneyVerb || /お金|現金/.test(rest);
  if (!isAboutMoney) return null;
  if (LATER.test(rest)) return { kind: 'later' };
  // Inside a longer message, a noun without a verb ("送金", "支払いは") is no request.
  const isBareNoun = verbs.every((verb) => new RegExp(`^(?:の|を)?${NOUN}$`).test(verb));
  const intent = clausesOf(rest, amounts, history);
  if (isBareNoun && amounts.length === 0 && intent?.kind === 'payments' && /^\s*$/.test(rest)) {
    return /^(?:送金|支払い|振込)(?:を)?$/.test(withoutClosing(text)) ? intent : null;
  }
  return intent ?? (amounts.length > 0 ? { kind: 'unclear' } : null);
}

function fragment(core: string, amounts: Money[], history: PaymentHistory): PaymentIntent | null {
  const isSame = /同じ|おなじ|にも$/.test(core);
  if (amounts.length === 0 && !isSame) return null;
  const intent = clausesOf(core, amounts, history);
  const isWhole =
    intent?.kind === 'payments' && intent.payments.every((payment) => payment.recipient !== undefined);
  return isWhole ? intent : null;
}

/** "CarolとDaveに、それぞれ11ドルと22ドル": the first amount for the first name, and so on; null for any other sentence. */
function respectively(rest: string, amounts: Money[]): PaymentIntent | null {
  const groups = new RegExp(
    `^(?<names>[^⟦]+?)${TO}(?:は|も)?[、,\\s]*それぞれ[、,\\s]*(?<marks>⟦\\d+⟧(?:\\s*(?:と|、|,)\\s*⟦\\d+⟧)+)(?:を)?$`,
  ).exec(rest)?.groups;
  if (groups === undefined) return null;
  const recipients = (groups.names ?? '').split(/\s*(?:と|、|,)\s*/).map(personNameJa);
  const given = [...(groups.marks ?? '').matchAll(/⟦(\d+)⟧/g)].map(([, n]) => amounts[Number(n)]);
  if (recipients.length !== given.length) return null;
  const payments = recipients.flatMap((recipient, index) => {
    const money = given[index];
    if (recipient === undefined || money === undefined) return [];
    return { amount: money.amount, currency: money.currency ?? 'USD', recipient };
  });
  return payments.length === recipients.length ? { kind: 'payments', payments } : null;
}

function clausesOf(rest: string, amounts: Money[], history: PaymentHistory): PaymentIntent | null {
  const paired = respectively(rest, amounts);
  if (paired !== null) return paired;
  const shared = new RegExp(
    `^(?<names>.+?)${TO}(?:は|も)?\\s*(?:それぞれ)?⟦(?<n>\\d+)⟧(?:を)?(?<each>ずつ)?(?:を)?$`,
  ).exec(rest);
  const money = amounts[Number(shared?.groups?.n)];
  const names = shared?.groups?.names ?? '';
  if (shared !== null && money !== undefined && !/⟦|として/.test(names) && /と|、|,/.test(names)) {
    const recipients = names.split(/\s*(?:と|、|,)\s*/).map(personNameJa);
    const known = recipients.filter((name) => name !== undefined);
    if (known.length === recipients.length && known.length > 1) {
      const currency = money.currency ?? 'USD';
      if (shared.groups?.each === undefined && !rest.includes('それぞれ')) {
        return { kind: 'each', recipients: known, amount: money.amount, currency };
      }
      return {
        kind: 'payments',
        payments: known.map((recipient) => ({ amount: money.amount, currency, recipient })),
      };
    }
  }
  const clauses = rest
    .split(/\s*(?:[、,。;]|そして|それから|および|あと|(?<=⟧)を?と|\s+また)\s*/)
    .map((clause) => withoutClosing(clause.trim()).replace(/^(?:また|あと|そして|それから)/, ''));
  const wanted = clauses.filter((clause, index) => clause !== '' || (index === 0 && clauses.length === 1));
  const payments: PaymentRequest[] = [];
  let pendingAmount: PaymentRequest | undefined;
  for (const clause of wanted) {
    const read = clauseOf(clause, amounts, history);
    if (read === 'self') return { kind: 'to-self' };
    if (read === null) return null;
    // "花子さんに送金して、50ドル": a clause without a recipient completes the one before.
    const previous = payments.at(-1);
    if (previous !== undefined && previous.amount === undefined && read.recipient === undefined) {
      Object.assign(previous, read);
    } else if (pendingAmount !== undefined && read.amount === undefined && read.recipient !== undefined) {
      pendingAmount.recipient = read.recipient;
      pendingAmount = undefined;
    } else {
      payments.push(read);
      pendingAmount = read.recipient === undefined && read.amount !== undefined ? read : undefined;
    }
  }
  return { kind: 'payments', payments: payments.length === 0 ? [{}] : payments };
}

function clauseOf(clause: string, amounts: Money[], history: PaymentHistory): PaymentRequest | 'self' | null {
  if (/^(?:お金|現金|代金)?(?:を|の)?$/.test(clause)) return {};
  const because = /^(?<why>.{1,30}?)(?:として|の分として|名目で)[、,]?\s*(?<what>.+(?:に|へ).*)$/.exec(
    clause,
  )?.groups;
  const what = (because?.what ?? clause).trim();
  const patterns = [
    new RegExp(
      `^(?<name>.+?)${TO}(?:は|も)?\\s*(?:、)?(?:(?<why>[^⟦]{1,30}?)(?:として|で))?\\s*⟦(?<n>\\d+)⟧(?:を|だけ|ほど|分|分を|も)?$`,
    ),
    new RegExp(`^⟦(?<n>\\d+)⟧(?:を|だけ|だけを|分を|の)?\\s*(?<name>.+?)${TO}(?:も|は)?$`),
    /^(?<name>.+?(?:さん|様|ちゃん|くん|氏))\s*⟦(?<n>\d+)⟧(?:を|だけ)?$/,
    /^(?<name>[A-Za-z][\w.' -]*?)\s+⟦(?<n>\d+)⟧(?:を|だけ)?$/,
    /^⟦(?<n>\d+)⟧(?:を|だけ|の|ほど)?$/,
    new RegExp(`^(?<same>.+?)${TO}(?:も|は)?\\s*(?:同じ|おなじ)(?:額|金額|だけ|く|もの)?(?:を|だけ)?$`),
    new RegExp(`^(?:同じ|おなじ)(?:額|金額|だけ|もの)?(?:を)?\\s*(?<same>.+?)${TO}(?:も)?$`),
    new RegExp(`^(?<same>.+?)${TO}も$`),
    new RegExp(`^(?<name>.+?)(?:${TO}(?:は)?|への)\\s*(?:お金|現金|代金|いくらか)?(?:を)?$`),
  ];
  for (const pattern of patterns) {
    const groups = pattern.exec(what)?.groups;
    if (groups === undefined) continue;
    const written = groups.name ?? groups.same;
    if (written !== undefined && /^(?:私|わたし|僕|ぼく|俺|自分)$/.test(written)) return 'self';
    const isPronoun = written !== undefined && /^(?:彼|彼女|その人|同じ人)$/.test(written);
    const recipient = isPronoun
      ? history.last?.recipient
      : written === undefined
        ? undefined
        : personNameJa(written);
    if (written !== undefined && recipient === undefined && !isPronoun) continue;
    const money = groups.same !== undefined ? history.last : amounts[Number(groups.n)];
    const description = because?.why ?? groups.why;
    return {
      ...(money === undefined ? {} : { amount: money.amount, currency: money.currency ?? 'USD' }),
      ...(recipient === undefined ? {} : { recipient }),
      ...(description === undefined ? {} : { description }),
    };
  }
  return null;
}
