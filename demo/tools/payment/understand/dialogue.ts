import type { Turn } from 'duologue/models/embedded';
import { paymentsIn, TOOL } from '../known-payments.ts';
import { answerPayment } from './answer.ts';
import { takesBack, understandPayments } from './payments.ts';
import { isComplete, type PaymentHistory, type PaymentIntent, type PaymentRequest } from './requests.ts';

/** What a message says about paying, given the messages before it. */
export type PaymentStep = PaymentIntent | { kind: 'taken-back' };

/** Reads a message as a request to pay, or as the answer to a question about one; null for any other message. */
export function paymentStep(before: readonly Turn[], text: string): PaymentStep | null {
  return stepAfter(openQuestion(before), historyOf(before), text);
}

/** The payments whose amount or recipient the model has just asked for, or null when it asked for none. */
function openQuestion(turns: readonly Turn[]): PaymentRequest[] | null {
  let open: PaymentRequest[] | null = null;
  for (const [index, turn] of turns.entries()) {
    const wasAsked = turn.calls.length === 0 && (turn.spoken === '' || /[?？]/.test(turn.spoken));
    const step: PaymentStep | null = wasAsked
      ? stepAfter(open, historyOf(turns.slice(0, index)), turn.text)
      : null;
    open = step?.kind === 'payments' && !step.payments.every(isComplete) ? step.payments : null;
  }
  return open;
}

function stepAfter(open: PaymentRequest[] | null, history: PaymentHistory, text: string): PaymentStep | null {
  if (open !== null && takesBack(text)) return { kind: 'taken-back' };
  const intent = understandPayments(text, { ...history, isTopic: history.isTopic && open === null });
  if (intent !== null) return open === null ? intent : merged(open, intent);
  const answered = open === null ? null : answerPayment(open, text);
  return answered === null ? null : { kind: 'payments', payments: answered };
}

/** Completes the open payment with a new incomplete request, such as "send 50 dollars" after "send money to Alice". */
function merged(open: readonly PaymentRequest[], intent: PaymentIntent): PaymentIntent {
  const [only, ...others] = intent.kind === 'payments' ? intent.payments : [];
  const [first, ...rest] = open;
  if (only === undefined || others.length > 0 || first === undefined || rest.length > 0 || isComplete(only))
    return intent;
  return { kind: 'payments', payments: [{ ...first, ...only }] };
}

function historyOf(before: readonly Turn[]): PaymentHistory {
  const last = paymentsIn(before).at(-1);
  const previous = before.at(-1);
  return {
    ...(last === undefined ? {} : { last }),
    isTopic: previous?.calls.some((call) => call.name === TOOL) ?? false,
  };
}
