import type { TokenUsage } from '../../protocol/index.ts';
import type { DecidedBy, SessionKey } from '../store/store.ts';

/** The call that an event is about. Events have no arguments, outputs or reasons of calls: read the session, or its audit log. */
export interface EventCall {
  callId: string;
  toolName: string;
}

/** A recorded call, and the message that shows it. */
export interface EventRecord extends EventCall {
  messageId: string;
}

/** The fields of each event, by its name. */
export interface ServerEventFields {
  /** A session was created. A session that never gets a message or a title is deleted some minutes after its last connection. */
  'session-created': object;
  /** A session was deleted: by its user, by the application, or because it never got a message. */
  'session-deleted': object;
  /** The agent began a message. */
  'turn-started': { messageId: string };
  /**
   * A message of the agent is complete: none of its calls waits. `interrupted`: it was stopped or cut off, or the user sent a new message while its calls
   * waited. `usage`: the tokens that the model counted; null when the model counted none.
   */
  'turn-finished': {
    messageId: string;
    outcome: 'complete' | 'interrupted' | 'failed';
    usage: TokenUsage | null;
  };
  /** An approval request is shown to the user. */
  'approval-requested': EventRecord & { approvalId: string; expiresAt: number | null };
  /**
   * An approval request was decided, or expired. `by` is the user; or the application and the person in whose name it decided; or null when it
   * expired: no decision came in time, the call ended before a decision, or the user who decided had signed out.
   */
  'approval-decided': EventRecord & {
    approvalId: string;
    decision: 'approved' | 'denied' | 'expired';
    by: { user: string } | DecidedBy | null;
  };
  /** A question of the agent is shown to the user. */
  'question-asked': EventRecord & { expiresAt: number | null };
  /** A question was answered or declined. `expired`: no answer came in time, or the call ended before. */
  'question-answered': EventRecord & { outcome: 'answered' | 'declined' | 'expired' };
  /** A tool call has its outcome, which is stored. */
  'tool-finished': EventCall & { outcome: 'output' | 'error' | 'denied' };
}

/** The name of an event. */
export type ServerEventName = keyof ServerEventFields;

/** An event with this name. */
export type ServerEventOf<Name extends ServerEventName> = {
  [N in Name]: {
    readonly name: N;
    /** Unique. An event that is delivered again has the same id. */
    readonly id: string;
    /** When it happened, in milliseconds since 1970. */
    readonly at: number;
    /** The session, as the methods of the server API take it. */
    readonly session: Pick<SessionKey, 'user' | 'id'>;
  } & Readonly<ServerEventFields[N]>;
}[Name];

/** An event of the server: `name` says which fields it has. */
export type ServerEvent = ServerEventOf<ServerEventName>;

/** The names of all events. */
export const EVENT_NAMES = Object.keys({
  'session-created': 0,
  'session-deleted': 0,
  'turn-started': 0,
  'turn-finished': 0,
  'approval-requested': 0,
  'approval-decided': 0,
  'question-asked': 0,
  'question-answered': 0,
  'tool-finished': 0,
} satisfies Record<ServerEventName, 0>) as ServerEventName[];
