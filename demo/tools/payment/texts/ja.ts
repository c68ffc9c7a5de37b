import type * as en from './en.ts';

/** What the page says about payments. */
export const page: typeof en.page = {
  title: '送金',
  suggestions: [
    { title: '送金', text: 'Aliceに50ドル送金してください' },
    { title: '2人に送金', text: 'Aliceに30ドル、Bobに40ドル送金してください' },
  ],
  asked: { whole: '{recipient} さんに {amount} を送金します。', bare: '送金します。' },
  done: { whole: '{recipient} さんに {amount} を送金しました。', bare: '送金しました。' },
  sent: (amount, recipient) => `${recipient} さんに ${amount} を送金しました`,
  balance: (amount) => `残高 ${amount}`,
  transaction: '取引番号',
};

/** Errors of payments, each with its Japanese text. `$1` is the part that varies. */
export const reasons: readonly [RegExp, string][] = [
  [
    /^Insufficient funds\. Balance: (.+), requested: (.+)\.$/,
    '残高が足りません。残高は $1、送金額は $2 です。',
  ],
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

const hasTitle = /(?:社|店|会|部|課|先生|社長|部長|母|父|兄|姉|弟|妹|@.*)$/;

/** What the embedded model says about payments. */
export const model: typeof en.model = {
  does: '送金',
  example: '送金（承認が必要）：「Aliceに30ドル、Bobに40ドル送金してください」「残高は？」',
  again: {
    thought: 'やり直しの依頼ですが、送金は済んでいるかもしれません。',
    text: 'その送金は済んでいるか、承認待ちか、済んでいる可能性があります。念のため「花子さんに50ドル送金して」のように依頼の全文を書いてください。',
  },
  takenBack: { thought: '送金の取りやめと理解しました。', text: 'わかりました。送金はしません。' },
  negated: {
    thought: '送金しないでほしいという内容なので、送金しません。',
    text: 'わかりました。送金はしません。送金する場合は「花子さんに50ドル送金して」のように書いてください。',
    whileWaiting: 'これ以上の送金はしません。承認待ちの送金は、カードで拒否できます。',
  },
  later: {
    thought: '後日の送金ですが、今すぐの送金しかできません。',
    text: '今すぐの送金しかできないため、何も送金していません。日時を指定した送金や定期的な送金はできません。',
  },
  toSelf: {
    thought: 'お金を受け取りたいという内容ですが、送金しかできません。',
    text: 'あなたのウォレットから送ることしかできません。誰に送金しますか？',
  },
  each: {
    thought: '一つの金額を複数の人に送る内容です。',
    text: (names, recipients, money) =>
      `${names}にそれぞれ${money}ですか？その場合は「${recipients.join('と')}に${money}ずつ送金して」と書いてください。`,
  },
  unclear: {
    thought: '送金の内容を完全には理解できないため、送金しません。',
    text: '内容を完全には理解できなかったため、何も送金していません。「花子さんに50ドル送金して」や「Aliceに30ドル、Bobに40ドル送金して」のように書いてください。',
  },
  noTool: {
    thought: '送金の依頼ですが、ここでは送金できません。',
    text: 'ここでは送金できません。このエージェントには送金の機能がありません。',
  },
  missing: '送金の依頼ですが、足りない情報があるので質問します。',
  howMuch: (recipient) => `${recipient}にいくら送金しますか？`,
  toWhom: (money) => `${money}を誰に送金しますか？`,
  howMuchToWhom: 'いくらを誰に送金しますか？',
  repeated: {
    thought: 'この送金はすでに承認待ちです。',
    text: 'その送金はすでに承認待ちなので、重ねて依頼していません。',
  },
  wanted: (payments) => `${payments}を送金する依頼だと理解しました。`,
  name: (name) => (hasTitle.test(name) ? name : `${name}さん`),
  one: (money, recipient) => `${recipient}に${money}`,
  sent: (payments) => `${payments}を送金しました。`,
  subject: (money, recipient) => `${recipient}への${money}の送金`,
  waiting: (money, recipient) => `${recipient}への${money}の送金は承認待ちです。`,
  balance: {
    thought: '残高の質問だと理解しました。',
    unknown:
      'ウォレットの中を直接見ることはできず、残高は送金の結果で分かります。この会話ではまだ分かりません。デモのウォレットは1,000ドルから始まります。',
    known: (money) => `わかっている最後の残高は${money}です。`,
  },
  past: {
    thought: 'これまでの送金についての質問です。',
    none: 'この会話では、該当する送金はありません。',
    heading: 'この会話での送金：',
    line: (money, recipient, state) => `- ${recipient}に${money}：${state}`,
    states: {
      done: '送金済み',
      pending: '承認待ち',
      denied: '拒否',
      'approval-timeout': '承認の期限切れ',
      'result-timeout': '結果の期限切れ',
      unknown: '結果不明',
      cancelled: '取り消し',
      refused: '不可',
      failed: '失敗',
      silent: '結果なし',
    },
  },
};
