import { fromJson } from './json.ts';
import type {
  AcceptedRequest,
  AuditKind,
  AuditLine,
  CallRecord,
  CallStatus,
  ListedSession,
  SessionSummary,
} from './store.ts';
import { fromText } from './text.ts';

/** A row of the table `sessions`. */
export interface SessionRow {
  n: number;
  fence: number;
  id: string;
  title: string | null;
  state: string;
  created_at: number;
  updated_at: number;
}

/** A session in the list of its user. */
export interface ListedRow extends SessionRow {
  is_waiting: number;
  has_failed: number | null;
}

/** A row of the table `calls`. */
export interface CallRow {
  id: string;
  approval_id: string | null;
  tool_name: string;
  args: string;
  args_hash: string;
  runs_on: 'server' | 'client';
  status: CallStatus;
  reason: string | null;
  message_id: string;
  agent: string;
  invocation_id: string;
  branch: string | null;
  issued_at: number;
  expires_at: number | null;
}

/** A row of the table `audit_lines`. */
export interface AuditRow {
  at: number;
  kind: AuditKind;
  session_id: string;
  user: string;
  approval_id: string | null;
  tool_call_id: string | null;
  tool_name: string | null;
  args_hash: string | null;
  args: string | null;
  reason: string | null;
}

/** A row of the table `requests`. */
export interface RequestRow {
  request_id: string;
  message_id: string | null;
  parts: number;
}

/** A request as the store returns it. */
export function requestOf({ request_id, message_id, parts }: RequestRow): AcceptedRequest {
  return { requestId: fromText(request_id), messageId: orNull(message_id, fromText), parts };
}

/** What is made of a value that is there. */
export function orNull<A, B>(value: A | null, make: (value: A) => B): B | null {
  return value === null ? null : make(value);
}

/** A session without its content. */
export function summaryOf(row: SessionRow): SessionSummary {
  return {
    id: fromText(row.id),
    title: orNull(row.title, fromText),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** A session as it is listed. */
export function listedOf(row: ListedRow): ListedSession {
  return { ...summaryOf(row), isWaiting: row.is_waiting === 1, hasFailed: row.has_failed === 1 };
}

/** A recorded call. */
export function callOf(row: CallRow): CallRecord {
  return {
    id: fromText(row.id),
    approvalId: orNull(row.approval_id, fromText),
    toolName: fromText(row.tool_name),
    args: fromJson<Record<string, unknown>>(row.args),
    argsHash: fromText(row.args_hash),
    runsOn: row.runs_on,
    status: row.status,
    reason: orNull(row.reason, fromText),
    messageId: fromText(row.message_id),
    agent: fromText(row.agent),
    invocationId: fromText(row.invocation_id),
    branch: orNull(row.branch, fromText),
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
  };
}

/** A line of the audit log. */
export function auditLineOf(row: AuditRow): AuditLine {
  return {
    at: row.at,
    kind: row.kind,
    sessionId: fromText(row.session_id),
    user: fromText(row.user),
    approvalId: orNull(row.approval_id, fromText),
    toolCallId: orNull(row.tool_call_id, fromText),
    toolName: orNull(row.tool_name, fromText),
    argsHash: orNull(row.args_hash, fromText),
    args: orNull(row.args, (text) => fromJson<Record<string, unknown>>(text)),
    reason: orNull(row.reason, fromText),
  };
}
