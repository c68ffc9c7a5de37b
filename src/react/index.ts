/**
 * React hooks on `useChat`. They show what the client knows, and decide nothing of the protocol. The state of a conversation is that of
 * `useChat` and of its transport; each hook owns one transport, and closes it when its component unmounts.
 */
export type { Message } from '../protocol/chunks.ts';
export { type PendingApproval, pendingApprovals, totalUsage } from './messages.ts';
export type { Mode, TransientData } from './options.ts';
export { type UseDuologueHelpers, type UseDuologueOptions, useDuologue } from './use-duologue.ts';
export { type UseVoiceHelpers, useVoice } from './use-voice.ts';
