export { type PendingApproval, pendingApprovals } from './approvals.ts';
export type { ToldData } from './conversation.ts';
export type { Mode } from './mode.ts';
export { totalUsage } from './usage.ts';
export { type UseDuologueHelpers, type UseDuologueOptions, useDuologue } from './use-duologue.ts';
