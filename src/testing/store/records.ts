import type { Event } from '@google/adk';
import type { Message } from '../../protocol/index.ts';
import type { AuditEntry, CallRecord, OwnedKey } from '../../server/store/store.ts';

/** A session of the default user, that nobody ever owned. */
export function keyOf(id: string, user = 'ann', app = 'shop'): OwnedKey {
  return { app, user, id, fence: 0 };
}

/** An event that says something. */
export function textEvent(id: string, text: string, delta: Record<string, unknown> = {}): Event {
  return eventOf(id, { role: 'model', parts: [{ text }] }, delta);
}

/** An event that answers calls. */
export function answerEvent(id: string, callIds: string[], delta: Record<string, unknown> = {}): Event {
  const parts = callIds.map((callId) => ({
    functionResponse: { id: callId, name: 'pay', response: { ok: true } },
  }));
  return eventOf(id, { role: 'user', parts }, delta);
}

function eventOf(
  id: string,
  content: NonNullable<Event['content']>,
  stateDelta: Record<string, unknown>,
): Event {
  return {
    id,
    invocationId: 'invocation_1',
    author: 'agent',
    timestamp: 1_000,
    content,
    actions: { stateDelta, artifactDelta: {}, requestedAuthConfigs: {}, requestedToolConfirmations: {} },
  };
}

/** A message of the person. */
export function messageOf(id: string, text: string): Message {
  return { id, role: 'user', parts: [{ type: 'text', text }] };
}

/** A call that waits for the person. */
export function callOf(id: string, change: Partial<CallRecord> = {}): CallRecord {
  return {
    id,
    approvalId: `approval_${id}`,
    toolName: 'pay',
    args: { amount: 5, to: 'Bob' },
    argsHash: 'a1b2',
    runsOn: 'server',
    status: 'requested',
    reason: null,
    messageId: 'message_1',
    agent: 'agent',
    invocationId: 'invocation_1',
    branch: null,
    issuedAt: 1_000,
    expiresAt: null,
    ...change,
  };
}

/** A line about a call made by `callOf`. */
export function lineOf(kind: AuditEntry['kind'], id: string, change: Partial<AuditEntry> = {}): AuditEntry {
  return {
    kind,
    approvalId: `approval_${id}`,
    toolCallId: id,
    toolName: 'pay',
    argsHash: 'a1b2',
    args: { amount: 5, to: 'Bob' },
    reason: null,
    ...change,
  };
}

/** The value as it comes back from a store. */
export function stored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
