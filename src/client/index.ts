export type { SessionInfo } from '../protocol/chunks.ts';
export {
  Connection,
  type ConnectionOptions,
  type ConnectionState,
  type WebSocketLike,
} from './connection.ts';
export type { Executor, ExecutorContext, Executors } from './executors.ts';
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
export { type AnswerKind, type AnswerMemory, resumeWhen, shouldResume } from './resume.ts';
export { DuologueSseTransport, type DuologueSseTransportOptions } from './sse-transport.ts';
export type { Timers } from './timers.ts';
export { DuologueTransport, type DuologueTransportOptions, type Pending } from './transport.ts';
