import type { Blob } from '@google/genai';
import type { Answer, Chunk, ErrorCode, Input, Message } from '../protocol/index.ts';
import type { AdmittedPart } from './files.ts';
import type { ChunkLog } from './log.ts';
import type { Identity } from './sign-in.ts';
import type { PageRequest, SessionKey } from './store/store.ts';

/**
 * Where sessions live. Today that is this process (`local-home.ts`); a home of several processes gives the same `Session`
 * for one that lives in another.
 */
export interface SessionHome {
  /** The session; null when there is none such. */
  find(key: SessionKey): Promise<Session | null>;
  /** Ends what runs and removes the session, but for its audit log. False when there is none such. */
  remove(key: SessionKey): Promise<boolean>;
  /** Lets what runs come to its end if that is soon, stops the rest, and lets go of everything. */
  close(): Promise<void>;
}

/**
 * One session, as doors see it. It may live in another process: what is given to it can be written down, what it returns
 * comes later, and only what it says (`Feed`) and who listens (`Listener`) are objects of this process.
 */
export interface Session {
  readonly key: SessionKey;

  /** Takes a typed message: at once, or when the agent is done. Resolves when it was taken, rejects when it is refused. */
  say(message: TypedMessage, how: { again: boolean; requestId?: string | undefined }): Promise<void>;
  /** Takes answers to open calls, while everything else goes on. */
  answer(answers: Answer[], from: { by: Identity; requestId?: string | undefined }): Promise<void>;
  /** Sound or a picture from the person. */
  media(blob: Blob): void;
  /** Stops what the agent does; false when it does nothing. */
  stop(): Promise<boolean>;

  /** Takes a message that was posted. Resolves with its response when its turn comes. */
  post(message: PostedMessage): Promise<Response>;
  /** Takes answers that were posted. */
  postAnswers(answers: Answer[], from: AnsweredBy): Promise<Response>;
  /** The rest of the response in progress, behind the last chunk that the client has; null when there is none. */
  resume(last: string | null): Promise<Response | null>;

  /** Someone listens from now on, behind the last chunk they have. Whoever listened before loses the conversation. */
  join(listener: Listener, last: string | null): Promise<Joined>;
  /** Someone is gone. */
  leave(listener: Listener): void;

  /** Some of the stored messages; null when the one that they should stand before is not there. */
  page(request: PageRequest): Promise<MessagePage | null>;
}

/** Something that a person typed. */
export type TypedMessage = Extract<Input, { kind: 'message' }>;

/** A message as a client posted it, checked. */
export interface PostedMessage {
  id: string | undefined;
  parts: AdmittedPart[];
  requestId?: string;
}

/** Which message answers are for, and who gives them in which request. */
export interface AnsweredBy {
  messageId: string | undefined;
  by: Identity;
  requestId?: string;
}

/** One that listens to a session and may speak in it. */
export interface Listener {
  readonly id: string;
  /** Is told why it loses the session, and goes. */
  end(code: ErrorCode, message: string): void;
  play(sound: Sound): void;
}

/** Sound for the person, as the model gave it. */
export interface Sound {
  data: string;
  sampleRate: number;
}

/** What a session says, as this process follows it. */
export interface Feed {
  readonly log: Pick<ChunkLog, 'epoch' | 'first' | 'last' | 'at' | 'subscribe'>;
  /** Whether the agent has nothing to do, or waits for the person or the browser. */
  readonly isAtRest: boolean;
  /** Calls back whenever the agent has come to rest; the returned function ends that. */
  onRest(callback: () => void): () => void;
  /** Lets the agent wait for a reader that lags far behind; the returned function ends that. */
  attach(reader: Reader): () => void;
  /** A reader took something. */
  readerMoved(): void;
}

/** A reader of the log as the agent sees it: how far it is. */
export interface Reader {
  position(): number;
}

/** Where one response stands in what is said. */
export interface Response {
  feed: Feed;
  /** The place before its first chunk. */
  from: number;
  /** It ends with the first end of a response that stands behind this place; else behind `from`. */
  endsAfter?: number;
  /** Approvals whose requests are left out. */
  omitted?: readonly string[];
  /** Whether it ends, too, when the agent comes to rest: it is part of a live turn. */
  endsAtRest?: boolean;
}

/** Where a listener begins. */
export interface Joined {
  feed: Feed;
  /** The place that its first chunk stands behind. */
  from: number;
  /** Whether that is where the client said it was. */
  resumed: boolean;
  /** The id of the newest chunk. */
  newest: string;
  /** All messages, when the client cannot go on where it was. */
  reset: Message[] | null;
  /** What has to be said before the first chunk: the message it belongs to, and its open blocks. */
  opening: Chunk[];
  /** Approvals whose requests are left out. */
  omitted: readonly string[];
}

/** Messages of a session, in order. */
export interface MessagePage {
  messages: Message[];
  /** The message that the page before this one ends with, exclusive: null when there is none. */
  older: string | null;
  /** Whether the agent is at work. */
  isRunning: boolean;
}
