import { createHash } from 'node:crypto';
import {
  applyDelta,
  emptyState,
  fromJson,
  fromText,
  joinState,
  orNull,
  prefixes,
  type StateRecord,
  toJson,
  toText,
} from '../store/rules.ts';
import type { AcceptedRequest, AuditEntry, CallRecord, OutboxEvent, SessionKey } from '../store/store.ts';
import type { Value } from './database.ts';

/** The digest of a session's key, for indexes. */
export function nameIn({ app, user, id }: SessionKey): string {
  return digest([app, user, id]);
}

/** The digest of a user of an app, whose sessions are listed together and share the state of the user. */
export function ownerIn({ app, user }: Pick<SessionKey, 'app' | 'user'>): string {
  return digest([app, user]);
}

/** The digest of an app, whose sessions share its state. */
export function appIn({ app }: Pick<SessionKey, 'app'>): string {
  return digest([app]);
}

/** The digest of a subscription of an app. */
export function subscriptionIn(app: string, subscription: string): string {
  return digest([app, subscription]);
}

/** Events as rows of the outbox. */
export function eventsIn({ app }: SessionKey, events: readonly OutboxEvent[]): string {
  return JSON.stringify(
    events.map(({ subscription, id, data }) => ({
      owner: subscriptionIn(app, subscription),
      id: toText(id),
      data: toText(data),
    })),
  );
}

/** A hash of several parts. They are encoded as JSON, so that different parts never give the same text. */
function digest(parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** State changes as parameters of a function: the shared scopes in the order in which they are locked, then the scope, key and value of each change. */
export function deltaIn(key: SessionKey, delta: Record<string, unknown>): [Value, Value, Value, Value] {
  const scopes: string[] = [];
  const keys: string[] = [];
  const values: (string | null)[] = [];
  for (const [name, scope, own] of scopedKeys(key, delta)) {
    scopes.push(scope);
    keys.push(toText(own));
    values.push(stateText(delta[name]));
  }
  const shared = [ownerIn(key), appIn(key)].filter((scope) => scopes.includes(scope));
  return [shared, scopes, keys, values];
}

/**
 * The values in `seen`, the state that was read before the change `delta` was made, in the order of the changed keys; null for a key that `seen` does not
 * have. Without `seen` the whole parameter is null.
 */
export function seenIn(
  key: SessionKey,
  delta: Record<string, unknown>,
  seen: Record<string, unknown> | undefined,
): Value {
  if (seen === undefined) return null;
  return scopedKeys(key, delta).map(([name]) => (Object.hasOwn(seen, name) ? stateText(seen[name]) : null));
}

/**
 * A value as JSON; null for a value that JSON cannot express, such as undefined. In the parameters of a function, null stands for a key that does not exist.
 */
function stateText(value: unknown): string | null {
  const isWordless = value === undefined || typeof value === 'function' || typeof value === 'symbol';
  return isWordless ? null : toJson(value, 'The state');
}

/** The keys of a state change: the full name, the scope, and the name within the scope. Temporary keys are left out. */
function scopedKeys(
  key: SessionKey,
  delta: Record<string, unknown>,
): [name: string, scope: string, own: string][] {
  const found: [string, string, string][] = [];
  const scopes = { session: '', user: '', app: '' };
  for (const name of Object.keys(delta)) {
    if (name.startsWith(prefixes.temp)) continue;
    if (name.startsWith(prefixes.app)) {
      scopes.app ||= appIn(key);
      found.push([name, scopes.app, name.slice(prefixes.app.length)]);
    } else if (name.startsWith(prefixes.user)) {
      scopes.user ||= ownerIn(key);
      found.push([name, scopes.user, name.slice(prefixes.user.length)]);
    } else {
      scopes.session ||= nameIn(key);
      found.push([name, scopes.session, name]);
    }
  }
  return found;
}

/** Reads the state of a session from the members of JSON objects, as the database returns them for each scope. */
export function stateOf(row: {
  session: string | null;
  user: string | null;
  app: string | null;
}): StateRecord {
  return joinState({ session: scopeOf(row.session), user: scopeOf(row.user), app: scopeOf(row.app) });
}

function scopeOf(members: string | null): StateRecord {
  const state = emptyState();
  for (const [key, value] of Object.entries(fromJson<StateRecord>(`{${members ?? ''}}`))) {
    applyDelta(state, Object.fromEntries([[fromText(key), value]]));
  }
  return state;
}

/** Parses JSON texts that the database has joined with commas. */
export function listOf<T>(joined: string | null): T[] {
  return fromJson<T[]>(`[${joined ?? ''}]`);
}

/** The parameters of a request that is accepted with a write: its id, its message, and how many parts that message had. */
export function acceptedIn(accepted: AcceptedRequest | undefined): [Value, Value, Value] {
  if (!accepted) return [null, null, null];
  return [toText(accepted.requestId), orNull(accepted.messageId, toText), accepted.parts];
}

/** Calls as rows of their table. */
export function callsIn(calls: readonly CallRecord[]): string {
  return JSON.stringify(
    calls.map((call) => ({
      id: toText(call.id),
      approval_id: orNull(call.approvalId, toText),
      tool_name: toText(call.toolName),
      args: toJson(call.args, 'The arguments'),
      args_hash: toText(call.argsHash),
      runs_on: call.runsOn,
      status: call.status,
      reason: orNull(call.reason, toText),
      message_id: toText(call.messageId),
      agent: toText(call.agent),
      invocation_id: toText(call.invocationId),
      branch: orNull(call.branch, toText),
      issued_at: call.issuedAt,
      expires_at: call.expiresAt,
      question: orNull(call.question, (question) => toJson(question, 'The question')),
      answer: orNull(call.answer, (answer) => toJson(answer, 'The answer')),
      agents: orNull(call.agents ?? null, (agents) => toJson(agents, 'The agents')),
    })),
  );
}

/** A line of the audit log as a row of its table. */
export function lineIn(key: SessionKey, line: AuditEntry): Record<string, unknown> {
  return {
    session_id: toText(key.id),
    user_id: toText(key.user),
    kind: line.kind,
    approval_id: orNull(line.approvalId, toText),
    tool_call_id: orNull(line.toolCallId, toText),
    tool_name: orNull(line.toolName, toText),
    args_hash: orNull(line.argsHash, toText),
    args: orNull(line.args, (args) => toJson(args, 'The arguments')),
    reason: orNull(line.reason, toText),
    decided_by: orNull(line.by ?? null, (by) => toText(JSON.stringify(by))),
  };
}
