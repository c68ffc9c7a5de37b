import type { BaseAgent, RunConfig, Runner } from '@google/adk';
import type { Driver, GatePlugin } from '../adk/for-server.ts';
import type { Limits, ModelSenses } from '../protocol/index.ts';
import type { SignIn } from './access/sign-in.ts';
import type { Clock } from './clock.ts';
import type { RefusedAnswers } from './ledger/approvals.ts';
import type { Logs } from './log/log.ts';
import type { Logger } from './logger.ts';
import type { DraftPace } from './output/pace.ts';
import type { StoreSessionService } from './store/adk-sessions.ts';
import type { OwnedKey, SessionKey, Store } from './store/store.ts';

/** How sessions behave: options of the server, and what it found out about its agent. */
export interface SessionOptions {
  /** Images that the agent makes: as standard `file` chunks, or as `data-image`. */
  images: 'file' | 'data-image';
  /** How a denial is told. */
  denials: 'tool-output-error' | 'tool-output-denied';
  /** Approval cards as the SDK knows them, or a confirmation that is a tool call of its own. */
  confirmations: 'approval' | 'tool';
  /** Over BIDI: one card at a time, or all at once. */
  approvals: 'sequential' | 'parallel';
  /** How long a card waits, in milliseconds; null is for ever. */
  approvalTimeoutMs: { sse: number | null; bidi: number | null };
  /** How long a tool in the browser may take. */
  clientTimeoutMs: number | null;
  /** How long a tool on the server may run; null is for ever. Agents used as tools take their time. */
  toolTimeoutMs: number | null;
  /** Native tools that change nothing, by name: they run beside others. */
  concurrentTools: readonly string[];
  /** Over BIDI: what a typed message does while the agent speaks. */
  whenBusy: 'queue' | 'interrupt';
  /** How many bytes a session may be stored with. */
  maxSessionBytes: number;
  /** How much is taken in one message, body or frame. */
  limits: Limits;
  /** ADK's configuration of live runs. */
  live: Partial<RunConfig>;
  /** What drives the agent behind a socket. */
  driver: Driver;
  /** Whether the application has after-tool callbacks, which see the outputs of browser tools as well. */
  callsBack: boolean;
}

/** Who may write to sessions. */
export interface Owners {
  /** Whether no other process has sessions of the store. */
  readonly areAlone: boolean;
  /** Throws when sessions cannot be used here at the moment, and says where they can. */
  check(): void;
  /** Makes this process the owner of a session; null when there is none such. */
  take(key: SessionKey): Promise<OwnedKey | null>;
  /** The owner has nothing more to do with it. Never rejects. */
  release(key: OwnedKey): Promise<void>;
  /**
   * Starts work that must not start after another process has taken the session over, such as a tool: nothing is awaited between the last check and
   * `start`. While this process cannot be sure, it waits. Rejects without starting when the session has another owner, or the signal comes first.
   */
  startAsOwner<T>(key: OwnedKey, signal: AbortSignal, start: () => Promise<T>): Promise<T>;
}

/** What all sessions of a server share. */
export interface Engine {
  appName: string;
  rootAgent: BaseAgent;
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
  options: SessionOptions;
  /** What the model takes and gives beside text. */
  senses: () => ModelSenses;
}
