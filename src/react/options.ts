import type { ConnectionState, DuologueTransportOptions, Executors, HttpOptions } from '../client/index.ts';
import type { Chunk, Message } from '../protocol/chunks.ts';
import type { DataSchemas, OwnTransientData } from '../protocol/own-data.ts';

/** The transport of a conversation: `sse` posts each request over HTTP, `bidi` uses one WebSocket for everything, sound included. */
export type Mode = 'sse' | 'bidi';

/**
 * Data of the server that is not part of a message: transcripts, errors, changes that other pages made. `TransientData<typeof data>` also has the transient data
 * that the application declared.
 */
export type TransientData<SCHEMAS extends DataSchemas = DataSchemas> =
  | Extract<Chunk, { type: `data-${string}` }>
  | OwnTransientData<SCHEMAS>;

/** Options of a conversation. */
export interface ConversationOptions
  extends HttpOptions,
    Pick<DuologueTransportOptions, 'WebSocket' | 'onFrame'> {
  mode: Mode;
  sessionId: string;
  /** The browser tools of the page. Their names are read once and must not change; the functions may change. */
  tools?: Executors | undefined;
  /** The messages of the session, if the page has them already. Without this option, the messages are loaded from the server. */
  messages?: Message[] | undefined;
  /** How many milliseconds a browser tool may run. */
  toolTimeoutMs?: number | undefined;
  /** Gets data that is not part of a message. */
  onData?: ((data: TransientData) => void) | undefined;
  onError?: ((error: Error) => void) | undefined;
  onFinish?: ((result: { message: Message; messages: Message[] }) => void) | undefined;
}

/** The state that a page shows besides the messages. */
export interface ConversationState {
  /** The current mode. A change waits for the end of the response that is being read. */
  mode: Mode;
  connection: ConnectionState;
  /** Whether the messages of the session are loaded. */
  history: { status: 'loading' } | { status: 'ready' } | { status: 'failed'; error: Error };
  /** Whether the server has messages before the first one that is shown. */
  hasOlder: boolean;
  /**
   * Whether this page is the active one, which runs browser tools and plays sound while other pages watch. `isFree`: no page is active.
   * `claim` makes this page the active one.
   */
  active: { isHere: boolean; isFree: boolean; claim(): void };
}
