import { ChevronUp, Clock, Pencil, X } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { Button } from '../ui/button.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import type { Draft } from './draft.ts';
import { focusBox, handFocusOn } from './focus-box.ts';
import type { Hold, SendQueue } from './send-queue.ts';

/** The queued messages. The user can edit each, move it up, send it at once, or remove it. */
export function Queued({
  queue: { queue, change, moveUp, remove },
  why,
  onSendNow,
  children = null,
}: {
  queue: SendQueue;
  why: Hold | null;
  /** Interrupts the answer and sends this message; null when nothing can be interrupted. */
  onSendNow: ((id: string) => void) | null;
  /** Further content below the queue, such as a warning. */
  children?: ReactNode;
}) {
  const { composer } = useMessages();
  if (queue.length === 0) return null;
  return (
    <div className="mb-2 animate-rise rounded-xl border border-dashed border-line-strong">
      <ol
        aria-label={composer.queued}
        className="max-h-[min(9rem,25dvh)] divide-y divide-dashed divide-line-strong overflow-y-auto"
      >
        {queue.map((draft, index) => (
          <Waiting
            key={draft.id}
            draft={draft}
            // Messages are sent in order, so only the first one shows why it waits.
            why={index === 0 ? (why ?? 'answer') : null}
            onChange={(text) => change(draft.id, text)}
            onMoveUp={index > 0 ? () => moveUp(draft.id) : null}
            onSendNow={onSendNow ? () => onSendNow(draft.id) : null}
            onRemove={() => remove(draft.id)}
          />
        ))}
      </ol>
      {children}
    </div>
  );
}

function Waiting({
  draft: { text, pictures },
  why,
  onChange,
  onMoveUp,
  onSendNow,
  onRemove,
}: {
  draft: Draft;
  why: Hold | null;
  onChange: (text: string) => void;
  onMoveUp: (() => void) | null;
  onSendNow: (() => void) | null;
  onRemove: () => void;
}) {
  const { composer } = useMessages();
  const [isEditing, setEditing] = useState(false);
  return (
    <li className="flex min-h-11 flex-wrap items-center gap-x-1 py-1 pr-1 pl-4 text-sm">
      <Clock className="mr-2 size-4 shrink-0 text-soft" aria-hidden="true" />
      {isEditing ? (
        <ChangeField
          text={text}
          onEnd={(changed) => {
            setEditing(false);
            // A message needs a text or a file.
            if (changed !== null && (changed !== '' || pictures.length > 0)) onChange(changed);
            focusBox();
          }}
        />
      ) : (
        <>
          <span dir="auto" className="min-w-0 grow basis-0 truncate">
            {text || composer.pictures} {pictures.length > 0 ? `(+${pictures.length})` : ''}
          </span>
          {onSendNow ? (
            <Button look="link" ref={handFocusOn} onClick={onSendNow} className="min-h-8! shrink-0 px-2.5!">
              {composer.sendNow}
            </Button>
          ) : null}
          {onMoveUp ? (
            <IconButton ref={handFocusOn} label={composer.moveUp} onClick={onMoveUp} className="size-8">
              <ChevronUp className="size-4" />
            </IconButton>
          ) : null}
          <IconButton label={composer.change} onClick={() => setEditing(true)} className="size-8">
            <Pencil className="size-4" />
          </IconButton>
          <IconButton ref={handFocusOn} label={composer.unqueue} onClick={onRemove} className="size-8">
            <X className="size-4" />
          </IconButton>
          {why === null ? null : (
            <span className="basis-full ps-7 pe-3 pb-1 text-xs text-soft">{composer.queuedBy[why]}</span>
          )}
        </>
      )}
    </li>
  );
}

/** A field to edit the text of a queued message. Calls back with the new text, or with null when the user cancels. */
function ChangeField({ text, onEnd }: { text: string; onEnd: (text: string | null) => void }) {
  const { composer, sessions } = useMessages();
  const [changed, setChanged] = useState(text);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Escape') onEnd(null);
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      onEnd(changed.trim());
    }
  };
  return (
    <>
      <textarea
        ref={area}
        dir="auto"
        aria-label={composer.changeLabel}
        value={changed}
        rows={Math.min(4, changed.split('\n').length)}
        onChange={(event) => setChanged(event.target.value)}
        onKeyDown={onKeyDown}
        className="field-sizing-content max-h-28 min-w-0 grow resize-none bg-transparent py-1.5 outline-none"
      />
      <Button look="link" onClick={() => onEnd(changed.trim())} className="min-h-8! px-2.5!">
        {sessions.save}
      </Button>
    </>
  );
}
