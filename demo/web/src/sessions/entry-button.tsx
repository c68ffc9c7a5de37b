import { Ellipsis } from 'lucide-react';
import type { ComponentProps } from 'react';
import { useMessages } from '../i18n/language.tsx';

/** The title of a conversation in the list, and the actions of its menu. */
export interface EntryActions {
  title: string;
  onRename: () => void;
  onRemove: () => void;
}

/** The button that opens the menu of a conversation. */
export function EntryButton({ title, ...rest }: { title: string } & ComponentProps<'button'>) {
  const { sessions } = useMessages();
  return (
    <button
      type="button"
      {...rest}
      aria-label={sessions.menu(title)}
      className="absolute top-0.5 right-1 flex pointer-coarse:top-2 size-8 items-center justify-center rounded-md text-soft opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 hover:text-ink aria-expanded:opacity-100 pointer-coarse:opacity-100"
    >
      <Ellipsis className="size-4" aria-hidden="true" />
    </button>
  );
}
