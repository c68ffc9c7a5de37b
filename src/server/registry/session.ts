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

  /** Accepts a typed message: at once, or when the agent is done. Resolves when it is accepted, rejects when it is refused. */
  say(message: TypedMessage, asked: RequestContext & { again: boolean }): Promise<void>;
  /** Asks the agent to continue its last message, which was cut. */
  continueMessage(messageId: string, asked: RequestContext): Promise<void>;
  /** Accepts answers to open calls, while everything else continues. */
  answer(answers: Answer[], asked: RequestContext & { by: Identity }): Promise<void>;
  /** Answers of the application, in the name of a person. Resolves when they are stored. A request with a `requestId` that was accepted before has no effect. */
  answerFor(by: Identity, answers: Answer[], requestId: string): Promise<void>;
  /** A message that the application sends as the user. Resolves with the id of the message that answers it, when it is stored. */
  sendFor(message: TypedMessage, requestId: string): Promise<string | null>;
  /** Gives the agent an instruction of the application, which starts a turn. Resolves with the id of its message when the turn starts. */
  instruct(text: string, requestId: string): Promise<string>;
  /** Lets the agent say a text of the application, which starts no turn. Resolves with the id of its message when the text is stored. */
  speak(text: string, requestId: string): Promise<string>;
  /** Makes a listener the active connection, which may send audio and run browser tools; null frees the place. */
  claim(listener: Listener | null): void;
  /** Sound or a picture from the user. */
  media(blob: Blob, from: Listener): void;
  /** The user turns the microphone on or off; `detection` says whether client or server detects the end of speech. */
  microphone(action: 'start' | 'stop', detection: Detection, from: Listener): void;
  /** Stops the agent; resolves with false when the agent is idle. `heard`: the message to stop, and how much of its sound was played. */
  stop(asked?: Partial<RequestContext> & { heard?: Heard }): Promise<boolean>;

  /** Accepts a posted message. Resolves with its response when its turn starts. */
  post(message: PostedMessage): Promise<SseResponse>;
  /** Accepts posted answers, like `answer`; resolves with the response. */
  postAnswers(answers: Answer[], from: AnsweredBy): Promise<SseResponse>;
  /** Accepts a posted request to continue a message; resolves with the response. */
  postContinuation(continuation: PostedContinuation): Promise<SseResponse>;
  /** The rest of the response in progress, after the last chunk that the client has; null when there is none. */
  resume(last: string | null): Promise<SseResponse | null>;
  /**
   * The newest response from the first chunk of its message on, whether it runs or is over. Null when there is none, or a client has confirmed that it has
   * all of it.
   */
  replay(): Promise<SseResponse | null>;
  /** A client that uses replays has every chunk up to this one. */
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

/** The client that made a request, for replies to it alone. */
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

/** The name of a posted request, for its client, and its id in the log. */
interface PostNames {
  requestId?: string | undefined;
  logged: string;
  /** What the request lets tools see. */
  forTools?: ToolRequest | undefined;
}

/** A posted message after its checks. */
export interface PostedMessage extends PostNames {
  id: string | undefined;
  parts: AdmittedPart[];
  metadata?: PageMetadata | undefined;
}

/** A posted request to continue a message of the agent. */
export interface PostedContinuation extends PostNames {
  messageId: string;
}

/** The message that the answers are for, the user who gives them, and their request. */
export interface AnsweredBy extends PostNames {
  messageId: string | undefined;
  by: Identity;
}

/** How far a listener has received the session: the id of its last chunk, and how many samples of which utterance. */
export interface Place {
  last: string | null;
  sound: { n: number; at: number } | null;
}

/** A connected client of a session, which may also send requests. */
export interface Listener {
  readonly id: string;
  /**
   * Whether it stays when it is not the active connection. `never`: it leaves. `when-another-speaks`: it watches while another is active. `always`: it is
   * never active.
   */
  readonly watches: 'never' | 'when-another-speaks' | 'always';
  /** Reports an error of a request that it made. */
  failed(error: ProtocolError): void;
  /** Reports why it loses the session, and disconnects it. */
  end(code: ErrorCode, message: string): void;
  play(sound: Sound): void;
  /** Discards sound that was not played yet. */
  stopPlayback(): void;
}

/** The chunks of a session, as this process sends them. */
export interface Feed {
  readonly log: Omit<ShownLog, 'readers'>;
  /** Whether the agent does nothing, or waits for the user or the browser. */
  readonly isAtRest: boolean;
  /** Calls back whenever the agent comes to rest; the returned function unsubscribes. */
  onRest(callback: () => void): () => void;
  /** Adds a reader: the agent waits for it when it lags far and belongs to the active connection; the returned function removes it. */
  attach(reader: Reader): () => void;
  /** A reader made progress. */
  readerMoved(): void;
}

/** A reader of the log, for the agent that may wait for it. */
export interface Reader {
  /** Whether the reader belongs to the active connection, so that the agent waits for it. */
  readonly isActive: boolean;
  /** The number of the entry that it read last. */
  position(): number;
  /** Ends the reader with an error; the client may reconnect. */
  cut(why: ProtocolError): void;
}

/** One SSE response as a part of the log. */
export interface SseResponse {
  feed: Feed;
  /** The number of the entry before its first chunk. */
  from: number;
  /** The response ends at the first end mark in the log after this entry; without it, at the first one after `from`. */
  endsAfter?: number;
  /** Whether the client of the response is the active connection. */
  isActive?: boolean;
  /** Approvals whose requests are left out. */
  omitted?: readonly string[];
  /** Whether the response also ends when the agent comes to rest, because it is a part of a live turn. */
  endsAtRest?: boolean;
  /** Whether decisions are in it, as chunks that only clients of `ai` 7 know. */
  hasDecisions?: boolean;
  /** Whether the response belongs to a watcher: it never ends, and includes what other pages do. */
  isWatched?: boolean;
  /** Whether the client gets all other chunks as a watcher: then it gets only its private replies here. */
  hasOnlyReplies?: boolean;
  /** Returns the messages with an absolute URL for each stored file. */
  present?: (messages: Message[]) => Message[];
  /** Takes the chunks for this client alone that it has not got yet. */
  privateReplies?: () => readonly Chunk[];
  /** The whole response, when the log no longer has it. */
  storedChunks?: readonly (Chunk | ApprovalResponse)[];
}

/** The messages from which a client continues. */
export interface Reset {
  messages: Message[];
  /** The first message of the page, when there are others before it. */
  older?: string;
}

/** The largest page of messages: parsing and writing a larger one would block the event loop for all users. */
export const PAGE = { count: 100, bytes: 256 * 1024 };

/** Where a listener starts. */
export interface Joined {
  feed: Feed;
  /** The number of the entry before its first chunk. */
  from: number;
  /** Whether that is the place that the client named. */
  resumed: boolean;
  /** The id of the newest chunk. */
  newest: string;
  /** The newest page of messages, when the client cannot continue from its place. */
  reset: Reset | null;
  /** The chunks to send before the first one: the message it belongs to, and its open blocks. */
  opening: Chunk[];
  /** Approvals whose requests are left out. */
  omitted: readonly string[];
  /** The rest of the sound of which the client has the beginning. */
  sounds: Sound[];
  /** What else the greeting contains. */
  info: Pick<SessionInfo, 'received' | 'open' | 'running' | 'model' | 'floor' | 'attachments'>;
}

/** Messages of a session, in order. */
export interface MessagePage {
  messages: Message[];
  /** The message that the previous page ends before; null when there is none. */
  older: string | null;
  /** Whether the agent is running. */
  isRunning: boolean;
}
