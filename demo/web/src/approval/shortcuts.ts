import { isApple } from '../ui/is-apple.ts';

/** The keys of a card. They need Alt, so that no word typed by mistake decides anything. */
export const KEYS = isApple() ? { approve: '⌥Y', deny: '⌥N' } : { approve: 'Alt+Y', deny: 'Alt+N' };

/** What a key asks for; null when it is none of ours. */
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
