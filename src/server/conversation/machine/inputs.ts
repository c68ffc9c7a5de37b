import type { Event } from '@google/adk';
import type { Blob } from '@google/genai';
import type { DeferredCall, Outcome, RunView } from '../../../adk/for-server.ts';
import type { Answer, Chunk, Detection, Heard, Message, PageMetadata } from '../../../protocol/index.ts';
import type { Identity, Standing } from '../../access/sign-in.ts';
import type { AdmittedPart } from '../../files.ts';
import type { Verdict } from '../../ledger/approvals.ts';
import type { CallRecord } from '../../store/store.ts';
import type { Failure } from './agent-failure.ts';
import type { Standing as CallStanding } from './call-flow.ts';
import type { About, Asker, SignInQuestion, Ticket } from './effects.ts';
import type { Wire } from './wire.ts';

/** A message of the person, checked, that waits for the agent. */
export interface Said {
  kind: 'message';
  wire: Wire;
  asker: Asker;
  id: string | undefined;
  parts: AdmittedPart[];
  /** What the page keeps with it. */
  metadata?: PageMetadata | undefined;
  /** The message that will answer it, when that was said already. */
  answerId?: string | undefined;
  /** Whether it is stored already, among what waits. */
  isStored?: true;
  /** The message of the agent that this continues, once it is found: nothing is shown of the person then. */
  continues?: { messageId: string; message: Message | null };
}

/** Answers that came as a request of their own, and wait for the agent as a message does. */
export interface Posted {
  kind: 'answers';
  wire: 'sse';
  asker: Asker;
  answers: Answer[];
  by: Identity;
  messageId: string | undefined;
}

/** What a conversation begins with: what the store has of it. */
export interface Recovered {
  calls: {
    record: CallRecord;
    standing: Exclude<CallStanding, 'ending'>;
    isAnnounced: boolean;
    isConfirming: boolean;
  }[];
  /** The messages that these calls belong to. */
  messages: Message[];
  /** The messages of the person, in order. */
  said: { id: string; fingerprint: string }[];
  /** The person's last message, when nothing answers it. */
  unanswered: string | null;
  /** What was accepted and is not answered, in order. */
  waiting: Said[];
}

/** A call that was decided before its time was up, and who did. */
export interface DecidedBefore {
  call: CallRecord;
  by: string;
}

/** What a batch of writes returned, in the order of the writes. */
export interface WriteResults {
  /** For `decide`: what became of each decision. */
  verdicts?: Verdict[];
  /** For `decide` over SSE: a message that nothing went on with after its calls were answered. */
  unfinished?: Message | null;
  /** For `decide`: whether the request was written down with the decisions. */
  isAccepted?: boolean;
  /** For `cut`: how much of the text is left; null when nothing had to be cut. */
  length?: number | null;
  /** For `expire`: how the call stands, when someone decided it before. */
  decided?: DecidedBefore | null;
  /** For `take`: whether the call was still there to be taken. */
  isTaken?: boolean;
  /** For `find-cut`: the message, when it is the last one and was cut. */
  cut?: Message | null;
  /** For `close-dangling`: what the message does not show yet. */
  missed?: Chunk[];
}

/** Everything that can happen to a conversation. */
export type Input =
  | { type: 'say'; said: Said; again: boolean }
  | { type: 'continue'; said: Said }
  | { type: 'post-answers'; posted: Posted }
  | { type: 'answer'; answers: Answer[]; by: Identity; asker: Asker }
  | { type: 'signed-in'; question: SignInQuestion; standing: Standing }
  | { type: 'interrupt'; asker: Asker; heard: Heard }
  /** `from`: the connection that it comes over. */
  | { type: 'media'; blob: Blob; from: string }
  | { type: 'microphone'; action: 'start' | 'stop'; detection: Detection; from: string }
  | { type: 'joined' }
  | { type: 'left' }
  | { type: 'abandoned' }
  | { type: 'opened'; n: number }
  | { type: 'event'; n: number; event: Event; view: RunView }
  | { type: 'deferred'; n: number; call: DeferredCall; ticket: Ticket }
  | { type: 'ended'; n: number; error: Failure | null }
  | { type: 'slot'; callId: string }
  | { type: 'tool-ended'; callId: string; outcome: Outcome }
  | { type: 'stored'; about: About; results: WriteResults }
  | { type: 'store-failed'; about: About | null; error: unknown }
  | { type: 'time' }
  | { type: 'shut-down' };
