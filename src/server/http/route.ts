import type { Readable } from 'node:stream';
import type { SessionInfo } from '../../protocol/index.ts';
import type { Access } from '../access/access.ts';
import type { ByteBudget, RateLimit, RateLimiter, UserQueue } from '../access/limits.ts';
import type { Identity } from '../access/sign-in.ts';
import type { Commands } from '../api/commands.ts';
import type { PendingSends } from '../clients/requests.ts';
import type { Engine } from '../engine.ts';
import type { LargeJson } from '../large-json.ts';
import type { ClusterNode } from '../nodes/node.ts';
import type { Sessions } from '../registry/session-registry.ts';
import type { Pacing, Reply } from './reply.ts';

/** The key under which a Node adapter adds the incoming body stream to the `Request`. The value is null when the body is read from the `Request` itself. */
export const ARRIVING = Symbol('duologue.arriving');

/** A `Request` whose body is read from a Node stream. */
export interface Arriving {
  readonly [ARRIVING]: Readable | null;
}

/** The sockets for the AI SDK's own `WebSocketChatTransport`. */
export interface ChatSocketOptions {
  /** The path below `basePath`; `/ws` unless given. */
  path: string;
  /**
   * What an `abort` frame does. `stop`: it stops the agent. `leave`: the agent continues, and the client can resume. `useChat` of `ai` 7 sends the same frame
   * for `stop()` and when its component is removed.
   */
  onAbort: 'stop' | 'leave';
}

/** The objects and settings that the routes use. */
export interface HttpContext {
  engine: Engine;
  sessions: Sessions;
  /** This process as a node of a cluster; null when it is alone. */
  node: ClusterNode | null;
  access: Access;
  /** The rate limit of requests that start work of the agent; null without a limit. */
  limiter: RateLimiter | null;
  /**
   * The rate limit of handshakes of WebSockets, and of requests that read, rename or remove sessions; and the queue in which the `GET` requests of one user
   * run one after the other.
   */
  reads: { limiter: RateLimiter | null; queue: UserQueue };
  /** Creates a rate limiter. With a hub, all nodes share its tokens. */
  newLimiter: (name: string, limit: RateLimit) => RateLimiter;
  /** Reports to the hub how many connections a user has at this node; resolves with the number at all nodes. Null without a hub. */
  connections: ((user: string, count: number) => Promise<number>) | null;
  /** Throws when a user already has as many connections in this process as the limit allows. */
  checkRoom: (user: string) => void;
  budget: ByteBudget;
  large: LargeJson;
  pacing: Pacing;
  /** The path under which the server is mounted, without a trailing slash. */
  basePath: string;
  /** The path of sockets for the AI SDK's own transport, and what an `abort` frame does; null when the server has no such sockets. */
  chatSocket: ChatSocketOptions | null;
  /** The unanswered requests over sockets of the AI SDK's own transport at this node. */
  sends: PendingSends;
  isClosing: () => boolean;
  /** Whether the server is closing, or about to close, so that balancers should send no more requests to it. */
  isLeaving: () => boolean;
  /** Runs commands at the owner of a session: those of this process, and those that other nodes have written to the store. */
  commands: Pick<Commands, 'run' | 'runStored'>;
  /** Whether clients may read the ADK events of sessions, and learn which nodes serve them. */
  inspect: boolean;
}

/** A request that passed the checks of access and limits, for its route. */
export interface RouteCall {
  context: HttpContext;
  request: Request;
  user: string;
  identity: Identity;
  params: string[];
  /** The id of the request in log lines: the `x-request-id` of a proxy, or a new id. */
  requestId: string;
  /** Reads the JSON body. Throws when it has more than `maxBytes` bytes. */
  body: (maxBytes: number) => Promise<Record<string, unknown>>;
}

/** A method and a path, and the function that answers them. */
export type Route = {
  method: string;
  path: RegExp;
  /** Whether the route needs no user, so that the request is not authenticated. */
  isPublic?: true;
  /** Whether the route answers requests with any host name. Health probes and other nodes may use an IP address. */
  isAnyHost?: true;
  /** Whether another site may open the route as a page: a sign-in provider sends the browser back to it. The page must contain no data of a user. */
  isLanding?: true;
  /** Whether the rate limit of messages applies to the route. All other routes with a user have the limit of reads (`HttpContext.reads`). */
  limited?: true;
  /** Whether the route exists only with the server option `inspect`. */
  inspection?: true;
  run: (call: RouteCall) => Reply | Promise<Reply>;
};

/** The nodes that serve a request, for `data-session`; empty without the server option `inspect`. */
export function nodesOf(request: Request, { inspect, node }: HttpContext): Pick<SessionInfo, 'nodes'> {
  return inspect && node ? { nodes: node.placesOf(request) } : {};
}
