import { Clock, X } from 'lucide-react';
import { useMessages } from '../i18n/language.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import type { Draft, Hold } from './send-queue.ts';

/** The messages that wait to be sent. */
export function Queued({
  queue,
  why,
  onRemove,
}: {
  queue: readonly Draft[];
  why: Hold | null;
  onRemove: (id: string) => void;
}) {
  const { composer } = useMessages();
  if (queue.length === 0) return null;
  const reason = composer.queuedBy[why ?? 'answer'];
  return (
    <ul aria-label={composer.queued} className="mb-2 space-y-1.5">
      {queue.map(({ id, text, pictures }) => (
        <li
          key={id}
          className="flex animate-rise items-center gap-3 rounded-xl border border-dashed border-line-strong py-1 pr-1 pl-4 text-sm"
        >
          <Clock className="size-4 shrink-0 text-soft" aria-hidden="true" />
          <span className="min-w-0 grow">
            <span dir="auto" className="block truncate">
              {text || composer.pictures} {pictures.length > 0 ? `(+${pictures.length})` : ''}
            </span>
            <span className="block text-xs text-soft">{reason}</span>
          </span>
          <IconButton label={composer.unqueue} onClick={() => onRemove(id)}>
            <X className="size-4" />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}
