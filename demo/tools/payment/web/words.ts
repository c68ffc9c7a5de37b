import { Users } from 'lucide-react';

const en = {
  title: 'Payment',
  suggestions: [
    { title: 'Pay someone', text: 'Send $50 to Alice' },
    { title: 'Two payments at once', text: 'Send $30 to Alice and $40 to Bob', icon: Users },
  ],
  asked: { whole: 'Send {amount} to {recipient}.', bare: 'Send money.' },
  done: { whole: 'Sent {amount} to {recipient}.', bare: 'Sent money.' },
  sent: (amount: string, recipient: string) => `${amount} sent to ${recipient}`,
  balance: (amount: string) => `Balance ${amount}`,
  transaction: 'Transaction',
  insufficient: (balance: string, amount: string) =>
    `Insufficient funds. Balance: ${balance}, requested: ${amount}.`,
};

const ja: typeof en = {
  title: '送金',
  suggestions: [
    { title: '送金', text: 'Aliceに50ドル送金してください' },
    { title: '二人に送金', text: 'Aliceに30ドル、Bobに40ドル送金してください', icon: Users },
  ],
  asked: { whole: '{recipient} さんに {amount} を送金します。', bare: '送金します。' },
  done: { whole: '{recipient} さんに {amount} を送金しました。', bare: '送金しました。' },
  sent: (amount, recipient) => `${recipient} さんに ${amount} を送金しました`,
  balance: (amount) => `残高 ${amount}`,
  transaction: '取引番号',
  insufficient: (balance, amount) => `残高が足りません。残高は ${balance}、送金額は ${amount} です。`,
};

/** What the page says about payments. */
export const WORDS = { en, ja };
