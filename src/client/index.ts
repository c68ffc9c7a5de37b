/**
 * The other end: transports for the AI SDK's `useChat`, a connection that comes back by itself, browser tools that run once,
 * and the rule that says when `useChat` sends again. It runs in a browser: no Node, no React. A transport owns everything
 * about its one chat; nothing is kept at module level, so that a page may have several.
 */
export type { SessionInfo } from '../protocol/chunks.ts';
export { Connection, type ConnectionOptions, type SoundEnd } from './connection.ts';
export type { ConnectionState } from './connection-state.ts';
export type { WebSocketLike } from './dial.ts';
export type { Executor, ExecutorContext, Executors } from './executors.ts';
export type { HearingOptions, Pending } from './hearing.ts';
export {
  DuologueHttp,
  type HttpOptions,
  type SessionEntry,
  type SessionPage,
  type StoredSession,
} from './http.ts';
export type { ConnectionEvent } from './incoming.ts';
export type { Network } from './network.ts';
export type { TransportOptions } from './options.ts';
export type { Played } from './played.ts';
export { type AnswerKind, type AnswerMemory, resumeWhen, shouldResume } from './resume.ts';
export { DuologueSseTransport, type DuologueSseTransportOptions } from './sse-transport.ts';
export type { Timers } from './timers.ts';
export { DuologueTransport, type DuologueTransportOptions } from './transport.ts';
