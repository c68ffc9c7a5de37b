/** One payment as understood so far. Fields that the user has not named yet are absent. */
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

/** Facts of earlier messages, to which "the same", "him" and sentences without a verb refer. */
export interface PaymentHistory {
  last?: { amount: number; currency: string; recipient: string };
  /** Whether the message before was about a payment, so that "and 20 to Carol" is one too. */
  isTopic: boolean;
}

/** Whether the amount and the recipient are known. */
export function isComplete(
  payment: PaymentRequest,
): payment is PaymentRequest & { amount: number; currency: string; recipient: string } {
  return payment.amount !== undefined && payment.recipient !== undefined;
}
