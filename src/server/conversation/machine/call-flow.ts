import { type ToolCallState, waitingFor } from '../../../protocol/index.ts';
import type { CallRecord, CallStatus } from '../../store/store.ts';

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
  client: { take: 'running', end: 'ending', settle: 'settled' },
  parked: { take: 'running', end: 'ending', settle: 'settled' },
  ending: { settle: 'settled' },
  settled: {},
};

/** What each standing is for everyone else: what the store has of it, and what a client sees. */
const SEEN: Readonly<Record<Standing, { storedAs: CallStatus; state: ToolCallState; approved?: boolean }>> = {
  issuing: { storedAs: 'requested', state: 'input-streaming' },
  hidden: { storedAs: 'requested', state: 'input-streaming' },
  asked: { storedAs: 'requested', state: 'approval-requested' },
  approved: { storedAs: 'approved', state: 'approval-responded', approved: true },
  denied: { storedAs: 'denied', state: 'approval-responded', approved: false },
  ready: { storedAs: 'ready', state: 'input-available' },
  running: { storedAs: 'running', state: 'input-available' },
  client: { storedAs: 'running', state: 'input-available' },
  parked: { storedAs: 'parked', state: 'input-available' },
  ending: { storedAs: 'running', state: 'input-streaming' },
  settled: { storedAs: 'settled', state: 'output-available' },
};

/** What the store has of a call that stands so. */
export function storedAs(standing: Standing): CallStatus {
  return SEEN[standing].storedAs;
}

/** Whom a call waits for. The output of a long-running tool comes from outside, though it was started on the server. */
export function waitsFor(standing: Standing, { runsOn }: CallRecord): ReturnType<typeof waitingFor> {
  const place = standing === 'parked' ? 'client' : standing === 'running' ? 'server' : runsOn;
  return waitingFor({ runsOn: place, asks: false, ...SEEN[standing] });
}

/** What the agent's call becomes when it is written down: a question, a tool that the server runs, or one of the browser. */
export function issuedAs({ approvalId, runsOn }: Pick<CallRecord, 'approvalId' | 'runsOn'>) {
  if (approvalId !== null) return 'ask';
  return runsOn === 'server' ? 'allow' : 'hand-over';
}
