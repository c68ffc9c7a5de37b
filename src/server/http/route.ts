import type { Readable } from 'node:stream';
import type { SessionInfo } from '../../protocol/index.ts';
import type { Access } from '../access/access.ts';
import type { ByteBudget, RateLimit, RateLimiter, Turnstile } from '../access/limits.ts';
import type { Identity } from '../access/sign-in.ts';
import type { Engine } from '../engine.ts';
import type { LargeJson } from '../large-json.ts';
import type { Node } from '../nodes/node.ts';
import type { Sessions } from '../registry/session-registry.ts';
import type { Pacing, Reply } from './reply.ts';

/** Under this key the `Request` of a Node adapter has its body as a stream that arrives; null when the body is read from the `Request` itself. */
export const ARRIVING = Symbol('duologue.arriving');

/** A `Request` whose body is read from a Node stream. */
export interface Arriving {
  readonly [ARRIVING]: Readable | null;
}

/** What the routes need. */
export interface HttpContext {
  engine: Engine;
  sessions: Sessions;
  /** This process among others; null when it is alone. */
  node: Node | null;
  access: Access;
  limiter: RateLimiter | null;
  /** What reads, renames or removes is limited apart, and the reads of one user follow one after the other. */
  reads: { limiter: RateLimiter | null; turnstile: Turnstile };
  /** A limit that counts at all nodes together. */
  newLimiter: (name: string, limit: RateLimit) => RateLimiter;
  /** A user has so many connections here; resolves with those at all nodes together. Null where this one is alone. */
  connections: ((user: string, count: number) => Promise<number>) | null;
  /** Throws when a user has so many connections that another would be refused. */
  checkRoom: (user: string) => void;
  budget: ByteBudget;
  large: LargeJson;
  pacing: Pacing;
  /** Where the server is mounted, without a trailing slash. */
  basePath: string;
  isClosing: () => boolean;
  /** Whether it will be soon: nothing more should be sent here. */
  isLeaving: () => boolean;
  /** Whether the ADK events of sessions are told, and which nodes are at work. */
  inspect: boolean;
}

/** A request of someone who may make it, for its route. */
export interface RouteCall {
  context: HttpContext;
  request: Request;
  user: string;
  identity: Identity;
  params: string[];
  /** Names the request in the log: as a proxy named it, or anew. */
  requestId: string;
  /** Reads the body, of at most so many bytes. */
  body: (maxBytes: number) => Promise<Record<string, unknown>>;
}

/** A method and a path, and what answers it. */
export type Route = {
  method: string;
  path: RegExp;
  isPublic?: true;
  /** Answered under any name of this server: probes ask under an address. */
  isAnyHost?: true;
  limited?: true;
  /** Only there when the server is set to `inspect`. */
  inspection?: true;
  run: (call: RouteCall) => Reply | Promise<Reply>;
};

/** Which nodes are at work for a request, where that is told. */
export function nodesOf(request: Request, { inspect, node }: HttpContext): Pick<SessionInfo, 'nodes'> {
  return inspect && node ? { nodes: node.placesOf(request) } : {};
}
