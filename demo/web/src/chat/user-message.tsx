import type { Message } from 'duologue/protocol';
import { Pencil, RotateCcw } from 'lucide-react';
import { memo, useEffect, useRef, useState } from 'react';
import { focusBox, handFocusOn } from '../composer/focus-box.ts';
import { useMessages } from '../i18n/language.tsx';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { EditForm } from './edit-form.tsx';
import { FilePart } from './file-part.tsx';
import { filesOf, textOf } from './message-text.ts';

/** A longer text is folded, so that the answer stays near. */
const LONG = 1200;
const LONG_LINES = 16;

/** A message of the user. A long text shows its beginning and a button for the rest. */
export const UserMessage = memo(function UserMessage({
  message,
  onEdit,
  onRetry,
}: {
  message: Message;
  onEdit: ((message: Message, text: string) => void) | null;
  /** Sends the message again; null when it has an answer. */
  onRetry: (() => void) | null;
}) {
  const words = useMessages();
  const [isEditing, setEditing] = useState(false);
  const pencil = useRef<HTMLButtonElement>(null);
  const isGivenUp = useRef(false);
  useEffect(() => {
    if (isEditing || !isGivenUp.current) return;
    // The form had the focus and was removed, so the focus has to be moved.
    isGivenUp.current = false;
    pencil.current?.focus();
  }, [isEditing]);
  const text = textOf(message);
  const files = filesOf(message);
  const isLong = text.length > LONG || text.split('\n').length > LONG_LINES;
  const [isUnfolded, setUnfolded] = useState(false);
  return (
    <article
      aria-label={words.message.you}
      data-testid="message-user"
      data-message-id={message.id}
      className="group flex flex-col items-end gap-2"
    >
      {files.length > 0 ? (
        <div className="flex flex-wrap justify-end gap-2">
          {files.map((file, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the files of a sent message never change
            <FilePart key={index} file={file} alt={file.filename ?? words.pictures.sentPicture} />
          ))}
        </div>
      ) : null}
      {isEditing ? (
        <EditForm
          text={text}
          canSend={onEdit !== null}
          onEnd={(edited) => {
            isGivenUp.current = edited === null;
            setEditing(false);
            if (edited === null) return;
            onEdit?.(message, edited);
            focusBox();
          }}
        />
      ) : (
        <div className="flex w-full flex-row-reverse items-end gap-1">
          {text === '' ? null : (
            <p
              dir="auto"
              className="max-w-[85%] min-w-0 rounded-2xl rounded-br-md border border-transparent bg-accent-tint px-4 py-2.5 break-words whitespace-pre-wrap"
            >
              <span className={isLong && !isUnfolded ? 'line-clamp-12 print:line-clamp-none' : ''}>
                {text}
              </span>
              {isLong ? (
                <button
                  type="button"
                  aria-expanded={isUnfolded}
                  onClick={() => setUnfolded(!isUnfolded)}
                  className="mt-1 block text-sm text-accent underline underline-offset-2 print:hidden"
                >
                  {isUnfolded ? words.showLess : words.showAll}
                </button>
              ) : null}
            </p>
          )}
          <div className="flex shrink-0 pb-1 opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100">
            {text === '' ? null : <CopyButton text={text} className="size-8" />}
            {onEdit ? (
              <IconButton
                ref={pencil}
                label={words.message.edit}
                onClick={() => setEditing(true)}
                className="size-8"
              >
                <Pencil className="size-4" />
              </IconButton>
            ) : null}
          </div>
        </div>
      )}
      {onRetry ? (
        <p data-testid="not-answered" className="flex items-center gap-x-1 text-sm text-soft">
          {words.message.notAnswered}
          <Button look="link" ref={handFocusOn} onClick={onRetry} className="min-h-8! px-2.5!">
            <RotateCcw className="size-4" aria-hidden="true" />
            {words.errors.retry}
          </Button>
        </p>
      ) : null}
    </article>
  );
});
