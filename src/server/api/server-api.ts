import { type Answer, outputOf, reasonOf } from '../../protocol/tool-call.ts';
import type { Engine } from '../engine.ts';
import type { EventListener } from '../events/event-hub.ts';
import type { ServerEventName } from '../events/server-events.ts';
import type { EventSubscription, Subscriptions } from '../events/subscriptions.ts';
import type { CallRecord, DecidedBy, FoundCall, SessionKey } from '../store/store.ts';
import { badRequest, ServerApiError } from './api-error.ts';
import type { Command, Commands } from './commands.ts';
import { checkedKey, inApiErrors, type SessionRef, type SessionsApi, sessionsApi } from './sessions-api.ts';

/** A decision of the application about an approval request. */
export interface ApplicationDecision {
  approvalId: string;
  approved: boolean;
  /** The reason for the decision. The model reads the reason of a denial. */
  reason?: string;
  /** The person who decided, as the application knows them. They need not be a user of this server. */
  by: string;
}

/** The output of a long-running call. */
export interface CompletedCall {
  callId: string;
  /** JSON, as the tool would return it. */
  output: unknown;
  /** The session of the call; needed only when several sessions have a call with this id. */
  session?: SessionRef;
}

/** A message that the application sends as the user: a text, or parts as a page sends them. */
export type ApplicationMessage =
  | string
  | { parts: readonly unknown[]; id?: string; metadata?: Record<string, unknown> };

/** A message with which the agent speaks first: a text, word for word; or an instruction, from which the agent makes its own message. */
export type Speech = string | { text: string } | { instruction: string };

/**
 * The methods with which an application acts on conversations from its own code. In a cluster they work on every node, and reach the owner of the
 * session.
 */
export interface ServerApi {
  /**
   * Calls a function for each event of this name that happens in this process, after it is stored; the returned function ends that. A listener delays nothing: a promise that it returns is
   * not waited for, and what it throws is logged. A process that dies takes its events with it;
   * events that must not be missed are for `subscribe`.
   */
  on<Name extends ServerEventName>(name: Name, listener: NoInfer<EventListener<Name>>): () => void;
  /**
   * Delivers events at least once, also after a restart and when the node that they happened on dies: the store keeps each with its fact until it is delivered, by one node. The returned function ends the
   * subscription in this process.
   */
  subscribe<Name extends ServerEventName>(subscription: EventSubscription<Name>): () => Promise<void>;
  /** The sessions of all users. */
  readonly sessions: SessionsApi;
  /**
   * Decides an approval request in the name of a person, once. The audit line names the application and the person. Whether that person is signed in
   * is not checked: the application vouches for them. Resolves when the decision is stored; then the tool runs, whether or not a page is open.
   * Rejects with a `ServerApiError`.
   */
  decide(decision: ApplicationDecision): Promise<void>;
  /**
   * Gives a long-running call its output, also after a restart and days later. Resolves when the output is stored; then the agent continues.
   */
  complete(call: CompletedCall): Promise<void>;
  /**
   * Sends a message as the user, and creates the session if there is none. Resolves, when the message is stored, with the id of the message that will
   * answer it.
   */
  send(session: SessionRef, message: ApplicationMessage): Promise<{ messageId: string | null }>;
  /**
   * Lets the agent speak first, and creates the session if there is none. A text is shown word for word, and starts no turn. An instruction starts a
   * turn: no client sees it, and the agent answers it. Open pages show the message live. Resolves with the id of the agent's message.
   */
  say(session: SessionRef, speech: Speech): Promise<{ messageId: string }>;
}

/** Creates the server API. `application` is the name of the application in the audit log. */
export function createServerApi(
  engine: Engine,
  commands: Commands,
  subscriptions: Subscriptions,
  application: string,
): ServerApi {
  const { store, appName, newId, options } = engine;
  const { limits } = options;
  const requestId = () => `application_${newId()}`;

  const findOne = async (
    id: { approvalId: string } | { id: string },
    session?: SessionKey,
  ): Promise<FoundCall | null> => {
    if (session) {
      const call = await store.findCall(session, id);
      return call && { key: session, call };
    }
    const [found, other] = await store.findCalls(appName, id);
    if (other)
      throw new ServerApiError(
        'ambiguous_call',
        'Several sessions have a call with this id: name the session.',
      );
    return found ?? null;
  };

  /** Runs a command with an answer to a call. When the answer is rejected, `why` makes the error from the call as it is stored by then. */
  const answer = async (
    found: FoundCall,
    by: DecidedBy,
    given: Answer,
    why: (call: CallRecord | null) => Promise<ServerApiError | null>,
  ): Promise<void> => {
    const { key } = found;
    const command: Command = { do: 'answer', key, by, answer: given, requestId: requestId() };
    try {
      await inApiErrors(() => commands.run(command));
    } catch (error) {
      const isRefused =
        error instanceof ServerApiError &&
        ['answer_refused', 'nothing_to_answer', 'not_found'].includes(error.code);
      throw (isRefused && (await why(await store.findCall(key, { id: found.call.id })))) || error;
    }
  };

  return {
    on: (name, listener) => engine.events.on(name, listener),
    subscribe: (subscription) => subscriptions.subscribe(subscription),
    sessions: sessionsApi(engine, commands),

    decide: ({ approvalId, approved, reason, by }) =>
      inApiErrors(async () => {
        if (typeof approvalId !== 'string' || typeof approved !== 'boolean')
          throw badRequest('decide needs "approvalId", a text, and "approved", true or false.');
        if (typeof by !== 'string' || by === '' || by.length > limits.idLength)
          throw badRequest('decide needs "by": the person who decided, as a text.');
        const found = await findOne({ approvalId });
        if (!found) throw unknownApproval();
        const { key, call } = found;
        const refusal = (stored: CallRecord | null) => refusalOf(engine, key, stored, approvalId);
        if (call.status !== 'requested') throw (await refusal(call)) ?? unknownApproval();
        if (approved && call.question?.kind === 'sign-in')
          throw badRequest(
            'This request is a sign-in, which only the user completes, at its address. It can be denied.',
          );
        const given: Answer = {
          kind: 'decision',
          toolCallId: call.id,
          approvalId,
          approved,
          ...reasonOf(reason, limits),
        };
        await answer(found, { application, person: by }, given, refusal);
      }),

    complete: ({ callId, output, session }) =>
      inApiErrors(async () => {
        if (typeof callId !== 'string') throw badRequest('complete needs "callId", a text.');
        const found = await findOne({ id: callId }, session && checkedKey(session, appName));
        if (!found) throw new ServerApiError('unknown_call', 'No session has this call.');
        const notWaiting = (call: CallRecord | null) =>
          call && waitsOutside(call)
            ? null
            : new ServerApiError('not_waiting', 'This call waits for no output from outside.');
        const refusal = notWaiting(found.call);
        if (refusal) throw refusal;
        const given = outputOf(callId, asJson(output), limits);
        const by = { application, person: found.key.user };
        await answer(found, by, given, async (call) => notWaiting(call));
      }),

    send: (session, message) =>
      inApiErrors(async () => {
        const key = checkedKey(session, appName);
        const { id = newId(), parts, metadata } = asMessage(message);
        const sent = { id, role: 'user', parts, ...(metadata && { metadata }) };
        const command: Command = { do: 'send', key, message: sent, requestId: requestId() };
        return { messageId: await commands.run(command) };
      }),

    say: (session, speech) =>
      inApiErrors(async () => {
        const key = checkedKey(session, appName);
        const wanted = typeof speech === 'string' ? { text: speech } : speech;
        const does = 'instruction' in wanted ? 'instruct' : 'speak';
        const text = 'instruction' in wanted ? wanted.instruction : wanted.text;
        if (typeof text !== 'string' || text.trim() === '' || text.length > limits.textLength)
          throw badRequest(`say needs a text of 1 to ${limits.textLength} characters.`);
        const messageId = await commands.run({ do: does, key, text, requestId: requestId() });
        return { messageId: messageId ?? '' };
      }),
  };
}

/**
 * Whether the output of a call comes from outside the server: that of a long-running tool, or that of a browser tool, which the application may also
 * supply.
 */
function waitsOutside({ status, runsOn }: CallRecord): boolean {
  return status === 'parked' || (status === 'running' && runsOn === 'client');
}

function asMessage(message: ApplicationMessage): Exclude<ApplicationMessage, string> {
  if (typeof message === 'string') return { parts: [{ type: 'text', text: message }] };
  if (typeof message === 'object' && message !== null && Array.isArray(message.parts)) return message;
  throw badRequest('send needs a text, or a message with parts.');
}

/** Converts an output to JSON values. Throws when it cannot be written as JSON. */
function asJson(output: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(output) ?? 'null');
  } catch (error) {
    throw badRequest(`The output cannot be written as JSON: ${String(error)}`);
  }
}

function unknownApproval(): ServerApiError {
  return new ServerApiError('unknown_approval', 'No session has this approval request.');
}

const AUDIT_PAGE = { count: 1000, bytes: 1024 * 1024 };

/** Why a decision about a call does not count; null when the call still waits for one. */
async function refusalOf(
  { store, clock }: Engine,
  key: SessionKey,
  call: CallRecord | null,
  approvalId: string,
): Promise<ServerApiError | null> {
  const expired = () =>
    new ServerApiError('expired', 'The approval request has expired: it was not decided in time.');
  const decided = () => new ServerApiError('already_decided', 'This approval request was decided before.');
  switch (call?.status) {
    case undefined:
      return unknownApproval();
    case 'requested':
      if (call?.expiresAt != null && call.expiresAt <= clock.now()) return expired();
      return new ServerApiError(
        'not_asked_yet',
        'This approval request is not shown yet: another comes first.',
      );
    case 'expired':
      return expired();
    case 'settled': {
      const { lines } = await store.loadAuditPage(key, AUDIT_PAGE);
      const kinds = new Set(lines.filter((line) => line.approvalId === approvalId).map(({ kind }) => kind));
      if (kinds.has('approved') || kinds.has('denied')) return decided();
      if (kinds.has('expired')) return expired();
      return new ServerApiError('call_over', 'The call ended without a decision.');
    }
    default:
      return decided();
  }
}
