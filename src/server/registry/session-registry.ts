import { createHash } from 'node:crypto';
import { agentToolNames } from '../../adk/for-server.ts';
import { type Answer, ProtocolError } from '../../protocol/index.ts';
import { type RateLimiter, rateLimited } from '../access/limits.ts';
import { settlesWithin } from '../clock.ts';
import { Conversation, type OwnedSession } from '../conversation/conversation.ts';
import type { Engine } from '../engine.ts';
import { innerAgentsIn } from '../ledger/history.ts';
import { nameOf } from '../store/rules.ts';
import {
  type ListedSession,
  type ListRequest,
  type OwnedKey,
  type SessionKey,
  type SessionSummary,
  StoreError,
} from '../store/store.ts';
import type { Session } from './session.ts';

/** How long an unused session stays in memory, with its log, for clients that reconnect. */
const KEEP_MS = 5 * 60_000;
/** How often the registry looks for unused sessions. */
const SWEEP_MS = 60_000;
/** How long `close` waits for running turns, and then again for interrupted ones. */
const DRAIN_MS = 2000;

/** The sessions that this process has open, each exactly once. All other sessions are only in the store, or open in another process. */
export class SessionRegistry {
  private readonly engine: Engine;
  private readonly open = new Map<string, Promise<Conversation | null>>();
  /** The sessions of `open` that are loaded. */
  private readonly here = new Map<string, Conversation>();
  /** Sessions that are being removed. A request for such a session waits for the end of the removal. */
  private readonly removing = new Map<string, Promise<boolean>>();
  /** Sessions that are being handed over to another process. A request for such a session waits until the hand-over has ended. */
  private readonly leaving = new Map<string, Promise<void>>();
  private isClosing = false;
  private cancelSweep: () => void = () => undefined;

  constructor(engine: Engine) {
    this.engine = engine;
    this.sweepLater();
  }

  /** Returns the session, loaded from the store if it is not open here; null when the store has none with this key. */
  async find(key: SessionKey): Promise<Session | null> {
    return this.conversation(key);
  }

  /** Creates a session and loads it. If another request has created the session meanwhile, returns the existing session. */
  async create(key: SessionKey): Promise<Session> {
    const name = nameOf(key);
    for (;;) {
      await this.gone(name);
      // Another request may be looking for the session, or creating it.
      const known = this.open.get(name);
      const session = await this.used(known ?? this.load(key, () => this.created(key)));
      if (session) return session;
    }
  }

  /** Stops the agent and removes the session, but keeps its audit log. Returns false when the store has no session with this key. */
  async remove(key: SessionKey): Promise<boolean> {
    const name = nameOf(key);
    await this.gone(name);
    const removal =
      this.removing.get(name) ??
      this.erase(key, this.open.get(name)).finally(() => {
        // The conversation is closed, even if the removal failed, so the next request must load the session from the store.
        this.forget(name);
        this.removing.delete(name);
      });
    this.removing.set(name, removal);
    return removal;
  }

  /** The keys of the sessions that this process has loaded. */
  get owned(): OwnedKey[] {
    return [...this.here.values()].map(({ key }) => key);
  }

  /** Call it when another process has become the owner of a session. */
  lose(key: OwnedKey): void {
    const conversation = this.here.get(nameOf(key));
    if (conversation?.key.fence === key.fence) conversation.lose();
  }

  /**
   * Hands over every session as soon as its agent is idle, and its user neither speaks nor waits for an answer to speech. Resolves when every session is
   * handed over, or after `withinMs` milliseconds.
   */
  async handOver(withinMs: number): Promise<void> {
    const all = [...this.open].map(([name, loading]) => this.giveAway(name, loading));
    await settlesWithin(Promise.allSettled(all), withinMs, this.engine.clock);
  }

  /**
   * Ends all connections and responses, so that clients reconnect to another process. The sessions stay open here until that process becomes their
   * owner.
   */
  sendAway(): void {
    for (const conversation of this.here.values()) conversation.sendAway();
  }

  private async giveAway(name: string, loading: Promise<Conversation | null>): Promise<void> {
    const conversation = await loading;
    if (!conversation) return;
    while (!conversation.isPaused) await conversation.paused();
    // Do not hand over a session that was lost, closed or removed meanwhile, or when the server is closing.
    if (this.isClosing || this.open.get(name) !== loading || this.removing.has(name)) return;
    const gone = conversation.handOver().finally(() => {
      this.forget(name);
      this.leaving.delete(name);
    });
    this.leaving.set(name, gone);
    await gone;
  }

  /** Waits up to two seconds for running turns, interrupts the others, and closes every session. */
  async close(): Promise<void> {
    this.isClosing = true;
    this.cancelSweep();
    const loaded = await Promise.allSettled(this.open.values());
    const conversations = loaded.flatMap((result) => (result.status === 'fulfilled' && result.value) || []);
    const drained = (drain: (one: Conversation) => Promise<void>) =>
      settlesWithin(Promise.allSettled(conversations.map(drain)), DRAIN_MS, this.engine.clock);
    // First wait for turns that end by themselves within `DRAIN_MS`.
    await drained((conversation) => conversation.settled());
    // Interrupt the other turns and inform their clients. Wait no longer than `DRAIN_MS`, because a tool or a model may ignore its abort signal.
    await drained((conversation) => conversation.close());
  }

  private async conversation(key: SessionKey): Promise<Conversation | null> {
    const name = nameOf(key);
    await this.gone(name);
    this.engine.owners.check();
    return this.used(this.open.get(name) ?? this.load(key, () => this.taken(key)));
  }

  /** Resolves when a session is neither being removed nor being handed over. Does not reject: only the caller of `remove` gets the error of a removal. */
  private async gone(name: string): Promise<void> {
    const going = () => this.removing.get(name) ?? this.leaving.get(name);
    while (going()) await going()?.catch(() => undefined);
  }

  /** Records that a request uses the session, so that the sweep does not close it before the request has started. */
  private async used(loading: Promise<Conversation | null>): Promise<Conversation | null> {
    const conversation = await loading;
    conversation?.touch();
    return conversation;
  }

  /** Loads a session when `own` has made this process its owner; resolves with null when `own` does. */
  private load(key: SessionKey, own: () => Promise<OwnedSession | null>): Promise<Conversation | null> {
    const name = nameOf(key);
    const forget = () => {
      if (this.open.get(name) === loading) this.forget(name);
    };
    const loading = own().then((owned) => owned && Conversation.load(owned, this.engine, forget));
    this.open.set(name, loading);
    loading.then((conversation) => {
      if (!conversation) forget();
      else if (this.open.get(name) === loading) this.here.set(name, conversation);
    }, forget);
    return loading;
  }

  /** Makes this process the owner of a stored session; null when there is none. */
  private async taken(key: SessionKey): Promise<OwnedSession | null> {
    const { owners, sessionService } = this.engine;
    const owned = await owners.take(key);
    if (owned) sessionService.own(owned);
    return owned && { key: owned, isEmpty: false };
  }

  /** Creates a session and makes this process its owner. If another process has created it meanwhile, only makes this process its owner. */
  private async created(key: SessionKey): Promise<OwnedSession> {
    const { owners, sessionService } = this.engine;
    try {
      const owned = await sessionService.create(key, (event) => owners.create(key, event));
      return { key: owned, isEmpty: true };
    } catch (error) {
      const taken = error instanceof StoreError ? await this.taken(key) : null;
      if (taken) return taken;
      throw error;
    }
  }

  private forget(name: string): void {
    this.open.delete(name);
    this.here.delete(name);
  }

  /** Removes a session. If this process has it open, closes it first; otherwise removes it without loading it. Returns false when there is no such session. */
  private async erase(key: SessionKey, loading: Promise<Conversation | null> | undefined): Promise<boolean> {
    const conversation = await loading;
    if (conversation) await conversation.remove();
    else if (!(await this.removeLog(key))) return false;
    const { app, user: userId, id: sessionId } = key;
    const { sessionService, rootAgent, store } = this.engine;
    const { state = {} } = (await store.loadSession(key, { events: 1, bytes: 1 })) ?? {};
    const inner = new Set([...innerAgentsIn(state), ...agentToolNames(rootAgent)]);
    // Delete the session of the conversation last. If the process dies before that, the user still finds the session and can delete it again.
    for (const appName of [...inner, app]) {
      await sessionService.deleteSession({ appName, userId, sessionId });
    }
    return true;
  }

  /** Becomes the owner of a session that is not open here, and removes its log. Returns false when there is no such session. */
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
        logger.error('could not close idle sessions: they stay in memory until the next attempt', {
          error: String(error),
        });
      });
    });
  }

  /** Releases the sessions that no client has used for `KEEP_MS`. Removes those that have neither a message nor a title. */
  private async sweep(): Promise<void> {
    for (const [name, loading] of this.open) {
      const conversation = await loading.catch(() => null);
      if (conversation && !conversation.isUnusedFor(KEEP_MS)) continue;
      const isBlank = await conversation?.isBlank();
      // A client may have connected to the session while the store was read.
      if (conversation && !conversation.isUnusedFor(KEEP_MS)) continue;
      if (conversation && isBlank) await this.remove(conversation.key);
      else conversation?.release();
      if (this.open.get(name) === loading) this.forget(name);
    }
  }
}

/** A client may send decisions without a session id. This many of the user's sessions, last used first, are then searched for the approval requests. */
const MAX_SEARCHED = 100;
/** How many of the approval ids in one such request are looked up. */
const MAX_NAMED = 4;

/** Finds, creates, lists and removes the sessions of each user. */
export class Sessions {
  private readonly engine: Engine;
  private readonly registry: SessionRegistry;
  private readonly newSessions: RateLimiter | null;

  /** `newSessions` limits how many sessions a user may create. */
  constructor(engine: Engine, registry: SessionRegistry, newSessions: RateLimiter | null = null) {
    this.engine = engine;
    this.registry = registry;
    this.newSessions = newSessions;
  }

  /** Returns the session, and creates it when the user has none with this id. */
  async getOrCreate(user: string, id: string): Promise<Session> {
    const key = this.keyOf(user, id);
    const session = await this.registry.find(key);
    if (session) return session;
    const wait = this.newSessions?.take(user) ?? 0;
    if (wait > 0) throw rateLimited('Too many new conversations', wait);
    return this.registry.create(key);
  }

  /**
   * Returns the session for a method of the server API, to which the limit of new sessions does not apply. If there is none, creates it when
   * `creates` is true, and otherwise returns null.
   */
  async openFor(key: SessionKey, creates: boolean): Promise<Session | null> {
    const session = await this.registry.find(key);
    return session ?? (creates ? this.registry.create(key) : null);
  }

  /** Returns the session; throws `not_found` when the user has none with this id. */
  async get(user: string, id: string): Promise<Session> {
    return (await this.find(user, id)) ?? notFound();
  }

  /** Returns the session; null when the user has none with this id. */
  find(user: string, id: string): Promise<Session | null> {
    return this.registry.find(this.keyOf(user, id));
  }

  /** Returns a page of the user's sessions that have a message or a title. */
  list(user: string, page: ListRequest): Promise<ListedSession[]> {
    const { store, appName } = this.engine;
    return store.listSessions(appName, user, page);
  }

  /**
   * Returns the id of the session that asked the user for one of these decisions. Searches only the sessions that were used last; null when none of them has
   * such an approval request.
   */
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

  /** Returns the summary of a session, even if it has no message; null when the user has none with this id. */
  summaryOf(user: string, id: string): Promise<SessionSummary | null> {
    return this.engine.store.findSession(this.keyOf(user, id));
  }

  async rename(user: string, id: string, title: string | null): Promise<void> {
    if (!(await this.engine.store.renameSession(this.keyOf(user, id), title))) notFound();
  }

  /** Stops the agent and removes the session. Its audit log stays. */
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

/**
 * Returns the session id that a client sent. Throws `bad_request` when it is not valid. `field` is the name of the field in the request, for the
 * error text.
 */
export function checkSessionId(id: unknown, field: string, mostLength: number): string {
  if (typeof id !== 'string' || id === '' || id.length > mostLength || HALF_CHARACTER.test(id)) {
    throw new ProtocolError(
      'bad_request',
      `"${field}" must be a text of 1 to ${mostLength} characters, without half of a surrogate pair.`,
    );
  }
  // In a URL path `.` and `..` are resolved as folders, so a session with such an id could never be requested or deleted.
  if (id === '.' || id === '..')
    throw new ProtocolError('bad_request', `"${field}" must not be "." or "..".`);
  return id;
}

/** Returns an id for a session whose client sent none. It contains the user name, or its hash if the name is too long or has half of a surrogate pair. */
export function newSessionId(user: string, unique: string, mostLength: number): string {
  const id = `session_${user}_${unique}`;
  if (id.length <= mostLength && !HALF_CHARACTER.test(id)) return id;
  return `session_${createHash('sha256').update(user, 'utf16le').digest('base64url')}_${unique}`;
}
