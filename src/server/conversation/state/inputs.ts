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

/** The user message and the request that an assistant message answers. */
export interface Cause {
  /** The metadata of the user message; null when it must be looked up in the store. */
  metadata: PageMetadata | null;
  /**
   * The headers and body fields that tools may read, from the newest request of the turn; null when it has none, and once a response of the message has
   * ended.
   */
  request: ToolRequest | null;
}

/**
 * The facts that a tool gets about its call. Facts from an earlier process are only in the store: `metadataBefore` and `approverOf` say what
 * `completeFacts` must look up there.
 */
export interface Circumstances {
  facts: CallFacts;
  /**
   * The id of the assistant message that shows the call; null when no message shows it. Set only when the metadata must be looked up: then it is that of the
   * last user message before this assistant message.
   */
  metadataBefore?: string | null;
  /** The call, if its approver must be looked up. */
  approverOf?: CallRecord;
}

/** A validated request for a turn of the agent: a user message, an instruction of the application, or the request to continue a message. */
export interface MessageRequest {
  kind: 'message';
  wire: Wire;
  request: RequestRef;
  id: string | undefined;
  parts: AdmittedPart[];
  /** Metadata of the page, stored with the message. */
  metadata?: PageMetadata | undefined;
  /** The id of the assistant message that will answer, if that id is already chosen. */
  answerId?: string | undefined;
  /** Whether the user message is already stored, in the message queue of the session or among its messages. */
  isStored?: true;
  /** The assistant message that this request continues; `message` is null until it is read from the store. Such a request adds no user message. */
  continues?: { messageId: string; message: Message | null };
  /** Whether the request is an instruction of the application: only the agent's history gets it, and clients see no user message. */
  isInstruction?: true;
}

/**
 * Answers that a client sent with POST, or of the application while no client has a socket. Like a user message, the request waits in the message
 * queue while the agent works.
 */
export interface AnswersRequest {
  kind: 'answers';
  wire: 'sse';
  request: RequestRef;
  answers: Answer[];
  by: Identity;
  messageId: string | undefined;
}

/**
 * A text of the application that clients see as a message of the agent. Like a user message, the request waits in the message queue while the agent
 * works. It starts no run.
 */
export interface SpokenRequest {
  kind: 'spoken';
  wire: 'sse';
  request: RequestRef;
  text: string;
  /** The id of the assistant message that shows the text. */
  answerId: string;
}

/** A request that waits in the message queue until the agent is free. */
export type TurnRequest = MessageRequest | AnswersRequest | SpokenRequest;

/** The data from the store with which the state of a conversation starts. */
export interface Recovered {
  calls: {
    record: CallRecord;
    state: Exclude<CallState, 'ending'>;
    isAnnounced: boolean;
    isConfirming: boolean;
    /** The time limit of the approval request, if the tool of the call defines one and the request is not shown yet; null means no limit. */
    approvalTimeoutMs?: number | null | undefined;
    /** The text of the approval request, if the tool of the call defines one and the request is not shown yet. */
    approvalMessage?: string | undefined;
  }[];
  /** The assistant messages that show these calls. */
  messages: Message[];
  /** The id of the newest stored message, if it is an assistant message. */
  newest: string | null;
  /** The user messages among the newest stored messages, oldest first. */
  userMessages: { id: string; fingerprint: string }[];
  /** The id of the newest message, if it is a user message that the agent has not answered. */
  unanswered: string | null;
  /** The accepted user messages that the agent has not answered, in the order in which it will answer them. */
  queue: MessageRequest[];
}

/** A call that another request or another process has decided, as the store has it, and the name of the user with which watchers get the decision. */
export interface DecidedBefore {
  call: CallRecord;
  by: string;
}

/** The results of a batch of writes. */
export interface WriteResults {
  /** For `decide`: the verdict of the ledger on each decision. */
  verdicts?: Verdict[];
  /** For `find-unfinished`: the newest message, if all of its calls are answered but the model has not continued it. */
  unfinished?: Message | null;
  /** For `decide`: whether the acceptance of the request was stored together with the decisions. */
  isAccepted?: boolean;
  /** For `cut`: the number of characters that the text has left; null when the message has no text. */
  length?: number | null;
  /** For `expire`: the stored call, when it no longer waited for the user; null when it expired now. */
  decided?: DecidedBefore | null;
  /** For `take`: whether this process may start the call; false when another process has started or ended it. */
  isTaken?: boolean;
  /** For `find-cut`: the message, if it is the last one and was cut off; otherwise null. */
  cut?: Message | null;
  /** For `close-dangling`: the chunks with outcomes that the history has and the message does not show yet. */
  missed?: Chunk[];
}

/** Every input of the state of a conversation. */
export type Input =
  /** `replaces`: a message with the id and content of an earlier one rewinds the conversation to it, instead of being ignored as a repetition. */
  | { type: 'message'; message: MessageRequest; replaces: boolean }
  | { type: 'continue'; message: MessageRequest }
  /** The application gives the agent an instruction. */
  | { type: 'instruct'; message: MessageRequest }
  /** The application shows a text as a message of the agent. */
  | { type: 'speak'; spoken: SpokenRequest }
  | { type: 'post-answers'; posted: AnswersRequest }
  | { type: 'answer'; answers: Answer[]; by: Identity; request: RequestRef }
  /** The application answered the question of a `check-sign-in` effect. */
  | { type: 'signed-in'; question: SignInQuestion; status: SignInStatus }
  | { type: 'interrupt'; request: RequestRef; heard: Heard }
  /** `from`: the connection that sends the media. */
  | { type: 'media'; blob: Blob; from: string }
  | { type: 'microphone'; action: 'start' | 'stop'; detection: Detection; from: string }
  /** A listener joined. */
  | { type: 'joined' }
  /** The last listener left. */
  | { type: 'left' }
  /** ADK has read the session for the live run with the number `n`, so the run takes input now. */
  | { type: 'run-opened'; n: number }
  | { type: 'event'; n: number; event: Event; view: RunView }
  /** ADK deferred a call: it waits with the call until a `release-call` effect carries `ticket`. */
  | { type: 'deferred'; n: number; call: DeferredCall; ticket: Ticket }
  | { type: 'run-ended'; n: number; error: Failure | null }
  /** The call got the tool lock, which an `acquire-lock` effect requested. */
  | { type: 'lock-acquired'; callId: string }
  /** A running tool reports a preliminary output. */
  | { type: 'tool-progress'; callId: string; output: unknown }
  /** A running tool sends data parts or metadata for the message that shows its call. */
  | { type: 'tool-chunks'; callId: string; chunks: Chunk[] }
  | { type: 'tool-ended'; callId: string; outcome: Outcome }
  /** The writes of an effect succeeded. `purpose` is the purpose of the effect. */
  | { type: 'stored'; purpose: Purpose; results: WriteResults }
  | { type: 'store-failed'; purpose: Purpose | null; error: unknown }
  /** The timer that the last `wake` effect set has fired. */
  | { type: 'time' }
  | { type: 'shut-down' };
