/**
 * Hooks on `useChat`. They show what the client knows and decide nothing of the protocol. The state of a chat is that of
 * `useChat` and of the transport, made once for each hook and closed with it.
 */
export { type PendingApproval, pendingApprovals } from './approvals.ts';
export type { Mode } from './mode.ts';
export type { ToldData } from './options.ts';
export { totalUsage } from './usage.ts';
export { type UseDuologueHelpers, type UseDuologueOptions, useDuologue } from './use-duologue.ts';
export { type UseVoiceHelpers, useVoice } from './use-voice.ts';
