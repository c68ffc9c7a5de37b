import type { Blob } from '@google/genai';
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
import type { Identity } from '../access/sign-in.ts';
import type { AdmittedPart } from '../files.ts';
import type { ShownLog } from '../log/log.ts';
import type { Sound } from '../output/utterances.ts';
import type { AcceptedRequest, PageRequest, SessionKey } from '../store/store.ts';

/**
 * One session, as doors see it. They give it plain values and get promises; only what is said (`Feed`) and who listens
 * (`Listener`) are objects that live on.
 */
export interface Session {
  readonly key: SessionKey;

  /** Takes a typed message: at once, or when the agent is done. Resolves when it was taken, rejects when it is refused. */
  say(message: TypedMessage, asked: Asked & { again: boolean }): Promise<void>;
  /** A client asks the agent to continue its last message, which was cut. */
  continueMessage(messageId: string, asked: Asked): Promise<void>;
  /** Takes answers to open calls, while everything else goes on. */
  answer(answers: Answer[], asked: Asked & { by: Identity }): Promise<void>;
  /** Someone wants the floor: sound, and the browser's tools. */
  takeFloor(listener: Listener | null): void;
  /** Sound or a picture from the person. */
  media(blob: Blob, from: Listener): void;
  /** The person turns the microphone on or off; `detection` says who finds the end of what they say. */
  microphone(action: 'start' | 'stop', detection: Detection, from: Listener): void;
  /** Stops what the agent does; false when it does nothing. `heard`: what is meant, and how much of it was played. */
  stop(asked?: Partial<Asked> & { heard?: Heard }): Promise<boolean>;

  /** Takes a message that was posted. Resolves with its response when its turn comes. */
  post(message: PostedMessage): Promise<Response>;
  /** Takes answers that were posted. */
  postAnswers(answers: Answer[], from: AnsweredBy): Promise<Response>;
  /** The same as a post; resolves with its response. */
  postContinuation(continuation: PostedContinuation): Promise<Response>;
  /** The rest of the response in progress, behind the last chunk that the client has; null when there is none. */
  resume(last: string | null): Promise<Response | null>;

  /** Someone listens from now on, behind what they have. One that never watches takes the floor; others do when it is free. */
  join(listener: Listener, at: Place): Promise<Joined>;
  /** Someone is gone. */
  leave(listener: Listener): void;

  /** Some of the stored messages; null when the one that they should stand before is not there. */
  page(request: PageRequest): Promise<MessagePage | null>;
}

/** Something that a person typed. */
export type TypedMessage = Extract<Input, { kind: 'message' }>;

/** The client that made a request: what is meant for it alone is told to it. */
export interface Requester {
  accepted(accepted: AcceptedRequest): void;
  told(error: ProtocolError): void;
}

/** What a client calls a request, if it has a name, and who is told what comes of it. */
export interface Asked {
  requestId?: string | undefined;
  requester: Requester;
  /** Who asks, over a connection. */
  listener?: Listener | undefined;
}

/** What a posted request is called, by its client and in the log. */
interface PostNames {
  requestId?: string | undefined;
  logged: string;
}

/** A message as a client posted it, checked. */
export interface PostedMessage extends PostNames {
  id: string | undefined;
  parts: AdmittedPart[];
  metadata?: PageMetadata | undefined;
}

/** A request to continue a message of the agent, as a client posted it. */
export interface PostedContinuation extends PostNames {
  messageId: string;
}

/** Which message answers are for, and who gives them in which request. */
export interface AnsweredBy extends PostNames {
  messageId: string | undefined;
  by: Identity;
}

/** How much a listener has: up to which chunk, and of which sound. */
export interface Place {
  last: string | null;
  sound: { n: number; at: number } | null;
}

/** One that listens to a session and may speak in it. */
export interface Listener {
  readonly id: string;
  /**
   * Whether it goes on without the floor. `never`: it has the floor, or goes. `when-another-speaks`: it watches while another has it.
   * `always`: it never has it.
   */
  readonly watches: 'never' | 'when-another-speaks' | 'always';
  /** Is told what went wrong with something that it asked for. */
  told(error: ProtocolError): void;
  /** Is told why it loses the session, and goes. */
  end(code: ErrorCode, message: string): void;
  play(sound: Sound): void;
  /** Nobody wants to hear the rest of what was to be played. */
  hush(): void;
}

/** What a session says, as this process follows it. */
export interface Feed {
  readonly log: Omit<ShownLog, 'readers'>;
  /** Whether the agent has nothing to do, or waits for the person or the browser. */
  readonly isAtRest: boolean;
  /** Calls back whenever the agent has come to rest; the returned function ends that. */
  onRest(callback: () => void): () => void;
  /** Lets the agent wait for a reader that lags far behind, if it has the floor; the returned function ends that. */
  attach(reader: Reader): () => void;
  /** A reader took something. */
  readerMoved(): void;
}

/** A reader of the log as the agent sees it. */
export interface Reader {
  /** Whether its client has the floor: the agent waits for it. */
  readonly hasFloor: boolean;
  /** How far it is. */
  position(): number;
  /** Nothing more will come: it tells why, and ends. The client may come back. */
  cut(why: ProtocolError): void;
}

/** Where one response stands in what is said. */
export interface Response {
  feed: Feed;
  /** The place before its first chunk. */
  from: number;
  /** It ends with the first end of a response that stands behind this place; else behind `from`. */
  endsAfter?: number;
  /** Whether its client has the floor. */
  hasFloor?: boolean;
  /** Approvals whose requests are left out. */
  omitted?: readonly string[];
  /** Whether it ends, too, when the agent comes to rest: it is part of a live turn. */
  endsAtRest?: boolean;
  /** Whether it never ends, and tells what other pages do, too: someone watches. */
  isWatched?: boolean;
  /** Whether the client hears all else where it watches: it is told only what is meant for it alone. */
  isAside?: boolean;
  /** Messages as this client is told them. */
  present?: (messages: Message[]) => Message[];
  /** What only this client is told, as far as it was not. */
  aside?: () => readonly Chunk[];
  /** The whole response, when it stands in the log no more. */
  told?: Chunk[];
}

/** Messages from which a client goes on. */
export interface Reset {
  messages: Message[];
  /** The first message of the page, when there are others before it. */
  older?: string;
}

/** The largest page of messages: parsing and writing a larger one would block the event loop for all users. */
export const PAGE = { count: 100, bytes: 256 * 1024 };

/** Where a listener begins. */
export interface Joined {
  feed: Feed;
  /** The place that its first chunk stands behind. */
  from: number;
  /** Whether that is where the client said it was. */
  resumed: boolean;
  /** The id of the newest chunk. */
  newest: string;
  /** The newest page of messages, when the client cannot go on where it was. */
  reset: Reset | null;
  /** What has to be said before the first chunk: the message it belongs to, and its open blocks. */
  opening: Chunk[];
  /** Approvals whose requests are left out. */
  omitted: readonly string[];
  /** The rest of the sound that they have the beginning of. */
  sounds: Sound[];
  /** What else they are told first. */
  info: Pick<SessionInfo, 'received' | 'open' | 'running' | 'model' | 'floor'>;
}

/** Messages of a session, in order. */
export interface MessagePage {
  messages: Message[];
  /** The message that the page before this one ends with, exclusive: null when there is none. */
  older: string | null;
  /** Whether the agent is at work. */
  isRunning: boolean;
}
