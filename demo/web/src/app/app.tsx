import { ScanSearch } from 'lucide-react';
import { type RefObject, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { Chat } from '../chat/chat.tsx';
import { useWhileBusy } from '../composer/while-busy.ts';
import { useMessages } from '../i18n/language.tsx';
import type { PanelName } from '../panel/panels.ts';
import { PANEL, SidePanel } from '../panel/side-panel.tsx';
import { useCurrentSession } from '../sessions/current-session.ts';
import { FailureNote } from '../sessions/failure-note.tsx';
import { LoginForm } from '../sessions/login-form.tsx';
import { SessionList } from '../sessions/session-list.tsx';
import { useSessions } from '../sessions/use-sessions.ts';
import { SettingsMenu } from '../settings/settings-menu.tsx';
import { useTheme } from '../theme/theme.ts';
import { startTools } from '../tools/page-tools.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { useMedia } from '../ui/use-media.ts';
import { InspectionProvider } from '../wire/inspection.tsx';
import { useWire } from '../wire/wire.tsx';
import { SessionsDrawer } from './sessions-drawer.tsx';
import { useStoredMode } from './stored-mode.ts';

/** The whole page: the list of conversations, the current conversation, and a side panel that the user can open. */
export function App() {
  const words = useMessages();
  const [theme, setTheme] = useTheme();
  const [mode, setMode] = useStoredMode();
  const [whileBusy, setWhileBusy] = useWhileBusy();
  const [{ executors, controls, duck }] = useState(startTools);
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const [panel, setPanel] = useState<PanelName | null>(null);
  const [isClearing, setClearing] = useState(false);
  const settings = useRef<HTMLButtonElement>(null);
  const inspector = useRef<HTMLButtonElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const current = useCurrentSession();
  const sessions = useSessions();
  const { replay } = useWire();
  // On a narrow page the panel covers the conversation, which is then inert.
  const isCovered = !useMedia('(width >= 64rem)') && panel !== null;
  if (sessions.isLocked) return <LoginForm onEnter={() => void sessions.refresh()} />;

  const open = (name: PanelName, from: RefObject<HTMLButtonElement | null>) => {
    opener.current = from.current;
    flushSync(() => setPanel(name));
    document.getElementById(PANEL)?.focus();
  };
  const isHere = ({ id }: { id: string }) => id === current.id;
  const isListed = sessions.list.some(isHere) && !sessions.begun.some(isHere);
  const clear = () => {
    void sessions.remove(current.id);
    current.leave();
  };
  const list = <SessionList sessions={sessions} current={current} onLeave={() => setDrawerOpen(false)} />;
  const note = <FailureNote sessions={sessions} />;
  return (
    <InspectionProvider isOpen={panel === 'inspector'}>
      <div className="flex h-full print:block">
        <a
          href="#message"
          inert={isCovered}
          className="sr-only z-50 rounded-lg bg-accent px-4 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
        >
          {words.skipToInput}
        </a>
        <div className="hidden w-64 shrink-0 border-r border-line lg:block print:hidden">{list}</div>
        <SessionsDrawer isOpen={isDrawerOpen} onOpenChange={setDrawerOpen}>
          {list}
          {note}
        </SessionsDrawer>
        <Chat
          key={replay?.id ?? current.id}
          current={current}
          sessions={sessions}
          mode={mode}
          whileBusy={whileBusy}
          executors={executors}
          isCovered={isCovered}
          onMode={setMode}
          onSpeech={duck}
          onSessions={() => setDrawerOpen(true)}
          tools={
            <>
              {controls}
              <IconButton
                ref={inspector}
                label={words.settings.inspector}
                aria-expanded={panel === 'inspector'}
                onClick={() => (panel === 'inspector' ? setPanel(null) : open('inspector', inspector))}
                className={panel === 'inspector' ? 'bg-sunken text-ink' : ''}
              >
                <ScanSearch className="size-4.5" />
              </IconButton>
              <SettingsMenu
                button={settings}
                theme={theme}
                onTheme={setTheme}
                whileBusy={whileBusy}
                onWhileBusy={setWhileBusy}
                onPanel={(name) => open(name, settings)}
                onClear={() => setClearing(true)}
                canClear={isListed}
              />
            </>
          }
        />
        {panel === null ? null : (
          <SidePanel
            name={panel}
            sessionId={current.id}
            onClose={() => {
              // The conversation can get the focus only after the panel is removed, so the panel is removed
              // synchronously.
              flushSync(() => setPanel(null));
              opener.current?.focus();
            }}
          />
        )}
        {isDrawerOpen ? null : note}
        <Confirm
          isOpen={isClearing}
          opener={() => settings.current}
          title={words.sessions.clearTitle}
          text={words.sessions.clearText}
          action={words.sessions.clearConfirm}
          onAnswer={(isConfirmed) => {
            setClearing(false);
            if (isConfirmed) clear();
          }}
        />
      </div>
    </InspectionProvider>
  );
}
