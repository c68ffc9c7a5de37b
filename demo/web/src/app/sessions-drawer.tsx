import { type ComponentType, lazy, type ReactNode, Suspense, useState } from 'react';

/** What lies in a drawer, and whether it is open. */
export interface Drawer {
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  children: ReactNode;
}

/** Without a network there is no drawer; the conversation goes on. */
const Dialog = lazy<ComponentType<Drawer>>(() =>
  import('./sessions-dialog.tsx').catch(() => ({ default: () => null })),
);

/** The list of conversations where there is no room for it beside the conversation. */
export function SessionsDrawer(drawer: Drawer) {
  const [wasOpen, setWasOpen] = useState(false);
  if (drawer.isOpen && !wasOpen) setWasOpen(true);
  return wasOpen ? (
    <Suspense fallback={null}>
      <Dialog {...drawer} />
    </Suspense>
  ) : null;
}
