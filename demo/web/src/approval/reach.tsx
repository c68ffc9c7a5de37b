import type { ConnectionState } from 'duologue/client';
import type { Mode } from 'duologue/react';
import { createContext, type ReactNode, useContext } from 'react';

/**
 * Whether decisions reach the server, and what it decides reaches the page: both at once (`live`), only with a request
 * (`idle`), when the connection is back (`away`), perhaps (`unsure`), or not before the user acts (`elsewhere`, `closed`).
 */
export type Reach = 'live' | 'idle' | 'away' | 'unsure' | 'elsewhere' | 'closed';

/** How far decisions reach in a conversation. */
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

/** Tells the cards below how far decisions reach. */
export function ReachProvider({ reach, children }: { reach: Reach; children: ReactNode }) {
  return <Context value={reach}>{children}</Context>;
}

/** How far decisions reach now. */
export function useReach(): Reach {
  return useContext(Context);
}
