import type { Blob } from '@google/genai';
import type { ToolRequest } from '../../adk/for-server.ts';
import type {
  Answer,
  Chunk,
  Detection,
  ErrorCode,
  Heard,
  Input,
  Message,
  PageMetadata,
  ProtocolError,
  SessionInfo,
} from '../../protocol/index.ts';
import type { ApprovalResponse } from '../../protocol/wire/chat-frames.ts';
import type { Identity } from '../access/sign-in.ts';
import type { AdmittedPart } from '../files.ts';
import type { ShownLog } from '../log/log.ts';
import type { Sound } from '../output/utterances.ts';
import type { AcceptedRequest, PageRequest, SessionKey } from '../store/store.ts';

/**
 * One session, as HTTP routes, sockets and the server API use it. Methods that store something or wait for the agent return promises.
 */
export interface Session {
  readonly key: SessionKey;

  /**
   * Accepts a user message from a socket or from the application. Resolves when its turn starts, and rejects when the session does not accept the message. A
   * message with the id of an earlier one, but other content, rewinds the conversation to that message. `again`: one with the same content does so too,
   * instead of being ignored as a repetition.
   */
  say(message: TypedMessage, asked: RequestContext & { again: boolean }): Promise<void>;
  /** Asks the agent to continue its last message, which was cut off. */
  continueMessage(messageId: string, asked: RequestContext): Promise<void>;
  /** Accepts answers to open calls from a socket or from the application. A running turn is not interrupted. */
  answer(answers: Answer[], asked: RequestContext & { by: Identity }): Promise<void>;
  /**
   * Accepts answers of the application, in the name of a person. Resolves when they are stored. If a request with this `requestId` was accepted
   * before, does nothing.
   */
  answerFor(by: Identity, answers: Answer[], requestId: string): Promise<void>;
  /**
   * Accepts a user message that the application sends for the user. Resolves, when it is stored, with the id of the message that will answer it; null when no
   * message will, because the session already has a message with this id and content.
   */
  sendFor(message: TypedMessage, requestId: string): Promise<string | null>;
  /** Gives the agent an instruction of the application, which starts a turn. Resolves with the id of the answering message when the turn starts. */
  instruct(text: string, requestId: string): Promise<string>;
  /** Shows a text of the application as a message of the agent, without starting a turn. Resolves with the id of the message when it is stored. */
  speak(text: string, requestId: string): Promise<string>;
  /**
   * Makes a listener the active connection, which may send audio and run browser tools. With null the active connection becomes a watcher; one that cannot
   * watch stays active.
   */
  claim(listener: Listener | null): void;
  /** Passes sound or a picture of the user to the agent. */
  media(blob: Blob, from: Listener): void;
  /** Records that the user turned the microphone on or off. `detection`: whether the client or the server detects the end of speech. */
  microphone(action: 'start' | 'stop', detection: Detection, from: Listener): void;
  /**
   * Interrupts the agent. Resolves with false when the agent was idle, or when an earlier request had the same `requestId`. `heard`: the message to interrupt,
   * and how much of its sound was played.
   */
  stop(asked?: Partial<RequestContext> & { heard?: Heard }): Promise<boolean>;

  /** Accepts a user message that was sent with POST. Resolves with its response when its turn starts. */
  post(message: PostedMessage): Promise<SseResponse>;
  /** Accepts answers that were sent with POST. Resolves with the response that continues the message of the answered calls. */
  postAnswers(answers: Answer[], from: AnsweredBy): Promise<SseResponse>;
  /** Accepts a POST that asks to continue an assistant message that was cut off. Resolves with its response. */
  postContinuation(continuation: PostedContinuation): Promise<SseResponse>;
  /**
   * Returns the rest of the newest response after the chunk with the id `last`. If `last` is null or no longer in the log, returns the whole response that the
   * agent is writing. Null when there is nothing to resume.
   */
  resume(last: string | null): Promise<SseResponse | null>;
  /**
   * Returns the newest response, running or over, from the first chunk of its message on. Null when there is no response, when a newer user
   * message has no answer yet, or when a client has confirmed that it has the whole response.
   */
  replay(): Promise<SseResponse | null>;
  /** Records that a client, which reads with `replay`, has every chunk up to this one. */
  confirm(last: string): void;

  /**
   * Adds a listener, which gets every chunk after the position `at`. A listener with `watches: 'never'` becomes the active connection. One with
   * `watches: 'when-another-speaks'` becomes the active connection if the session has none.
   */
  join(listener: Listener, at: Place): Promise<Joined>;
  leave(listener: Listener): void;

  /** Returns a page of the stored messages; null when the message before which the page should end does not exist. */
  page(request: PageRequest): Promise<MessagePage | null>;
}

/** A user message from a socket or from the application. */
export type TypedMessage = Extract<Input, { kind: 'message' }>;

/** Receives the private replies to a request, which only the client that made the request gets. */
export interface Requester {
  accepted(accepted: AcceptedRequest): void;
  failed(error: ProtocolError): void;
}

/** The name of a request, if it has one, and where the request came from. */
export interface RequestContext {
  requestId?: string | undefined;
  requester: Requester;
  /** The connection that the request came over. */
  listener?: Listener | undefined;
  /** The headers and body fields of the request that tools may read. */
  forTools?: ToolRequest | undefined;
}

/** The `requestId` of a request that was sent with POST, if the client gave one, and the id of the request in log lines (`logged`). */
interface PostNames {
  requestId?: string | undefined;
  logged: string;
  /** The headers and body fields of the request that tools may read. */
  forTools?: ToolRequest | undefined;
}

/** A validated user message that was sent with POST. */
export interface PostedMessage extends PostNames {
  id: string | undefined;
  parts: AdmittedPart[];
  metadata?: PageMetadata | undefined;
  /**
   * What happens if the session already has a message with this id and content, and the agent has answered it or will answer it. If that is the newest message,
   * `any` and `newest` send its response again. If it is an older message, `any` rejects the request; with `newest` this message replaces the older one and all
   * messages after it. Absent: this message always replaces that message and all messages after it.
   */
  repeats?: 'any' | 'newest' | undefined;
}

/** A POST that asks to continue an assistant message that was cut off. */
export interface PostedContinuation extends PostNames {
  messageId: string;
}

/**
 * The id of the assistant message in which the client sent the answers (undefined when it sent them in another way), the user who answers, and the names of
 * the request.
 */
export interface AnsweredBy extends PostNames {
  messageId: string | undefined;
  by: Identity;
}

/**
 * The position from which a listener continues: the id of its last chunk, and how many samples (`at`) of which utterance (`n`) it has. `last` is null
 * when it has no chunk, `sound` when it has no sound.
 */
export interface Place {
  last: string | null;
  sound: { n: number; at: number } | null;
}

/** A client that is connected to a session. It gets the chunks of the session and may send requests. */
export interface Listener {
  readonly id: string;
  /**
   * What happens to the listener when it is not the active connection. `never`: it is disconnected. `when-another-speaks`: it watches while another
   * is active. `always`: it only watches, and never becomes active.
   */
  readonly watches: 'never' | 'when-another-speaks' | 'always';
  /** Sends the client an error: of its request, of a live run that got its sound, or of the session, e.g. when chunks are delayed. */
  failed(error: ProtocolError): void;
  /** Sends the client the reason, and disconnects it. */
  end(code: ErrorCode, message: string): void;
  play(sound: Sound): void;
  /** Makes the client discard the sound that it has not played yet. */
  stopPlayback(): void;
}

/** The source from which readers get the chunks of a session. */
export interface Feed {
  readonly log: Omit<ShownLog, 'readers'>;
  /** Whether the agent is idle or waits for the user or the browser, and the log holds no chunk back from clients. */
  readonly isAtRest: boolean;
  /** Calls `callback` whenever the agent becomes idle or waits for an answer. The returned function unsubscribes. */
  onRest(callback: () => void): () => void;
  /** Adds a reader; the returned function removes it. If the reader is active and lags too far behind, the agent waits for it. */
  attach(reader: Reader): () => void;
  /** Call it when a reader has read further entries. */
  readerMoved(): void;
}

/** A reader of the log of a session. */
export interface Reader {
  /** Whether the reader belongs to the active client, so that the agent waits when it lags. */
  readonly isActive: boolean;
  /** The number of the log entry that the reader has read last. */
  position(): number;
  /** Ends the reader with an error. The client may reconnect. */
  cut(why: ProtocolError): void;
}

/** One SSE response: a part of the log, and where it ends. */
export interface SseResponse {
  feed: Feed;
  /** The number of the log entry before its first chunk. */
  from: number;
  /** The response ends at the first end mark in the log after this entry. If `endsAfter` is missing, it ends at the first end mark after `from`. */
  endsAfter?: number;
  /** Whether the client of the response is the active client, for which the agent waits when it lags. */
  isActive?: boolean;
  /** The approval ids of the approval requests that are not sent, because the user has decided already. */
  omitted?: readonly string[];
  /** Whether the response also ends when the agent is idle or waits for an answer. A turn over BIDI appends no end mark when it pauses. */
  endsAtRest?: boolean;
  /** Whether the response includes decisions, as chunks that only clients with `ai` 7 know. */
  hasDecisions?: boolean;
  /** Whether the response belongs to a watcher. Then no end mark ends it, and it includes the chunks that requests of other pages cause. */
  isWatched?: boolean;
  /** Whether the response has only private replies, because its client gets all other chunks in another response, as a watcher. */
  hasOnlyReplies?: boolean;
  /** Returns the messages with an absolute URL for each stored file. */
  present?: (messages: Message[]) => Message[];
  /** Removes and returns the private replies that the client did not get yet. */
  privateReplies?: () => readonly Chunk[];
  /** All chunks of the response, made from the stored message because the log no longer has them. */
  storedChunks?: readonly (Chunk | ApprovalResponse)[];
}

/** The messages with which a client replaces its own, because it cannot continue from its position. */
export interface Reset {
  messages: Message[];
  /** The id of the first message, if there are older ones that are left out. */
  older?: string;
}

/** The limits of a page of messages. Parsing and writing a larger one would block the event loop for all users. */
export const PAGE = { count: 100, bytes: 256 * 1024 };

/** The position from which a listener reads, and what it gets before that. */
export interface Joined {
  feed: Feed;
  /** The number of the log entry before the first chunk that the listener reads. */
  from: number;
  /** Whether the client continues from the position that it asked for. */
  resumed: boolean;
  /** The id of the newest entry in the log. */
  newest: string;
  /** The newest page of messages, if the client cannot continue from its position; otherwise null. */
  reset: Reset | null;
  /** The chunks to send before those of the log: they open the message to which the next chunks belong, and the open blocks of that message. */
  opening: Chunk[];
  /** The approval ids of the approval requests that are not sent, because the user has decided already. */
  omitted: readonly string[];
  /** The rest of the utterance of which the client already has the beginning. */
  sounds: Sound[];
  /** The other fields of `data-session`, the first chunk that the client gets. */
  info: Pick<SessionInfo, 'received' | 'open' | 'running' | 'model' | 'floor' | 'attachments'>;
}

/** A page of messages of a session, oldest first. */
export interface MessagePage {
  messages: Message[];
  /** The id of the message before which the previous page ends; null when there is no previous page. */
  older: string | null;
  /** Whether the agent works, or the session is still storing or sending something. */
  isRunning: boolean;
}
