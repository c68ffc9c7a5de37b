import { type ComponentType, lazy, Suspense, useState } from 'react';
import type { Drawer } from './drawer.ts';

/** If the drawer cannot be loaded, nothing is shown in its place. */
const Dialog = lazy<ComponentType<Drawer>>(() =>
  import('./sessions-dialog.tsx').catch(() => ({ default: () => null })),
);

/** The list of conversations on a narrow page. */
export function SessionsDrawer(drawer: Drawer) {
  const [wasOpen, setWasOpen] = useState(false);
  if (drawer.isOpen && !wasOpen) setWasOpen(true);
  return wasOpen ? (
    <Suspense fallback={null}>
      <Dialog {...drawer} />
    </Suspense>
  ) : null;
}
