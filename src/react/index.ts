/**
 * React hooks on `useChat`. They show the state of the client, and contain no protocol logic. The state of a conversation is in
 * `useChat` and in the transport. `useDuologue` owns the transport, and closes it when its component unmounts.
 */
export type { Message } from '../protocol/chunks.ts';
export {
  type PendingApproval,
  type PendingQuestion,
  pendingApprovals,
  pendingQuestions,
  totalUsage,
} from './messages.ts';
export type { Mode, TransientData } from './options.ts';
export { type UseDuologueHelpers, type UseDuologueOptions, useDuologue } from './use-duologue.ts';
export { type UseVoiceHelpers, useVoice } from './use-voice.ts';
