import type { TransientData } from 'duologue/react';
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react';

/** Where calls were decided: on this page, or on another that shows the same conversation. */
export interface Whereabouts {
  /** The calls that were decided on another page. */
  elsewhere: ReadonlySet<string>;
  /** The user decides on this page. */
  note: (toolCallId: string, isApproved: boolean) => void;
}

const Context = createContext<Whereabouts>({ elsewhere: new Set(), note: () => undefined });

/** Records the decisions that the server announces. A valid decision that the user did not make on this page was made elsewhere. */
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

/** Tells the cards below where calls were decided. */
export function WhereaboutsProvider({ value, children }: { value: Whereabouts; children: ReactNode }) {
  return <Context value={value}>{children}</Context>;
}

/** Whether a call was decided on another page, and a way to say that it is being decided here. */
export function useDecidedElsewhere(
  toolCallId: string,
): [isElsewhere: boolean, note: (isApproved: boolean) => void] {
  const { elsewhere, note } = useContext(Context);
  return [elsewhere.has(toolCallId), (isApproved) => note(toolCallId, isApproved)];
}
