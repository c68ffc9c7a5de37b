import { cut, LIMITS } from '../protocol/limits.ts';

/**
 * Whether a call may run, in the words of `toolApproval` of AI SDK 7.
 *
 * - `user-approval`: the user is asked, as with `true`.
 * - `not-applicable` and `approved`: the call runs without a question, as with `false`.
 * - `denied`: the call fails with the reason as its error. The user is not asked.
 */
export type ApprovalStatus = 'not-applicable' | 'approved' | 'denied' | 'user-approval';

/** What `needsApproval` says about a call. A `reason` is the text of the approval request, or the error of a denied call. */
export type ApprovalRule = boolean | undefined | ApprovalStatus | { type: ApprovalStatus; reason?: string };

/** What the definition of a tool decides about one call. */
export interface ApprovalRuling {
  asks: boolean;
  /** Why the call fails without a question; absent for a call that is not denied. */
  denial?: string;
  /** The text of the approval request; absent when the rule gives none. */
  reason?: string;
}

const STATUSES: ReadonlySet<unknown> = new Set([
  'not-applicable',
  'approved',
  'denied',
  'user-approval',
] satisfies ApprovalStatus[]);

const statusOf = (rule: unknown): unknown =>
  typeof rule === 'object' && rule !== null && 'type' in rule ? rule.type : rule;

/** Throws when the `needsApproval` of a tool is none of the values that it may have. */
export function checkApproval(tool: string, rule: unknown): void {
  if (rule === undefined || typeof rule === 'boolean' || typeof rule === 'function') return;
  if (STATUSES.has(statusOf(rule))) return;
  throw new TypeError(
    `The "needsApproval" of the tool "${tool}" must be true, false, a function, or one of ${[...STATUSES].join(', ')}.`,
  );
}

/** Reads the value of `needsApproval` for a call of a tool. For an unknown value the user is asked, because a mistake in the value must not run the tool. */
export function rulingOf(tool: string, rule: unknown): ApprovalRuling {
  const status = statusOf(rule);
  const given: unknown =
    typeof rule === 'object' && rule !== null && 'reason' in rule ? rule.reason : undefined;
  const reason = typeof given === 'string' && given !== '' ? cut(given, LIMITS.reasonLength) : undefined;
  if (status === undefined || status === false || status === 'not-applicable' || status === 'approved')
    return { asks: false };
  if (status === 'denied')
    return { asks: false, denial: reason ?? `${tool} was denied by its approval rule.` };
  return { asks: true, ...(reason === undefined ? {} : { reason }) };
}
