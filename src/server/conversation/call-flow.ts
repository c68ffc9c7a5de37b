import type { CallStatus } from '../store/store.ts';

/**
 * Where a call stands. `issuing`: it is being written down, and nobody has heard of it. `hidden`: it asks, and the person has not seen it yet. `ready`: it may run, and waits for the slot of
 * the session's server tools. `client`: the browser has it. `parked`: a long-running tool of the server was started, and its
 * output comes from outside. `ending`: how it ends is known and not yet told to the model.
 */
export type Standing =
  | 'issuing'
  | 'hidden'
  | 'asked'
  | 'approved'
  | 'denied'
  | 'ready'
  | 'running'
  | 'client'
  | 'parked'
  | 'ending'
  | 'settled';

/** What can happen to a call. */
export type CallEvent =
  | 'ask'
  | 'allow'
  | 'show'
  | 'approve'
  | 'deny'
  | 'take'
  | 'hand-over'
  | 'park'
  | 'end'
  | 'settle';

/** The whole life of a call on the server. What is not in the table does not happen. */
export const CALL_FLOW: Readonly<Record<Standing, Partial<Record<CallEvent, Standing>>>> = {
  issuing: { ask: 'hidden', allow: 'ready', 'hand-over': 'client', settle: 'settled' },
  hidden: { show: 'asked', end: 'ending', settle: 'settled' },
  asked: { approve: 'approved', deny: 'denied', end: 'ending', settle: 'settled' },
  approved: { take: 'running', 'hand-over': 'client', end: 'ending', settle: 'settled' },
  denied: { end: 'ending', settle: 'settled' },
  ready: { take: 'running', end: 'ending', settle: 'settled' },
  running: { park: 'parked', end: 'ending', settle: 'settled' },
  client: { end: 'ending', settle: 'settled' },
  parked: { end: 'ending', settle: 'settled' },
  ending: { settle: 'settled' },
  settled: {},
};

/** What the store has of each standing. */
export const STORED_AS: Readonly<Record<Standing, CallStatus>> = {
  issuing: 'requested',
  hidden: 'requested',
  asked: 'requested',
  approved: 'approved',
  denied: 'denied',
  ready: 'ready',
  running: 'running',
  client: 'running',
  parked: 'parked',
  ending: 'running',
  settled: 'settled',
};
