import { callsOf, outcomeOf, type Settled, type Turn } from 'duologue/models/embedded';

/** The name of the payment tool. */
export const TOOL = 'process_payment';

/** A payment for which the model called the tool, and the outcome of that call. */
export interface KnownPayment {
  amount: number;
  currency: string;
  recipient: string;
  settled: Settled;
}

/** Every payment for which the model called the tool in these turns. */
export function paymentsIn(turns: readonly Turn[]): KnownPayment[] {
  return callsOf(turns, TOOL).flatMap((call) => {
    const { amount, currency = 'USD', recipient } = call.args;
    if (typeof amount !== 'number' || typeof currency !== 'string' || typeof recipient !== 'string')
      return [];
    return [{ amount, currency, recipient, settled: { call, outcome: outcomeOf(call) } }];
  });
}
