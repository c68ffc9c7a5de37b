import { isApple } from '../ui/is-apple.ts';

/** The keyboard shortcuts of a card, as text. They need Alt, so that typing can never decide a call. */
export const KEYS = isApple() ? { approve: '⌥Y', deny: '⌥N' } : { approve: 'Alt+Y', deny: 'Alt+N' };

/** The decision of a key press; null for any other key. */
export function decisionOf(event: {
  code: string;
  altKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  repeat: boolean;
}): 'approve' | 'deny' | null {
  if (!event.altKey || event.ctrlKey || event.metaKey || event.repeat) return null;
  if (event.code === 'KeyY') return 'approve';
  return event.code === 'KeyN' ? 'deny' : null;
}
