import type { SessionEntry } from 'duologue/client';
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { useLanguage, useMessages } from '../i18n/language.tsx';
import { timeOf } from './days.ts';
import { EntryMenu } from './entry-menu.tsx';

/** One conversation in the list. */
export function SessionItem({
  entry,
  isCurrent,
  onOpen,
  onRename,
  onRemove,
}: {
  entry: SessionEntry;
  isCurrent: boolean;
  onOpen: () => void;
  onRename: (title: string) => void;
  onRemove: () => void;
}) {
  const { messages, language } = useLanguage();
  const { sessions } = messages;
  const facts = useId();
  const [isRenaming, setRenaming] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const isLeftByKey = useRef(false);
  useEffect(() => {
    if (isRenaming || !isLeftByKey.current) return;
    // The element that had the focus was removed.
    isLeftByKey.current = false;
    opener.current?.focus();
  }, [isRenaming]);
  const title = entry.title ?? sessions.untitled;
  if (isRenaming) {
    return (
      <RenameForm
        title={title}
        onEnd={(renamed, isByKey) => {
          isLeftByKey.current = isByKey;
          setRenaming(false);
          if (renamed !== null && renamed !== title) onRename(renamed);
        }}
      />
    );
  }
  return (
    <div
      className={`group relative rounded-lg px-3 py-2 text-sm transition-colors ${isCurrent ? 'bg-sunken' : 'hover:bg-sunken/60'}`}
    >
      <div className="flex items-baseline gap-2 pointer-coarse:pr-9">
        <button
          ref={opener}
          type="button"
          dir="auto"
          data-session={entry.id}
          aria-current={isCurrent ? 'page' : undefined}
          aria-describedby={facts}
          onClick={onOpen}
          // A click anywhere in the entry opens the conversation, except on the menu button.
          className="min-w-0 grow truncate text-start outline-none after:absolute after:inset-0 after:rounded-lg focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
        >
          {title}
        </button>
        <time
          dateTime={new Date(entry.updatedAt).toISOString()}
          className="shrink-0 text-xs text-soft tabular-nums group-focus-within:invisible group-hover:invisible group-has-data-[state=open]:invisible pointer-coarse:visible"
        >
          {timeOf(entry.updatedAt, language)}
        </time>
      </div>
      <p id={facts} className="text-xs empty:hidden">
        <State entry={entry} />
      </p>
      <EntryMenu title={title} onRename={() => setRenaming(true)} onRemove={onRemove} />
    </div>
  );
}

/** Says that a conversation waits for the user, or that its last answer failed. */
function State({ entry: { isWaiting, hasFailed } }: { entry: SessionEntry }) {
  const { sessions } = useMessages();
  if (!isWaiting && !hasFailed) return null;
  return (
    <span className={`flex items-center gap-1.5 ${isWaiting ? 'text-warn' : 'text-bad'}`}>
      <span aria-hidden="true" className="size-1.5 rounded-full bg-current" />
      {isWaiting ? sessions.waiting : sessions.broken}
    </span>
  );
}

function RenameForm({
  title,
  onEnd,
}: {
  title: string;
  /** Gets the new name, or null to keep the old one. `isByKey`: the user pressed a key, so the focus has to be moved. */
  onEnd: (title: string | null, isByKey: boolean) => void;
}) {
  const { sessions } = useMessages();
  const [text, setText] = useState(title);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // The menu that opened this form returns the focus when it closes, so the field is focused after that.
    const timer = setTimeout(() => {
      input.current?.focus();
      input.current?.select();
    }, 0);
    return () => clearTimeout(timer);
  }, []);
  const renamed = text.trim() || null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onEnd(renamed, true);
  };
  return (
    <form onSubmit={submit} className="px-1 py-0.5">
      <input
        ref={input}
        dir="auto"
        aria-label={sessions.renameLabel}
        value={text}
        maxLength={200}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => onEnd(renamed, false)}
        onKeyDown={(event) => event.key === 'Escape' && onEnd(null, true)}
        className="h-8 w-full rounded-md border border-accent bg-surface px-2 text-sm outline-none"
      />
    </form>
  );
}
