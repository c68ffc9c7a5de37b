import { ScanSearch } from 'lucide-react';
import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';

/** The message or the call that rows of the inspector are about. */
export type Target = { messageId: string } | { toolCallId: string };

/** The state that the conversation and the inspector share. */
interface Inspection {
  /** Whether the inspector is open. */
  isOpen: boolean;
  /** The message or call whose rows the inspector shows; null for all rows. */
  target: Target | null;
  inspect: (target: Target | null) => void;
}

const Context = createContext<Inspection>({ isOpen: false, target: null, inspect: () => undefined });

/** Provides the state that the conversation and the inspector share. */
export function InspectionProvider({ isOpen, children }: { isOpen: boolean; children: ReactNode }) {
  const [target, inspect] = useState<Target | null>(null);
  const inspection = useMemo(() => ({ isOpen, target: isOpen ? target : null, inspect }), [isOpen, target]);
  return <Context value={inspection}>{children}</Context>;
}

/** The state that the conversation and the inspector share. */
export function useInspection(): Inspection {
  return useContext(Context);
}

/** A button that shows the rows of a message or call in the inspector; nothing while the inspector is closed. */
export function InspectButton({ target, className = '' }: { target: Target; className?: string }) {
  const { settings } = useMessages();
  const { isOpen, inspect } = useInspection();
  if (!isOpen) return null;
  return (
    <button
      type="button"
      onClick={() => inspect('toolCallId' in target ? { toolCallId: target.toolCallId } : target)}
      className={`inline-flex h-8 shrink-0 items-center gap-1.5 rounded-lg px-2 text-xs text-soft hover:bg-sunken hover:text-ink print:hidden ${className}`}
    >
      <ScanSearch className="size-3.5" aria-hidden="true" />
      {settings.showRows}
    </button>
  );
}
