import type {
  App,
  BaseArtifactService,
  BaseCredentialService,
  BaseMemoryService,
  BasePlugin,
  ResumabilityConfig,
  RunConfig,
} from '@google/adk';
import {
  type AgentRoot,
  type ApprovalOverride,
  type Driver,
  knownTools,
  pluginFault,
  rootOf,
  unknownTool,
} from '../adk/for-server.ts';
import type { RetryPolicy } from '../models/for-server.ts';
import { LIMITS, type Limits } from '../protocol/index.ts';
import { type Check, checkOptions as check, type OptionChecks } from '../protocol/options.ts';
import { type DataSchemas, ownDataNameFault } from '../protocol/own-data.ts';
import type { AccessOptions } from './access/access.ts';
import { areProxies, type TrustedProxies } from './access/client-address.ts';
import { type BudgetLimits, defaultBudget, type RateLimit } from './access/limits.ts';
import type { StillSignedIn } from './access/sign-in.ts';
import type { Clock } from './clock.ts';
import { CLOCK, HUB, STORE } from './contracts.ts';
import type { ToolSignInOptions } from './credentials/sign-ins.ts';
import type { ApprovalTimeouts, SessionOptions } from './engine.ts';
import { isTypeEntry } from './file-types.ts';
import type { ChatSocketOptions } from './http/route.ts';
import type { Hub } from './log/hub.ts';
import type { Logger } from './logger.ts';
import type { NodeOptions } from './nodes/node.ts';
import {
  address,
  bool,
  contract,
  count,
  either,
  fields,
  fullText,
  func,
  has,
  headerNames,
  isObject,
  numbers,
  oneOf,
  positiveTime,
  rate,
  runConfig,
  secretText,
  service,
  texts,
  time,
} from './option-checks.ts';
import { DEFAULT_SOCKET_LIMITS, type SocketLimits } from './socket/socket.ts';
import type { ArtifactLimits } from './store/artifact-service.ts';
import type { Store } from './store/store.ts';
import { areOwnFields, type ToolRequestOptions } from './tool-request.ts';

/**
 * How much of a long conversation the model gets with each request, and how large a conversation may become. The model gets the newest events, beginning with a
 * user message, and the open calls, however old these are.
 */
export interface HistoryOptions {
  /** The largest number of ADK events; 2,000 unless given. */
  maxEvents: number;
  /** The largest size of the events in bytes, without pictures; 4 MB unless given, less where the heap is small. */
  maxBytes: number;
  /**
   * The largest size of all pictures in bytes; 16 MB unless given, less where the heap is small. The newest pictures are sent; a short text replaces the
   * others.
   */
  maxImageBytes: number;
  /** The largest size of a stored session, in bytes; 512 MB unless given. Beyond that new messages are refused. */
  maxSessionBytes: number;
}

/** The options of a server. Every option except `agent` has a default. */
export interface DuologueOptions {
  /** An agent of ADK, a `Workflow`, or an `App`. Of an `App`, its name, plugins and root agent are used. */
  agent: AgentRoot | App;
  /** The app name under which sessions are stored; the name of the `App`, or `duologue`, unless given. */
  appName?: string;
  /** The store of the sessions; in memory unless given. */
  store?: Store;
  /** Makes this process one of several nodes that share a store. Requests may arrive at any of them. The store must be one that can be shared. */
  node?: NodeOptions;
  /** The hub that the nodes share besides the store. With it, clients resume a response after its node died, and rate limits hold for all nodes together. */
  hub?: Hub;
  /** Plugins for ADK's runner. They come after those of the `App`. */
  plugins?: BasePlugin[];
  /** ADK's service for artifacts, which tools save and load through their context: artifacts in the store, unless given. */
  artifactService?: BaseArtifactService;
  /** The largest sizes of artifacts in the store. A tool that saves a larger one gets an error. */
  artifacts?: Partial<ArtifactLimits>;
  /** ADK's service for memory, which tools search through their context. */
  memoryService?: BaseMemoryService;
  /** ADK's service for credentials of tools; in memory unless given. */
  credentialService?: BaseCredentialService;
  /** ADK's setting for resumption. Runs are always resumable here, because calls wait for users; `isResumable: false` is refused. */
  resumabilityConfig?: ResumabilityConfig;
  /** The path under which the server is mounted, such as `/api/chat`. */
  basePath?: string;
  /** The key that every request of a user must send, or else the cookie that `POST /login` gave for it. */
  apiKey?: string | undefined;
  /** Origins of pages on other hosts that may use the server. */
  origins?: readonly string[];
  /** Further host names under which the server is reached. */
  hosts?: readonly string[];
  /**
   * The proxies in front of the server whose `X-Forwarded-For` is trusted: their number, or their addresses and networks (`10.0.0.0/8`). Wrong keys are
   * limited by the address of the client; without this option that is the address of the connection.
   */
  trustedProxies?: TrustedProxies;
  /** Returns the user of a request, alone or with a token that `stillSignedIn` gets later; null refuses the request. */
  authenticate?: AccessOptions['authenticate'];
  /**
   * Returns whether a user of `authenticate` is still signed in. The server calls it at every decision, before an approved call runs, when a client claims the
   * active connection or starts its microphone, when a sign-in of a tool is completed, and every minute while a connection is open. Without it, a sign-out
   * closes no open connection.
   */
  stillSignedIn?: StillSignedIn;
  /**
   * Limits the requests of a user that start work of the agent; false for no limit. False also turns off the default limits of reads and new sessions, and the
   * limit of wrong keys.
   */
  rateLimit?: RateLimit | false;
  /** Limits the requests of a user that read, rename or remove sessions, and handshakes of WebSockets; false for no limit. */
  readLimit?: RateLimit | false;
  /** Limits how many sessions a user may create; false for no limit. */
  newSessions?: RateLimit | false;
  /**
   * The names of the tools that ask for approval, whatever their definitions say. The list replaces the definitions: a tool that it does not name runs without
   * approval, even if its definition has `needsApproval: true`.
   */
  toolsRequiringApproval?: ApprovalOverride;
  /** How pictures of the agent are sent: as `file` chunks, unless `data-image` is given. */
  images?: SessionOptions['images'];
  /**
   * The media types of files that users may attach to a message: exact types (`application/pdf`), or all types of a kind (`text/*`). PNG, JPEG and WebP pictures
   * unless given; an empty list for none. The model must accept these types.
   */
  attachments?: readonly string[];
  /** The chunk that ends a denied call: `tool-output-error` unless given. */
  denials?: SessionOptions['denials'];
  /** How ADK's confirmations are shown: as approval requests, unless `tool` is given, which makes each a tool call of its own. */
  confirmations?: SessionOptions['confirmations'];
  /** Over BIDI: one approval request at a time, unless `parallel` is given. */
  approvals?: SessionOptions['approvals'];
  /** How long an approval request waits: for both modes, or for each; null means no limit. The definition of a tool may set its own (`defineTool`). */
  approvalTimeoutMs?: number | null | Partial<ApprovalTimeouts>;
  /** How long a tool in the browser may take, 60 seconds unless given; null means no limit. */
  clientTimeoutMs?: number | null;
  /** How long a question to the user (`RequestInput` and the like) waits, in milliseconds; null, which is the default, means no limit. */
  questionTimeoutMs?: number | null;
  /** Sign-ins at providers, for tools that ask for a credential (`requestCredential` of ADK). Without it, a call of such a tool ends with an error. */
  toolSignIn?: ToolSignInOptions;
  /**
   * How long a tool on the server may run, 60 seconds unless given; null means no limit. The definition of a tool may set its own; an agent that is used as a
   * tool has no limit.
   */
  toolTimeoutMs?: number | null;
  /** The names of native tools without side effects, which may run in parallel. Tools made with `defineTool` say so in their definition. */
  concurrentTools?: readonly string[];
  /**
   * The `data-*` parts that tools may add to messages (`context.data`): a schema for each name, of zod or of any other library that follows Standard Schema.
   * Names of the protocol are refused.
   */
  data?: DataSchemas;
  /** The headers and body fields of a request that tools see (`context.request`); none unless given. They are neither stored nor logged. */
  toolRequest?: Partial<ToolRequestOptions>;
  /** Over BIDI: what a typed message does while the agent speaks. It waits, unless `interrupt` is given. */
  whenBusy?: SessionOptions['whenBusy'];
  /** ADK's configuration of live runs: voice, modalities, activity detection. */
  live?: Partial<RunConfig>;
  /**
   * How ADK runs the agent over a socket: `live`, one live run, or `turn`, a run for each turn. Unless given, LLM agents run live. A tree of agents runs turn by
   * turn if it has a workflow or an agent of another kind, or if it has callbacks, plugins, tools or options that ADK does not support
   * in a live run. LLM agents whose model can only be used live run live even then, and the server logs a warning.
   */
  driver?: Driver;
  /** Timeouts of the model, and how often it is called again when it fails before its first token. */
  retryPolicy?: Partial<Omit<RetryPolicy, 'timer'>>;
  /** The part of a long conversation that the model gets, and the largest size of a conversation. */
  history?: Partial<HistoryOptions>;
  /** The largest message, body and frame that the server accepts. */
  limits?: Partial<Limits>;
  /** How many bytes of bodies and frames may be in memory while they arrive and are handled. */
  budget?: Partial<BudgetLimits>;
  /** Limits of WebSocket connections. */
  socketLimits?: Partial<SocketLimits>;
  /** Sockets for the AI SDK's own `WebSocketChatTransport`, at `/ws` unless another path is given; false for none. */
  chatSocket?: Partial<ChatSocketOptions> | false;
  /** Lets users read the ADK events of their sessions, and learn which nodes serve those sessions, for development. */
  inspect?: boolean;
  /** The log of the server; without it, warnings and errors go to the console. A pino logger can be passed directly. */
  logger?: Logger;
  /** Replaces the clock and the timers of the machine, for tests. */
  clock?: Clock;
  /** Creates unique ids, such as those of messages, approvals and connections; random UUIDs unless given. */
  newId?: () => string;
}

/** Whether a path can be used for the sockets of the AI SDK: it is valid, and no route of the server has it. */
function isFreePath(value: unknown): boolean {
  const isPath = typeof value === 'string' && /^(?:\/[\w.~-]+)+$/.test(value);
  return isPath && !/^\/(?:live|stream|sessions|approvals|login|health|sign-in|cluster)(?:\/|$)/.test(value);
}

/** Checks the option `data`: schemas by names that the protocol does not use. */
const dataSchemas: Check = (value) => {
  if (!isObject(value)) return 'an object of schemas';
  for (const [name, schema] of Object.entries(value)) {
    const fault = ownDataNameFault(name);
    if (fault) return `an object without ${JSON.stringify(name)} (${fault})`;
    const standard = schema != null && (schema as { '~standard'?: unknown })['~standard'];
    if (!isObject(standard) || typeof standard.validate !== 'function')
      return `an object whose ${JSON.stringify(name)} is a schema of zod, or of another library that follows Standard Schema`;
  }
  return null;
};

/** The check of each option. */
export const OPTION_CHECKS: OptionChecks<DuologueOptions> = {
  agent: has(isObject, 'an agent, a Workflow or an App of @google/adk'),
  appName: fullText,
  store: contract("a store, such as await openSqliteStore('data.db')", STORE),
  node: fields<NodeOptions>(
    { address: address('http://chat-1:3000'), leaseMs: positiveTime, drainMs: count },
    ['address'],
  ),
  hub: contract("a hub, such as await openRedisHub({ url: 'redis://cache:6379' })", HUB),
  plugins: pluginFault,
  artifactService: service('saveArtifact', 'loadArtifact'),
  artifacts: fields<NonNullable<DuologueOptions['artifacts']>>({ maxBytes: count, maxUserBytes: count }),
  memoryService: service('addSessionToMemory', 'searchMemory'),
  credentialService: service('loadCredential', 'saveCredential'),
  resumabilityConfig: has(
    (value) => isObject(value) && value.isResumable === true && Object.keys(value).length === 1,
    '{ isResumable: true }, since calls wait for users and are resumed',
  ),
  basePath: has(
    (value) => typeof value === 'string' && /^(?:\/[^?#]*)?$/.test(value),
    'a path that begins with "/", such as "/api/chat"',
  ),
  apiKey: fullText,
  origins: texts,
  hosts: texts,
  trustedProxies: has(
    areProxies,
    'a number of proxies, or a list of their addresses and networks (10.0.0.0/8)',
  ),
  authenticate: func,
  stillSignedIn: func,
  rateLimit: rate,
  readLimit: rate,
  newSessions: rate,
  toolsRequiringApproval: texts,
  images: oneOf('file', 'data-image'),
  attachments: has(
    (value) => Array.isArray(value) && value.every(isTypeEntry),
    'a list of media types such as "application/pdf" or "text/*", in small letters',
  ),
  denials: oneOf('tool-output-error', 'tool-output-denied'),
  confirmations: oneOf('approval', 'tool'),
  approvals: oneOf('sequential', 'parallel'),
  approvalTimeoutMs: either(
    (value) => time(value) === null,
    'a number of milliseconds, null for no limit',
    fields<ApprovalTimeouts>({ sse: time, bidi: time }),
  ),
  clientTimeoutMs: time,
  questionTimeoutMs: time,
  toolSignIn: fields<ToolSignInOptions>(
    {
      callbackUrl: address('https://chat.example.com/sign-in/callback'),
      secret: secretText,
      timeoutMs: time,
    },
    ['callbackUrl'],
  ),
  toolTimeoutMs: time,
  concurrentTools: texts,
  data: dataSchemas,
  toolRequest: fields<Partial<ToolRequestOptions>>({
    headers: headerNames,
    body: has(areOwnFields, 'a list of names of fields that the protocol does not use'),
  }),
  whenBusy: oneOf('queue', 'interrupt'),
  live: runConfig,
  driver: oneOf('live', 'turn'),
  retryPolicy: fields<NonNullable<DuologueOptions['retryPolicy']>>({
    retries: count,
    maxWaitMs: count,
    firstTokenMs: time,
    nextTokenMs: time,
    random: func,
  }),
  history: fields<NonNullable<DuologueOptions['history']>>({
    maxEvents: count,
    maxBytes: count,
    maxImageBytes: count,
    maxSessionBytes: count,
  }),
  limits: numbers(LIMITS),
  budget: numbers(defaultBudget()),
  socketLimits: numbers(DEFAULT_SOCKET_LIMITS),
  chatSocket: either(
    (value) => value === false,
    'false for no such sockets',
    fields<ChatSocketOptions>({
      path: has(isFreePath, 'a path such as "/ws" that no route has'),
      onAbort: oneOf('stop', 'leave'),
    }),
  ),
  inspect: bool,
  logger: has(
    (value) =>
      isObject(value) && ['info', 'warn', 'error'].every((level) => typeof value[level] === 'function'),
    'an object with the functions info, warn and error',
  ),
  clock: contract('a clock, such as new FakeTime()', CLOCK),
  newId: func,
};

/** Throws an error that names the option when an option is unknown or has an invalid value. */
export function checkOptions(options: DuologueOptions): void {
  if (!isObject(options))
    throw new TypeError('createDuologue needs an object of options, such as { agent }.');
  for (const [name, value] of Object.entries(options)) {
    if (Object.hasOwn(OPTION_CHECKS, name) && value instanceof Promise)
      throw new TypeError(`createDuologue: the option "${name}" is a Promise. Did you forget await?`);
  }
  check('createDuologue', OPTION_CHECKS, { ...options, agent: options.agent ?? null });
}

/**
 * Checks the tools of the agent against the options. Throws when a tool sends data that the option `data` does not declare, or when an option names a tool that
 * no agent has: a misspelt name would let a tool run without approval. If an agent has a toolset, whose tools are known only when the agent runs, an unknown
 * name is logged as a warning instead.
 */
export function checkTools(options: DuologueOptions, logger: Logger): void {
  const { agent, toolsRequiringApproval = [], concurrentTools = [] } = options;
  const { names, open, data } = knownTools(rootOf(agent));
  for (const { name, tool } of data) {
    if (Object.hasOwn(options.data ?? {}, name)) continue;
    throw new Error(`The tool "${tool}" sends the data "${name}", which the option "data" does not declare.`);
  }
  const named = [
    ...toolsRequiringApproval.map((name) => ['toolsRequiringApproval', name] as const),
    ...concurrentTools.map((name) => ['concurrentTools', name] as const),
  ];
  for (const [option, name] of named) {
    if (names.has(name)) continue;
    const sentence = unknownTool(option, name, names);
    if (open.size === 0) throw new Error(sentence);
    logger.warn(`${sentence} It has an effect only if a toolset brings a tool of that name.`);
  }
}
