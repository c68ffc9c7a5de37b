/**
 * The server: sessions, approvals, HTTP and sockets around one agent. `createDuologue` is the only entry, and connects everything. The session registry
 * (`registry/`) owns the sessions of this process; the state in `conversation/` decides what happens in a session. Data that outlives the process is in a store
 * (`store/` has the contract; `sqlite/` and `postgres/` implement it). Data that several processes share besides the store is in a hub (`log/hub.ts`;
 * `redis/` implements it). Adapters (`adapters/`) connect the server to a framework or runtime.
 */

export type { RateLimit } from './access/limits.ts';
export { ServerApiError, type ServerApiErrorCode } from './api/api-error.ts';
export type {
  ApplicationDecision,
  ApplicationMessage,
  CompletedCall,
  ServerApi,
  Speech,
} from './api/server-api.ts';
export type {
  SessionContent,
  SessionExport,
  SessionListRequest,
  SessionPage,
  SessionReadRequest,
  SessionRef,
  SessionsApi,
} from './api/sessions-api.ts';
export type { Clock } from './clock.ts';
export { createDuologue, type Duologue } from './duologue.ts';
export type { DeliveryInfo } from './events/deliveries.ts';
export type { EventListener } from './events/event-hub.ts';
export type {
  EventCall,
  EventRecord,
  ServerEvent,
  ServerEventFields,
  ServerEventName,
  ServerEventOf,
} from './events/server-events.ts';
export type { EventSubscription } from './events/subscriptions.ts';
export type { Reply, ResponseReader } from './http/reply.ts';
export type * from './log/hub.ts';
export type { Logger } from './logger.ts';
export type { NodeOptions } from './nodes/node.ts';
export type { DuologueOptions } from './options.ts';
export type { AcceptedSocket, Socket, SocketLimits } from './socket/socket.ts';
export type { Admission, Sockets } from './socket/sockets.ts';
export type { ArtifactLimits } from './store/artifact-service.ts';
export { createMemoryStore } from './store/memory/memory-store.ts';
export type {
  AcceptedRequest,
  Acquired,
  AllSessionsPage,
  AllSessionsRequest,
  ArtifactContent,
  ArtifactInfo,
  ArtifactStore,
  AuditEntry,
  AuditKind,
  AuditLine,
  AuditPage,
  AuditPageRequest,
  CallMove,
  CallRecord,
  CallStatus,
  ClaimedEvents,
  ClaimRequest,
  DecidedBy,
  Decision,
  EventRequest,
  FoundCall,
  HistoryLimits,
  ListedSession,
  ListRequest,
  NewSession,
  NodeDirectory,
  NodePlace,
  OutboxEvent,
  OutboxStore,
  OwnedKey,
  Page,
  PageRequest,
  SessionKey,
  SessionSummary,
  SharedStore,
  Store,
  StoredSession,
  UserSession,
  WaitingMessage,
} from './store/store.ts';
export { StaleFence, StateConflict, StoreError, StoreUnavailable } from './store/store.ts';
