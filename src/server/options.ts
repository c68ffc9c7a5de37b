import type { BaseAgent, BasePlugin, RunConfig } from '@google/adk';
import type { ApprovalOverride, Driver } from '../adk/for-server.ts';
import type { RetryPolicy } from '../models/for-server.ts';
import type { Limits } from '../protocol/index.ts';
import type { AccessOptions } from './access/access.ts';
import type { BudgetLimits } from './access/byte-budget.ts';
import type { TrustedProxies } from './access/client-address.ts';
import type { RateLimit } from './access/rate-limit.ts';
import type { StillSignedIn } from './access/sign-in.ts';
import type { Clock } from './clock.ts';
import type { SessionOptions } from './engine.ts';
import type { Hub } from './log/hub.ts';
import type { Logger } from './logger.ts';
import type { NodeOptions } from './nodes/node.ts';
import type { SocketLimits } from './socket/socket.ts';
import type { Store } from './store/store.ts';

/**
 * How much of a long conversation the model is given with each request: its newest events, from a message of the user on. Calls that are
 * open are always among them. And how long a conversation may become.
 */
export interface HistoryOptions {
  /** At most so many ADK events; 2,000 unless given. */
  maxEvents: number;
  /** At most so many bytes of events, pictures apart; 4 MB unless given, less where the heap is small. */
  maxBytes: number;
  /** At most so many bytes of pictures, the newest first; 16 MB unless given, less where the heap is small. Text stands for the others. */
  maxImageBytes: number;
  /** How many bytes a session may be stored with; 512 MB unless given. Beyond that new messages are refused. */
  maxSessionBytes: number;
}

/** What a server is made of; everything but the agent has a default. */
export interface DuologueOptions {
  /** An ordinary ADK agent. */
  agent: BaseAgent;
  /** Name of the app that sessions are kept under. */
  appName?: string;
  /** Where sessions live; in memory unless given. */
  store?: Store;
  /** For one of several processes that share the store: any request may come to any of them. The store must be one that can be shared. */
  node?: NodeOptions;
  /** What such processes share beside the store: with it a response goes on when its process dies, and limits hold for all of them together. */
  hub?: Hub;
  /** Plugins for ADK's runner. */
  plugins?: BasePlugin[];
  /** Where the server is mounted, e.g. `/api/chat`. */
  basePath?: string;
  /** A key every request must show. */
  apiKey?: string | undefined;
  /** Origins of pages on other hosts that may use the server. */
  origins?: readonly string[];
  /** Further host names under which the server is reached. */
  hosts?: readonly string[];
  /**
   * The proxies in front of the server whose `X-Forwarded-For` is believed: how many there are, or their addresses and networks (`10.0.0.0/8`).
   * Wrong keys are limited by the address of the client; without this it is that of the connection.
   */
  trustedProxies?: TrustedProxies;
  /** Returns the user of a request, alone or with a token that `stillSignedIn` is shown later; null refuses the request. */
  authenticate?: AccessOptions['authenticate'];
  /**
   * Says whether someone whom `authenticate` let in is still signed in. It is asked at every decision, before an approved
   * call runs, and every minute of an open connection; without it a connection lasts as long as its socket.
   */
  stillSignedIn?: StillSignedIn;
  /** Requests per user that make the agent work; false for no limit, of reads and new sessions neither. */
  rateLimit?: RateLimit | false;
  /** Requests per user that read, rename or remove, and handshakes; false for no limit. */
  readLimit?: RateLimit | false;
  /** Sessions that a user may begin; false for no limit. */
  newSessions?: RateLimit | false;
  /** The tools that ask, by name, whatever their definitions say. */
  toolsRequiringApproval?: ApprovalOverride;
  images?: SessionOptions['images'];
  denials?: SessionOptions['denials'];
  confirmations?: SessionOptions['confirmations'];
  approvals?: SessionOptions['approvals'];
  /** How long a card waits: for both modes, or for each; null is for ever. */
  approvalTimeoutMs?: number | null | Partial<SessionOptions['approvalTimeoutMs']>;
  clientTimeoutMs?: number | null;
  /** How long a tool on the server may run, 60 seconds unless given; null is for ever. */
  toolTimeoutMs?: number | null;
  /** Native tools that change nothing, by name: they run beside others. Own tools say so in their definition. */
  concurrentTools?: readonly string[];
  whenBusy?: SessionOptions['whenBusy'];
  /** ADK's configuration of live runs: voice, modalities, activity detection. */
  live?: Partial<RunConfig>;
  /**
   * What drives the agent behind a socket: one live run, or a run for each answer. Unless given, LLM agents are driven live; trees with
   * workflows or agents of another kind, or with callbacks, plugins or output schemas that ADK ignores in live runs, turn by turn.
   */
  driver?: Driver;
  /** Timeouts of the model, and how often it is called again when it fails before its first token. */
  retryPolicy?: Partial<Omit<RetryPolicy, 'timer'>>;
  /** How much of a long conversation the model is given, and how long one may become. */
  history?: Partial<HistoryOptions>;
  /** How much is taken in one message, body or frame. */
  limits?: Partial<Limits>;
  /** How much of what clients send may be in memory before it is read. */
  budget?: Partial<BudgetLimits>;
  socketLimits?: Partial<SocketLimits>;
  /** Tells the ADK events of a session to its user, for development. */
  inspect?: boolean;
  /** Where it says what happens; warnings and errors go to the console unless given. A logger of pino is taken as it is. */
  logger?: Logger;
  clock?: Clock;
  newId?: () => string;
}
