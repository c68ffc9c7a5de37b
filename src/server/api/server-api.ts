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
  /** The name of the person who decided, for the audit log. The person need not be a user of this server. */
  by: string;
}

/** The output of a call that waits for it: the call of a long-running tool, or of a browser tool. */
export interface CompletedCall {
  callId: string;
  /** A value that JSON can express, as the tool would return it. */
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
   * Calls `listener` for each event of this name in this process, after the change that it reports is stored. The returned function removes the
   * listener. The server does not wait for a promise that a listener returns, and logs what a listener throws. If the process dies just after it has stored a
   * change, the listener may miss the event; a subscription (`subscribe`) still gets it.
   */
  on<Name extends ServerEventName>(name: Name, listener: NoInfer<EventListener<Name>>): () => void;
  /**
   * Delivers each event at least once, even after a restart or the death of a node. The store writes the event together with the change that it reports, and
   * keeps it until a node has delivered it, within the limits of the subscription (`keepForMs`, `maxEvents`). The returned function ends the subscription in
   * this process.
   */
  subscribe<Name extends ServerEventName>(subscription: EventSubscription<Name>): () => Promise<void>;
  /** The sessions of all users. */
  readonly sessions: SessionsApi;
  /**
   * Decides an approval request in the name of a person. The audit line names the application and the person. The server does not check whether that person
   * is signed in, because the application vouches for them. Resolves when the decision is stored; then an approved tool of the server runs, whether or not a
   * page is open, and one of the browser when a page is. Rejects with a `ServerApiError`.
   */
  decide(decision: ApplicationDecision): Promise<void>;
  /**
   * Gives a call the output for which it waits, even days later or after a restart. Resolves when the output is stored; then the agent continues as after any
   * other output. Rejects with a `ServerApiError`.
   */
  complete(call: CompletedCall): Promise<void>;
  /**
   * Sends a message as the user, and creates the session if it does not exist. Resolves when the message is stored. `messageId` is the id of the message in
   * which the agent will answer; null when the session already has a message with the same id and content, so that no turn starts.
   */
  send(session: SessionRef, message: ApplicationMessage): Promise<{ messageId: string | null }>;
  /**
   * Adds a message of the agent, and creates the session if it does not exist. A text becomes the message word for word, without a turn. An instruction starts
   * a turn: the model reads the instruction, which no client gets, and writes the message. Open pages show the message live. Resolves with the id of the
   * message.
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

  /**
   * Runs a command with an answer to a call. When the session rejects the answer, `why` gets the newest record of the call and the code of the rejection, and
   * returns the error to throw, or null for the error of the session.
   */
  const answer = async (
    found: FoundCall,
    by: DecidedBy,
    given: Answer,
    why: (call: CallRecord | null, code: string) => Promise<ServerApiError | null>,
  ): Promise<void> => {
    const { key } = found;
    const command: Command = { do: 'answer', key, by, answer: given, requestId: requestId() };
    try {
      await inApiErrors(() => commands.run(command));
    } catch (error) {
      const isRefused =
        error instanceof ServerApiError &&
        ['answer_refused', 'nothing_to_answer', 'not_found'].includes(error.code);
      throw (isRefused && (await why(await store.findCall(key, { id: found.call.id }), error.code))) || error;
    }
  };

  return {
    on: (name, listener) => engine.events.on(name, listener),
    subscribe: (subscription) => subscriptions.subscribe(subscription),
    sessions: sessionsApi(engine, commands),

    decide: ({ approvalId, approved, reason, by }) =>
      inApiErrors(async () => {
        if (typeof approvalId !== 'string' || typeof approved !== 'boolean')
          throw badRequest(
            'decide needs an "approvalId" that is a text, and an "approved" that is true or false.',
          );
        if (typeof by !== 'string' || by === '' || by.length > limits.idLength)
          throw badRequest(
            `decide needs "by": the person who decided, as a text of 1 to ${limits.idLength} characters.`,
          );
        const found = await findOne({ approvalId });
        if (!found) throw unknownApproval();
        const { key, call } = found;
        const refusal = (stored: CallRecord | null) => refusalOf(engine, key, stored, approvalId);
        if (call.status !== 'requested') throw await refusal(call);
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
        if (typeof callId !== 'string') throw badRequest('complete needs a "callId" that is a text.');
        const found = await findOne({ id: callId }, session && checkedKey(session, appName));
        if (!found) throw new ServerApiError('unknown_call', 'No session has this call.');
        const notWaiting = (call: CallRecord | null) =>
          call && waitsOutside(call)
            ? null
            : new ServerApiError('not_waiting', 'This call does not wait for an output.');
        const refusal = notWaiting(found.call);
        if (refusal) throw refusal;
        const given = outputOf(callId, asJson(output), limits);
        const by = { application, person: found.key.user };
        // The record says that the call waits, but the session is not ready for the output, for instance because the call has just begun to wait.
        const notYet = () =>
          new ServerApiError('not_waiting', 'This call does not wait for an output yet. Try again.');
        await answer(found, by, given, async (call, code) =>
          code === 'nothing_to_answer' ? (notWaiting(call) ?? notYet()) : notWaiting(call),
        );
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
 * Whether a call waits for an output from outside the server: the call of a long-running tool, or of a browser tool, whose output the application may supply
 * too. It is also true for a call of an agent that waits for calls inside it (`AgentPlace.isAgent`); the session rejects an output for such a call.
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

/** The error for a decision that had no effect, from the record of its call. */
async function refusalOf(
  { store, clock }: Engine,
  key: SessionKey,
  call: CallRecord | null,
  approvalId: string,
): Promise<ServerApiError> {
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
        'This approval request is not shown yet: another request is shown before it. Try again later.',
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
