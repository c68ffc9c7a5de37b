import { ArrowUp, ImagePlus, Paperclip, Square } from 'lucide-react';
import { type ClipboardEvent, type KeyboardEvent, useEffect, useId, useRef } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { chooserTypes, isForPictures } from '../images/accepts.ts';
import type { Pictures } from '../images/use-pictures.ts';
import { Button } from '../ui/button.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { isApple } from '../ui/is-apple.ts';
import type { Draft } from './draft.ts';
import { focusBox, handFocusOn } from './focus-box.ts';
import { useKeptText } from './kept-text.ts';
import { PictureStrip } from './picture-strip.tsx';
import type { WhileBusy } from './while-busy.ts';

/** The largest number of rows of the message box, in browsers without `field-sizing`. */
const MAX_ROWS = 8;

/** The shortcut for the alternative to Enter while the assistant answers. */
const OTHER_KEYS = isApple() ? '⌘Enter' : 'Ctrl+Enter';

/** The message box. The user can always write; a message that cannot be sent now is queued. */
export function Composer({
  sessionId,
  isBusy,
  canInterrupt,
  whileBusy,
  pictures,
  slot,
  onSend,
  onStop,
}: {
  /** The session of the text; null for a conversation that has not begun. */
  sessionId: string | null;
  isBusy: boolean;
  /** Whether a message may interrupt the current answer. */
  canInterrupt: boolean;
  /** What Enter does while the assistant answers. Ctrl+Enter or ⌘Enter does the opposite. */
  whileBusy: WhileBusy;
  pictures: Pictures;
  /** Gets the element for further controls beside the box. */
  slot: (node: HTMLElement | null) => void;
  onSend: (draft: Draft, isNow: boolean) => void;
  onStop: () => void;
}) {
  const { composer } = useMessages();
  const [text, setText] = useKeptText(sessionId);
  const keys = useId();
  const chooser = useRef<HTMLInputElement>(null);
  const isEmpty = text.trim() === '' && pictures.pictures.length === 0;
  const canSend = !isEmpty && !pictures.isPreparing;
  useEffect(focusBox, []);

  const send = (isNow: boolean) => {
    if (!canSend) return;
    onSend({ id: crypto.randomUUID(), text: text.trim(), pictures: pictures.pictures }, isNow);
    setText('');
    pictures.clear();
    focusBox();
  };
  const stop = () => {
    onStop();
    focusBox();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // With this Enter the user chooses a candidate of an input method, and sends nothing.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      const isOther = event.ctrlKey || event.metaKey;
      send(isOther !== (whileBusy === 'interrupt'));
    }
    if (event.key === 'Escape' && isBusy) onStop();
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    pictures.add(files);
  };
  return (
    <>
      <form
        data-testid="chat-form"
        onSubmit={(event) => {
          event.preventDefault();
          send(whileBusy === 'interrupt');
        }}
        className="rounded-3xl border border-line-strong bg-surface shadow-lift transition-colors focus-within:border-accent"
      >
        <PictureStrip pictures={pictures} />
        <div className="flex items-end gap-1 p-2">
          <IconButton
            label={isForPictures(pictures.accepts) ? composer.attach : composer.attachFiles}
            onClick={() => chooser.current?.click()}
            isRound
            className="mb-0.5 text-soft hover:bg-sunken hover:text-ink"
          >
            {isForPictures(pictures.accepts) ? (
              <ImagePlus className="size-5" />
            ) : (
              <Paperclip className="size-5" />
            )}
          </IconButton>
          <input
            ref={chooser}
            type="file"
            accept={chooserTypes(pictures.accepts)}
            multiple
            hidden
            data-testid="picture-input"
            onChange={(event) => {
              pictures.add([...(event.target.files ?? [])]);
              event.target.value = '';
            }}
          />
          <textarea
            id="message"
            dir="auto"
            aria-label={composer.label}
            aria-describedby={keys}
            placeholder={composer.placeholder}
            value={text}
            rows={Math.min(MAX_ROWS, text.split('\n').length)}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={onKeyDown}
            onPaste={onPaste}
            enterKeyHint="send"
            className="field-sizing-content max-h-[min(13rem,35dvh)] min-h-10 grow pointer-coarse:min-h-11 pointer-coarse:py-2.5 resize-none bg-transparent px-2 py-2 leading-6 outline-none placeholder:text-soft"
          />
          <span ref={slot} className="min-w-9 shrink-0" />
          {isBusy ? (
            <IconButton
              ref={handFocusOn}
              label={composer.stop}
              hint={composer.stopHint}
              aria-keyshortcuts="Escape"
              onClick={stop}
              isRound
              className="mb-0.5 bg-ink text-canvas hover:bg-ink/85"
            >
              <Square className="size-3.5 fill-current" />
            </IconButton>
          ) : null}
          {canInterrupt && canSend && whileBusy === 'queue' ? (
            <Button
              look="link"
              ref={handFocusOn}
              onClick={() => send(true)}
              className="mb-0.5 min-h-9! px-3! max-sm:hidden"
            >
              {composer.sendNow}
            </Button>
          ) : null}
          {isBusy && isEmpty ? null : (
            <IconButton
              label={composer.send}
              type="submit"
              disabled={!canSend}
              isRound
              className="mb-0.5 bg-accent text-on-accent hover:bg-accent-hover disabled:bg-sunken disabled:text-soft"
            >
              <ArrowUp className="size-5" />
            </IconButton>
          )}
        </div>
      </form>
      <p id={keys} className="mt-1.5 hidden text-center text-xs text-soft sm:block pointer-coarse:hidden">
        {isBusy
          ? `${canInterrupt ? composer.busyHint[whileBusy](OTHER_KEYS) : composer.sendHint} · ${composer.stopHint}`
          : composer.sendHint}
      </p>
    </>
  );
}
