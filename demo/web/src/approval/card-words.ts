import type { Messages } from '../i18n/en.ts';
import type { CardState } from './card-state.ts';
import { LOOKS } from './look.ts';
import type { Reach } from './reach.tsx';

/** The title of a card, and the text below its sentence. */
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

/** Why the page waits longer for the outcome of a decision than usual; null while nothing delays it. */
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

/** Why the user cannot decide on this page now; null when the user can. */
export function obstacleOf(reach: Reach, messages: Messages['approval']): string | null {
  if (reach === 'elsewhere') return messages.answerHere;
  return reach === 'closed' ? messages.answerLater : null;
}
