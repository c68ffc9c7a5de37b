import type { Message } from 'duologue/protocol';
import type { Messages } from '../i18n/en.ts';

/** Why an answer is not whole; the keys of its words. */
export type Ending = keyof Messages['message']['endings'];

/** Why an answer is not whole, as the server stored it; null for one that is whole, and for one that the user stopped. */
export function endingOf({ parts, metadata }: Pick<Message, 'parts' | 'metadata'>): Ending | null {
  const { cutOff, failed, finishReason } = metadata ?? {};
  if (cutOff) return 'crash';
  if (failed) return parts.some(({ type }) => type !== 'step-start') ? 'provider' : 'nothing';
  if (finishReason === 'length') return 'length';
  return finishReason === 'content-filter' ? 'filter' : null;
}
