import type { Event } from '@google/adk';
import type { Blob } from '@google/genai';
import type { CallFacts, DeferredCall, Outcome, RunView, ToolRequest } from '../../../adk/for-server.ts';
import type { Answer, Chunk, Detection, Heard, Message, PageMetadata } from '../../../protocol/index.ts';
import type { Identity, SignInStatus } from '../../access/sign-in.ts';
import type { AdmittedPart } from '../../files.ts';
import type { Verdict } from '../../ledger/approvals.ts';
import type { CallRecord } from '../../store/store.ts';
import type { CallState } from './call-states.ts';
import type { Purpose, RequestRef, SignInQuestion, Ticket, Wire } from './effects.ts';
import type { Failure } from './errors.ts';

/** What an assistant message answers. */
export interface Cause {
  /** The metadata of the user message; null when it must be looked up in the store. */
  metadata: PageMetadata | null;
  /** What the newest request of the turn lets tools see; null when there is none. */
  request: ToolRequest | null;
}

/** What the state knows of the circumstances of a call, and what is only in the store, because it happened in an earlier process. */
export interface Circumstances {
  facts: CallFacts;
  /** The message that shows the call, when the metadata of the user message before it is to be looked up. */
  metadataBefore?: string | null;
  /** The call, when its approver is to be looked up. */
  approverOf?: CallRecord;
}

/** A checked user message that waits for the agent. */
export interface MessageRequest {
  kind: 'message';
  wire: Wire;
  request: RequestRef;
  id: string | undefined;
  parts: AdmittedPart[];
  /** Metadata of the page, stored with the message. */
  metadata?: PageMetadata | undefined;
  /** The id of the message that will answer, when the client already knows it. */
  answerId?: string | undefined;
  /** Whether the message is stored in the queue. */
  isStored?: true;
  /** The message of the agent that this request continues, once it is found. Such a request adds no user message. */
  continues?: { messageId: string; message: Message | null };
  /** Whether the request is an instruction of the application: only the agent's history gets it, and clients see no user message. */
  isInstruction?: true;
}

/** Answers that were sent with POST, and that wait for the agent as a message does. */
export interface AnswersRequest {
  kind: 'answers';
  wire: 'sse';
  request: RequestRef;
  answers: Answer[];
  by: Identity;
  messageId: string | undefined;
}

/** A text that the application lets the agent say. It waits for the agent as a message does, and starts no run. */
export interface SpokenRequest {
  kind: 'spoken';
  wire: 'sse';
  request: RequestRef;
  text: string;
  /** The id of the message. */
  answerId: string;
}

/** A request that starts a turn, or continues one. */
export type TurnRequest = MessageRequest | AnswersRequest | SpokenRequest;

/** The state that a conversation starts with, from the store. */
export interface Recovered {
  calls: {
    record: CallRecord;
    state: Exclude<CallState, 'ending'>;
    isAnnounced: boolean;
    isConfirming: boolean;
    /** How long the approval request of the call waits, when its tool defines it and the request is still to be shown. */
    approvalTimeoutMs?: number | null | undefined;
    /** The text of the approval request of the call, when its tool defines one and the request is still to be shown. */
    approvalMessage?: string | undefined;
  }[];
  /** The messages that these calls belong to. */
  messages: Message[];
  /** The id of the newest message, if the agent wrote it. */
  newest: string | null;
  /** The user messages, in order. */
  userMessages: { id: string; fingerprint: string }[];
  /** The id of the last user message, if nothing answers it. */
  unanswered: string | null;
  /** Accepted messages without an answer, in order. */
  queue: MessageRequest[];
}

/** A call that was decided before it timed out, and the user who decided. */
export interface DecidedBefore {
  call: CallRecord;
  by: string;
}

/** The results of a batch of writes. */
export interface WriteResults {
  /** For `decide`: the verdict of the store on each decision. */
  verdicts?: Verdict[];
  /** For `find-unfinished`: a message that was not continued after its calls were answered. */
  unfinished?: Message | null;
  /** For `decide`: whether the request was stored with the decisions. */
  isAccepted?: boolean;
  /** For `cut`: how much of the text is left; null when nothing had to be cut. */
  length?: number | null;
  /** For `expire`: the call as it is stored, when it was decided before. */
  decided?: DecidedBefore | null;
  /** For `take`: whether this process may start the call; false when another process has started or ended it. */
  isTaken?: boolean;
  /** For `find-cut`: the message, when it is the last one and was cut. */
  cut?: Message | null;
  /** For `close-dangling`: the chunks that the message does not show yet. */
  missed?: Chunk[];
}

/** Every input of the state of a conversation. */
export type Input =
  /** `replaces`: the message may rewind the conversation to an earlier message with the same id. */
  | { type: 'message'; message: MessageRequest; replaces: boolean }
  | { type: 'continue'; message: MessageRequest }
  /** The application gives the agent an instruction, or lets it say a text. */
  | { type: 'instruct'; message: MessageRequest }
  | { type: 'speak'; spoken: SpokenRequest }
  | { type: 'post-answers'; posted: AnswersRequest }
  | { type: 'answer'; answers: Answer[]; by: Identity; request: RequestRef }
  | { type: 'signed-in'; question: SignInQuestion; status: SignInStatus }
  | { type: 'interrupt'; request: RequestRef; heard: Heard }
  /** `from`: the connection that sends the media. */
  | { type: 'media'; blob: Blob; from: string }
  | { type: 'microphone'; action: 'start' | 'stop'; detection: Detection; from: string }
  | { type: 'joined' }
  /** The last client left. */
  | { type: 'left' }
  | { type: 'run-opened'; n: number }
  | { type: 'event'; n: number; event: Event; view: RunView }
  | { type: 'deferred'; n: number; call: DeferredCall; ticket: Ticket }
  | { type: 'run-ended'; n: number; error: Failure | null }
  | { type: 'lock-acquired'; callId: string }
  /** A tool that runs reports a preliminary output. */
  | { type: 'tool-progress'; callId: string; output: unknown }
  /** A tool that runs sends chunks for the message that shows its call. */
  | { type: 'tool-chunks'; callId: string; chunks: Chunk[] }
  | { type: 'tool-ended'; callId: string; outcome: Outcome }
  | { type: 'stored'; purpose: Purpose; results: WriteResults }
  | { type: 'store-failed'; purpose: Purpose | null; error: unknown }
  | { type: 'time' }
  | { type: 'shut-down' };
