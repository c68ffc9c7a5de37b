import type { EventActions, RunConfig, Runner } from '@google/adk';
import type { AgentRoot, Driver, FileChunk, GatePlugin } from '../adk/for-server.ts';
import type { Limits, SessionCapabilities, SessionInfo } from '../protocol/index.ts';
import type { DataSchemas } from '../protocol/own-data.ts';
import type { SignIn } from './access/sign-in.ts';
import type { Clock } from './clock.ts';
import type { ToolSignIns } from './credentials/sign-ins.ts';
import type { EventHub, PreparedEvent } from './events/event-hub.ts';
import type { RefusedAnswers } from './ledger/refused-answers.ts';
import type { Logs } from './log/log.ts';
import type { Logger } from './logger.ts';
import type { DraftPace } from './output/pace.ts';
import type { StoreSessionService } from './store/adk-sessions.ts';
import type { NewSession, OwnedKey, SessionKey, Store } from './store/store.ts';
import type { ToolRequestOptions } from './tool-request.ts';

/** How long an approval request waits, in milliseconds, by the transport of the conversation. */
export interface ApprovalTimeouts {
  /** Over SSE; null, which is the default, means no limit. */
  sse: number | null;
  /** Over BIDI, 30 seconds unless given; null means no limit. */
  bidi: number | null;
}

/** How sessions behave: options of the server with their defaults, and facts about the agent. */
export interface SessionOptions {
  /** How images that the agent makes are sent: as `file` chunks of the AI SDK, or as `data-image` chunks. */
  images: 'file' | 'data-image';
  /** The media types of files that user messages may have: exact types, or `type/*`. */
  attachments: readonly string[];
  /** The chunk that ends a denied call. */
  denials: 'tool-output-error' | 'tool-output-denied';
  /** How users are asked for approval: by approval requests of the AI SDK, or by confirmations that are separate tool calls. */
  confirmations: 'approval' | 'tool';
  /** Over BIDI: one approval request at a time, or all at once. */
  approvals: 'sequential' | 'parallel';
  /** How long an approval request waits, in milliseconds; null means no limit. */
  approvalTimeoutMs: ApprovalTimeouts;
  /** How long a tool in the browser may take, in milliseconds; null means no limit. */
  clientTimeoutMs: number | null;
  /** How long a question to the user waits; null means no limit. */
  questionTimeoutMs: number | null;
  /** How long a sign-in at a provider may take; null means no limit. */
  signInTimeoutMs: number | null;
  /** How long a tool on the server may run, unless its definition says otherwise; null means no limit. An agent that is used as a tool has no limit. */
  toolTimeoutMs: number | null;
  /** The names of native tools without side effects, which may run in parallel. */
  concurrentTools: readonly string[];
  /** The schemas of the data parts that tools may send. */
  data: DataSchemas;
  /** Whether a tool of the agent has, or may have, `onApproved` or `onDenied`. */
  tellsDecisions: boolean;
  /** Which parts of a request tools may see; null means none. */
  toolRequest: Partial<ToolRequestOptions> | null;
  /** Over BIDI: what a typed message does while the agent speaks. */
  whenBusy: 'queue' | 'interrupt';
  /** The largest size of a stored session, in bytes. */
  maxSessionBytes: number;
  /** The largest message, body and frame that the server accepts. */
  limits: Limits;
  /** ADK's configuration of live runs. */
  live: Partial<RunConfig>;
  /** How ADK runs the agent over a socket. */
  driver: Driver;
  /** Whether the root is a workflow: each of its invocations continues on its own, also while calls of other invocations wait. */
  isWorkflow: boolean;
  /** Whether the application has, or may have, after-tool callbacks or output schemas, which must check the outputs of browser tools. */
  callsBack: boolean;
}

/** Decides which process may write to a session. */
export interface Owners {
  /** Throws when this process cannot use sessions at the moment. The error names a node that can, if there is one. */
  check(): void;
  /** Makes this process the owner of a session; null when the session does not exist. */
  take(key: SessionKey): Promise<OwnedKey | null>;
  /**
   * Creates a session, stores `event` in the same transaction, and makes this process the owner of the session. Throws a `StoreError` when the session
   * exists.
   */
  create(key: SessionKey, event: PreparedEvent | null): Promise<NewSession>;
  /** Gives up ownership. Never rejects. */
  release(key: OwnedKey): Promise<void>;
  /**
   * Starts work, such as a tool, that must not start after another process has taken the session over: nothing is awaited between the last check and
   * `start`. Waits while this process cannot be sure that it is the owner. Rejects without starting when the session has another owner, or when the
   * signal aborts first.
   */
  startAsOwner<T>(key: OwnedKey, signal: AbortSignal, start: () => Promise<T>): Promise<T>;
}

/** `artifactDelta`: the names of the artifacts that were saved, each with the number of its newest version. */
export type SavedArtifacts = Partial<Pick<EventActions, 'artifactDelta'>>;

/** The objects that all sessions of a server share. */
export interface Engine {
  appName: string;
  rootAgent: AgentRoot;
  runner: Runner;
  plugin: GatePlugin;
  store: Store;
  owners: Owners;
  logs: Logs;
  sessionService: StoreSessionService;
  clock: Clock;
  drafts: DraftPace;
  newId: () => string;
  logger: Logger;
  signIn: SignIn;
  refusals: RefusedAnswers;
  /** Passes events of sessions to the listeners and subscriptions of the application. */
  events: EventHub;
  /** Sign-ins at providers, for the credentials that tools ask for. */
  toolSignIns: ToolSignIns;
  options: SessionOptions;
  /** Returns a `file` chunk for each artifact that the actions of an ADK event have saved. */
  savedFiles: (session: SessionKey, actions: SavedArtifacts) => Promise<FileChunk[]>;
  /** The media types, the number and the sizes of the files that a user message may have. */
  attachments: () => NonNullable<SessionInfo['attachments']>;
  /** The media that the model accepts and produces besides text. */
  capabilities: () => SessionCapabilities;
}
