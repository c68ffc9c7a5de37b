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
 * One session, for HTTP routes and sockets. Its methods take plain values and return promises; only the feed of chunks (`Feed`) and the listeners
 * (`Listener`) are objects that outlive a call.
 */
export interface Session {
  readonly key: SessionKey;

  /** Accepts a typed message: at once, or, for a queued message, when its turn comes. Rejects when the message is rejected. */
  say(message: TypedMessage, asked: RequestContext & { again: boolean }): Promise<void>;
  /** Asks the agent to continue its last message, which was cut. */
  continueMessage(messageId: string, asked: RequestContext): Promise<void>;
  /** Accepts answers to open calls. It interrupts nothing. */
  answer(answers: Answer[], asked: RequestContext & { by: Identity }): Promise<void>;
  /** Accepts answers of the application, in the name of a person. Resolves when they are stored. A `requestId` that was accepted before has no effect. */
  answerFor(by: Identity, answers: Answer[], requestId: string): Promise<void>;
  /** Accepts a message that the application sends as the user. Resolves, when it is stored, with the id of the message that will answer it. */
  sendFor(message: TypedMessage, requestId: string): Promise<string | null>;
  /** Gives the agent an instruction of the application, which starts a turn. Resolves with the id of its message when the turn starts. */
  instruct(text: string, requestId: string): Promise<string>;
  /** Lets the agent say a text of the application, which starts no turn. Resolves with the id of its message when the text is stored. */
  speak(text: string, requestId: string): Promise<string>;
  /** Makes a listener the active connection, which may send audio and run browser tools; null makes none active. */
  claim(listener: Listener | null): void;
  /** Passes sound or a picture of the user to the agent. */
  media(blob: Blob, from: Listener): void;
  /** Handles that the user turned the microphone on or off. `detection`: whether the client or the server detects the end of speech. */
  microphone(action: 'start' | 'stop', detection: Detection, from: Listener): void;
  /** Stops the agent; resolves with false when the agent is idle. `heard`: the message to stop, and how much of its sound was played. */
  stop(asked?: Partial<RequestContext> & { heard?: Heard }): Promise<boolean>;

  /** Accepts a message that was sent with POST. Resolves with its response when its turn starts. */
  post(message: PostedMessage): Promise<SseResponse>;
  /** Accepts answers that were sent with POST. Resolves with the response. */
  postAnswers(answers: Answer[], from: AnsweredBy): Promise<SseResponse>;
  /** Accepts a POST that asks to continue a message. Resolves with the response. */
  postContinuation(continuation: PostedContinuation): Promise<SseResponse>;
  /** The rest of the response in progress, after the last chunk that the client has; null when there is none. */
  resume(last: string | null): Promise<SseResponse | null>;
  /**
   * The newest response from the first chunk of its message on, whether it runs or is over. Null when there is none, or a client has confirmed that it has
   * all of it.
   */
  replay(): Promise<SseResponse | null>;
  /** Records that a client which reads replays has every chunk up to this one. */
  confirm(last: string): void;

  /** Adds a listener, which gets every chunk after its place. A listener that never watches becomes the active connection; others do when there is none. */
  join(listener: Listener, at: Place): Promise<Joined>;
  /** Removes a listener. */
  leave(listener: Listener): void;

  /** A page of the stored messages; null when the message that it should end before does not exist. */
  page(request: PageRequest): Promise<MessagePage | null>;
}

/** A message that a user typed. */
export type TypedMessage = Extract<Input, { kind: 'message' }>;

/** Receives the private replies to a request, for the client that made it. */
export interface Requester {
  accepted(accepted: AcceptedRequest): void;
  failed(error: ProtocolError): void;
}

/** The name of a request, if it has one, and the client that gets its result. */
export interface RequestContext {
  requestId?: string | undefined;
  requester: Requester;
  /** The connection that the request came over. */
  listener?: Listener | undefined;
  /** What the request lets tools see. */
  forTools?: ToolRequest | undefined;
}

/** The `requestId` of a request that was sent with POST, and its id in the log. */
interface PostNames {
  requestId?: string | undefined;
  logged: string;
  /** What the request lets tools see. */
  forTools?: ToolRequest | undefined;
}

/** A checked message that was sent with POST. */
export interface PostedMessage extends PostNames {
  id: string | undefined;
  parts: AdmittedPart[];
  metadata?: PageMetadata | undefined;
}

/** A POST that asks to continue a message of the agent. */
export interface PostedContinuation extends PostNames {
  messageId: string;
}

/** The message that the answers are for, the user who gives them, and their request. */
export interface AnsweredBy extends PostNames {
  messageId: string | undefined;
  by: Identity;
}

/** The position of a listener: the id of its last chunk, and how many samples of which utterance it has. */
export interface Place {
  last: string | null;
  sound: { n: number; at: number } | null;
}

/** A connected client of a session, which may also send requests. */
export interface Listener {
  readonly id: string;
  /**
   * What happens when it is not the active connection. `never`: it is disconnected. `when-another-speaks`: it watches while another is active. `always`: it
   * only watches, and is never active.
   */
  readonly watches: 'never' | 'when-another-speaks' | 'always';
  /** Reports an error of a request that it made. */
  failed(error: ProtocolError): void;
  /** Reports the reason to the client, and disconnects it. */
  end(code: ErrorCode, message: string): void;
  play(sound: Sound): void;
  /** Discards sound that was not played yet. */
  stopPlayback(): void;
}

/** The source from which readers get the chunks of a session. */
export interface Feed {
  readonly log: Omit<ShownLog, 'readers'>;
  /** Whether the agent is idle, or waits for the user or the browser. */
  readonly isAtRest: boolean;
  /** Calls `callback` whenever the agent becomes idle or waits for an answer. The returned function unsubscribes. */
  onRest(callback: () => void): () => void;
  /** Adds a reader: the agent waits for it when it lags far and belongs to the active connection; the returned function removes it. */
  attach(reader: Reader): () => void;
  /** Call it when a reader made progress. */
  readerMoved(): void;
}

/** A reader of the log. The agent may wait for it. */
export interface Reader {
  /** Whether the reader belongs to the active connection, so that the agent waits for it. */
  readonly isActive: boolean;
  /** The number of the entry that it read last. */
  position(): number;
  /** Ends the reader with an error; the client may reconnect. */
  cut(why: ProtocolError): void;
}

/** One SSE response: a part of the log, and how it ends. */
export interface SseResponse {
  feed: Feed;
  /** The number of the entry before its first chunk. */
  from: number;
  /** The response ends at the first end mark in the log after this entry; without it, at the first one after `from`. */
  endsAfter?: number;
  /** Whether the client of the response is the active connection. */
  isActive?: boolean;
  /** The ids of approvals whose requests are left out, because they were decided. */
  omitted?: readonly string[];
  /** Whether the response also ends when the agent comes to rest, because it is a part of a live turn. */
  endsAtRest?: boolean;
  /** Whether it includes decisions, as chunks that only clients of `ai` 7 know. */
  hasDecisions?: boolean;
  /** Whether the response belongs to a watcher: then it never ends, and includes chunks that other pages cause. */
  isWatched?: boolean;
  /** Whether the response has only private replies, because the client gets all other chunks as a watcher. */
  hasOnlyReplies?: boolean;
  /** Returns the messages with an absolute URL for each stored file. */
  present?: (messages: Message[]) => Message[];
  /** Removes and returns the private replies that the client has not got yet. */
  privateReplies?: () => readonly Chunk[];
  /** All chunks of the response, if the log no longer has it. */
  storedChunks?: readonly (Chunk | ApprovalResponse)[];
}

/** The data of a reset: the messages from which a client continues. */
export interface Reset {
  messages: Message[];
  /** The id of the first message of the page, if there are others before it. */
  older?: string;
}

/** The largest page of messages: parsing and writing a larger one would block the event loop for all users. */
export const PAGE = { count: 100, bytes: 256 * 1024 };

/** The place from which a listener reads, and what it gets first. */
export interface Joined {
  feed: Feed;
  /** The number of the entry before its first chunk. */
  from: number;
  /** Whether that is the position that the client asked for. */
  resumed: boolean;
  /** The id of the newest chunk. */
  newest: string;
  /** The newest page of messages, if the client cannot continue from its position. */
  reset: Reset | null;
  /** The chunks to send before the first one: they open the message that it belongs to, and the open blocks of that message. */
  opening: Chunk[];
  /** The ids of approvals whose requests are left out, because they were decided. */
  omitted: readonly string[];
  /** The rest of the sound of which the client already has the beginning. */
  sounds: Sound[];
  /** What else the greeting contains. */
  info: Pick<SessionInfo, 'received' | 'open' | 'running' | 'model' | 'floor' | 'attachments'>;
}

/** Messages of a session, in order. */
export interface MessagePage {
  messages: Message[];
  /** The message before which the previous page ends; null when there is no previous page. */
  older: string | null;
  /** Whether the agent is running. */
  isRunning: boolean;
}
