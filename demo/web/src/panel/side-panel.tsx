import { X } from 'lucide-react';
import { type ComponentType, type KeyboardEvent, lazy, Suspense } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { loadPanel, type PanelName, type PanelProps } from './panels.ts';

const CONTENTS: Readonly<Record<PanelName, ComponentType<PanelProps>>> = {
  inspector: lazy(() => loadPanel('inspector').catch(() => ({ default: Missing }))),
  audit: lazy(() => loadPanel('audit').catch(() => ({ default: Missing }))),
};

/** The id of the panel, for code that moves the focus to it. */
export const PANEL = 'panel';

/** Shown in place of a panel that could not be loaded. */
function Missing() {
  const { panel } = useMessages();
  return (
    <p role="alert" className="p-4 text-sm">
      {panel.missing}
    </p>
  );
}

/** Shows a panel beside the conversation, or over it on a narrow page. */
export function SidePanel({
  name,
  sessionId,
  onClose,
}: {
  name: PanelName;
  sessionId: string;
  onClose: () => void;
}) {
  const { panel, settings } = useMessages();
  const Content = CONTENTS[name];
  const onKeyDown = (event: KeyboardEvent) => {
    // React also passes on keys from menus that the panel has opened outside of its element. Their Escape closes only the menu.
    if (event.key === 'Escape' && event.currentTarget.contains(event.target as Node)) onClose();
  };
  return (
    <aside
      id={PANEL}
      tabIndex={-1}
      aria-label={settings[name]}
      onKeyDown={onKeyDown}
      className="fixed inset-0 z-30 flex flex-col border-l border-line bg-surface outline-none print:hidden lg:static lg:w-[26rem] lg:shrink-0"
    >
      <div className="flex h-14 shrink-0 items-center justify-between border-b border-line pr-2 pl-4">
        <h2 className="text-sm font-semibold">{settings[name]}</h2>
        <IconButton label={panel.close} onClick={onClose}>
          <X className="size-4" />
        </IconButton>
      </div>
      <div className="min-h-0 grow overflow-y-auto">
        <Suspense fallback={<p className="p-4 text-sm text-soft">{panel.loading}</p>}>
          <Content sessionId={sessionId} />
        </Suspense>
      </div>
    </aside>
  );
}
