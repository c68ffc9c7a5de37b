import type { Blob, Content } from '@google/genai';
import type { DeferredCall, ToolRequest } from '../../../adk/for-server.ts';
import type {
  Answer,
  Chunk,
  Detection,
  Message,
  PageMetadata,
  ProtocolError,
} from '../../../protocol/index.ts';
import type { Identity } from '../../access/sign-in.ts';
import type { AdmittedPart } from '../../files.ts';
import type { CallOutcome } from '../../ledger/approvals.ts';
import type { AcceptedRequest, CallRecord, DecidedBy } from '../../store/store.ts';

/** How a client reaches the agent: one HTTP request for each turn, or one socket for everything. */
export type Wire = 'sse' | 'bidi';

/** Names one request of a client. The state only passes it on; the effect runner knows the client that `id` belongs to. */
export interface RequestRef {
  /** Unique within the conversation in this process. Negative for a request that was made in an earlier process. */
  readonly id: number;
  /** The `requestId` that the client gave, if it gave one. */
  readonly name: string | undefined;
  /** The connection that the request came over; null for an HTTP request. */
  readonly connection: string | null;
  /** What the request lets tools see. It is only in memory: no write may have it. */
  readonly forTools?: ToolRequest | undefined;
}

/** The number of a deferred call. ADK waits with the call until a `release-call` effect carries this number. */
export type Ticket = number;

/** How a run is opened. A live run gets further input while it is open; a turn is one answer, and ends by itself. */
export type RunRequest =
  | { driver: 'live'; detection: Detection }
  | { driver: 'turn'; content: Content; customMetadata: Record<string, unknown>; optimistic: boolean };

/** One operation on the store. */
export type Write =
  /** Stores a user message, in its place among the messages. */
  | {
      do: 'store-message';
      id: string;
      parts: AdmittedPart[];
      metadata?: PageMetadata | undefined;
      accepted?: AcceptedRequest | undefined;
    }
  /** Stores a user message that waits in the queue. */
  | {
      do: 'store-queued';
      id: string;
      parts: AdmittedPart[];
      metadata?: PageMetadata | undefined;
      answerId: string | undefined;
      accepted: AcceptedRequest | undefined;
    }
  /** Removes a user message that was stored last, because its turn could not start. */
  | { do: 'remove-message'; messageId: string }
  | { do: 'rewind'; messageId: string; restart?: Restart }
  /** Adds a user message to the agent's history. */
  | { do: 'append-message'; messageId: string; parts: AdmittedPart[] }
  /** Adds the outcome of a call to the agent's history, and settles the call. */
  | {
      do: 'append-outcome';
      call: CallRecord;
      outcome: CallOutcome;
      accepted?: AcceptedRequest | undefined;
    }
  /** Adds an "interrupted" response for a call that has no record in the store. */
  | { do: 'append-interrupted'; call: DeferredCall }
  | { do: 'issue'; call: CallRecord }
  | { do: 'show' | 'park' | 'resume'; call: CallRecord }
  /** `wasReady`: no approval is used, though the call may have one. */
  | { do: 'take'; call: CallRecord; wasReady: boolean }
  | { do: 'expire'; call: CallRecord; reason: string }
  /** The user answered a question, declined to answer it, or sent an answer that does not fit; or a tool asks for approval while it runs. */
  | { do: 'answer' | 'decline' | 'refuse' | 'ask'; call: CallRecord; reason: string | null }
  /** `asks`: the call whose question the message shows from now on. */
  | { do: 'save'; messageId: string; asks?: CallRecord | undefined }
  | {
      do: 'decide';
      decisions: Extract<Answer, { kind: 'decision' }>[];
      shown: ReadonlySet<string>;
      /** Whether the user who decides is still signed in; otherwise an approval ends its call. */
      isSignedIn: boolean;
      /** The application that decides, and the person it names; undefined when the user decides. */
      by?: DecidedBy | undefined;
      /** The request, if it contains only decisions: the store records its acceptance together with its last valid decision. */
      accepted: AcceptedRequest | undefined;
    }
  | { do: 'accept'; accepted: AcceptedRequest }
  | { do: 'cut'; messageId: string; share: number }
  | { do: 'withdraw'; call: CallRecord }
  | { do: 'find-unfinished'; messageId: string | undefined }
  /** Finds the last message of the agent, if it was cut, and brings its text into the history. */
  | { do: 'find-cut'; messageId: string }
  | { do: 'close-dangling'; errorText: string; messageId: string | null; waiting: ReadonlySet<string> }
  /** Adds text of the agent to the history. `isSpoken`: the application made it, so ADK cannot have stored it. */
  | { do: 'store-text'; messageId: string; text: string; isSpoken?: true };

/** Starts the turn of a stored message again, because nothing answered it. Calls that do not wait end with `errorText`. */
export interface Restart {
  errorText: string;
  waiting: ReadonlySet<string>;
}

/** The purpose of a batch of writes. It comes back with the result, so that the state knows where to continue. */
export type Purpose =
  | {
      for: 'message';
      request: RequestRef;
      /** The user message. */
      userMessageId: string;
      /** The message that answers it. */
      messageId: string | null;
      /** The run that is opened for it. */
      run: number | null;
      /** Whether the user message was stored before, and its request acknowledged. */
      isStored: boolean;
    }
  | { for: 'queued-message'; userMessageId: string }
  | { for: 'spoken'; request: RequestRef }
  | { for: 'continuation'; request: RequestRef }
  /** `n`: the run that made the call. */
  | { for: 'call'; callId: string; ticket: Ticket; n: number }
  | { for: 'approval-request'; callId: string; isAnnounced: boolean; beside: readonly string[] }
  | { for: 'decision'; given: GivenAnswers; isSignedIn: boolean; accepted: AcceptedRequest | undefined }
  | { for: 'cut'; messageId: string }
  /** `isAnnounced`, `isConfirming`: whether clients know of the call, and of its confirmation, before it starts. */
  | { for: 'execution'; callId: string; isAnnounced: boolean; isConfirming: boolean }
  /** An approval request times out. `isQuiet`: the HTTP request that is about to start will report it. */
  | { for: 'expiry'; callId: string; isQuiet: boolean }
  | { for: 'conclusion'; messageId: string };

/** Answers of one user, parsed and in order. */
export interface GivenAnswers {
  wire: Wire;
  request: RequestRef;
  by: Identity;
  answers: Answer[];
  messageId: string | undefined;
  /** Calls that had already timed out when the answers arrived. */
  late: LateCall[];
}

/** The reason why the state asks whether a user is still signed in. */
export type SignInQuestion = { why: 'decision'; given: GivenAnswers } | { why: 'execution'; callId: string };

/** A call that timed out before a client could see it: the chunks that report it, and the message that they belong to. */
export interface LateCall {
  messageId: string;
  chunks: Chunk[];
}

/** Writes, and the effects that follow them. */
export interface StoreEffect {
  type: 'store';
  writes: Write[];
  /** Performed when every write succeeded. */
  after: Effect[];
  /** Performed instead when a write failed. */
  failed?: Effect[];
  /** Performed instead when another owner changed the same state. */
  conflicted?: Effect[];
  purpose: Purpose | null;
}

/**
 * What the effect runner must do, in order. `store`, `say-stored`, `amend` and `finish` delay the effects after them until they are written. No other
 * effect delays later ones: `store-apart` writes while later effects are performed, and its result comes back as an input.
 */
export type Effect =
  /** `isTurn`: the agent makes the message, as opposed to the application. */
  | { type: 'start'; message: Message; isTurn: boolean }
  | { type: 'say'; messageId: string; chunk: Chunk }
  /** Text deltas of the message that is being streamed: the fast path of `ConversationState.apply`. */
  | { type: 'say-deltas'; messageId: string; chunks: readonly Chunk[] }
  /** `asks`: the call whose approval request the chunk is. */
  | { type: 'say-stored'; messageId: string; chunk: Chunk; inStep: boolean; asks: CallRecord }
  /** Sends a chunk that belongs to no message. */
  | { type: 'inject'; chunk: Chunk }
  /** Sends watchers the user message that was stored last. */
  | { type: 'publish-message'; messageId: string }
  | { type: 'amend'; messageId: string; chunks: Chunk[] }
  | { type: 'mark-decided'; messageId: string; callId: string; approved: boolean; reason: string | undefined }
  /** `isOver`: no call of the message waits. */
  | { type: 'finish'; message: Message; chunks: Chunk[]; isOver: boolean }
  | { type: 'release'; messageId: string }
  | { type: 'sound'; messageId: string; data: string; sampleRate: number }
  | { type: 'stop-playback' }
  | StoreEffect
  | { type: 'store-apart'; writes: Write[]; purpose: Purpose }
  | { type: 'open-run'; n: number; request: RunRequest }
  | { type: 'close-run'; n: number }
  | { type: 'send'; n: number; content: Content }
  | { type: 'send-media'; n: number; blob: Blob }
  | { type: 'signal-activity'; n: number; activity: 'start' | 'end' }
  /** Cancels the output of the model's turn. */
  | { type: 'mute'; n: number }
  /** Lets ADK continue with a call: the call is stored, or `error` says why not. */
  | { type: 'release-call'; ticket: Ticket; error: string | null }
  | { type: 'acquire-lock'; call: CallRecord }
  | { type: 'release-lock'; callId: string }
  | { type: 'run-tool'; call: CallRecord }
  /** Calls the application's after-tool callbacks with an output that came from a client. */
  | { type: 'run-callbacks'; call: CallRecord; output: unknown }
  | { type: 'check-sign-in'; by: Identity; question: SignInQuestion }
  | { type: 'abort-tools' }
  /** Marks the current end of the log as the beginning of the response to an HTTP request. */
  | { type: 'mark-response'; request: RequestRef }
  /** Reports a request as handled, so that the client that waits for it may continue. */
  | { type: 'take-request'; request: RequestRef }
  /** Acknowledges a stored request: its client gets `data-accepted`. */
  | { type: 'acknowledge'; request: RequestRef; accepted: AcceptedRequest }
  /** Reports that a part of a request was rejected. */
  | { type: 'warn'; request: RequestRef; error: ProtocolError }
  | { type: 'reject'; request: RequestRef; error: ProtocolError }
  /** Reports a failure to one connection, if it is still open. */
  | { type: 'reply-to'; connection: string; error: ProtocolError }
  | { type: 'wake'; at: number | null }
  | { type: 'log'; level: 'info' | 'error'; text: string; fields: Record<string, unknown> };
