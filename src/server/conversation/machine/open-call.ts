import type { Identity } from '../../access/sign-in.ts';
import type { Settlement } from '../../ledger/approvals.ts';
import type { CallRecord } from '../../store/store.ts';
import type { Accepting } from './acceptances.ts';
import type { Standing } from './call-flow.ts';

/** Where an open call stands, with what is known only there. */
type CallState =
  | {
      is: 'issuing';
      /** It is wanted no more, and ends as soon as it is written down. */
      isUnwanted: boolean;
    }
  | {
      is: 'approved' | 'ready';
      /** Whether it stands in line for the slot of the server tools. */
      isInLine: boolean;
    }
  | {
      is: 'ending';
      /** How it ends, which cannot be told yet. */
      settlement: Settlement;
      accepts: Accepting | undefined;
    }
  | {
      is: 'running';
      /** The request with the output from outside, while the after-tool callbacks see it. */
      accepts: Accepting | undefined;
    }
  | { is: Exclude<Standing, 'issuing' | 'approved' | 'ready' | 'running' | 'ending'> };

/** A call that is not settled yet. */
export interface OpenCall {
  record: CallRecord;
  state: CallState;
  /** Whether the person was told that there is such a call. */
  isAnnounced: boolean;
  /** In the confirmation dialect: the confirmation was shown and is not closed. */
  isConfirming: boolean;
  /** Its time is up, and the store is asked whether someone decided it before. */
  isExpiring: boolean;
  /** Its tool has ended, and the slot is given back when its end is written down. */
  givesSlotBack: boolean;
  /** Who approved it, in this process, and over which connection. */
  by: Identity | null;
  approvedOver: string | null;
}

/** What an answer lets happen next. */
export type Step =
  | { call: OpenCall; next: 'run' }
  | { call: OpenCall; next: 'hand-over' }
  /** `accepts`: the request that is taken with its end. */
  | { call: OpenCall; next: 'end'; settlement: Settlement; accepts?: Accepting };

/** A call that comes to stand there, with nothing known beyond that. */
export function stateOf(standing: Exclude<Standing, 'ending'>): CallState {
  switch (standing) {
    case 'issuing':
      return { is: standing, isUnwanted: false };
    case 'approved':
    case 'ready':
      return { is: standing, isInLine: false };
    case 'running':
      return { is: standing, accepts: undefined };
    default:
      return { is: standing };
  }
}

/** Whether the server has work to do for a call, now or when its turn comes. */
export function isAtWork({ state, isExpiring }: OpenCall): boolean {
  return (
    isExpiring ||
    state.is === 'issuing' ||
    state.is === 'running' ||
    state.is === 'ending' ||
    ('isInLine' in state && state.isInLine)
  );
}
