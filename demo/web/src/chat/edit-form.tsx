import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { Button } from '../ui/button.tsx';

/** A form to edit a message that was sent. Calls back with the new text, or with null when the user cancels. */
export function EditForm({
  text,
  canSend,
  onEnd,
}: {
  text: string;
  /** Whether the text can be sent now. While it cannot, the form stays open. */
  canSend: boolean;
  onEnd: (text: string | null) => void;
}) {
  const messages = useMessages();
  const [edited, setEdited] = useState(text);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const isEmpty = edited.trim() === '';
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Escape') onEnd(null);
    if (event.key === 'Enter' && !event.shiftKey && !isEmpty) {
      event.preventDefault();
      if (canSend) onEnd(edited.trim());
    }
  };
  return (
    <div className="w-full space-y-2 rounded-2xl border border-line-strong bg-surface p-3">
      <textarea
        ref={area}
        dir="auto"
        aria-label={messages.message.editLabel}
        value={edited}
        rows={Math.min(8, edited.split('\n').length + 1)}
        onChange={(event) => setEdited(event.target.value)}
        onKeyDown={onKeyDown}
        className="block w-full resize-none bg-transparent px-1 outline-none"
      />
      <p className="px-1 text-xs text-soft">{messages.message.editHint}</p>
      {canSend ? null : (
        <p role="status" className="px-1 text-xs font-medium">
          {messages.message.editBusy}
        </p>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={() => onEnd(null)}>{messages.cancel}</Button>
        <Button look="accent" disabled={isEmpty || !canSend} onClick={() => onEnd(edited.trim())}>
          {messages.message.resend}
        </Button>
      </div>
    </div>
  );
}
