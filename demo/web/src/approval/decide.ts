import type { JsonValue } from '../questions/json.ts';

/** Gives the user's decision on a call; `payload` is what the tool gets with an approval. */
export type Decide = (toolCallId: string, isApproved: boolean, reason: string, payload?: JsonValue) => void;
