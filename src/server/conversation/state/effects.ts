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

/** Identifies one request of a client or of the application. The state only copies it into effects; the effect runner finds the request by `id`. */
export interface RequestRef {
  /** Unique within the conversation in this process. Negative for a request that an earlier process accepted. */
  readonly id: number;
  /** The `requestId` that the client gave, if it gave one. */
  readonly name: string | undefined;
  /** The connection over which the request came; null for a request over HTTP or of the application. */
  readonly connection: string | null;
  /** The headers and body fields of the request that tools may read. They stay in memory and must never be stored. */
  readonly forTools?: ToolRequest | undefined;
}

/** Identifies a deferred call. ADK waits with the call until a `release-call` effect carries its ticket. */
export type Ticket = number;

/** How a run is opened. A `live` run takes input as long as it is open. A `turn` run produces one answer and then ends by itself. */
export type RunRequest =
  | { driver: 'live'; detection: Detection }
  | {
      driver: 'turn';
      content: Content;
      customMetadata: Record<string, unknown>;
      optimistic: boolean;
      /** The invocation of ADK that the run continues. */
      continues: string | undefined;
    };

/** One operation on the store. */
export type Write =
  /** Stores a user message as the newest message of the session. */
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
  /** Removes the user message that was stored last, because its turn could not start. */
  | { do: 'remove-message'; messageId: string }
  /**
   * Removes a user message and everything after it, from the messages and the history. With `restart` no message is removed, and only the history is
   * rewound.
   */
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
  /** Records a new call. */
  | { do: 'issue'; call: CallRecord }
  /** Records that the approval request or question is shown, that the tool is parked, or that a parked agent runs again, with the deadline of the call. */
  | { do: 'show' | 'park' | 'resume'; call: CallRecord }
  /**
   * Records that the call starts, on the server or in the browser. `wasReady`: the start consumes no approval, because the call needs none, or because
   * it is the call of an agent that runs again, whose first start consumed the approval.
   */
  | { do: 'take'; call: CallRecord; wasReady: boolean }
  /** Records that the approval request or the question timed out. */
  | { do: 'expire'; call: CallRecord; reason: string }
  /**
   * Records a step of a question: the user answered it, declined it, or sent an answer that does not fit (`refuse`). `ask`: a running tool asks for
   * approval.
   */
  | { do: 'answer' | 'decline' | 'refuse' | 'ask'; call: CallRecord; reason: string | null }
  /** Stores an assistant message in its current state. `asks`: the call whose question or confirmation the message shows from now on. */
  | { do: 'save'; messageId: string; asks?: CallRecord | undefined }
  /** Passes decisions of the user to the ledger. */
  | {
      do: 'decide';
      decisions: Extract<Answer, { kind: 'decision' }>[];
      /** The ids of the calls whose approval request or question is shown. No other undecided call can be decided. */
      shown: ReadonlySet<string>;
      /** Whether the user who decides is still signed in. If not, an approval ends its call. */
      isSignedIn: boolean;
      /** The application that decides, and the person in whose name it does; undefined when the user decides. */
      by?: DecidedBy | undefined;
      /** The request, if it has a `requestId` and only decisions. When a decision takes effect, the request is stored with the last decision or after it. */
      accepted: AcceptedRequest | undefined;
    }
  | { do: 'accept'; accepted: AcceptedRequest }
  /** Cuts the text of a spoken message. `share`: the part of its sound that was played, from 0 to 1. */
  | { do: 'cut'; messageId: string; share: number }
  /** Records that an approved call ends because its approver has signed out. */
  | { do: 'withdraw'; call: CallRecord }
  /**
   * Finds the newest message, if all of its calls are answered but the model has not continued it. With a `messageId`, only the message with this id
   * is found.
   */
  | { do: 'find-unfinished'; messageId: string | undefined }
  /** Finds the last message, if it has this id and was cut off. If the history lacks text of that message, adds the text to the history. */
  | { do: 'find-cut'; messageId: string }
  /**
   * Adds an error to the history for each call that has no response and is not in `waiting`. The result `missed` has the chunks that the message
   * `messageId` lacks.
   */
  | { do: 'close-dangling'; errorText: string; messageId: string | null; waiting: ReadonlySet<string> }
  /** Adds text of the agent to the history. `isSpoken`: the text is from the application, so ADK cannot have stored it already. */
  | { do: 'store-text'; messageId: string; text: string; isSpoken?: true };

/**
 * How the history is rewound for a user message whose turn starts again, because its process died before the agent answered. Calls that have no
 * response and are not in `waiting` get `errorText` as their response.
 */
export interface Restart {
  errorText: string;
  waiting: ReadonlySet<string>;
}

/** The purpose of a batch of writes. The input that reports the result carries the purpose, so that the state knows where to continue. */
export type Purpose =
  | {
      for: 'message';
      request: RequestRef;
      /** The user message. */
      userMessageId: string;
      /** The assistant message that answers it; null while the user message waits for a live run to open. */
      messageId: string | null;
      /** The run that is opened for the user message; null when the message is sent to a live run. */
      run: number | null;
      /** Whether the user message is already stored and its request acknowledged, so that only the history is written. */
      isStored: boolean;
    }
  | { for: 'queued-message'; userMessageId: string }
  | { for: 'spoken'; request: RequestRef }
  | { for: 'continuation'; request: RequestRef }
  /** `n`: the number of the run that made the call. */
  | { for: 'call'; callId: string; ticket: Ticket; n: number }
  /** `isAnnounced`: whether clients had the call before. `beside`: the ids of the browser calls that are announced together with the request. */
  | { for: 'approval-request'; callId: string; isAnnounced: boolean; beside: readonly string[] }
  | { for: 'decision'; given: GivenAnswers; isSignedIn: boolean; accepted: AcceptedRequest | undefined }
  | { for: 'cut'; messageId: string }
  /** The start of a call. `isAnnounced`, `isConfirming`: whether clients had the call, and its open confirmation, before the start. */
  | { for: 'execution'; callId: string; isAnnounced: boolean; isConfirming: boolean }
  /** An approval request or question times out. `isQuiet`: an HTTP request is about to start, and its response reports the end of the call. */
  | { for: 'expiry'; callId: string; isQuiet: boolean }
  | { for: 'conclusion'; messageId: string };

/** The answers of one request, validated and in the order of the request. */
export interface GivenAnswers {
  wire: Wire;
  request: RequestRef;
  by: Identity;
  answers: Answer[];
  messageId: string | undefined;
  /** Calls that had already timed out when the answers were read. The response reports them. */
  late: LateCall[];
}

/** The reason why the state asks whether a user is still signed in. */
export type SignInQuestion = { why: 'decision'; given: GivenAnswers } | { why: 'execution'; callId: string };

/** The end of a call outside a streaming message: the chunks that report the outcome, and the id of the message that shows the call. */
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
  /** Performed instead of `after` when a write failed; if absent, nothing is. */
  failed?: Effect[];
  /**
   * Performed instead of `failed` when a write failed with `StateConflict`: the session state changed after the tool had read it. If absent, `failed` is
   * performed then, too.
   */
  conflicted?: Effect[];
  purpose: Purpose | null;
}

/**
 * What the effect runner must do, in order. `store`, `say-stored`, `amend` and `finish` delay the effects after them until their writes have ended;
 * so do `start` and `release` if they store an event for a subscription. No other effect delays later ones: `store-apart` writes while later effects
 * are performed, and its result comes back as an input.
 */
export type Effect =
  /** Sends the `start` of a message. `isTurn`: the agent writes the message; false for a text of the application. */
  | { type: 'start'; message: Message; isTurn: boolean }
  | { type: 'say'; messageId: string; chunk: Chunk }
  /** Text deltas of the message that is being streamed: the fast path of `ConversationState.apply`. */
  | { type: 'say-deltas'; messageId: string; chunks: readonly Chunk[] }
  /** Sends an approval request after the message with it is stored. `inStep`: step chunks surround it. `asks`: the call that needs the approval. */
  | { type: 'say-stored'; messageId: string; chunk: Chunk; inStep: boolean; asks: CallRecord }
  /** Sends a chunk without adding it to a message. */
  | { type: 'inject'; chunk: Chunk }
  /** Sends watchers the user message (`data-message`), if no other user message was stored since. */
  | { type: 'publish-message'; messageId: string }
  /** Adds chunks to a message and stores it. No client gets the chunks. */
  | { type: 'amend'; messageId: string; chunks: Chunk[] }
  /** Sets the decision about a call in the message that shows it. */
  | { type: 'mark-decided'; messageId: string; callId: string; approved: boolean; reason: string | undefined }
  /** Stores the end of a response and sends its chunks. `isOver`: no call of the message waits. */
  | { type: 'finish'; message: Message; chunks: Chunk[]; isOver: boolean }
  /** Removes a message from the messages in progress. */
  | { type: 'release'; messageId: string }
  /** Sends a piece of the agent's sound (base64 PCM) to the active connection. */
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
  /** Lets ADK continue with a deferred call. `error` says why the call was not stored; null when it is stored. */
  | { type: 'release-call'; ticket: Ticket; error: string | null }
  | { type: 'acquire-lock'; call: CallRecord }
  | { type: 'release-lock'; callId: string }
  | { type: 'run-tool'; call: CallRecord }
  /** Calls the application's after-tool callbacks with an output that a client sent. */
  | { type: 'run-callbacks'; call: CallRecord; output: unknown }
  | { type: 'check-sign-in'; by: Identity; question: SignInQuestion }
  | { type: 'abort-tools' }
  /** Marks the current end of the log as the beginning of the response to an HTTP request. */
  | { type: 'mark-response'; request: RequestRef }
  /** Resolves the promise of a request (`PendingRequest.taken`), because the state has handled the request. */
  | { type: 'take-request'; request: RequestRef }
  /** Acknowledges a stored request: its client gets `data-accepted`. */
  | { type: 'acknowledge'; request: RequestRef; accepted: AcceptedRequest }
  /** Reports to the client of a request that one of its answers was rejected. */
  | { type: 'warn'; request: RequestRef; error: ProtocolError }
  | { type: 'reject'; request: RequestRef; error: ProtocolError }
  /** Reports a failure to one connection, if it is still open. */
  | { type: 'reply-to'; connection: string; error: ProtocolError }
  /** Sets the only timer of the state to this time; null cancels the timer. */
  | { type: 'wake'; at: number | null }
  | { type: 'log'; level: 'info' | 'error'; text: string; fields: Record<string, unknown> };
