import type { Message } from 'duologue/protocol';
import type { Messages } from '../i18n/en.ts';

/** Why a message is incomplete: a key of the texts `endings`. */
export type Ending = keyof Messages['message']['endings'];

/** Why a stored message is incomplete; null for a complete one, and for one that the user stopped. */
export function endingOf({ parts, metadata }: Pick<Message, 'parts' | 'metadata'>): Ending | null {
  const { cutOff, failed, finishReason } = metadata ?? {};
  if (cutOff) return 'crash';
  if (failed) return parts.some(({ type }) => type !== 'step-start') ? 'provider' : 'nothing';
  if (finishReason === 'length') return 'length';
  return finishReason === 'content-filter' ? 'filter' : null;
}
