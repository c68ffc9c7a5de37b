import { randomUUID } from 'node:crypto';
import {
  type AppendEventRequest,
  BaseSessionService,
  type CompositeSessionKey,
  type CreateSessionRequest,
  type Event,
  type GetSessionConfig,
  type GetSessionRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type Session,
  trimTempDeltaState,
} from '@google/adk';
import type { Part } from '@google/genai';
import {
  type FileChunk,
  type FileSource,
  fileReference,
  savedFilesIn,
  withSavedFiles,
} from '../../adk/for-server.ts';
import { systemClock } from '../clock.ts';
import { type EventSource, noEvents, type PreparedEvent } from '../events/event-hub.ts';
import {
  answeredCalls,
  applyDelta,
  asStored,
  copyOf,
  emptyState,
  fileIdOf,
  hasKeys,
  nameOf,
  type Persistence,
  type StateRecord,
  untilStored,
} from './rules.ts';
import { type CachedSession, type CacheLimits, EventList, ReadySessions } from './session-cache.ts';
import {
  type AcceptedRequest,
  type NewSession,
  type OwnedKey,
  type SessionKey,
  type SharedStore,
  StateConflict,
  type Store,
  StoreError,
} from './store.ts';

const MB = 1024 * 1024;

/** The limits of the session cache, and of requests to models. */
interface ServiceLimits extends CacheLimits {
  /** Bytes of pictures in one request to a model; 16 MB unless given. */
  imageBytes?: number;
}

/** Callbacks for the events that ADK's own loop appends to a session. */
export interface AgentLoop {
  /** Corrects the function responses in an event whose state changes were refused because another writer had changed the same state. */
  withdraw(session: Session, event: Event): void;
  /** Called after the write of each event, whether it succeeded or failed. */
  stored(session: Session, event: Event): void;
  /** Returns the chunks of the artifacts that the actions of an event have saved. The service stores the chunks with the event. */
  savedFiles?(key: SessionKey, actions: Event['actions']): Promise<FileChunk[]>;
}

/** Facts that the service keeps about a session that it returned. */
interface Given {
  /** The stored state that the session was returned with. A later change of the same keys by another writer is a conflict. */
  seen: StateRecord;
  /** The fence of this process when it got the session. Writes carry it, so a run that began before another process became the owner can write nothing. */
  fence: number;
  /** Whether the history has events before those of the returned session. */
  hasOlder: boolean;
}

/**
 * ADK's session service on a store. The sessions used last are cached, so that a turn starts without reading or copying the history. Each `getSession`
 * returns a new session object. Its events are those of the cache and must not be changed. Its list of events and its state are copies that belong to the
 * caller, because ADK's compactors cut the list, and state that a tool changed but did not store must not outlive its turn. An event is added to the cache
 * and to the session only after it was stored; one that only makes ADK continue a run is not stored at all. Two turns of one session at the same time would
 * see each other's events only at their next `getSession`, so the caller must run them one after the other. Code that writes events to the store without this
 * service has to call `forget`.
 */
export class StoreSessionService extends BaseSessionService implements FileSource {
  readonly maxImageBytes: number;
  readonly #store: Store;
  readonly #ready: ReadySessions;
  readonly #lists = new WeakMap<Event[], EventList>();
  readonly #given = new WeakMap<Event[], Given>();
  /** The fence of each session that this process owns, by `nameOf` of its key. */
  readonly #fences = new Map<string, number>();
  readonly #loop: AgentLoop;
  readonly #persistence: Omit<Persistence, 'isOver'>;
  readonly #events: EventSource;

  /**
   * `loop` has the callbacks for events that ADK's own loop appends. `shared` is the same store, if other nodes write to it too. `persistence` is used to retry
   * writes of events for which no request waits. `events` prepares the events for listeners and subscriptions of the application.
   */
  constructor(
    store: Store,
    { imageBytes = 16 * MB, ...limits }: ServiceLimits = {
      sessions: 500,
      characters: 256 * MB,
      history: { events: 2000, bytes: 4 * MB },
    },
    loop: AgentLoop = { withdraw: () => undefined, stored: () => undefined },
    shared: SharedStore | null = null,
    persistence: Omit<Persistence, 'isOver'> = { clock: systemClock, onWait: () => undefined },
    events: EventSource = noEvents,
  ) {
    super();
    this.#events = events;
    this.#persistence = persistence;
    this.maxImageBytes = imageBytes;
    this.#store = store;
    this.#ready = new ReadySessions(store, limits, shared);
    this.#loop = loop;
  }

  override async createSession(request: CreateSessionRequest): Promise<Session> {
    const id = request.sessionId || randomUUID();
    const key = this.#keyOf(request.appName, request.userId, id);
    const initial = request.state ?? {};
    const { state, events, updatedAt } = await this.#store.createSession(key, initial);
    this.#ready.changed(key, initial);
    const created = { key, state, list: new EventList(events), hasOlder: false, lastUpdateTime: updatedAt };
    return this.#open(created, request.appName);
  }

  override async getSession(request: GetSessionRequest): Promise<Session | undefined> {
    const ready = await this.#ready.getCurrent(
      this.#keyOf(request.appName, request.userId, request.sessionId),
    );
    return ready === null ? undefined : this.#open(ready, request.appName, request.config);
  }

  /**
   * Returns the session for its owner; undefined when it does not exist. With `forTools` the session has the newest app and user state, which other nodes may
   * change.
   */
  async load(key: OwnedKey, { forTools = false } = {}): Promise<Session | undefined> {
    const ready = await (forTools ? this.#ready.getCurrent(key) : this.#ready.get(key));
    return ready === null ? undefined : this.#open(ready, key.app);
  }

  /** Whether the history has events before those that the session was returned with. */
  hasOlder({ events }: Session): boolean {
    return this.#given.get(events)?.hasOlder ?? false;
  }

  /** A file that an event refers to. */
  async readFile({ appName, userId, id }: Session, fileId: string): Promise<Uint8Array | null> {
    return (await this.#store.loadFile(keyOf(appName, userId, id), fileId))?.bytes ?? null;
  }

  /** Stores the files in an event, and returns the event with references in place of their bytes. */
  async #withoutBytes(key: OwnedKey, event: Event): Promise<Event> {
    const parts: Part[] = [];
    for (const part of event.content?.parts ?? []) {
      const { data, mimeType = 'application/octet-stream' } = part.inlineData ?? {};
      if (!data) {
        parts.push(part);
        continue;
      }
      const bytes = Buffer.from(data, 'base64');
      const id = fileIdOf(bytes);
      await this.#store.putFile(key, id, { mediaType: mimeType, bytes });
      parts.push(fileReference(part, id, bytes.length));
    }
    return { ...event, content: { ...event.content, parts } };
  }

  /** The sessions of one user; throws when the request names no user. */
  override async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    const { appName, userId, order } = request;
    if (userId === undefined) throw new StoreError('Sessions are listed for one user: pass userId.');
    const summaries = await this.#store.listSessions(appName, userId);
    const sessions = summaries.map(
      (summary): Session => ({
        id: summary.id,
        appName,
        userId,
        state: emptyState(),
        events: [],
        lastUpdateTime: summary.updatedAt,
      }),
    );
    if (order === 'asc') sessions.reverse();
    return pageOf(sessions, request);
  }

  override async deleteSession(request: CompositeSessionKey): Promise<void> {
    const key = keyOf(request.appName, request.userId, request.sessionId);
    try {
      const event = this.#events.isIdle ? null : this.#events.prepare('session-deleted', key, {});
      if (await this.#store.deleteSession(key, event?.outbox)) event?.happened();
    } finally {
      this.forget(key);
      this.#fences.delete(nameOf(key));
    }
  }

  override async appendEvent({ session, event }: AppendEventRequest): Promise<Event> {
    if (event.partial) return event;
    if (event.customMetadata?.duologue === 'resume') {
      // This event only makes ADK continue a run (`RESUME`), so it is not stored. If it has text, the run reads the text from the session.
      if (event.content?.parts?.some((part) => part.text)) this.#listOf(session.events).put(event);
      return event;
    }
    await this.#noteFiles(session, event);
    try {
      await this.appendChange({ session, event });
    } catch (error) {
      if (!(error instanceof StateConflict)) throw error;
      await this.#restore(session, event);
      this.#loop.withdraw(session, event);
      await this.appendChange({ session, event });
    } finally {
      this.#loop.stored(session, event);
    }
    return event;
  }

  /**
   * Appends an event, and stores the request `accepted` with it. If the event answers calls, and another writer has changed the same state since this session
   * was read, the method writes nothing and throws `StateConflict`, so that the caller can decide the outcome of the calls. While the store is unavailable, an
   * event with a request or without content is rejected at once; the write of any other event is retried.
   */
  async appendChange({ session, event }: AppendEventRequest, accepted?: AcceptedRequest): Promise<void> {
    const key = keyOf(session.appName, session.userId, session.id);
    trimTempDeltaState(event);
    const { seen, fence } = this.#given.get(session.events) ?? { fence: this.#fenceOf(key) };
    const change = answeredCalls(event).length > 0 ? seen : undefined;
    let kept = event;
    const finished = this.#finishedCalls(key, event);
    const outbox = finished.length > 0 ? finished.flatMap((one) => one.outbox ?? []) : undefined;
    const append = async () => {
      if (hasBytes(event)) kept = await this.#withoutBytes({ fence, ...key }, event);
      await this.#store.appendEvent({ fence, ...key }, kept, change, accepted, outbox);
    };
    // The fence has changed if this process lost the session and became its owner again. It is 0 after `disown`.
    const isOver = () => this.#fenceOf(key) !== fence;
    try {
      const isAwaited = accepted !== undefined || event.content === undefined;
      await (isAwaited ? append() : untilStored(append, { ...this.#persistence, isOver }));
    } catch (error) {
      this.forget(key);
      throw error;
    }
    for (const one of finished) one.happened();
    this.#ready.appended(key, kept);
    if (seen) applyDelta(seen, asStored(event.actions?.stateDelta ?? {}));
    this.#listOf(session.events).put(kept);
    session.lastUpdateTime = event.timestamp;
    // ADK's own method applies the state delta to the state of the session. It gets an empty list of events, because it would
    // search the whole list for the id of the event.
    await super.appendEvent({ session: { ...session, events: [] }, event });
  }

  /** Caches the session that `create` creates for this process, and returns its key: later writes carry its fence. */
  async create(
    key: SessionKey,
    create: (event: PreparedEvent | null) => Promise<NewSession>,
  ): Promise<OwnedKey> {
    const event = this.#events.isIdle ? null : this.#events.prepare('session-created', key, {});
    const owned = await this.#ready.create(key, create(event));
    this.#fences.set(nameOf(key), owned.fence);
    return owned;
  }

  /** The application events for the calls whose results are in an event of ADK. */
  #finishedCalls(key: SessionKey, { content, customMetadata }: Event): PreparedEvent[] {
    if (this.#events.isIdle) return [];
    return (content?.parts ?? []).flatMap(({ functionResponse }) => {
      const { id, name = '', response } = functionResponse ?? {};
      // These are requests of ADK itself, such as `adk_request_confirmation`, not results of tools.
      if (id === undefined || name.startsWith('adk_request_')) return [];
      const settled = customMetadata?.settled ?? (isFailure(response) ? 'error' : 'output');
      const outcome = settled === 'denied' || settled === 'error' ? settled : 'output';
      return this.#events.prepare('tool-finished', key, { callId: id, toolName: name, outcome }) ?? [];
    });
  }

  /** Makes this process the owner of a session. If the session does not exist, it is created with `state`, after `creates` has resolved. */
  async take(
    key: SessionKey,
    state: Record<string, unknown>,
    creates: () => Promise<void>,
  ): Promise<OwnedKey> {
    let owned = await this.#store.own(key);
    if (!owned) {
      await creates();
      const { app: appName, user: userId, id: sessionId } = key;
      await this.createSession({ appName, userId, sessionId, state });
      owned = await this.#store.own(key);
    }
    if (!owned) throw new StoreError(`The session ${key.id} of the agent "${key.app}" was removed.`);
    this.own(owned);
    return owned;
  }

  /**
   * Call it when this process became the owner of a session: later writes carry the fence of `key`. The next use reads the session from the store, because
   * another owner may have written to it.
   */
  own(key: OwnedKey): void {
    this.forget(key);
    this.#fences.set(nameOf(key), key.fence);
  }

  /** Call it when this process no longer owns a session. */
  disown(key: OwnedKey): void {
    if (this.#fenceOf(key) === key.fence) this.#fences.delete(nameOf(key));
  }

  /** Removes a session from the cache, so that its next use reads the store. */
  forget(key: SessionKey): void {
    this.#ready.forget(key);
  }

  /** The key of a session with the fence of this process; with fence 0 when this process does not own the session. */
  #keyOf(app: string, user: string, id: string): OwnedKey {
    const key = keyOf(app, user, id);
    return { fence: this.#fenceOf(key), ...key };
  }

  #fenceOf(key: SessionKey): number {
    return this.#fences.get(nameOf(key)) ?? 0;
  }

  /**
   * Adds chunks to the custom metadata of an event: those of the artifacts that the actions of the event have saved. Does nothing when the chunks are there
   * already.
   */
  async #noteFiles({ appName, userId, id }: Session, event: Event): Promise<void> {
    const { actions } = event;
    if (!hasKeys(actions?.artifactDelta ?? {}) || savedFilesIn(event).length > 0) return;
    const files = (await this.#loop.savedFiles?.(keyOf(appName, userId, id), actions)) ?? [];
    event.customMetadata = { ...event.customMetadata, ...withSavedFiles(files) };
  }

  /** The key of a session with the fence of this process; with fence 0 when this process does not own the session. */
  owned(key: SessionKey): OwnedKey {
    return this.#keyOf(key.app, key.user, key.id);
  }

  /** After a conflict: removes the state delta from the event, and sets the changed keys of the session to their stored values, with which the run continues. */
  async #restore(session: Session, event: Event): Promise<void> {
    const key = this.#keyOf(session.appName, session.userId, session.id);
    const stored = (await this.#ready.read(key))?.state ?? {};
    const seen = this.#given.get(session.events)?.seen ?? emptyState();
    const current = copyOf(stored);
    for (const name of Object.keys(event.actions.stateDelta)) {
      applyDelta(session.state, { [name]: current[name] });
      applyDelta(seen, { [name]: stored[name] });
    }
    event.actions = { ...event.actions, stateDelta: {} };
  }

  #open(ready: CachedSession, appName: string, config?: GetSessionConfig): Session {
    const events = eventsIn(ready.list.events, config);
    const { hasOlder, key } = ready;
    this.#given.set(events, { seen: applyDelta(emptyState(), ready.state), fence: key.fence, hasOlder });
    if (events.length === ready.list.events.length)
      this.#lists.set(events, new EventList(events, ready.list));
    return {
      id: ready.key.id,
      appName,
      userId: ready.key.user,
      state: copyOf(ready.state),
      events,
      lastUpdateTime: ready.lastUpdateTime,
    };
  }

  #listOf(events: Event[]): EventList {
    const known = this.#lists.get(events);
    if (known !== undefined) return known;
    const list = new EventList(events);
    this.#lists.set(events, list);
    return list;
  }
}

/** Whether parts of an event hold the bytes of files. */
function hasBytes({ content }: Event): boolean {
  return content?.parts?.some((part) => part.inlineData?.data) ?? false;
}

/** Whether ADK, or this server, answered a call with an error instead of an output of its tool. */
function isFailure(response: Record<string, unknown> | undefined): boolean {
  return typeof response?.error === 'string' && Object.keys(response).length === 1;
}

function keyOf(app: string, user: string, id: string): SessionKey {
  return { app, user, id };
}

/** The page of the sessions that ADK's request asks for, with the counts that ADK expects. */
function pageOf(sessions: Session[], { limit, page, offset = 0 }: ListSessionsRequest): ListSessionsResponse {
  const totalItems = sessions.length;
  if (limit === undefined) {
    const totalPages = totalItems === 0 ? 0 : 1;
    return { sessions: sessions.slice(offset), page: 1, limit: totalItems, totalItems, totalPages };
  }
  const start = page === undefined ? offset : (page - 1) * limit;
  return {
    sessions: sessions.slice(start, start + limit),
    page: page ?? (limit === 0 ? 1 : Math.floor(start / limit) + 1),
    limit,
    totalItems,
    totalPages: limit === 0 ? 0 : Math.ceil(totalItems / limit),
  };
}

/** A copy of a list of events: all events, or those that ADK's configuration asks for. */
function eventsIn(all: readonly Event[], config: GetSessionConfig = {}): Event[] {
  let events = config.numRecentEvents ? all.slice(-config.numRecentEvents) : all.slice();
  const { afterTimestamp } = config;
  if (afterTimestamp)
    events = events.slice(events.findLastIndex((event) => event.timestamp < afterTimestamp) + 1);
  return events;
}
