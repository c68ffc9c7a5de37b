import type { Messages } from '../i18n/en.ts';
import type { CardState } from './card-state.ts';
import { LOOKS } from './look.ts';
import type { Reach } from './reach.tsx';

/** What a card says above and below its sentence. */
export function wordsOf(
  state: CardState,
  reach: Reach,
  messages: Messages['approval'],
): { name: string; text: string | null } {
  const { title, text } = LOOKS[state];
  const [name, usual] = [title(messages), text?.(messages) ?? null];
  if (state !== 'processing' && state !== 'denying') return { name, text: usual };
  const unsettled = unsettledText(reach, messages);
  if (unsettled === null) return { name, text: usual };
  return { name: state === 'processing' ? messages.approved : name, text: unsettled };
}

/** Why the outcome of a decision is not known yet; null when the server is about to send it. */
function unsettledText(reach: Reach, messages: Messages['approval']): string | null {
  switch (reach) {
    case 'live':
    case 'idle':
      return null;
    case 'away':
    case 'closed':
      return messages.unsentText;
    case 'unsure':
      return messages.unsureText;
    case 'elsewhere':
      return messages.shownElsewhere;
  }
}

/** Why a card cannot be answered on this page now; null when it can. */
export function obstacleOf(reach: Reach, messages: Messages['approval']): string | null {
  if (reach === 'elsewhere') return messages.answerHere;
  return reach === 'closed' ? messages.answerLater : null;
}
