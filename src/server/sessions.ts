import { agentToolNames } from '../adk/engine.ts';
import { type Answer, ProtocolError } from '../protocol/index.ts';
import { Conversation } from './conversation/conversation.ts';
import type { Engine } from './engine.ts';
import { type RateLimiter, rateLimited } from './rate-limit.ts';
import type { SessionKey, SessionSummary } from './store/store.ts';

/** How long a quiet session stays in memory, with its log, for those who come back. */
const KEEP_MS = 5 * 60_000;
/** Where a decision that names no session is looked for: in so many of the sessions used last, by so many of its ids. */
const MAX_SEARCHED = 100;
const MAX_NAMED = 4;

/** The sessions that are in memory, each once; the rest are in the store. */
export class Sessions {
  private readonly engine: Engine;
  private readonly newSessions: RateLimiter | null;
  private readonly open = new Map<string, Promise<Conversation>>();
  /** Those that are being removed: whoever looks for one waits until it is gone. */
  private readonly removing = new Map<string, Promise<void>>();

  /** `newSessions` says how many sessions a user may begin. */
  constructor(engine: Engine, newSessions: RateLimiter | null = null) {
    this.engine = engine;
    this.newSessions = newSessions;
  }

  /** The session, made when there is none. */
  async getOrCreate(user: string, id: string): Promise<Conversation> {
    const key = this.keyOf(user, id);
    const { store } = this.engine;
    const session = await this.find(user, id);
    if (session) return session;
    const wait = this.newSessions?.take(user) ?? 0;
    if (wait > 0) throw rateLimited('Too many new conversations', wait);
    try {
      await store.createSession(key, {});
    } catch (error) {
      // Two first messages at once: one of them made it.
      if (!(await store.findSession(key))) throw error;
    }
    return this.load(key);
  }

  /** The session; throws `not_found` when this user has none such. */
  async get(user: string, id: string): Promise<Conversation> {
    const session = await this.find(user, id);
    if (!session) throw new ProtocolError('not_found', 'There is no such session.');
    return session;
  }

  /** The user's sessions in which something was said: a connection alone begins none that anyone would look for. */
  async list(user: string): Promise<SessionSummary[]> {
    const { store, appName } = this.engine;
    const listed: SessionSummary[] = [];
    for (const summary of await store.listSessions(appName, user)) {
      // The first words name a session; without a name it may have been a picture, or nothing.
      const isNamed = summary.title !== null;
      if (isNamed || (await this.hasMessages(this.keyOf(user, summary.id)))) listed.push(summary);
    }
    return listed;
  }

  /** The session in which the user was asked for one of these decisions; null when none of those used lately was it. */
  async askedIn(user: string, answers: readonly Answer[]): Promise<string | null> {
    const { store, appName } = this.engine;
    const named = answers.flatMap((answer) => ('approvalId' in answer && answer.approvalId) || []);
    if (named.length === 0) return null;
    for (const { id } of (await store.listSessions(appName, user)).slice(0, MAX_SEARCHED)) {
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
    const renamed = await this.engine.store.renameSession(this.keyOf(user, id), title);
    if (!renamed) throw new ProtocolError('not_found', 'There is no such session.');
  }

  /** Ends what runs and removes the session; the audit log stays. */
  async remove(user: string, id: string): Promise<void> {
    const session = await this.get(user, id);
    const name = nameOf(session.key);
    const removal =
      this.removing.get(name) ??
      this.erase(session).finally(() => {
        // Closed for good, removed or not: whoever comes back gets it from the store.
        this.open.delete(name);
        this.removing.delete(name);
      });
    this.removing.set(name, removal);
    await removal;
  }

  private async erase(session: Conversation): Promise<void> {
    await session.remove();
    const { userId, sessionId } = session.history.key;
    const { sessionService, rootAgent } = this.engine;
    await sessionService.deleteSession(session.history.key);
    for (const name of agentToolNames(rootAgent)) {
      await sessionService.deleteSession({ appName: name, userId, sessionId });
    }
  }

  /** Lets go of sessions that nobody uses. */
  async sweep(): Promise<void> {
    const now = this.engine.clock.elapsed();
    for (const [name, loading] of this.open) {
      const session = await loading.catch(() => null);
      if (!session || (session.isIdle && now - session.touchedAt > KEEP_MS)) this.open.delete(name);
    }
  }

  get size(): number {
    return this.open.size;
  }

  /** Every session in memory. */
  async all(): Promise<Conversation[]> {
    const loaded = await Promise.allSettled(this.open.values());
    return loaded.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  /** The session; null when this user has none such. */
  async find(user: string, id: string): Promise<Conversation | null> {
    const key = this.keyOf(user, id);
    const name = nameOf(key);
    // How the removal went is told to whoever asked for it.
    while (this.removing.has(name)) await this.removing.get(name)?.catch(() => undefined);
    const loading =
      this.open.get(name) ?? ((await this.engine.store.findSession(key)) ? this.load(key) : null);
    const session = await loading;
    // Not to be let go between being found and being used.
    if (session) session.touchedAt = this.engine.clock.elapsed();
    return session;
  }

  private async hasMessages(key: SessionKey): Promise<boolean> {
    const page = await this.engine.store.loadPage(key, { count: 1, bytes: 0 });
    return page !== null && page.messages.length > 0;
  }

  private load(key: SessionKey): Promise<Conversation> {
    const name = nameOf(key);
    const known = this.open.get(name);
    if (known) return known;
    const loading = Conversation.load(key, this.engine);
    this.open.set(name, loading);
    loading.catch(() => this.open.delete(name));
    return loading;
  }

  private keyOf(user: string, id: string): SessionKey {
    return { app: this.engine.appName, user, id };
  }
}

function nameOf(key: SessionKey): string {
  return JSON.stringify([key.user, key.id]);
}
