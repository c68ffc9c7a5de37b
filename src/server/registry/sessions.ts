import { type Answer, ProtocolError } from '../../protocol/index.ts';
import { type RateLimiter, rateLimited } from '../access/rate-limit.ts';
import type { Engine } from '../engine.ts';
import type { ListedSession, ListRequest, SessionKey, SessionSummary } from '../store/store.ts';
import type { Session } from './session.ts';
import type { SessionRegistry } from './session-registry.ts';

/** Where a decision that names no session is looked for: in so many of the sessions used last, by so many of its ids. */
const MAX_SEARCHED = 100;
const MAX_NAMED = 4;

/** The sessions of each user: what there is of them is in the store, and those that are used are at home. */
export class Sessions {
  private readonly engine: Engine;
  private readonly registry: SessionRegistry;
  private readonly newSessions: RateLimiter | null;

  /** `newSessions` says how many sessions a user may begin. */
  constructor(engine: Engine, registry: SessionRegistry, newSessions: RateLimiter | null = null) {
    this.engine = engine;
    this.registry = registry;
    this.newSessions = newSessions;
  }

  /** The session, made when there is none. */
  async getOrCreate(user: string, id: string): Promise<Session> {
    const key = this.keyOf(user, id);
    const session = await this.registry.find(key);
    if (session) return session;
    const wait = this.newSessions?.take(user) ?? 0;
    if (wait > 0) throw rateLimited('Too many new conversations', wait);
    return this.registry.create(key);
  }

  /** The session; throws `not_found` when this user has none such. */
  async get(user: string, id: string): Promise<Session> {
    return (await this.find(user, id)) ?? notFound();
  }

  /** The session; null when this user has none such. */
  find(user: string, id: string): Promise<Session | null> {
    return this.registry.find(this.keyOf(user, id));
  }

  /** A page of the user's sessions that have a message or a title. */
  list(user: string, page: ListRequest): Promise<ListedSession[]> {
    const { store, appName } = this.engine;
    return store.listSessions(appName, user, page);
  }

  /** The session in which the user was asked for one of these decisions; null when none of those used lately was it. */
  async askedIn(user: string, answers: readonly Answer[]): Promise<string | null> {
    const { store, appName } = this.engine;
    const named = answers.flatMap((answer) => ('approvalId' in answer && answer.approvalId) || []);
    if (named.length === 0) return null;
    for (const { id } of await store.listSessions(appName, user, { count: MAX_SEARCHED })) {
      const key = this.keyOf(user, id);
      for (const approvalId of named.slice(0, MAX_NAMED)) {
        if (await store.findCall(key, { approvalId })) return id;
      }
    }
    return null;
  }

  /** What is known of a session, said in or not. */
  summaryOf(user: string, id: string): Promise<SessionSummary | null> {
    return this.engine.store.findSession(this.keyOf(user, id));
  }

  async rename(user: string, id: string, title: string | null): Promise<void> {
    if (!(await this.engine.store.renameSession(this.keyOf(user, id), title))) notFound();
  }

  /** Ends what runs and removes the session; the audit log stays. */
  async remove(user: string, id: string): Promise<void> {
    if (!(await this.registry.remove(this.keyOf(user, id)))) notFound();
  }

  private keyOf(user: string, id: string): SessionKey {
    return { app: this.engine.appName, user, id };
  }
}

function notFound(): never {
  throw new ProtocolError('not_found', 'There is no such session.');
}
