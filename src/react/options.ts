import type { ConnectionState, Executors, HttpOptions, WebSocketLike } from '../client/index.ts';
import type { Chunk, Message } from '../protocol/chunks.ts';
import type { Mode } from './mode.ts';

/** Data that the server tells and that is not kept in a message. */
export type ToldData = Extract<Chunk, { type: `data-${string}` }>;

/** What a conversation is made of. */
export interface ConversationOptions extends HttpOptions {
  mode: Mode;
  sessionId: string;
  /** The browser tools of the page. Which there are is settled at the beginning; what they do may change. */
  tools?: Executors | undefined;
  /** What was said before; without it the server is asked. */
  messages?: Message[] | undefined;
  toolTimeoutMs?: number | undefined;
  WebSocket?: (new (url: string, protocols: string[]) => WebSocketLike) | undefined;
  onData?: ((data: ToldData) => void) | undefined;
  onError?: ((error: Error) => void) | undefined;
  onFinish?: ((result: { message: Message; messages: Message[] }) => void) | undefined;
  /** Sees every frame of the socket, as it goes and comes. */
  onFrame?: ((direction: 'in' | 'out', data: string | Uint8Array) => void) | undefined;
}

/** What the page may want to know beside the messages. */
export interface ConversationState {
  /** The mode in force. A change waits for the end of the response that is being read. */
  mode: Mode;
  connection: ConnectionState;
  /** Where what was said before is: on its way, here, or not to be had. */
  history: { status: 'loading' } | { status: 'ready' } | { status: 'failed'; error: Error };
  /** Whether the server has messages before the first one that is shown. */
  hasOlder: boolean;
  /** Whether this page has the floor: it runs browser tools and hears sound, the others watch. `isFree`: no connection has it. */
  floor: { isHere: boolean; isFree: boolean; take(): void };
}
