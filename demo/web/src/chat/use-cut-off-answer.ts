import type { Message } from 'duologue/protocol';
import { useCallback, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';

/**
 * Returns an error when the server lost the end of the last message, until the user dismisses the error or a further
 * message comes.
 */
export function useCutOffAnswer(
  messages: readonly Message[],
  isElsewhere: boolean,
): { error: Error | null; forget: () => void } {
  const { errors } = useMessages();
  const [forgotten, setForgotten] = useState<string | null>(null);
  const last = messages.at(-1);
  const id = last?.id ?? null;
  const forget = useCallback(() => setForgotten(id), [id]);
  const isCutOff = last?.metadata?.cutOff === true && last.id !== forgotten && !isElsewhere;
  return {
    error: isCutOff ? Object.assign(new Error(errors.cutStoredText), { code: 'cut_off' }) : null,
    forget,
  };
}
