import { type ComponentType, lazy, Suspense, useState } from 'react';
import type { Drawer } from './drawer.ts';

/** When the drawer cannot be loaded, the page works without it. */
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
