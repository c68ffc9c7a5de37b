import { type ToolCallState, waitingFor } from '../../../protocol/index.ts';
import type { CallRecord, CallStatus } from '../../store/store.ts';

/**
 * The state of a call on the server. `issuing`: the call is being stored. `queued`: it asks the user, and its approval request or question is not
 * shown yet. `asked`: its approval request or question is shown. `approved`: the user approved it, and it waits for the tool lock or for the browser.
 * `denied`: the user denied it. `ready`: it needs no approval, or no further one, and waits for the tool lock. `running`: its tool runs on the
 * server, or the after-tool callbacks process an output of the browser. `client`: the browser runs it. `parked`: its tool was started on the server
 * and its output comes from outside, or its tool is an agent that waits for calls inside it. `ending`: its outcome is known, and waits for a run that
 * can pass it to the model. `settled`: it has ended; the effects that store and report its outcome were emitted.
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

/**
 * The events that change the state of a call. `take`: its tool starts on the server, or the callbacks get an output. `hand-over`: the browser gets
 * the call. `end`: its outcome is known, but waits for a run. `settle`: its outcome is reported.
 */
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

/** Every transition of a call: the next state for each event. In a state that does not list an event, the event has no effect. See also `OpenCall.putBack`. */
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

/** For each state of a call on the server: the status of the call in the store, and its state as clients see it. */
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

/** The status of the stored call that belongs to a state. */
export function storedAs(state: CallState): CallStatus {
  return SEEN[state].storedAs;
}

/**
 * Which party must act next on a call: the user (`person`), the browser (`client`), the server, or none. A parked long-running tool is treated like a
 * browser tool, because its output comes from outside.
 */
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
