import type { JsonValue } from '../questions/json.ts';

/** Sends the user's decision on a call. `payload` is passed to the tool with an approval. */
export type Decide = (toolCallId: string, isApproved: boolean, reason: string, payload?: JsonValue) => void;
