import { type ToolCallState, waitingFor } from '../../../protocol/index.ts';
import type { CallRecord, CallStatus } from '../../store/store.ts';

/**
 * The state of a call on the server. `issuing`: it is being stored, and clients do not know of it. `queued`: it needs approval, and its approval
 * request is not shown yet. `asked`: its approval request is shown. `approved`: it waits for the tool lock, or for the browser. `denied`: the user
 * denied it. `ready`: it needs no approval, and waits for the tool lock. `running`: its tool runs on the server, or the after-tool callbacks get an
 * output of the browser. `client`: the browser runs it. `parked`: a long-running tool was started on the server, and its output comes from outside; or its
 * tool is an agent, and waits for calls inside it.
 * `ending`: its outcome is known, and waits for a run that can tell the model. `settled`: it has an outcome.
 */
export type CallState =
  | 'issuing'
  | 'queued'
  | 'asked'
  | 'approved'
  | 'denied'
  | 'ready'
  | 'running'
  | 'client'
  | 'parked'
  | 'ending'
  | 'settled';

/** The events in the life of a call. */
export type CallEvent =
  | 'ask'
  | 'allow'
  | 'show'
  | 'approve'
  | 'deny'
  | 'answer'
  | 'take'
  | 'hand-over'
  | 'park'
  | 'resume'
  | 'end'
  | 'settle';

/** Every transition of a call. A transition that is not in the table does not happen. */
export const CALL_TRANSITIONS: Readonly<Record<CallState, Partial<Record<CallEvent, CallState>>>> = {
  issuing: { ask: 'queued', allow: 'ready', 'hand-over': 'client', settle: 'settled' },
  queued: { show: 'asked', end: 'ending', settle: 'settled' },
  asked: { approve: 'approved', deny: 'denied', answer: 'running', end: 'ending', settle: 'settled' },
  approved: { take: 'running', 'hand-over': 'client', end: 'ending', settle: 'settled' },
  denied: { end: 'ending', settle: 'settled' },
  ready: { take: 'running', end: 'ending', settle: 'settled' },
  running: { ask: 'queued', park: 'parked', end: 'ending', settle: 'settled' },
  client: { take: 'running', end: 'ending', settle: 'settled' },
  parked: { take: 'running', resume: 'ready', end: 'ending', settle: 'settled' },
  ending: { settle: 'settled' },
  settled: {},
};

/** The status in the store and the state for clients that belong to each state. */
const SEEN: Readonly<Record<CallState, { storedAs: CallStatus; state: ToolCallState; approved?: boolean }>> =
  {
    issuing: { storedAs: 'requested', state: 'input-streaming' },
    queued: { storedAs: 'requested', state: 'input-streaming' },
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

/** The status that the store has for a state. */
export function storedAs(state: CallState): CallStatus {
  return SEEN[state].storedAs;
}

/** Which party must act on a call. The output of a long-running tool comes from outside, although the tool was started on the server. */
export function waitsFor(state: CallState, { runsOn, agents }: CallRecord): ReturnType<typeof waitingFor> {
  const place = state === 'parked' && !agents?.isAgent ? 'client' : state === 'running' ? 'server' : runsOn;
  return waitingFor({ runsOn: place, asks: false, ...SEEN[state] });
}

/** The first event of a call once it is stored: it asks the user (`ask`), runs on the server (`allow`), or goes to the browser (`hand-over`). */
export function firstEvent({
  question,
  runsOn,
}: Pick<CallRecord, 'question' | 'runsOn'>): 'ask' | 'allow' | 'hand-over' {
  if (question !== null) return 'ask';
  return runsOn === 'server' ? 'allow' : 'hand-over';
}
