import { Pencil, Trash2 } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { useMessages } from '../i18n/language.tsx';
import { MENU, MENU_ITEM } from '../ui/choice-menu.tsx';
import { type EntryActions, EntryButton } from './entry-button.tsx';

/** The menu of a conversation in the list. */
export default function EntryItems({ title, onRename, onRemove }: EntryActions) {
  const { sessions } = useMessages();
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>
        <EntryButton title={title} />
      </DropdownMenu.Trigger>
      <DropdownMenu.Content align="end" className={`min-w-40 ${MENU}`}>
        <DropdownMenu.Item onSelect={onRename} className={MENU_ITEM}>
          <Pencil className="size-4" aria-hidden="true" />
          {sessions.rename}
        </DropdownMenu.Item>
        <DropdownMenu.Item onSelect={onRemove} className={`${MENU_ITEM} text-bad`}>
          <Trash2 className="size-4" aria-hidden="true" />
          {sessions.remove}
        </DropdownMenu.Item>
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  );
}
