import { randomUUID } from 'node:crypto';
import { toProtocolError } from '../protocol/index.ts';
import { Access, RefusedRequests, WRONG_KEYS } from './access/access.ts';
import {
  ByteBudget,
  DEFAULT_NEW_SESSIONS,
  DEFAULT_RATE_LIMIT,
  DEFAULT_READ_LIMIT,
  defaultBudget,
  type RateLimit,
  RateLimiter,
  UserQueue,
} from './access/limits.ts';
import { Commands } from './api/commands.ts';
import { createServerApi, type ServerApi } from './api/server-api.ts';
import { PendingSends } from './clients/requests.ts';
import { type Clock, neverSetBack, settlesWithin, systemClock } from './clock.ts';
import { isShared } from './contracts.ts';
import { createEngine } from './create-engine.ts';
import type { Owners } from './engine.ts';
import { Subscriptions } from './events/subscriptions.ts';
import { handle } from './http/http.ts';
import { errorReply, NO_SNIFFING, type Reply, toResponse } from './http/reply.ts';
import type { HttpContext } from './http/route.ts';
import { LargeJson } from './large-json.ts';
import { MemoryLogs } from './log/log.ts';
import { ReplicatedLogs } from './log/replicated-logs.ts';
import { consoleLogger, sayOnConsole, toLogger } from './logger.ts';
import { ClusterNode } from './nodes/node.ts';
import { processOf } from './nodes/peers.ts';
import { checkOptions, type DuologueOptions } from './options.ts';
import { BatchTimer, Heartbeat } from './output/pace.ts';
import { SessionRegistry, Sessions } from './registry/session-registry.ts';
import { Sockets } from './socket/sockets.ts';
import { createMemoryStore } from './store/memory/memory-store.ts';
import { noSuchSession } from './store/rules.ts';
import type { SharedStore, Store } from './store/store.ts';

/** A Duologue server. It answers web requests, and has the methods of `ServerApi` with which the application acts on conversations. */
export interface Duologue extends ServerApi {
  /** Answers a request; 404 when the path belongs to no route. */
  fetch(request: Request): Promise<Response>;
  /** Answers a request; null when the path belongs to no route. */
  respond(request: Request): Promise<Response | null>;
  /** Answers a request with a reply that an adapter writes; null when the path belongs to no route. */
  handle(request: Request): Promise<Reply | null>;
  /** Checks origin and user for a path of the application: null when the request is allowed, else the reply that refuses it. */
  guard(request: Request): Promise<Reply | null>;
  /** The WebSockets at `/live` and at the path of the option `chatSocket`, both below the base path. Adapters use it. */
  readonly sockets: Sockets;
  /** Whether every request for a route that is not public must identify a user, by a key or by `authenticate`. */
  readonly isGuarded: boolean;
  /** Reports the address on which the server listens: to the `logger` of the options, or in one line on the console. An adapter that opens a port calls it. */
  listens(url: string): void;
  /**
   * For a node of a cluster: accepts no more sessions, and hands each of its sessions over to another node when the agent of the session is idle.
   * Resolves when no session is left, or after `drainMs`. Until then the other nodes must be able to reach this one. Without a cluster it does
   * nothing.
   */
  handOver(): Promise<void>;
  /** Hands over sessions to other nodes where possible, ends the turns of all other sessions within a few seconds, and closes the store and the hub. */
  close(): Promise<void>;
}

/** The interval of the timer that keeps the process alive while the server closes. */
const ALIVE_MS = 2000;
/** How long a store may take to close. */
const CLOSE_MS = 2000;
/** The server logs a warning about a key with fewer characters. */
const SAFE_KEY_LENGTH = 16;

/**
 * Creates a server for an agent. It listens on no port: pass it to `serve`, to the adapter of a framework, or call its `fetch`. Throws an error that names the
 * option when an option is unknown or has a wrong value. The caller calls `close()` at the end.
 *
 * @example
 * const duologue = createDuologue({ agent, store: await openSqliteStore('data'), authenticate: (request) => userOf(request) });
 * await serve(duologue, { port: 3000 });
 */
export function createDuologue(options: DuologueOptions): Duologue {
  checkOptions(options);
  const budget = new ByteBudget({ ...defaultBudget(), ...options.budget });
  const { clock = systemClock } = options;
  const logger = toLogger(options.logger ?? consoleLogger);
  const store = options.store ?? createMemoryStore({ now: () => clock.now() });
  const shared = options.node ? sharedBy(store) : null;
  const node =
    options.node &&
    shared &&
    new ClusterNode({
      ...options.node,
      directory: shared.nodes,
      clock,
      logger,
      owned: () => registry.owned,
      onLost: (key) => registry.lose(key),
      basePath: (options.basePath ?? '').replace(/\/$/, ''),
      hubFault: () => options.hub?.fault?.() ?? null,
      process: options.hub?.process,
      onDead: (dead) => void options.hub?.forget?.(processOf(dead)).catch(() => undefined),
      onUnfit: (away) => {
        // A node without the store cannot hand sessions over: other nodes take them over when its lease has ended.
        if (away.includes('store')) registry.sendAway();
        else registry.handOver(node?.drainMs ?? 0);
      },
    });
  const alone: Owners = {
    check: () => undefined,
    // `own` is a write, so first read whether the session exists.
    take: async (key) => (await store.findSession(key)) && store.own(key),
    async create(key, event) {
      const session = await store.createSession(key, {}, event?.outbox);
      event?.happened();
      const owned = await store.own(key);
      if (!owned) throw noSuchSession(key);
      return { key: owned, session };
    },
    release: async () => undefined,
    startAsOwner: (_key, _signal, start) => start(),
  };
  const owners = node ?? alone;
  const { newId = randomUUID, hub } = options;
  const lease = node ?? null;
  const logs = hub
    ? new ReplicatedLogs({
        hub,
        clock,
        logger,
        newId,
        lease,
        isAway: () => node?.away.includes('hub') ?? false,
        isOwner: async (key) => (node ? node.isOwner(key) : true),
        onLost: (key) => registry.lose(key),
      })
    : new MemoryLogs(newId, lease);
  // Clients get deadlines as absolute times, and another node may continue the session, so all nodes use the clock of the store.
  const sharedClock: Clock = node
    ? { now: () => node.now(), elapsed: () => clock.elapsed(), after: (ms, done) => clock.after(ms, done) }
    : neverSetBack(clock);
  const engine = createEngine(options, {
    clock: sharedClock,
    logger,
    store,
    shared,
    owners,
    logs,
    newId,
    budget: budget.limits,
  });
  const { signIn } = engine;
  if (options.authenticate && !signIn.isAsked) {
    logger.warn('the sign-in of open connections is not checked again: set the option `stillSignedIn`');
  }
  if (options.toolSignIn && !options.credentialService) {
    logger.warn(
      'credentials of users are kept in memory: after a restart, and on another node, users must sign in at the provider again; set the option `credentialService`',
    );
  }
  if (options.toolSignIn && options.toolSignIn.secret === undefined) {
    logger.warn(
      'open sign-ins end with this process, and no other node can complete them; set the option `toolSignIn.secret`',
    );
  }
  // The limit of wrong keys does not stop a client that guesses keys, because the right key is always accepted. So the key must be too long to guess.
  if (options.apiKey !== undefined && options.apiKey.length < SAFE_KEY_LENGTH) {
    logger.warn('the API key is short enough to be guessed: make one from 24 random bytes', {
      characters: options.apiKey.length,
    });
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
  const registry = new SessionRegistry(engine);
  const sessions = new Sessions(engine, registry, limiterOf('sessions', newSessions));
  const access = new Access({
    apiKey: options.apiKey,
    origins: options.origins ?? [],
    hosts: options.hosts ?? [],
    authenticate: options.authenticate,
    defaultUser: 'live_user',
    trustedProxies: options.trustedProxies,
    refusals: new RefusedRequests(limiterOf('wrong keys', rateLimit && WRONG_KEYS), clock, logger),
  });
  const subscriptions = new Subscriptions(engine.events, engine);
  let closing = false;
  let leaving: Promise<void> | null = null;
  const commands = new Commands({
    engine,
    node: node ?? null,
    directory: shared?.nodes ?? null,
    basePath: (options.basePath ?? '').replace(/\/$/, ''),
    open: (key, creates) => sessions.openFor(key, creates),
    remove: (key) => registry.remove(key),
    isClosing: () => closing,
  });
  const context: HttpContext = {
    commands,
    engine,
    sessions,
    node: node ?? null,
    access,
    limiter: limiterOf('requests', rateLimit),
    reads: { limiter: limiterOf('reads', readLimit), queue: new UserQueue() },
    newLimiter,
    connections: hub ? (user, count) => hub.connections(user, count) : null,
    checkRoom: (user) => sockets.checkRoom(user),
    budget,
    large: new LargeJson(),
    pacing: { window: new BatchTimer(clock, 12), keepAlive: new Heartbeat(clock, 3000) },
    basePath: (options.basePath ?? '').replace(/\/$/, ''),
    chatSocket: options.chatSocket === false ? null : { path: '/ws', onAbort: 'stop', ...options.chatSocket },
    sends: new PendingSends(),
    isClosing: () => closing,
    isLeaving: () => closing || leaving !== null,
    inspect: options.inspect ?? false,
  };
  const sockets = new Sockets(context, options.socketLimits);
  function handOver(): Promise<void> {
    node?.leave();
    leaving ??= node ? staysAlive(registry.handOver(node.drainMs)) : Promise.resolve();
    return leaving;
  }
  /** Ends all work, and closes everything. */
  async function end(): Promise<void> {
    await registry.close();
    await subscriptions.close();
    await logs.close();
    // The node releases its sessions before clients are asked to reconnect.
    await node?.close();
    sockets.close();
    await context.large.close();
    await engine.refusals.close();
    // Wait only a short time, because the database may not answer.
    await settlesWithin(engine.store.close(), CLOSE_MS, clock);
    await hub?.close();
  }
  async function respond(request: Request): Promise<Response | null> {
    const reply = await handle(request, context);
    return reply && toResponse(reply);
  }
  node?.join().catch((error: unknown) => {
    logger.error(
      'could not renew the lease of this node: its sessions move when the lease ends; check the store',
      { error: String(error) },
    );
  });
  return {
    ...createServerApi(engine, commands, subscriptions, engine.appName),
    isGuarded: access.isGuarded,
    sockets,
    listens(url) {
      if (options.logger) logger.info('listening', { url });
      else sayOnConsole(`listening on ${url}${context.basePath}`);
    },
    handle: (request) => handle(request, context),
    guard: (request) => refusalOf(request, access),
    respond,
    async fetch(request) {
      return (await respond(request)) ?? new Response('Not found', { status: 404, headers: NO_SNIFFING });
    },
    handOver,
    async close() {
      if (node) await handOver();
      closing = true;
      await staysAlive(end());
    },
  };
}

/** Keeps the process alive until the work is done. The timers of the server are unreferenced, so they would let the process exit. */
function staysAlive(work: Promise<void>): Promise<void> {
  const alive = setInterval(() => undefined, ALIVE_MS);
  return work.finally(() => clearInterval(alive));
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

/** Returns the store as one that nodes can share; throws when it cannot be shared. */
function sharedBy(store: Store): SharedStore {
  if (isShared(store)) return store;
  throw new Error(
    'The option "node" needs a store that several nodes can share, such as that of duologue/server/postgres.',
  );
}
