import { createHash } from 'node:crypto';
import type { Context } from '@google/adk';
import { defineTool } from 'duologue/adk';
import { z } from 'zod';
import { TOOL } from './known-payments.ts';
import { ERRORS } from './texts/index.ts';

const START_CENTS = 100_000;
const WALLET = 'wallet_cents';

const parameters = z.object({
  amount: z.number({ error: ERRORS.noNumber }).describe('The amount, e.g. 50 or 12.5'),
  recipient: z.string().describe('Who gets the money'),
  currency: z.string().default('USD').describe('ISO code of the currency'),
  description: z.string().default('').describe('What it is for'),
});

/** Pays from a wallet, whose balance is in the state of the session. The user is asked first, and each approval pays once. */
export function paymentTool() {
  return defineTool({
    name: TOOL,
    description:
      'Sends money from the user’s wallet to a recipient. The user is asked to approve every payment.',
    parameters,
    needsApproval: true,
    check: (payment, context) => {
      refuseUnless(payment, balanceIn(context));
    },
    execute: ({ amount, recipient, currency, description }, context) => {
      // The new balance is stored in one transaction with the response of the tool.
      const balance = balanceIn(context) - cents(amount);
      context.state.set(WALLET, balance);
      return {
        success: true,
        transaction_id: transactionId(context.functionCallId ?? ''),
        amount,
        currency: codeOf(currency),
        recipient: recipient.trim(),
        description,
        wallet_balance: balance / 100,
        timestamp: new Date().toISOString(),
      };
    },
  });
}

function refuseUnless({ amount, recipient, currency }: z.infer<typeof parameters>, balance: number): void {
  // Spaces and invisible characters are not a recipient.
  if (!/[^\p{C}\p{Z}]/u.test(recipient)) throw new Error(ERRORS.noRecipient);
  if (amount <= 0) throw new Error(ERRORS.notPositive(amount));
  const code = codeOf(currency);
  if (code === '') throw new Error(ERRORS.noCurrency);
  if (code !== 'USD') throw new Error(ERRORS.otherCurrency(code));
  if (cents(amount) > balance) {
    throw new Error(ERRORS.insufficient(dollars(balance / 100), dollars(amount)));
  }
  if (cents(amount) / 100 !== amount) {
    throw new Error(ERRORS.tooPrecise(amount));
  }
}

function balanceIn(context: Context): number {
  return Number(context.state.get(WALLET, START_CENTS));
}

function codeOf(currency: string): string {
  return currency.trim().toUpperCase();
}

function cents(amount: number): number {
  return Math.round(amount * 100);
}

function dollars(amount: number): string {
  return `${amount.toFixed(2)} USD`;
}

/** The same call always has the same transaction id. */
function transactionId(callId: string): string {
  return `txn_${createHash('sha256').update(callId).digest('hex').slice(0, 12)}`;
}
