import { SquarePen } from 'lucide-react';
import { useRef, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { Logo } from '../ui/logo.tsx';
import type { CurrentSession } from './current-session.ts';
import { byDay } from './days.ts';
import { SessionItem } from './session-item.tsx';
import type { Sessions } from './use-sessions.ts';

/** The list of all conversations, and a button that starts a new one. */
export function SessionList({
  sessions,
  current,
  onLeave,
}: {
  sessions: Sessions;
  current: CurrentSession;
  /** Called when the user chose a conversation: on a narrow page the drawer with the list closes. */
  onLeave: () => void;
}) {
  const words = useMessages();
  const [doomed, setDoomed] = useState<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const asked = useRef('');
  const remove = (id: string) => {
    void sessions.remove(id);
    if (id === current.id) current.leave();
    // Wait until the dialog is closed: it returns the focus to the item that was deleted.
    setTimeout(() => box.current?.focus(), 0);
  };
  return (
    <nav aria-label={words.sessions.title} className="flex h-full flex-col">
      <div className="flex h-14 shrink-0 items-center gap-2.5 px-4">
        <Logo />
        <span className="font-semibold tracking-tight">{words.appName}</span>
      </div>
      <div className="px-3 pb-3">
        <Button
          onClick={() => {
            current.startNew();
            onLeave();
          }}
          className="w-full justify-start"
        >
          <SquarePen className="size-4" aria-hidden="true" />
          {words.sessions.new}
        </Button>
      </div>
      <div ref={box} tabIndex={-1} className="min-h-0 grow overflow-y-auto px-3 pb-4 outline-none">
        {sessions.isLoaded && sessions.list.length === 0 ? (
          <p className="px-3 py-2 text-sm text-soft">{words.sessions.none}</p>
        ) : null}
        {byDay(sessions.list, new Date()).map(({ day, entries }) => (
          <div key={day} className="mb-3">
            <h2 className="px-3 py-1.5 text-xs font-medium text-soft">{words.sessions[day]}</h2>
            <ul>
              {entries.map((entry) => (
                <li key={entry.id}>
                  <SessionItem
                    entry={entry}
                    isCurrent={entry.id === current.id}
                    onOpen={() => {
                      current.open(entry.id);
                      onLeave();
                    }}
                    onRename={(title) => void sessions.rename(entry.id, title)}
                    onRemove={() => {
                      asked.current = entry.id;
                      setDoomed(entry.id);
                    }}
                  />
                </li>
              ))}
            </ul>
          </div>
        ))}
      </div>
      <Confirm
        isOpen={doomed !== null}
        opener={() => itemOf(box.current, asked.current)}
        title={words.sessions.clearTitle}
        text={words.sessions.clearText}
        action={words.sessions.clearConfirm}
        onAnswer={(isConfirmed) => {
          setDoomed(null);
          if (isConfirmed && doomed !== null) remove(doomed);
        }}
      />
    </nav>
  );
}

/** The button that opens a conversation from the list. */
function itemOf(list: HTMLElement | null, id: string): HTMLElement | undefined {
  const items = list?.querySelectorAll<HTMLElement>('[data-session]') ?? [];
  return [...items].find(({ dataset }) => dataset.session === id);
}
