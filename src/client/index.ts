/**
 * The browser side of Duologue: transports for `useChat` of the AI SDK, a connection that reconnects by itself, browser tools, and the
 * rule that says when `useChat` sends again. It needs neither Node.js nor React. A transport owns everything about its chat and keeps
 * nothing at module level, so that a page may have several.
 */
export type { Message, SessionInfo } from '../protocol/chunks.ts';
export type { Executor, ExecutorContext, Executors, ExecutorsFor } from './executors.ts';
export {
  DuologueHttp,
  type HttpOptions,
  type SessionEntry,
  type SessionPage,
  type StoredSession,
} from './http.ts';
export type {
  Connection,
  ConnectionEvent,
  ConnectionState,
  Link,
  LinkEvents,
  LinkKind,
  LinkTarget,
  OutgoingFrame,
  Played,
  ReceivedChunk,
  SoundPlayer,
  WebSocketLike,
} from './link/index.ts';
export type { Network, Timers } from './platform.ts';
export type { Pending } from './responses/index.ts';
export { resumeWhen } from './resume.ts';
export type { AnswerKind, AnswerMemory } from './tool-calls.ts';
export {
  DuologueSseTransport,
  type DuologueSseTransportOptions,
  DuologueTransport,
  type DuologueTransportOptions,
  type TransportOptions,
} from './transport.ts';
