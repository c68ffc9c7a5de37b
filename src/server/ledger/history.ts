import {
  type Session as AdkSession,
  createEvent,
  createEventActions,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
} from '@google/adk';
import { danglingCalls, responseEvent, rewindEvent, savedFilesIn, withinOf } from '../../adk/for-server.ts';
import { type Chunk, type Message, MessageFold, ProtocolError, toolNameOf } from '../../protocol/index.ts';
import { hasOutcome } from '../../protocol/tool-call.ts';
import { cutText } from '../output/heard-text.ts';
import { textOf } from '../output/output.ts';
import type { StoreSessionService } from '../store/adk-sessions.ts';
import type { AcceptedRequest, CallRecord, OwnedKey, Store } from '../store/store.ts';

/** How much of a history is read from the store at once, when its loaded events are not enough. */
const PAGE = { events: 500, bytes: 4 * 1024 * 1024 };

/** The prefix of a key in the session state. The rest of the key is the name of an agent that was used as a tool and has a session of its own. */
const INNER = 'duologue:agent:';

/** The state change that records an agent which is used as a tool, so that its session is found when the session of the conversation is deleted. */
function noteOfInner(agentName: string) {
  return createEventActions({ stateDelta: { [`${INNER}${agentName}`]: true } });
}

/** The names of the agents that have a session of their own beside the session with this state. */
export function innerAgentsIn(state: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(state).flatMap((key) => (key.startsWith(INNER) ? [key.slice(INNER.length)] : []));
}

/** The agent's history of a session: the events that ADK writes, and those that the server adds because ADK does not write them. */
export class History {
  /** The key of the session, with the names of its parts in ADK. */
  readonly key: { appName: string; userId: string; sessionId: string };
  private readonly service: StoreSessionService;
  private readonly owned: OwnedKey;
  /** The keys of the sessions of agents that are used as tools, by the name of the agent. This process owns these sessions, too. */
  private readonly inner = new Map<string, Promise<OwnedKey>>();

  constructor(service: StoreSessionService, owned: OwnedKey) {
    const { app, user, id } = owned;
    this.service = service;
    this.owned = owned;
    this.key = { appName: app, userId: user, sessionId: id };
  }

  /** ADK's session, with the newest events of its history. */
  load(): Promise<AdkSession> {
    return this.read({ forTools: false });
  }

  /** Like `load`, but also reads the newest state that the session shares with other sessions of the user and of the app. For tools. */
  loadForTools(): Promise<AdkSession> {
    return this.read({ forTools: true });
  }

  private async read(options: { forTools: boolean }): Promise<AdkSession> {
    const session = await this.service.load(this.owned, options);
    if (!session) throw new ProtocolError('not_found', 'There is no such session.');
    return session;
  }

  /** The session of an agent that is used as a tool. It has the same id as this session, and is created with `state` when it does not exist. */
  async loadInner(agentName: string, state: Record<string, unknown>): Promise<AdkSession> {
    const { service, owned, inner } = this;
    const note = () => this.append(createEvent({ author: 'user', actions: noteOfInner(agentName) }));
    const taken = inner.get(agentName) ?? service.take({ ...owned, app: agentName }, state, note);
    inner.set(agentName, taken);
    try {
      const session = await service.load(await taken, { forTools: true });
      if (!session) throw new ProtocolError('not_found', 'There is no such session.');
      return session;
    } catch (error) {
      inner.delete(agentName);
      throw error;
    }
  }

  /** The recorded call with this id; null when the session has no such call. */
  findCall(store: Store, id: string): Promise<CallRecord | null> {
    return store.findCall(this.owned, { id });
  }

  /** Whether the stored history has events before those of this loaded session. */
  hasOlder(session: AdkSession): boolean {
    return this.service.hasOlder(session);
  }

  /**
   * The events of this history that answer calls of an agent that is used as a tool, by the id of the answered call. `callId`: the call whose tool is
   * that agent. `ids`: the ids of the answered calls to look for.
   */
  async answersWithin(store: Store, callId: string, ids: ReadonlySet<string>): Promise<Map<string, Event>> {
    const found = new Map<string, Event>();
    const look = (events: readonly Event[]) => {
      for (const event of events) {
        if (withinOf(event) !== callId) continue;
        for (const { id = '' } of getFunctionResponses(event)) if (ids.has(id)) found.set(id, event);
      }
    };
    const session = await this.load();
    look(session.events);
    for (let from = 0; found.size < ids.size && this.service.hasOlder(session); ) {
      const page = await store.loadEvents(this.owned, { from, ...PAGE });
      if (!page?.events.length) break;
      look(page.events);
      from += page.events.length;
    }
    return found;
  }

  /** Records that this process no longer owns the session, nor the sessions of its agents that are used as tools. */
  disown(): void {
    const { service, owned, inner } = this;
    service.disown(owned);
    for (const taken of inner.values()) taken.then((key) => service.disown(key)).catch(() => undefined);
  }

  /** Adds an event. If there is an `accepted` request, it is stored together with the event. */
  async append(event: Event, accepted?: AcceptedRequest): Promise<void> {
    const session = await this.load();
    if (accepted) await this.service.appendChange({ session, event }, accepted);
    else await this.service.appendEvent({ session, event });
  }

  /**
   * Adds an event with the state changes of a tool. `session` is the session as the tool read it. Throws a `StateConflict` when the same state has
   * changed since.
   */
  appendChange(event: Event, session: AdkSession, accepted?: AcceptedRequest): Promise<void> {
    return this.service.appendChange({ session, event }, accepted);
  }

  /** Cuts the text of a message to `length` characters, in the store and in the agent's history. */
  async cutMessage(store: Store, message: Message, length: number): Promise<void> {
    const removed = textOf(message).slice(length);
    cutText(message, length);
    await store.putMessage(this.owned, message);
    if (removed !== '') await this.cutText(removed);
  }

  /**
   * Removes a text from the end of what the agent said in a turn: in the newest turn that ends with this text, because the user may hear an earlier
   * message while a later one is written. If no turn does, removes as many characters from the newest turn.
   */
  private async cutText(removed: string): Promise<void> {
    const session = await this.load();
    const turns = agentTexts(session.events);
    const turn = turns.find((events) => events.flatMap(textsOf).join('').endsWith(removed)) ?? turns[0] ?? [];
    let rest = removed.length;
    for (const event of turn.toReversed()) {
      if (rest <= 0) return;
      const kept = (event.content?.parts ?? []).toReversed().map((part) => {
        if (!part.text || part.thought) return part;
        const text = part.text.slice(0, Math.max(0, part.text.length - rest));
        rest -= part.text.length - text.length;
        return { ...part, text };
      });
      const content = { ...event.content, parts: kept.toReversed() };
      await this.service.appendEvent({ session, event: { ...event, content } });
    }
  }

  /**
   * Adds text that ADK does not store: what the agent wrote before an abort or a failure, or a text of the application (`isSpoken`). `author`: the name
   * of the agent.
   */
  async appendText(
    { messageId, text, isSpoken }: { messageId: string; text: string; isSpoken?: boolean | undefined },
    author: string,
  ): Promise<void> {
    const { events } = await this.load();
    const last = events.findLast((event) => event.content?.parts?.length);
    // ADK may have stored the whole text before the run was stopped, without sending the event to the server. Then nothing is missing.
    const isStored = !isSpoken && last?.content?.parts?.some((part) => part.text?.startsWith(text));
    if (isStored && last?.content?.role === 'model') return;
    await this.append(
      createEvent({ author, content: { role: 'model', parts: [{ text }] }, customMetadata: { messageId } }),
    );
  }

  /** Stores the id of the active connection in the session state, so that tools can read it. */
  async identify(connectionId: string): Promise<void> {
    // The event has a fixed id, so that the event of the next connection replaces it. Otherwise each reconnection would add an event to the history.
    const id = 'client_identifier';
    await this.append(createEvent({ id, author: 'user', actions: { stateDelta: { [id]: connectionId } } }));
  }

  /**
   * Rewinds the history to before a user message. With `again` the turn of the message starts again: the history is rewound only if no event after the
   * message may have had effects (`hasEffects`), and calls without a response get an error first. `before` reads the ids of the newest stored messages
   * before this one.
   */
  async rewindTo(
    messageId: string,
    again: { errorText: string; waiting: ReadonlySet<string> } | undefined,
    before: () => Promise<ReadonlySet<unknown>>,
  ): Promise<void> {
    const session = await this.load();
    const { events } = session;
    // Take the newest event with this id. An older one may be from before an earlier rewind to the same message.
    const index = events.findLastIndex(
      ({ author, customMetadata }) => author === 'user' && customMetadata?.messageId === messageId,
    );
    const event = events[index];
    if (!event) {
      if (again || !this.service.hasOlder(session)) return;
      // The history has no event with the id of a spoken user message. If an event of an older message is loaded, the event of this message would be
      // loaded too. So it is a spoken message, and nothing is rewound.
      const older = await before();
      if (events.some(({ customMetadata }) => older.has(customMetadata?.messageId))) return;
      // The message is older than the loaded events, so all of them are rewound.
      await this.append(rewindEvent(messageId));
      this.service.forget(this.owned);
      return;
    }
    if (again) {
      const { errorText, waiting } = again;
      if (events.slice(index + 1).some((later) => hasEffects(later, event, waiting))) return;
      await this.closeDangling(errorText, waiting);
    }
    await this.append(rewindEvent(event.id));
  }

  /** Adds an error as the response of every call that has no response and does not wait. Returns the ids of these calls. */
  async closeDangling(errorText: string, waiting: { has(id: string): boolean }): Promise<string[]> {
    const session = await this.load();
    const dangling = danglingCalls(session.events).filter(({ id }) => !waiting.has(id));
    for (const { id, name, event } of dangling) {
      const { author: agent = 'model', invocationId, branch = null } = event;
      const response = { error: errorText };
      await this.service.appendEvent({
        session,
        event: responseEvent({ agent, invocationId, branch }, [{ id, name, response }]),
      });
    }
    return dangling.map(({ id }) => id);
  }
}

/**
 * Whether an event after a user message shows that the turn may have had effects outside the history: the event is further input, answers a call, or has a
 * call that waits or that ADK may have run. In a live run ADK runs no tools, so there only a call that waits shows this. A user message of a live run has
 * no invocation id, because the server writes its event, not ADK.
 */
function hasEffects(event: Event, message: Event, waiting: ReadonlySet<string>): boolean {
  if (getFunctionResponses(event).length > 0 || event.author === 'user')
    return Boolean(event.content?.parts?.length);
  const calls = getFunctionCalls(event);
  return message.invocationId ? calls.length > 0 : calls.some(({ id = '' }) => waiting.has(id));
}

/**
 * Completes stored messages from the history. A process may die after it stored the response of a tool in the history, and before it stored the
 * message that shows the response. Then the message shows the call as open, although it has ended.
 */
export async function reconcile(
  store: Store,
  key: OwnedKey,
  messages: Message[],
  session: AdkSession,
): Promise<void> {
  for (const message of messages) {
    const missed = missedOutputs(message, session, new Set());
    if (missed.length === 0) continue;
    const fold = new MessageFold(message);
    for (const chunk of missed) fold.push(chunk);
    await store.putMessage(key, message);
  }
  const completed = withTextOfHistory(messages, session);
  if (completed) await store.putMessage(key, completed);
}

/**
 * Returns the last message with the text that only the history has, because the process died after ADK stored the text, and ends its open blocks. Null when
 * no text is missing and the message does not end with an open text block, or when message and history do not match.
 */
function withTextOfHistory(messages: Message[], session: AdkSession): Message | null {
  const message = messages.at(-1);
  if (message?.role !== 'assistant') return null;
  const recorded = textSinceUser(messages, session.events);
  const shown = textIn(message);
  if (recorded === null || recorded.length < shown.length || !recorded.startsWith(shown)) return null;
  const rest = recorded.slice(shown.length);
  const last = message.parts.findLast((part) => part.type === 'text');
  if (last && last === message.parts.at(-1) && last.state === 'streaming') last.text += rest;
  else if (rest) message.parts.push({ type: 'text', text: rest, state: 'done' });
  else return null;
  for (const part of message.parts) if (isStreaming(part)) part.state = 'done';
  return message;
}

/** Whether a part is a text or reasoning block that is still open. */
export function isStreaming(
  part: Message['parts'][number],
): part is Extract<Message['parts'][number], { type: 'text' | 'reasoning' }> {
  return (part.type === 'text' || part.type === 'reasoning') && part.state === 'streaming';
}

/** The text of a message. */
function textIn(message: Message): string {
  return message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The agent's text since the last user message, from the history; null when the loaded history does not have that user message. */
function textSinceUser(messages: readonly Message[], events: readonly Event[]): string | null {
  const question = messages.findLast(({ role }) => role === 'user');
  const from = events.findLastIndex(
    (event) => event.author === 'user' && event.customMetadata?.messageId === question?.id,
  );
  if (!question || from === -1) return null;
  return events
    .slice(from + 1)
    .flatMap((event) => (event.content?.role === 'model' ? (event.content.parts ?? []) : []))
    .map((part) => (part.thought ? '' : (part.text ?? '')))
    .join('');
}

/** If the history lacks text of the last message, adds that text to the history. ADK stores only complete responses of the model. */
export async function keepText(
  history: History,
  author: string,
  messages: readonly Message[],
): Promise<void> {
  const message = messages.at(-1);
  if (message?.role !== 'assistant') return;
  const recorded = textSinceUser(messages, (await history.load()).events);
  const shown = textIn(message);
  if (recorded === null || recorded.length >= shown.length || !shown.startsWith(recorded)) return;
  await history.append(
    createEvent({
      author,
      content: { role: 'model', parts: [{ text: shown.slice(recorded.length) }] },
      customMetadata: { messageId: message.id },
    }),
  );
}

/** Whether an assistant message can be continued: it has parts, and was interrupted, failed, or was ended by a limit or a filter of the model. */
export function wasCut({ role, parts, metadata = {} }: Message): boolean {
  const { interrupted, failed, finishReason } = metadata;
  const isCut = interrupted || failed || finishReason === 'length' || finishReason === 'content-filter';
  return role === 'assistant' && parts.length > 0 && isCut === true;
}

/**
 * Returns the chunks for outcomes that the history has and the message does not show, and for the files that the tools of these calls saved. Calls
 * that still wait are left out.
 */
export function missedOutputs(
  message: Message,
  session: AdkSession,
  waiting: { has(id: string): boolean },
): Chunk[] {
  const open = new Set(
    message.parts.flatMap((part) => {
      const isOpen = toolNameOf(part) !== null && 'toolCallId' in part && !hasOutcome(part);
      return isOpen && !waiting.has(part.toolCallId) ? [part.toolCallId] : [];
    }),
  );
  if (open.size === 0) return [];
  return session.events.flatMap((event) => {
    const outputs = getFunctionResponses(event).flatMap(({ id = '', response = {} }) =>
      open.delete(id) ? [outputChunk(id, response, event.customMetadata ?? {})] : [],
    );
    return outputs.length === 0 ? [] : [...outputs, ...savedFilesIn(event)];
  });
}

/**
 * The chunk for a response in the history. The metadata of the response of a deferred call says which kind of outcome it is. Other responses are
 * errors if they have only the field `error`.
 */
function outputChunk(
  toolCallId: string,
  response: Record<string, unknown>,
  { settled, wrapped }: Record<string, unknown>,
): Chunk {
  const looksFailed = typeof response.error === 'string' && Object.keys(response).length === 1;
  if (settled === undefined ? looksFailed : settled !== 'output') {
    return { type: 'tool-output-error', toolCallId, errorText: String(response.error) };
  }
  const output = wrapped === true ? (response.results ?? response.result ?? null) : response;
  return { type: 'tool-output-available', toolCallId, output };
}

/** The texts of an event of the agent, without thoughts; none for an event of the user. */
function textsOf({ content }: Event): string[] {
  if (content?.role !== 'model') return [];
  return (content.parts ?? []).flatMap(({ text, thought }) => (text && !thought ? [text] : []));
}

/** The events with texts of the agent, turn by turn, newest turn first. A text of the user ends a turn. */
function agentTexts(events: readonly Event[]): Event[][] {
  const turns: Event[][] = [[]];
  for (const event of events) {
    const { role, parts = [] } = event.content ?? {};
    if (role === 'user' && parts.some((part) => part.text)) turns.unshift([]);
    else if (textsOf(event).length > 0) turns[0]?.push(event);
  }
  return turns;
}
