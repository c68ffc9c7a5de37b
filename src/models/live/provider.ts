import type {
  Blob,
  Content,
  FunctionCall,
  FunctionResponse,
  GenerateContentResponseUsageMetadata,
  GroundingMetadata,
  Part,
  Transcription,
} from '@google/genai';
import type { FailureCode, ModelFailure } from '../provider-error.ts';

/**
 * A live API of one provider, for one connection. It maps messages of the server to `LiveMessage` and `LiveInput` to frames, and
 * states its traits and close reasons as data. It does not handle reconnects, resumption, pending input, muting and silence, which are
 * the same for every provider (`connection.ts`).
 */
export interface LiveProvider {
  readonly traits: LiveTraits;
  /** Patterns for the close reasons of the provider. The first pattern that matches decides; see `classifyClose`. */
  readonly closeReasons: readonly CloseReason[];
  /** Opens a socket and sends the setup. It returns at once and never throws; results and failures come as events. */
  open(setup: LiveSetup, events: LiveSocketEvents): LiveSocket;
  /** Called when the server accepted the setup of the last `open`. */
  onAccepted?(): void;
  /** Called when the connection failed. Returns true when the provider has changed its setup, so that a new connection may succeed. */
  simplifySetup?(failure: ModelFailure): boolean;
}

/** How the model of a session behaves. */
export interface LiveTraits {
  /** The value of `modelVersion` in every response. */
  modelVersion: string;
  /** The model answers in audio with transcripts. Text beside the transcripts is then a thought, and never spoken. */
  transcribesOutput: boolean;
  /** Each transcript of the user is a whole utterance; otherwise it is a piece of one. */
  wholeUtterances: boolean;
  /** The model may continue after a turn, and reports when it is idle. */
  reportsIdle: boolean;
  /** Names of the tools whose calls the model does not wait for. */
  nonBlocking: ReadonlySet<string>;
  /** Whether the model speaks after it gets this response to a call. */
  repliesTo(response: FunctionResponse): boolean;
}

/** How one socket is opened. */
export interface LiveSetup {
  /** The handle of the session to resume; null starts a new session. */
  handle: string | null;
}

/** The callbacks of a socket. No callback follows `onClose` or `onUnreadable`. */
export interface LiveSocketEvents {
  /** The server accepted the setup. */
  onOpen(): void;
  onMessage(message: LiveMessage): void;
  /** The server answered a ping, or the socket cannot send pings now. */
  onPong(): void;
  /** The server sent a frame that the provider cannot read. */
  onUnreadable(): void;
  onClose(close: SocketClose): void;
}

export interface LiveSocket {
  readonly isPaused: boolean;
  /** Encodes and sends an input. An input that the server has no frame for is ignored. */
  send(input: LiveInput): void;
  /** Stops reading the socket, so that further messages are not delivered until `resume`. */
  pause(): void;
  resume(): void;
  /** Sends a ping; `onPong` follows. A socket that is paused, or cannot send pings, calls `onPong` at once. */
  ping(): void;
  /** Closes the socket; no callback follows. With `isDead` it does not wait for the server to confirm the close. */
  close(isDead?: boolean): void;
}

/** An input to send to the model. */
export type LiveInput =
  /** The earlier conversation, for a new session. `startsTurn`: the model answers it. */
  | { type: 'history'; turns: Content[]; startsTurn: boolean }
  /** A message of the user. The model stops its output and answers. */
  | { type: 'message'; content: Content }
  /** A text that Duologue adds, such as the result of a call that this session does not know. `startsTurn`: the model answers it. */
  | { type: 'note'; content: Content; startsTurn: boolean }
  | { type: 'responses'; responses: FunctionResponse[] }
  /** A piece of sound, or a picture. */
  | { type: 'media'; blob: Blob }
  /** The user starts to speak (or interrupts), or stops. `isBusy`: the model is generating. */
  | { type: 'activity'; activity: 'start' | 'end'; isBusy: boolean };

/** One message of the server. Its fields are handled in the order in which they are declared here. */
export interface LiveMessage {
  usage?: GenerateContentResponseUsageMetadata;
  output?: LiveOutput;
  /** Calls of the model. They may lack ids. */
  calls?: FunctionCall[];
  /** Ids of calls whose results the model no longer wants. */
  cancelledCalls?: string[];
  /** The session can be resumed from this handle. */
  resumption?: { handle: string; resumable?: boolean };
  /** The server closes the connection after this time, in milliseconds. */
  goAwayMs?: number;
}

/** The output of the model, and the transcripts of both sides. */
export interface LiveOutput {
  grounding?: GroundingMetadata;
  /** The transcript of the user's speech. */
  userTranscript?: Transcription;
  parts?: Part[];
  /** All output of the turn is generated; its audio may still be playing. */
  isGenerated?: boolean;
  /** The transcript of the model's speech. */
  modelTranscript?: Transcription;
  /** The user interrupted the model. */
  isInterrupted?: boolean;
  /** The turn is complete. `continues`: whether the model continues to work. `error`: why it gave no answer. */
  turnEnd?: { continues?: boolean; error?: string };
}

/** How a socket closed, or why it could not be opened. */
export interface SocketClose {
  code: number;
  reason: string;
  /** The HTTP status of a refused upgrade. */
  status?: number | undefined;
}

/**
 * What to do after a close. `retry`: connect again, and resume if possible; `restart`: the session is lost, a new one may work; `stop`: no attempt
 * will succeed until the operator changes something, such as the key.
 */
export type AfterClose = 'retry' | 'restart' | 'stop';

/** A pattern of close reasons, what to do after such a close, and the code of the failure. */
export type CloseReason = readonly [pattern: RegExp, then: AfterClose, code: FailureCode];
