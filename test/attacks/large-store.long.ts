import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDatabase } from '../../src/server/sqlite/database.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { messageOf, textEvent } from '../../src/testing/store/setup.ts';
import { TestSocket } from '../support/socket.ts';
import { type SmallServer, startSmall } from './support/small-heap.ts';

const SESSIONS = 50_000;
const LINES = 500_000;
/** Messages and events of 100 kB each in the session `long`: 150 MB and 150 MB. */
const MESSAGES = 1500;

/** A data folder of one user: very many sessions, one of them with a long history and very many audit lines, one small. */
async function fill(folder: string): Promise<undefined> {
  const store = await openSqliteStore(folder);
  const words = 'word '.repeat(20_000);
  for (const id of ['long', 'small']) {
    const key = { app: 'duologue', user: 'live_user', id, fence: 0 };
    await store.createSession(key, {});
    await store.appendEvent(key, textEvent('event-0', id === 'long' ? words : 'word'));
    await store.putMessage(key, messageOf('message-0', id === 'long' ? words : 'word'));
  }
  await store.close();
  const db = await openDatabase(join(folder, 'duologue.db'));
  const columns = (table: string, but: string[]) =>
    db
      .prepare<{ name: string }>(`select name from pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => name)
      .filter((name) => !but.includes(name));
  const counted = (count: number) =>
    `with recursive counted (i) as (select 1 union all select i + 1 from counted where i < ${count})`;
  const long = `(select n from sessions where id = 'long')`;
  const others = columns('sessions', ['n', 'id']).join(', ');
  db.exec(`insert into sessions (id, ${others}) ${counted(SESSIONS)}
    select 'other-' || i, ${others} from sessions, counted where id = 'small'`);
  for (const [table, name] of [
    ['events', 'event'],
    ['messages', 'message'],
  ]) {
    const rest = columns(table ?? '', ['seq', 'id', 'data']).join(', ');
    db.exec(`insert into ${table} (seq, id, data, ${rest}) ${counted(MESSAGES)}
      select seq + i, '${name}-' || i, replace(data, '${name}-0', '${name}-' || i), ${rest}
      from ${table}, counted where session = ${long}`);
  }
  db.exec(`insert into audit_lines (app, user, session_id, at, kind, approval_id, tool_call_id, reason) ${counted(LINES)}
    select 'duologue', 'live_user', 'long', 1000, 'refused', 'approval_' || i, 'call_' || i, 'no such approval' from counted`);
  db.close();
}

/** Asks every route and sends every frame about a session; returns the statuses, and the bytes of the largest answer. */
async function walk({ url }: SmallServer, id: string): Promise<{ statuses: number[]; largest: number }> {
  const statuses: number[] = [];
  let largest = 0;
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    largest = Math.max(largest, (await answer.arrayBuffer()).byteLength);
    statuses.push(answer.status);
  };
  const forged = { toolCallId: 'x', state: 'approval-responded', approval: { id: 'y', approved: true } };
  await ask('GET', '/sessions');
  await ask('GET', `/sessions/${id}`);
  await ask('GET', `/sessions/${id}?before=message-0`);
  await ask('GET', `/approvals/${id}`);
  await ask('GET', `/sessions/${id}/events`);
  await ask('GET', `/sessions/${id}/files/none`);
  await ask('GET', `/stream/${id}/stream`);
  await ask('PATCH', `/sessions/${id}`, { title: 'A title' });
  await ask('POST', '/stream', { id, messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }] });
  await ask('POST', '/stream', {
    id,
    messages: [{ id: 'z', role: 'assistant', parts: [{ type: 'tool-x', ...forged }] }],
  });
  await ask('POST', `/sessions/${id}/stop`);
  await ask('POST', `/sessions/${id}/floor`);
  const watching = new AbortController();
  const watch = await fetch(`${url}/sessions/${id}/watch`, { signal: watching.signal });
  const first = await watch.body?.getReader().read();
  largest = Math.max(largest, first?.value?.byteLength ?? 0);
  watching.abort();
  const socket = new TestSocket(`${url}/live?session=${id}`, { protocols: ['duologue.v2'] });
  await socket.chunk('data-session');
  socket.send('floor');
  socket.send('interrupt');
  socket.send('tool_result', { toolCallId: 'x', result: {} });
  socket.send('message', { messages: [{ role: 'assistant', parts: [{ type: 'tool-x', ...forged }] }] });
  socket.say('hi again', randomUUID());
  await socket.done();
  socket.close();
  await socket.closed();
  return { statuses, largest };
}

it('[E4] every route and frame costs what a page costs, with 300 MB of history, 500,000 audit lines and 50,000 sessions', {
  timeout: 400_000,
}, async () => {
  const server = await startSmall({ heapMb: 256, prepare: fill });
  await walk(server, 'small');
  await server.measure();
  const small = await walk(server, 'small');
  const idle = await server.measure();
  const long = await walk(server, 'long');
  const busy = await server.measure();
  expect(server.isAlive()).toBe(true);
  expect(long.statuses).toEqual(small.statuses);
  expect(long.largest).toBeLessThan(5 * 1024 * 1024);
  expect(busy.heapMb).toBeLessThan(192);
  // What holds up the event loop is CPU time of the server: that of a page, where the small session has a line.
  expect(busy.cpuMs).toBeLessThan(30 * Math.max(idle.cpuMs, 20));
  const removed = await fetch(`${server.url}/sessions/long`, { method: 'DELETE' });
  expect(removed.status).toBe(204);
  expect(server.isAlive()).toBe(true);
});
