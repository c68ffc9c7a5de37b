import type { ReactNode } from 'react';

/** What lies in a drawer, and whether it is open. */
export interface Drawer {
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  children: ReactNode;
}
