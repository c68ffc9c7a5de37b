import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { type BaseAgent, type BasePlugin, type RunConfig, Runner } from '@google/adk';
import {
  type ApprovalOverride,
  checkCopy,
  type Driver,
  driverOf,
  GatePlugin,
  instrument,
  waitsInWorkflows,
} from '../adk/for-server.ts';
import { instrumentModels, type Patience, sensesOf } from '../models/for-server.ts';
import { LIMITS, type Limits, toProtocolError } from '../protocol/index.ts';
import { Access, type AccessOptions } from './access.ts';
import { type BudgetLimits, ByteBudget, defaultBudget, shareOfHeap } from './byte-budget.ts';
import { type Clock, systemClock } from './clock.ts';
import { DraftPace } from './draft-pace.ts';
import type { Engine, Owners, SessionOptions } from './engine.ts';
import { handle } from './http.ts';
import type { Hub } from './hub.ts';
import { KeptLogs } from './kept-logs.ts';
import { LargeJson } from './large-json.ts';
import { LocalHome } from './local-home.ts';
import { consoleLogger, type Logger, toLogger } from './logger.ts';
import { MemoryLogs } from './logs.ts';
import { Node, type NodeOptions } from './nodes/node.ts';
import { BatchTimer, Heartbeat } from './pace.ts';
import {
  DEFAULT_NEW_SESSIONS,
  DEFAULT_RATE_LIMIT,
  DEFAULT_READ_LIMIT,
  type RateLimit,
  RateLimiter,
} from './rate-limit.ts';
import { errorReply, NO_SNIFFING, type Reply } from './reply.ts';
import { ResponseReader } from './response-reader.ts';
import type { HttpContext } from './route.ts';
import { Sessions } from './sessions.ts';
import { SignIn, type StillSignedIn } from './sign-in.ts';
import type { SocketLimits } from './socket.ts';
import { Sockets } from './sockets.ts';
import { StoreSessionService } from './store/adk-sessions.ts';
import { createMemoryStore } from './store/memory/index.ts';
import type { SharedStore } from './store/nodes.ts';
import type { Store } from './store/store.ts';
import { Turnstile } from './turnstile.ts';

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
  /** What such processes share beside the store, so that responses outlive the process that gives them, and limits count in all of them. */
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
   * What drives the agent behind a socket: one live run, or a run for each answer. Unless given, LLM agents are driven live, and trees with
   * workflows or agents of another kind turn by turn.
   */
  driver?: Driver;
  /** How long the model is waited for, and how often it is asked again when it fails before it said anything. */
  patience?: Partial<Omit<Patience, 'timer'>>;
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

/** A server: give it requests, get responses. */
export interface Duologue {
  /** Answers a request; anything that is not ours gets 404. */
  fetch(request: Request): Promise<Response>;
  /** Answers a request; null when the path is not ours. */
  respond(request: Request): Promise<Response | null>;
  /** Answers a request in the form doors write; null when the path is not ours. */
  handle(request: Request): Promise<Reply | null>;
  /** For a path of the application beside ours: null when whoever asks may, else what they are answered. */
  guard(request: Request): Promise<Reply | null>;
  /** The sockets of `…/live`, for doors. */
  readonly sockets: Sockets;
  /** Whether it lets nobody in unseen: every request shows a key, or the application says whose it is. */
  readonly isGuarded: boolean;
  /** Ends what runs, within a few seconds, and lets go of everything. */
  close(): Promise<void>;
}

/** So often the process is kept alive while it closes. */
const ALIVE_MS = 2000;

/** Makes a server around an agent. */
export function createDuologue(options: DuologueOptions): Duologue {
  const budget = new ByteBudget({ ...defaultBudget(), ...options.budget });
  const { clock = systemClock } = options;
  const logger = toLogger(options.logger ?? consoleLogger);
  const store = options.store ?? createMemoryStore({ now: () => clock.now() });
  const node =
    options.node &&
    new Node({
      ...options.node,
      directory: sharedBy(store).nodes,
      clock,
      logger,
      owned: () => home.owned,
      onLost: (key) => home.lose(key),
    });
  const owners: Owners = node ?? { take: (key) => store.own(key), release: () => undefined };
  const { newId = randomUUID, hub } = options;
  const lease = node ?? null;
  const logs = hub
    ? new KeptLogs({
        hub,
        clock,
        logger,
        newId,
        lease,
        isOwner: async (key) => (node ? node.isOwner(key) : true),
        onLost: (key) => home.lose(key),
      })
    : new MemoryLogs(newId, lease);
  // Deadlines are told in times that all nodes tell alike.
  const told: Clock = node
    ? { now: () => node.now(), elapsed: () => clock.elapsed(), after: (ms, done) => clock.after(ms, done) }
    : clock;
  const engine = createEngine(options, {
    clock: told,
    logger,
    store,
    owners,
    logs,
    newId,
    budget: budget.limits,
  });
  const { signIn } = engine;
  if (options.authenticate && !signIn.isAsked) {
    logger.warn('open connections are not asked again who is signed in: give `stillSignedIn` for that');
  }
  const { rateLimit = DEFAULT_RATE_LIMIT } = options;
  const { newSessions = rateLimit && DEFAULT_NEW_SESSIONS } = options;
  const { readLimit = rateLimit && DEFAULT_READ_LIMIT } = options;
  const newLimiter = (name: string, limit: RateLimit) =>
    new RateLimiter(
      limit,
      clock,
      hub ? (user, count) => hub.spend({ limit: name, user, count, ...limit }) : null,
    );
  const limiterOf = (name: string, limit: RateLimit | false) => (limit ? newLimiter(name, limit) : null);
  const home = new LocalHome(engine);
  const sessions = new Sessions(engine, home, limiterOf('sessions', newSessions));
  const access = new Access({
    apiKey: options.apiKey,
    origins: options.origins ?? [],
    hosts: options.hosts ?? [],
    authenticate: options.authenticate,
    defaultUser: 'live_user',
  });
  let closing = false;
  const context: HttpContext = {
    engine,
    sessions,
    node: node ?? null,
    access,
    limiter: limiterOf('requests', rateLimit),
    reads: { limiter: limiterOf('reads', readLimit), turnstile: new Turnstile() },
    newLimiter,
    connections: hub ? (user, count) => hub.connections(user, count) : null,
    budget,
    large: new LargeJson(),
    pacing: { window: new BatchTimer(clock, 12), keepAlive: new Heartbeat(clock, 15_000) },
    basePath: (options.basePath ?? '').replace(/\/$/, ''),
    isClosing: () => closing,
    inspect: options.inspect ?? false,
  };
  const sockets = new Sockets(context, options.socketLimits);
  /** Ends what runs and lets go of everything. */
  async function end(): Promise<void> {
    await home.close();
    await logs.close();
    // Whoever is told to come back finds the sessions free.
    await node?.close();
    sockets.close();
    await context.large.close();
    await engine.store.close();
    await hub?.close();
  }
  async function respond(request: Request): Promise<Response | null> {
    const reply = await handle(request, context);
    return reply && toResponse(reply);
  }
  node?.join().catch((error: unknown) => {
    logger.error('this node could not say that it lives', { error: String(error) });
  });
  return {
    isGuarded: access.isGuarded,
    sockets,
    handle: (request) => handle(request, context),
    guard: (request) => refusalOf(request, access),
    respond,
    async fetch(request) {
      return (await respond(request)) ?? new Response('Not found', { status: 404, headers: NO_SNIFFING });
    },
    async close() {
      closing = true;
      // Our timers keep no process alive: one that waits for nothing but this would end before it is done.
      const alive = setInterval(() => undefined, ALIVE_MS);
      await end().finally(() => clearInterval(alive));
    },
  };
}

async function refusalOf(request: Request, access: Access): Promise<Reply | null> {
  try {
    access.checkOrigin(request);
    await access.identify(request);
    return null;
  } catch (error) {
    const reply = errorReply(toProtocolError(error));
    return { ...reply, headers: { ...reply.headers, ...NO_SNIFFING } };
  }
}

/** A store that nodes can share; throws in words when this is none. */
function sharedBy(store: Store): SharedStore {
  if ('nodes' in store) return store as SharedStore;
  throw new Error(
    'Several nodes need a store that they can share, such as that of duologue/server/postgres.',
  );
}

interface Base extends Pick<Engine, 'clock' | 'logger' | 'store' | 'logs' | 'newId'> {
  owners: Owners;
  budget: BudgetLimits;
}

function createEngine(options: DuologueOptions, base: Base): Engine {
  const { clock, logger, store, owners, logs, newId, budget } = base;
  const { agent, appName = 'duologue', driver = driverOf(agent) } = options;
  checkCopy(agent);
  for (const text of waitsInWorkflows(agent, options.toolsRequiringApproval)) logger.warn(text);
  instrument(agent);
  instrumentModels(agent, { patience: { ...options.patience, timer: clock } });
  const plugin = new GatePlugin(options.toolsRequiringApproval);
  const sessionService = new StoreSessionService(
    store,
    // With several nodes another may have changed what sessions share: it is read anew for each turn.
    { sessions: options.node ? 0 : 500, characters: shareOfHeap(256 * 1024 * 1024) },
    (session, event) => plugin.withdraw(session, event),
  );
  const runner = new Runner({
    appName,
    agent,
    sessionService,
    // First, so that no other plugin can keep a call from its gate.
    plugins: [plugin, ...(options.plugins ?? [])],
    // Whoever made a call goes on when it is answered: nothing inside of a workflow waits for one.
    resumabilityConfig: { isResumable: true },
  });
  return {
    appName,
    rootAgent: agent,
    runner,
    plugin,
    store,
    owners,
    logs,
    sessionService,
    clock,
    drafts: new DraftPace(clock),
    newId,
    logger,
    signIn: new SignIn(options.stillSignedIn, clock, logger),
    senses: () => ({ ...sensesOf(agent), ...(driver === 'turn' ? { hears: false } : {}) }),
    options: {
      images: options.images ?? 'file',
      denials: options.denials ?? 'tool-output-error',
      confirmations: options.confirmations ?? 'approval',
      approvals: options.approvals ?? 'sequential',
      approvalTimeoutMs: timeouts(options.approvalTimeoutMs),
      clientTimeoutMs: options.clientTimeoutMs === undefined ? 60_000 : options.clientTimeoutMs,
      toolTimeoutMs: options.toolTimeoutMs === undefined ? 60_000 : options.toolTimeoutMs,
      concurrentTools: options.concurrentTools ?? [],
      whenBusy: options.whenBusy ?? 'queue',
      maxQueued: 16,
      limits: limitsWithin(budget, options.limits),
      live: { outputAudioTranscription: {}, inputAudioTranscription: {}, ...options.live },
      driver,
    },
  };
}

/** What alone would not find room is too large, rather than to be sent again later. */
function limitsWithin({ userBytes, serverBytes }: BudgetLimits, given: Partial<Limits> = {}): Limits {
  const limits = { ...LIMITS, ...given };
  return { ...limits, bodyBytes: Math.min(limits.bodyBytes, userBytes, serverBytes) };
}

function timeouts(given: DuologueOptions['approvalTimeoutMs']): SessionOptions['approvalTimeoutMs'] {
  if (given === null || typeof given === 'number') return { sse: given, bidi: given };
  return { sse: given?.sse ?? null, bidi: given?.bidi === undefined ? 30_000 : given.bidi };
}

function toResponse(reply: Reply): Response {
  const { status, headers, body } = reply;
  if (body instanceof Readable)
    return new Response(Readable.toWeb(body) as ReadableStream, { status, headers });
  if (!(body instanceof ResponseReader)) return new Response(body as BodyInit | null, { status, headers });
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        body.onDrop = () => controller.error(new Error('The client did not read.'));
      },
      async pull(controller) {
        const text = await body.next();
        if (text === null) {
          if (!body.isDropped) controller.close();
          return;
        }
        controller.enqueue(encoder.encode(text));
      },
      cancel: () => body.close(),
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, { status, headers });
}
