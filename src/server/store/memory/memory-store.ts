import type { Event } from '@google/adk';
import type { Message } from '../../../protocol/index.ts';
import { isOfUser } from '../artifacts.ts';
import { allSessionsCursor, placeOfCursor } from '../over-sessions.ts';
import {
  answeredCalls,
  checkOwner,
  checkUnchanged,
  decisionMove,
  emptyState,
  eventToJson,
  fitting,
  fromJson,
  hasKeys,
  isQuestion,
  issuedLine,
  isUsedBefore,
  lastUsedFirst,
  noSuchSession,
} from '../rules.ts';
import {
  type AcceptedRequest,
  type AllSessionsPage,
  type ArtifactContent,
  type ArtifactInfo,
  type AuditEntry,
  type AuditPage,
  type CallMove,
  type CallRecord,
  type FoundCall,
  type ListedSession,
  type OutboxEvent,
  type OwnedKey,
  type Page,
  type SessionKey,
  type SessionSummary,
  type Store,
  type StoredSession,
  StoreError,
  type WaitingMessage,
} from '../store.ts';
import { HeldArtifacts } from './held-artifacts.ts';
import { HeldOutbox } from './held-outbox.ts';
import { AuditLog, HeldSession, States, userName } from './held-session.ts';

/** A store that lives as long as the process: for tests, and for conversations that need not be kept. */
export function createMemoryStore(options: { now?: () => number } = {}): Store {
  const now = options.now ?? Date.now;
  const sessions = new Map<string, Map<string, HeldSession>>();
  const states = new States();
  const auditLog = new AuditLog();
  const outbox = new HeldOutbox(() => {
    assertOpen();
    return now();
  });
  const ofUsers = new Map<string, HeldArtifacts>();
  let lastFence = 0;
  let lastSession = 0;
  let closed = false;

  const assertOpen = (): void => {
    if (closed) throw new StoreError('The store is closed.');
  };
  const find = (key: SessionKey): HeldSession | undefined => {
    assertOpen();
    return sessions.get(userName(key.app, key.user))?.get(key.id);
  };
  /** The session; undefined when it does not exist. Throws `StaleFence` when it has another fence than the key. */
  const findOwned = (key: OwnedKey): HeldSession | undefined => {
    const session = find(key);
    if (session !== undefined) checkOwner(session, key);
    return session;
  };
  const need = (key: OwnedKey): HeldSession => {
    const session = findOwned(key);
    if (session === undefined) throw noSuchSession(key);
    return session;
  };
  const move = (
    key: SessionKey,
    session: HeldSession | undefined,
    change: CallMove,
    line: AuditEntry | null,
    accepted: AcceptedRequest | undefined,
    events: readonly OutboxEvent[] | undefined,
  ): CallRecord | null => {
    const call = session?.calls.moved(change) ?? null;
    if (session === undefined || call === null) return null;
    const writeLine = line === null ? null : auditLog.prepare(key, now(), line);
    session.calls.put(call);
    writeLine?.();
    if (accepted) session.requests.add(accepted);
    if (events) outbox.add(key, events);
    return call;
  };

  /** The artifacts of the user for a name that begins with `user:`, and of the session for any other name; null when there are none. */
  const artifactsOf = (key: SessionKey, name: string): HeldArtifacts | null =>
    (isOfUser(name) ? ofUsers.get(userName(key.app, key.user)) : find(key)?.artifacts) ?? null;
  const artifactsToWrite = (key: OwnedKey, name: string): HeldArtifacts => {
    const session = need(key);
    if (!isOfUser(name)) return session.artifacts;
    const user = userName(key.app, key.user);
    const held = ofUsers.get(user) ?? new HeldArtifacts();
    ofUsers.set(user, held);
    return held;
  };

  return {
    async createSession(key, state, events): Promise<StoredSession> {
      if (find(key) !== undefined) throw new StoreError(`The session ${key.id} exists already.`);
      const session = new HeldSession(++lastSession, key.id, states.prepare(key, '{}', state)(), now());
      const user = userName(key.app, key.user);
      const ofUser = sessions.get(user);
      if (ofUser === undefined) sessions.set(user, new Map([[key.id, session]]));
      else ofUser.set(key.id, session);
      if (events) outbox.add(key, events);
      return { ...session.summary(), state: states.seenBy(key, session.state), events: [] };
    },

    async loadSession(key, limits): Promise<StoredSession | null> {
      const session = find(key);
      if (session === undefined) return null;
      const texts = [...session.events.values()];
      const sizes = limits ? texts.map((text) => Buffer.byteLength(text)).reverse() : [];
      const count = limits ? fitting(sizes, limits.events, limits.bytes) : texts.length;
      return {
        ...session.summary(),
        state: states.seenBy(key, session.state),
        events: texts.slice(texts.length - count).map((text) => fromJson<Event>(text)),
        ...(limits && { hasOlder: count < texts.length }),
      };
    },

    async loadEvents(key, { from, events, bytes }): Promise<{ events: Event[]; count: number } | null> {
      const session = find(key);
      if (session === undefined) return null;
      const texts = [...session.events.values()].slice(from, from + events);
      const sizes = texts.map((text) => Buffer.byteLength(text));
      const found = texts.slice(0, fitting(sizes, events, bytes)).map((text) => fromJson<Event>(text));
      return { events: found, count: session.events.size };
    },

    async own(key): Promise<OwnedKey | null> {
      const session = find(key);
      if (session === undefined) return null;
      session.fence = ++lastFence;
      return { app: key.app, user: key.user, id: key.id, fence: session.fence };
    },

    async findSession(key): Promise<SessionSummary | null> {
      return find(key)?.summary() ?? null;
    },

    async listSessions(app, user, page): Promise<ListedSession[]> {
      assertOpen();
      const ofUser = [...(sessions.get(userName(app, user))?.values() ?? [])];
      if (!page) return lastUsedFirst(ofUser).map((session) => session.listed(now()));
      const { after, count } = page;
      const listed = ofUser.filter(
        (session) => session.isUsed && (after === undefined || isUsedBefore(session, after)),
      );
      return lastUsedFirst(listed)
        .slice(0, count)
        .map((session) => session.listed(now()));
    },

    async listAllSessions(app, { cursor, count }): Promise<AllSessionsPage> {
      assertOpen();
      const { updatedAt, n } = placeOfCursor(cursor);
      const found: { user: string; session: HeldSession }[] = [];
      for (const [name, ofUser] of sessions) {
        const [ofApp, user] = JSON.parse(name) as [string, string];
        if (ofApp !== app) continue;
        for (const session of ofUser.values()) {
          const isAfter = session.updatedAt < updatedAt || (session.updatedAt === updatedAt && session.n > n);
          if (session.isUsed && isAfter) found.push({ user, session });
        }
      }
      found.sort((a, b) => b.session.updatedAt - a.session.updatedAt || a.session.n - b.session.n);
      const last = found.length > count ? found[count - 1]?.session : undefined;
      return {
        sessions: found.slice(0, count).map(({ user, session }) => ({ user, ...session.listed(now()) })),
        next: last === undefined ? null : allSessionsCursor(last.updatedAt, last.n),
      };
    },

    async sessionBytes(key): Promise<number> {
      return find(key)?.bytes ?? 0;
    },

    async renameSession(key, title): Promise<boolean> {
      const session = find(key);
      if (session === undefined) return false;
      session.title = title;
      return true;
    },

    async deleteSession(key, events): Promise<boolean> {
      if (find(key) === undefined) return false;
      const user = userName(key.app, key.user);
      const ofUser = sessions.get(user);
      ofUser?.delete(key.id);
      if (ofUser?.size === 0) sessions.delete(user);
      auditLog.empty(key);
      if (events) outbox.add(key, events);
      return true;
    },

    async appendEvent(key, event, seen, accepted, events): Promise<void> {
      const session = need(key);
      const text = eventToJson(event);
      const delta = event.actions?.stateDelta ?? emptyState();
      if (seen && hasKeys(delta)) checkUnchanged(delta, seen, states.seenBy(key, session.state));
      const writeState = hasKeys(delta) ? states.prepare(key, session.state, delta) : null;
      session.events.set(event.id, text);
      if (writeState !== null) session.state = writeState();
      for (const id of answeredCalls(event)) session.calls.settle(id);
      if (accepted) session.requests.add(accepted);
      if (events) outbox.add(key, events);
      session.updatedAt = now();
    },

    async putMessage(key, message, accepted, events): Promise<void> {
      const session = need(key);
      session.messages.put(message);
      if (accepted) session.requests.add(accepted);
      if (events) outbox.add(key, events);
      session.updatedAt = now();
    },

    async loadMessages(key): Promise<Message[]> {
      return find(key)?.messages.all() ?? [];
    },

    async loadMessage(key, messageId): Promise<Message | null> {
      return find(key)?.messages.find(messageId) ?? null;
    },

    async loadPage(key, page): Promise<Page | null> {
      const session = find(key);
      if (session !== undefined) return session.messages.page(page);
      return page.before === undefined ? { messages: [], hasOlder: false } : null;
    },

    async truncateMessages(key, messageId): Promise<boolean> {
      const session = findOwned(key);
      if (!session?.messages.truncate(messageId)) return false;
      session.updatedAt = now();
      return true;
    },

    async addWaiting(key, waiting, accepted): Promise<void> {
      const session = need(key);
      session.messages.addWaiting(waiting);
      if (accepted) session.requests.add(accepted);
      session.updatedAt = now();
    },

    async waitingMessages(key): Promise<WaitingMessage[]> {
      return find(key)?.messages.waiting() ?? [];
    },

    async issueCalls(key, calls): Promise<void> {
      const writeCalls = need(key).calls.prepare(calls);
      const writeLines = calls
        .filter(isQuestion)
        .map((call) => auditLog.prepare(key, now(), issuedLine(call)));
      writeCalls();
      for (const writeLine of writeLines) writeLine();
    },

    async openCalls(key): Promise<CallRecord[]> {
      return (
        find(key)
          ?.calls.all()
          .filter((call) => call.status !== 'settled') ?? []
      );
    },

    async findCall(key, id): Promise<CallRecord | null> {
      return find(key)?.calls.find(id) ?? null;
    },

    async findCalls(app, id): Promise<FoundCall[]> {
      assertOpen();
      const found: FoundCall[] = [];
      for (const [name, ofUser] of sessions) {
        const [ofApp, user] = JSON.parse(name) as [string, string];
        if (ofApp !== app) continue;
        for (const session of ofUser.values()) {
          const call = session.calls.find(id);
          if (call) found.push({ key: { app, user, id: session.id }, call });
          if (found.length === 2) return found;
        }
      }
      return found;
    },

    async moveCall(key, change, line, accepted, events): Promise<CallRecord | null> {
      return move(key, findOwned(key), change, line, accepted, events);
    },

    async decideCall(key, decision, line, accepted, events): Promise<CallRecord | null> {
      return move(key, find(key), decisionMove(decision), line, accepted, events);
    },

    async audit(key, line): Promise<void> {
      const args = find(key) === undefined ? null : line.args;
      auditLog.prepare(key, now(), { ...line, args })();
    },

    async loadAuditPage(key, page): Promise<AuditPage> {
      assertOpen();
      return auditLog.page(key, page);
    },

    async acceptRequest(key, accepted): Promise<void> {
      need(key).requests.add(accepted);
    },

    async acceptedRequests(key): Promise<AcceptedRequest[]> {
      return find(key)?.requests.all() ?? [];
    },

    async putFile(key, id, file): Promise<void> {
      need(key).files.set(id, { mediaType: file.mediaType, bytes: Uint8Array.from(file.bytes) });
    },

    async loadFile(key, id): Promise<{ mediaType: string; bytes: Uint8Array } | null> {
      const file = find(key)?.files.get(id);
      return file === undefined ? null : { mediaType: file.mediaType, bytes: Uint8Array.from(file.bytes) };
    },

    async saveArtifact(key, name, content): Promise<number> {
      return artifactsToWrite(key, name).save(name, content);
    },

    async loadArtifact(key, name, version): Promise<ArtifactContent | null> {
      assertOpen();
      return artifactsOf(key, name)?.load(name, version) ?? null;
    },

    async artifactNames(key): Promise<string[]> {
      const own = find(key)?.artifacts.names() ?? [];
      return [...own, ...(ofUsers.get(userName(key.app, key.user))?.names() ?? [])].sort();
    },

    async artifactVersions(key, name): Promise<ArtifactInfo[]> {
      assertOpen();
      return artifactsOf(key, name)?.versions(name) ?? [];
    },

    async removeArtifact(key, name): Promise<void> {
      artifactsToWrite(key, name).remove(name);
    },

    async userArtifactBytes(key): Promise<number> {
      assertOpen();
      return ofUsers.get(userName(key.app, key.user))?.bytes ?? 0;
    },

    keepEvents: (key, events) => outbox.keepEvents(key, events),
    claimEvents: (app, subscription, request) => outbox.claimEvents(app, subscription, request),
    keepClaim: (claimed, leaseMs, delivered) => outbox.keepClaim(claimed, leaseMs, delivered),
    endClaim: (claimed, retryMs) => outbox.endClaim(claimed, retryMs),
    trimEvents: (app, subscription, limits) => outbox.trimEvents(app, subscription, limits),

    async close(): Promise<void> {
      closed = true;
    },
  };
}
