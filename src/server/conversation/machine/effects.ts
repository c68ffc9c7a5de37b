import type { Session as AdkSession, Event } from '@google/adk';
import type { Blob, Content } from '@google/genai';
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
import type { AcceptedRequest, CallRecord } from '../../store/store.ts';
import type { Wire } from './wire.ts';

/** Who asked for something. The machine only passes it on. */
export interface Asker {
  /** What the client calls the request, if it has a name. */
  readonly name: string | undefined;
  /** The connection that it came over; null for a request of its own. */
  readonly connection: string | null;
  /** Its turn has come: what is said from now on is its answer. */
  mark(): void;
  /** It was taken. */
  begin(): void;
  /** It is stored, with its name. */
  accept(accepted: AcceptedRequest): void;
  /** Some of it is refused. */
  tell(error: ProtocolError): void;
  /** Nothing of it was taken. */
  refuse(error: ProtocolError): void;
}

/** A place in ADK's run that waits for a call to be written down. The machine only passes it on. */
export type Ticket = object;

/** What a run is opened with. A live one gets what is said later; a turn is one answer, and ends by itself. */
export type RunRequest =
  | { driver: 'live'; detection: Detection }
  | { driver: 'turn'; content: Content; customMetadata: Record<string, unknown>; optimistic: boolean };

/** One thing to be written to the store. */
export type Write =
  | {
      do: 'keep';
      id: string;
      parts: AdmittedPart[];
      metadata?: PageMetadata | undefined;
      accepted?: AcceptedRequest | undefined;
    }
  | {
      do: 'wait';
      id: string;
      parts: AdmittedPart[];
      metadata?: PageMetadata | undefined;
      answerId: string | undefined;
      accepted: AcceptedRequest | undefined;
    }
  /** A message of the person that was stored last is none after all. */
  | { do: 'unkeep'; messageId: string }
  | { do: 'rewind'; messageId: string; again?: BegunAgain }
  | { do: 'append'; event: Event; seen?: AdkSession | undefined; accepted?: AcceptedRequest | undefined }
  | { do: 'issue'; call: CallRecord }
  | { do: 'show' | 'park'; call: CallRecord }
  | { do: 'take'; call: CallRecord }
  | { do: 'expire'; call: CallRecord; reason: string }
  | { do: 'save'; messageId: string }
  | {
      do: 'decide';
      decisions: Extract<Answer, { kind: 'decision' }>[];
      shown: ReadonlySet<string>;
      /** Whether whoever decides is still signed in; otherwise an approval ends its call. */
      isSignedIn: boolean;
      /** The request, when it is nothing but decisions: taken with the last that counts. */
      accepted: AcceptedRequest | undefined;
    }
  | { do: 'accept'; accepted: AcceptedRequest }
  | { do: 'cut'; messageId: string; share: number }
  | { do: 'withdraw'; call: CallRecord }
  | { do: 'find-unfinished'; messageId: string | undefined }
  /** Finds the last message of the agent, if it was cut, and brings its words into the history. */
  | { do: 'find-cut'; messageId: string }
  | { do: 'close-dangling'; errorText: string; messageId: string | null; waiting: ReadonlySet<string> }
  | { do: 'keep-words'; messageId: string; text: string };

/** A message that was stored is begun again: only if nothing came of it. Calls that do not wait end with the text. */
export interface BegunAgain {
  errorText: string;
  waiting: ReadonlySet<string>;
}

/** What a batch of writes was for: whoever hears that it was stored, or not, knows where to go on. */
export type About =
  | {
      what: 'message';
      asker: Asker;
      /** The message of the person. */
      said: string;
      /** The message that answers it. */
      messageId: string | null;
      /** The run that is to be opened for it. */
      run: number | null;
      /** Whether it is stored, and whoever said it was told so. */
      isKept: boolean;
    }
  | { what: 'waiting'; said: string }
  | { what: 'continuation'; asker: Asker }
  /** `n`: the run that made it. */
  | { what: 'call'; callId: string; ticket: Ticket; n: number }
  | { what: 'card'; callId: string; isAnnounced: boolean; beside: readonly string[] }
  | { what: 'decision'; given: GivenAnswers; isSignedIn: boolean; accepted: AcceptedRequest | undefined }
  | { what: 'heard'; messageId: string }
  | { what: 'execution'; callId: string }
  /** A card runs out of time. `isQuiet`: something posted is about to begin, and tells it. */
  | { what: 'expiry'; callId: string; isQuiet: boolean }
  | { what: 'conclusion'; messageId: string };

/** Answers of one person, read and in order. */
export interface GivenAnswers {
  wire: Wire;
  asker: Asker;
  by: Identity;
  answers: Answer[];
  messageId: string | undefined;
  /** Calls whose time was up when they came. */
  late: LateCall[];
}

/** Why it is asked whether someone is still signed in. */
export type SignInQuestion = { why: 'decision'; given: GivenAnswers } | { why: 'execution'; callId: string };

/** A call whose time was up before anyone looked: the chunks that tell it, and where. */
export interface LateCall {
  messageId: string;
  chunks: Chunk[];
}

/**
 * What the machine wants done, in order. A `store`, `say-stored` and `finish` hold back what comes after them until they are
 * written. `after` follows only when everything was written, `failed` or `conflicted` when it was not. Nothing else is
 * waited for: `store-apart` writes while everything goes on, and is heard of as an input.
 */
export type Effect =
  | { type: 'start'; message: Message }
  | { type: 'say'; messageId: string; chunk: Chunk }
  | { type: 'say-stored'; messageId: string; chunk: Chunk; inStep: boolean }
  | { type: 'inject'; chunk: Chunk }
  /** Tells those who watch of a message of the person that was stored last. */
  | { type: 'tell-kept'; messageId: string }
  | { type: 'amend'; messageId: string; chunks: Chunk[] }
  | { type: 'mark-card'; messageId: string; callId: string; approved: boolean; reason: string | undefined }
  | { type: 'finish'; message: Message; chunks: Chunk[] }
  | { type: 'release'; messageId: string }
  | { type: 'sound'; messageId: string; data: string; sampleRate: number }
  | { type: 'flush-sound' }
  | {
      type: 'store';
      writes: Write[];
      after: Effect[];
      /** What follows instead when a write fails. */
      failed?: Effect[];
      /** What follows instead when someone else has changed the same state. */
      conflicted?: Effect[];
      about: About | null;
    }
  | { type: 'store-apart'; writes: Write[]; about: About }
  | { type: 'open-run'; n: number; request: RunRequest }
  | { type: 'close-run'; n: number }
  | { type: 'send'; n: number; content: Content }
  | { type: 'show-media'; n: number; blob: Blob }
  | { type: 'signal'; n: number; activity: 'start' | 'end' }
  | { type: 'hush'; n: number }
  | { type: 'let-go'; ticket: Ticket; error: string | null }
  | { type: 'want-slot'; call: CallRecord }
  | { type: 'give-slot-back'; callId: string }
  | { type: 'run-tool'; call: CallRecord }
  /** Calls the after-tool callbacks of the application for an output that came from outside. */
  | { type: 'call-back'; call: CallRecord; output: unknown }
  | { type: 'ask-sign-in'; by: Identity; question: SignInQuestion }
  | { type: 'abort-tools' }
  | { type: 'mark'; asker: Asker }
  | { type: 'begun'; asker: Asker }
  | { type: 'accept'; asker: Asker; accepted: AcceptedRequest }
  | { type: 'tell'; asker: Asker; error: ProtocolError }
  | { type: 'refuse'; asker: Asker; error: ProtocolError }
  /** Tells one connection, if it is still there, what went wrong with something that was taken from it. */
  | { type: 'tell-connection'; connection: string; error: ProtocolError }
  | { type: 'wake'; at: number | null }
  | { type: 'note'; level: 'info' | 'error'; text: string; fields: Record<string, unknown> };
