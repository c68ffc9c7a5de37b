/** One payment as understood so far; what the person has not said yet is absent. */
export interface PaymentRequest {
  amount?: number;
  currency?: string;
  recipient?: string;
  description?: string;
}

/** What a message says about paying. */
export type PaymentIntent =
  | { kind: 'payments'; payments: PaymentRequest[] }
  | { kind: 'negated' }
  | { kind: 'later' }
  | { kind: 'each'; recipients: string[]; amount: number; currency: string }
  | { kind: 'to-self' }
  | { kind: 'unclear' };

/** What earlier messages settle for "the same", "him" and sentences without a verb. */
export interface PaymentHistory {
  last?: { amount: number; currency: string; recipient: string };
  /** Whether the message before was about a payment, so that "and 20 to Carol" is one too. */
  isTopic: boolean;
}

/** Whether nothing is missing. */
export function isComplete(
  payment: PaymentRequest,
): payment is PaymentRequest & { amount: number; currency: string; recipient: string } {
  return payment.amount !== undefined && payment.recipient !== undefined;
}
