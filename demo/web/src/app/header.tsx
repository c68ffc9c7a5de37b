import type { ConnectionState } from 'duologue/client';
import type { Mode } from 'duologue/react';
import { PanelLeft } from 'lucide-react';
import type { ReactNode } from 'react';
import { ConnectionMenu } from '../connection/connection-menu.tsx';
import { useMessages } from '../i18n/language.tsx';
import { IconButton } from '../ui/icon-button.tsx';

/** The header of a conversation. */
export function Header({
  title,
  mode,
  wantedMode,
  connection,
  onMode,
  onSessions,
  children,
}: {
  title: string;
  mode: Mode;
  wantedMode: Mode;
  connection: ConnectionState;
  onMode: (mode: Mode) => void;
  onSessions: () => void;
  children: ReactNode;
}) {
  const { sessions } = useMessages();
  return (
    <header className="flex h-14 shrink-0 items-center gap-2 border-b border-line px-2 sm:px-4 print:[&>:not(h1)]:hidden">
      <IconButton label={sessions.open} onClick={onSessions} className="lg:hidden">
        <PanelLeft className="size-4.5" />
      </IconButton>
      <h1 dir="auto" className="min-w-0 grow truncate text-left text-sm font-semibold">
        {title}
      </h1>
      <ConnectionMenu mode={mode} wanted={wantedMode} connection={connection} onChange={onMode} />
      {children}
    </header>
  );
}
