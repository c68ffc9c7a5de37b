import type { UIMessage, UIMessageChunk } from 'ai';

/** Where a tool runs and whether it asks first: the two facts that make the four kinds of tool. */
export interface ToolFacts {
  runsOn: 'server' | 'client';
  asks: boolean;
  /** Over SSE the server goes on with an output of its own; the browser acts and sends none. */
  optimistic?: true;
}

/** Token counts of a message, inclusive totals; null where the model reports none. */
export interface TokenUsage {
  input: number | null;
  output: number | null;
  cacheRead: number | null;
  cacheWrite: number | null;
  reasoning: number | null;
  total: number | null;
  /** How much of them is sound, which has its own price; only where the model tells. */
  audio?: { input: number | null; output: number | null; cacheRead: number | null };
}

/** A stretch of the answer that the model attributes to a source. */
export interface Citation {
  startIndex: number | null;
  endIndex: number | null;
  uri: string | null;
  title: string | null;
  license: string | null;
}

/** What `finish` says about a message. */
export interface MessageMetadata {
  usage?: TokenUsage | null;
  modelVersion?: string;
  /** The model's own finish reason, as it gave it. */
  rawFinishReason?: string;
  /** Why the message is not whole although it ended without an error; `stop` when it went on after that, and is whole. */
  finishReason?: 'length' | 'content-filter' | 'stop';
  citations?: Citation[];
  audio?: { chunks: number; bytes: number; sampleRate: number; duration: number };
  /** Whether the message was stopped before its end. */
  interrupted?: boolean;
  /** Whether the server stopped in the middle of the message: beside `interrupted`. */
  cutOff?: boolean;
  /** Whether the message ended with an error. */
  failed?: boolean;
  /** When the message began, in milliseconds since 1970. */
  createdAt?: number;
}

/** Why the model is asked again: too many requests, a fault of the provider, no way to it, or no word from it. */
export type WaitingReason = 'rate_limited' | 'overloaded' | 'unreachable' | 'silent';

/** A request with a name that was taken: the agent answers it in that message, if it is one to answer. */
export interface AcceptedRequest {
  requestId: string;
  messageId?: string;
}

/** A call that waits for an answer of the page. */
export interface WaitingAnswer {
  toolCallId: string;
  messageId: string;
  waitsFor: 'person' | 'client';
}

/** What a model takes and gives beside text. */
export interface ModelSenses {
  /** Takes sound. */
  hears: boolean;
  /** Takes pictures. */
  sees: boolean;
  /** Gives sound. */
  speaks: boolean;
}

/** What a server says first on a connection. */
export interface SessionInfo {
  sessionId: string;
  connectionId: string;
  epoch: string;
  resumed: boolean;
  /** The id of the newest chunk: what comes up to it was said before. */
  newest: string;
  /** The requests that were accepted last, oldest first. */
  received: AcceptedRequest[];
  /** The calls that wait for an answer. */
  open: WaitingAnswer[];
  /** The message that the agent is at work on, or is about to write. */
  running: string | null;
  model: ModelSenses;
  /** The connection that has the floor. */
  floor: string | null;
  /** For development, where several nodes serve: the one that the connection came to, and the one that has the session. */
  nodes?: { serves: string; owns: string };
}

/** The data of each `data-*` chunk of ours. */
export type DataParts = {
  pcm: { chunk: string; sampleRate: number; channels: 1; bitDepth: 16; messageId: string };
  audio: { mediaType: string; data: string };
  image: { mediaType: string; data: string };
  'executable-code': { language: string; code: string };
  'code-execution-result': { outcome: string; output: string };
  /** What the person was heard saying. */
  transcript: { role: 'user'; text: string; finished: boolean };
  /** `requestId`: the request that it is about. */
  error: { code: string; message: string; retryable: boolean; retryAfterMs?: number; requestId?: string };
  accepted: AcceptedRequest;
  session: SessionInfo;
  /** What sound comes next: of which utterance and message, and how many samples of the utterance stand before it. */
  sound: { n: number; messageId: string; sampleRate: number; at: number };
  /** How many characters of the text of a message were heard; what comes behind is not stored. */
  heard: { messageId: string; length: number };
  settled: { toolCallId: string; messageId: string; errorText: string };
  waiting: { reason: WaitingReason; retryAt: number };
  /** Which connection has the floor now. */
  floor: { connectionId: string | null };
  /** A message of the person, as it is stored. */
  message: { message: Message };
  /** A decision that counts. `by`: the connection that it came over, or the user who posted it. */
  decided: { toolCallId: string; messageId: string; approved: boolean; reason?: string; by: string };
  /** Everything from that message of the person on is taken back. */
  rewind: { messageId: string };
  /** The newest messages; `older` is the first of them when there are others before it. */
  reset: { messages: Message[]; older?: string };
};

/** The data that is told and not kept in the message. */
export const TRANSIENT_DATA = [
  'pcm',
  'audio',
  'transcript',
  'error',
  'accepted',
  'session',
  'sound',
  'heard',
  'settled',
  'waiting',
  'floor',
  'message',
  'decided',
  'rewind',
  'reset',
] as const satisfies (keyof DataParts)[];

/** A chat message as the AI SDK keeps it, with our metadata and data parts. */
export type Message = UIMessage<MessageMetadata, DataParts>;

/** One piece of the UI message stream. */
export type Chunk = UIMessageChunk<MessageMetadata, DataParts>;

const FOR_WATCHERS: ReadonlySet<string> = new Set([
  'data-floor',
  'data-message',
  'data-decided',
  'data-rewind',
]);

/** Whether a chunk tells what another page did: it is for those who watch. */
export function isForWatchers({ type }: Chunk): boolean {
  return FOR_WATCHERS.has(type);
}

/** The chunks a server sends, beside those of `DataParts`: the subset that clients of ai 6 and 7 accept. */
export const CHUNK_TYPES = [
  'start',
  'text-start',
  'text-delta',
  'text-end',
  'reasoning-start',
  'reasoning-delta',
  'reasoning-end',
  'tool-input-start',
  'tool-input-available',
  'start-step',
  'tool-approval-request',
  'finish-step',
  'tool-output-available',
  'tool-output-error',
  'tool-output-denied',
  'file',
  'source-url',
  'message-metadata',
  'error',
  'finish',
] as const satisfies Chunk['type'][];

/** One piece of a message. */
export type MessagePart = Message['parts'][number];

/** The text that a denial carries, with the person's reason when there is one. */
export function denialText(reason?: string): string {
  return reason ? `User denied the tool call: ${reason}` : 'User denied the tool call';
}

/** The text of an approval that nobody gave in time. */
export const APPROVAL_TIMED_OUT = 'Approval request timed out';

/** The text of a browser tool that never answered. */
export function outputTimedOut(toolName: string): string {
  return `Timeout waiting for ${toolName} result`;
}

/** The text of a call whose process died while the tool ran. */
export const OUTCOME_UNKNOWN =
  'The outcome is unknown: the server stopped while the tool was running. It was not run again.';

/** The text of a call that someone approved who is signed in no more. */
export const SIGNED_OUT = 'The person who approved is no longer signed in';

/** The text of a server tool that took too long. */
export function toolTimedOut(toolName: string): string {
  return `${toolName} did not finish in time. The outcome is unknown.`;
}

/** The text of a call whose changes were not kept, because another call had changed the same data meanwhile. */
export function stateConflict(toolName: string): string {
  return `${toolName} ran, but another call had changed the same data: nothing of it was kept`;
}

/** The text of a call that the model took back. */
export const CANCELLED = 'Cancelled by the agent';

/** The text of a call that a newer message of the person replaced. */
export const SUPERSEDED = 'Superseded by a newer message';

/** The text of a call that the person interrupted. */
export const INTERRUPTED = 'Interrupted by the user';

/** The text of a call whose arguments are broken or cut off. */
export const ARGUMENTS_UNREADABLE = 'The arguments of the call could not be read';

/** Name of the confirmation tool in the confirmation-as-a-tool dialect. */
export const CONFIRMATION_TOOL = 'adk_request_confirmation';
