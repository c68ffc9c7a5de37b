/** What the page says about payments. */
export const page = {
  title: 'Payment',
  suggestions: [
    { title: 'Pay someone', text: 'Send $50 to Alice' },
    { title: 'Two payments at once', text: 'Send $30 to Alice and $40 to Bob' },
  ],
  asked: { whole: 'Send {amount} to {recipient}.', bare: 'Send money.' },
  done: { whole: 'Sent {amount} to {recipient}.', bare: 'Sent money.' },
  sent: (amount: string, recipient: string) => `${amount} sent to ${recipient}`,
  balance: (amount: string) => `Balance ${amount}`,
  transaction: 'Transaction',
};

/** The error texts of the tool, which the assistant and the user see. */
export const errors = {
  noNumber: 'The amount must be a finite number.',
  noRecipient: 'The recipient is missing.',
  notPositive: (amount: number) => `Invalid amount: ${amount}. The amount must be positive.`,
  noCurrency: 'The currency is missing. The wallet holds USD.',
  otherCurrency: (code: string) => `Payments in ${code} are not supported. The wallet holds USD.`,
  insufficient: (balance: string, amount: string) =>
    `Insufficient funds. Balance: ${balance}, requested: ${amount}.`,
  tooPrecise: (amount: number) => `Invalid amount: ${amount}. The amount may have two decimals at most.`,
};

/** What the embedded model says about payments. */
export const model = {
  does: 'send payments',
  example: 'payments, after your approval: “Send $30 to Alice and $40 to Bob”, “What is my balance?”',
  again: {
    thought: 'Again, but the payment may have happened.',
    text: 'That payment was made, is still waiting, or may have been made. To be sure, please write the whole request again, for example: send $50 to Bob.',
  },
  takenBack: {
    thought: 'The person no longer wants the payment.',
    text: 'All right, I will not send anything.',
  },
  negated: {
    thought: 'The person does not want a payment, so I make none.',
    text: 'All right, nothing is sent. If you do want a payment, please write it without “not”, for example: send $50 to Bob.',
    whileWaiting: 'I will not send anything more. You can deny the waiting payment on its card.',
  },
  later: {
    thought: 'A payment for later; I can only pay now.',
    text: 'I can only send money right now, not later or regularly, so I sent nothing.',
  },
  toSelf: {
    thought: 'The person wants to receive money; I can only send it.',
    text: 'I can only send money from your wallet, not to you. Who should receive it?',
  },
  each: {
    thought: 'One amount for several people: each, or shared?',
    text: (names: string, recipients: readonly string[], money: string) =>
      `Do you mean ${money} for each of ${names}? Then write: send ${recipients.join(' and ')} ${money} each.`,
  },
  unclear: {
    thought: 'Something about a payment that I do not fully understand, so I make none.',
    text: 'I did not fully understand this payment, so I sent nothing. Please write it plainly, for example: send $50 to Bob, or: send $30 to Alice and $40 to Bob.',
  },
  noTool: {
    thought: 'A payment, but there is no tool for it here.',
    text: 'I cannot send money here: this agent has no payment tool.',
  },
  missing: 'A payment, but something is missing, so I ask.',
  howMuch: (recipient: string) => `How much should I send to ${recipient}?`,
  toWhom: (money: string) => `Who should receive the ${money}?`,
  howMuchToWhom: 'How much should I send, and to whom?',
  repeated: {
    thought: 'This payment is already waiting for approval.',
    text: 'That payment is already waiting for your approval, so I did not ask for it twice.',
  },
  wanted: (payments: string) => `The person wants to send ${payments}.`,
  name: (name: string) => name,
  one: (money: string, recipient: string) => `${money} to ${recipient}`,
  sent: (payments: string) => `I sent ${payments}.`,
  subject: (money: string, recipient: string) => `the payment of ${money} to ${recipient}`,
  waiting: (money: string, recipient: string) =>
    `The payment of ${money} to ${recipient} is waiting for your approval.`,
  balance: {
    thought: 'The person asks for the balance.',
    unknown:
      'I cannot look into the wallet myself; each payment tells its balance. No payment in this conversation has told me one yet. The demo wallet starts with $1,000.',
    known: (money: string) => `After the last payment I know of, the balance was ${money}.`,
  },
  past: {
    thought: 'The person asks about earlier payments.',
    none: 'I know of no payment in this conversation.',
    heading: 'In this conversation:',
    line: (money: string, recipient: string, state: string) => `- ${money} to ${recipient}: ${state}`,
    states: {
      done: 'sent',
      pending: 'waiting for approval',
      denied: 'denied',
      'approval-timeout': 'not approved in time',
      'result-timeout': 'no result in time',
      unknown: 'outcome unknown',
      cancelled: 'cancelled',
      refused: 'refused',
      failed: 'failed',
      silent: 'no result',
    },
  },
};
