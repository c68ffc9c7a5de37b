import type { ConnectionState } from 'duologue/client';
import type { Mode } from 'duologue/react';
import { createContext, type ReactNode, useContext } from 'react';

/**
 * How decisions and their outcomes travel between the page and the server. `live`: at once, in both directions.
 * `idle`: a request carries the decision, and its response the outcome. `away`: after the reconnect. `unsure`: the
 * last request failed, so the server may not have the decision. `elsewhere` and `closed`: not before the user takes
 * the conversation back or reconnects.
 */
export type Reach = 'live' | 'idle' | 'away' | 'unsure' | 'elsewhere' | 'closed';

/** The reach of a conversation, from its mode, the status of its connection and its last error. */
export function reachOf(mode: Mode, status: ConnectionState['status'], error: Error | undefined): Reach {
  switch (status) {
    case 'idle':
      if (mode === 'bidi') return 'live';
      return error instanceof TypeError ? 'unsure' : 'idle';
    case 'live':
      return 'live';
    case 'connecting':
    case 'reconnecting':
    case 'offline':
      return 'away';
    case 'taken-over':
      return 'elsewhere';
    case 'closed':
      return 'closed';
  }
}

const Context = createContext<Reach>('live');

/** Provides the reach to the cards in `children`. */
export function ReachProvider({ reach, children }: { reach: Reach; children: ReactNode }) {
  return <Context value={reach}>{children}</Context>;
}

/** The reach of the conversation that this component is in. */
export function useReach(): Reach {
  return useContext(Context);
}
