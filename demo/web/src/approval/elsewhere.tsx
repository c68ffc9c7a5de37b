import type { TransientData } from 'duologue/react';
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react';

/** Which calls were decided on another page that shows the same conversation. */
export interface Whereabouts {
  /** The ids of the calls that were decided on another page. */
  elsewhere: ReadonlySet<string>;
  /** Records a decision that the user makes on this page. */
  note: (toolCallId: string, isApproved: boolean) => void;
}

const Context = createContext<Whereabouts>({ elsewhere: new Set(), note: () => undefined });

/**
 * Compares the decisions that the server announces (`hear`) with those of this page (`note`). A decision that was not
 * made on this page was made on another.
 */
export function useWhereabouts(): Whereabouts & { hear: (data: TransientData) => void } {
  const [elsewhere, setElsewhere] = useState<ReadonlySet<string>>(new Set());
  const here = useRef(new Map<string, boolean>());
  const note = useCallback((toolCallId: string, isApproved: boolean) => {
    here.current.set(toolCallId, isApproved);
  }, []);
  const hear = useCallback((data: TransientData) => {
    if (data.type !== 'data-decided') return;
    const { toolCallId, approved } = data.data;
    if (here.current.get(toolCallId) !== approved) setElsewhere((all) => new Set([...all, toolCallId]));
  }, []);
  return useMemo(() => ({ elsewhere, note, hear }), [elsewhere, note, hear]);
}

/** Provides the calls that were decided on another page to the cards in `children`. */
export function WhereaboutsProvider({ value, children }: { value: Whereabouts; children: ReactNode }) {
  return <Context value={value}>{children}</Context>;
}

/** Whether a call was decided on another page, and a function that records a decision on this page. */
export function useDecidedElsewhere(
  toolCallId: string,
): [isElsewhere: boolean, note: (isApproved: boolean) => void] {
  const { elsewhere, note } = useContext(Context);
  return [elsewhere.has(toolCallId), (isApproved) => note(toolCallId, isApproved)];
}
