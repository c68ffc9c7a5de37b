import { describe, expect, it } from 'vitest';
import { type AuditLine, createMemoryStore, type Duologue } from '../../src/server/index.ts';
import { auditLines } from '../../src/testing/store/setup.ts';
import { ManualClock } from '../support/clock.ts';
import { harness, say } from '../support/harness.ts';
import { text } from '../support/scripted-model.ts';

const key = { app: 'duologue', user: 'live_user', id: 'chat-1' };

/** A message of the agent in which approvals of these ids are answered, as a page would post it. */
const answersTo = (ids: string[], session = 'chat-1') => ({
  id: session,
  messages: [
    {
      id: 'forged',
      role: 'assistant',
      parts: ids.map((id) => ({
        type: 'tool-pay',
        toolCallId: `call_${id}`,
        state: 'approval-responded',
        approval: { id, approved: true },
      })),
    },
  ],
});

const ids = (count: number, prefix = 'approval') =>
  Array.from({ length: count }, (_, index) => `${prefix}_${index}`);

function server() {
  const clock = new ManualClock();
  const store = createMemoryStore({ now: () => clock.now() });
  const made = harness([[text('Hello.')]], [], { store, clock, rateLimit: false });
  return {
    ...made,
    clock,
    store,
    reasons: async () => (await auditLines(store, key)).map((line) => line.reason),
  };
}

const pageOf = async (duologue: Duologue, query: string, headers: Record<string, string> = {}) => {
  const url = `http://localhost/approvals/chat-1${query}`;
  const response = await duologue.fetch(new Request(url, { headers }));
  const body = await response.text();
  const lines = response.ok ? body.split('\n').filter(Boolean) : [];
  return {
    status: response.status,
    older: response.headers.get('x-duologue-older'),
    reasons: lines.map((line) => (JSON.parse(line) as AuditLine).reason),
  };
};

describe('the audit log', () => {
  it('[S22] [S22a] is read page by page from the newest lines', async () => {
    const { duologue, store } = server();
    await store.createSession(key, {});
    const line = { approvalId: null, toolCallId: null, toolName: null, argsHash: null, args: null };
    for (const reason of ids(2500, 'line')) await store.audit(key, { kind: 'refused', ...line, reason });

    const newest = await pageOf(duologue, '');
    expect(newest.reasons).toEqual(ids(2500, 'line').slice(1500));
    const middle = await pageOf(duologue, `?before=${newest.older}&limit=999`);
    expect(middle.reasons).toEqual(ids(2500, 'line').slice(501, 1500));
    const oldest = await pageOf(duologue, `?before=${middle.older}`);
    expect(oldest).toEqual({ status: 200, older: null, reasons: ids(501, 'line') });
  });

  it.each(['limit=0', 'limit=1001', 'limit=1.5', 'limit=x', 'before=-1', 'before=', 'before=1e3'])(
    '[S22] a page with %s is a bad request',
    async (query) => {
      expect(await pageOf(server().duologue, `?${query}`)).toMatchObject({ status: 400 });
    },
  );
});

describe('refused answers', () => {
  it('[S23] [S23a] get one line each, until they repeat: then one line tells how many more there were', async () => {
    const { post, clock, reasons } = server();
    await post(say('hi'));
    for (let round = 0; round < 5; round++) await post(answersTo(ids(2)));
    expect(await reasons()).toEqual(['no such approval', 'no such approval']);
    clock.advance(60_000);
    await expect.poll(reasons).toEqual(['no such approval', 'no such approval', '8 more refused answers']);
    await post(answersTo(ids(1)));
    expect(await reasons()).toHaveLength(4);
  });

  it('[S23] [S23a] take 30 lines of a user in a minute, and one more for each session', async () => {
    const { post, clock, store } = server();
    const sessions = ['chat-1', 'chat-2'];
    for (const session of sessions) await post(say('hi', session));
    for (let round = 0; round < 3; round++)
      for (const session of sessions) await post(answersTo(ids(100, `approval_${round}`), session));
    clock.advance(60_000);
    const lines = async () =>
      (await Promise.all(sessions.map((id) => auditLines(store, { ...key, id })))).map((all) => all.length);
    await expect.poll(lines).toEqual([31, 1]);
    expect((await auditLines(store, { ...key, id: 'chat-2' }))[0]?.reason).toBe('300 more refused answers');
  });

  it('[S14b] [S23] that were only counted are written when the server ends, and none outlives its session', async () => {
    const { post, duologue, clock, reasons } = server();
    await post(say('hi'));
    await post(answersTo(['approval_a', 'approval_a']));
    await post(answersTo(ids(1)));
    await post(answersTo(ids(1)));
    const url = 'http://localhost/sessions/chat-1';
    expect((await duologue.fetch(new Request(url, { method: 'DELETE' }))).status).toBe(204);
    clock.advance(60_000);
    expect(await reasons()).toEqual([]);

    const second = server();
    const written: AuditLine['reason'][] = [];
    const { audit } = second.store;
    second.store.audit = async (session, line) => {
      written.push(line.reason);
      await audit(session, line);
    };
    await second.post(say('hi'));
    for (let round = 0; round < 3; round++) await second.post(answersTo(ids(1)));
    await second.duologue.close();
    expect(written).toEqual(['no such approval', '2 more refused answers']);
  });
});
