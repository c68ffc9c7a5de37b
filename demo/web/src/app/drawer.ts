import type { ReactNode } from 'react';

/** The content of a drawer, and whether the drawer is open. */
export interface Drawer {
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  children: ReactNode;
}
