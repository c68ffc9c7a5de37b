import { createHash } from 'node:crypto';
import { agentToolNames } from '../../adk/for-server.ts';
import { type Answer, ProtocolError } from '../../protocol/index.ts';
import { type RateLimiter, rateLimited } from '../access/limits.ts';
import { settlesWithin } from '../clock.ts';
import { Conversation } from '../conversation/conversation.ts';
import type { Engine } from '../engine.ts';
import { nameOf } from '../store/rules.ts';
import type { ListedSession, ListRequest, OwnedKey, SessionKey, SessionSummary } from '../store/store.ts';
import type { Session } from './session.ts';

/** How long a quiet session stays in memory, with its log, for those who come back. */
const KEEP_MS = 5 * 60_000;
const SWEEP_MS = 60_000;
const DRAIN_MS = 2000;

/** The sessions that live in this process, each once; the rest are in the store. */
export class SessionRegistry {
  private readonly engine: Engine;
  private readonly open = new Map<string, Promise<Conversation>>();
  /** Those of them that are taken up. */
  private readonly here = new Map<string, Conversation>();
  /** Those that are being removed: whoever looks for one waits until it is gone. */
  private readonly removing = new Map<string, Promise<boolean>>();
  /** The same of those that are being handed over. */
  private readonly leaving = new Map<string, Promise<void>>();
  private isClosing = false;
  private cancelSweep: () => void = () => undefined;

  constructor(engine: Engine) {
    this.engine = engine;
    this.sweepLater();
  }

  /** The session, loaded from the store if it is not open here; null when the store has none with this key. */
  async find(key: SessionKey): Promise<Session | null> {
    return this.conversation(key);
  }

  /** Creates a session; returns the existing one when another request created it meanwhile. */
  async create(key: SessionKey): Promise<Session> {
    try {
      await this.engine.sessionService.create(key);
    } catch (error) {
      const session = await this.find(key);
      if (session) return session;
      throw error;
    }
    return this.used(this.load(key, this.engine.owners.areAlone));
  }

  /** Ends what runs and removes the session, but keeps its audit log. False when the store has none with this key. */
  async remove(key: SessionKey): Promise<boolean> {
    const name = nameOf(key);
    await this.gone(name);
    const removal =
      this.removing.get(name) ??
      this.erase(key, this.open.get(name)).finally(() => {
        // Closed for good, removed or not: whoever comes back gets it from the store.
        this.forget(name);
        this.removing.delete(name);
      });
    this.removing.set(name, removal);
    return removal;
  }

  /** The owners of the sessions here. */
  get owned(): OwnedKey[] {
    return [...this.here.values()].map(({ key }) => key);
  }

  /** Another process owns a session. */
  lose(key: OwnedKey): void {
    const conversation = this.here.get(nameOf(key));
    if (conversation?.key.fence === key.fence) conversation.lose();
  }

  /** Lets others have the sessions here, each when the agent is at rest and nobody speaks to it. Resolves when none is left, or after so long. */
  async handOver(withinMs: number): Promise<void> {
    const all = [...this.open].map(([name, loading]) => this.giveAway(name, loading));
    await settlesWithin(Promise.allSettled(all), withinMs, this.engine.clock);
  }

  /** Ends all connections and responses, so that clients reconnect to another process. The sessions stay here until that process takes them over. */
  sendAway(): void {
    for (const conversation of this.here.values()) conversation.sendAway();
  }

  private async giveAway(name: string, loading: Promise<Conversation>): Promise<void> {
    const conversation = await loading;
    while (!conversation.isPaused) await conversation.paused();
    // It was lost, let go of or removed, or it was waited for too long.
    if (this.isClosing || this.open.get(name) !== loading || this.removing.has(name)) return;
    const gone = conversation.handOver().finally(() => {
      this.forget(name);
      this.leaving.delete(name);
    });
    this.leaving.set(name, gone);
    await gone;
  }

  /** Waits briefly for turns that run, interrupts the rest, and closes every session. */
  async close(): Promise<void> {
    this.isClosing = true;
    this.cancelSweep();
    const loaded = await Promise.allSettled(this.open.values());
    const conversations = loaded.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const drained = (drain: (one: Conversation) => Promise<void>) =>
      settlesWithin(Promise.allSettled(conversations.map(drain)), DRAIN_MS, this.engine.clock);
    // Turns that run come to their end, if that is soon.
    await drained((conversation) => conversation.settled());
    // Those that do not are interrupted, and whoever listens hears of it. A tool, or a model, that listens to nobody is not
    // waited for.
    await drained((conversation) => conversation.close());
  }

  private async conversation(key: SessionKey): Promise<Conversation | null> {
    const name = nameOf(key);
    await this.gone(name);
    this.engine.owners.check();
    const loading =
      this.open.get(name) ?? ((await this.engine.store.findSession(key)) ? this.load(key) : null);
    return loading && this.used(loading);
  }

  /** Resolves when a session is neither being removed nor being handed over. Only the caller of a removal gets its error. */
  private async gone(name: string): Promise<void> {
    const going = () => this.removing.get(name) ?? this.leaving.get(name);
    while (going()) await going()?.catch(() => undefined);
  }

  /** Not to be let go between being found and being used. */
  private async used(loading: Promise<Conversation>): Promise<Conversation> {
    const conversation = await loading;
    conversation.touch();
    return conversation;
  }

  /** `isEmpty`: nobody can have written anything to it. */
  private load(key: SessionKey, isEmpty = false): Promise<Conversation> {
    const name = nameOf(key);
    const known = this.open.get(name);
    if (known) return known;
    const forget = () => {
      if (this.open.get(name) === loading) this.forget(name);
    };
    const loading = Conversation.load({ key, isEmpty }, this.engine, forget);
    this.open.set(name, loading);
    loading.then((conversation) => {
      if (this.open.get(name) === loading) this.here.set(name, conversation);
    }, forget);
    return loading;
  }

  private forget(name: string): void {
    this.open.delete(name);
    this.here.delete(name);
  }

  /** Removes a session. If this process has it open, it closes it first; otherwise it loads nothing of it. False when there is no such session. */
  private async erase(key: SessionKey, loading: Promise<Conversation> | undefined): Promise<boolean> {
    const conversation = await loading;
    if (conversation) await conversation.remove();
    else if (!(await this.removeLog(key))) return false;
    const { app, user: userId, id: sessionId } = key;
    const { sessionService, rootAgent } = this.engine;
    for (const appName of [app, ...agentToolNames(rootAgent)]) {
      await sessionService.deleteSession({ appName, userId, sessionId });
    }
    return true;
  }

  /** Becomes the owner of a session that no process has open, and removes its log. False when there is no such session. */
  private async removeLog(key: SessionKey): Promise<boolean> {
    const { owners, logs } = this.engine;
    const owned = await owners.take(key);
    if (owned) (await logs.open(owned)).remove();
    return owned !== null;
  }

  private sweepLater(): void {
    const { clock, logger } = this.engine;
    this.cancelSweep = clock.after(SWEEP_MS, () => {
      this.sweepLater();
      this.sweep().catch((error: unknown) => {
        logger.error('sessions could not be let go', { error: String(error) });
      });
    });
  }

  /** Lets go of sessions that nobody uses. */
  private async sweep(): Promise<void> {
    for (const [name, loading] of this.open) {
      const conversation = await loading.catch(() => null);
      if (conversation && !conversation.isUnusedFor(KEEP_MS)) continue;
      const isUnsaid = await conversation?.isUnsaid();
      // A client connected meanwhile.
      if (conversation && !conversation.isUnusedFor(KEEP_MS)) continue;
      if (conversation && isUnsaid) await this.remove(conversation.key);
      else conversation?.release();
      if (this.open.get(name) === loading) this.forget(name);
    }
  }
}

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

const HALF_CHARACTER = /\p{Surrogate}/u;

/** The session id that a client gave; throws when it cannot be one. `field` is where it stood. */
export function checkSessionId(id: unknown, field: string, mostLength: number): string {
  if (typeof id !== 'string' || id === '' || id.length > mostLength || HALF_CHARACTER.test(id)) {
    throw new ProtocolError(
      'bad_request',
      `"${field}" must be a text of 1 to ${mostLength} whole characters.`,
    );
  }
  // In an address these two mean the folder itself and the one above: such a session could never be asked for, nor deleted.
  if (id === '.' || id === '..')
    throw new ProtocolError('bad_request', `"${field}" must not be "." or "..".`);
  return id;
}

/** The id of a session that a client has not named. A user whose name does not fit into it stands there as a hash. */
export function newSessionId(user: string, unique: string, mostLength: number): string {
  const id = `session_${user}_${unique}`;
  if (id.length <= mostLength && !HALF_CHARACTER.test(id)) return id;
  return `session_${createHash('sha256').update(user, 'utf16le').digest('base64url')}_${unique}`;
}
