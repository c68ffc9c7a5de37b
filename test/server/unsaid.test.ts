import { rmSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMemoryStore, type Store } from '../../src/server/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { messageOf, textEvent } from '../../src/testing/store/setup.ts';
import { createFolder } from '../store/support/stores.ts';
import { ManualClock } from '../support/clock.ts';
import { harness, say } from '../support/harness.ts';
import { text } from '../support/scripted-model.ts';

const app = 'duologue';
const user = 'live_user';
const MINUTE = 60_000;

const idsIn = async (store: Store) => (await store.listSessions(app, user)).map(({ id }) => id);

describe('a session in which nothing was said', () => {
  it('[S20c] is not made by a GET', async () => {
    const store = createMemoryStore();
    const { get } = harness([], [], { store });
    expect((await get('/sessions/new/watch')).status).toBe(404);
    expect((await get('/sessions/new')).status).toBe(404);
    expect(await idsIn(store)).toEqual([]);
  });

  it('[S28] is gone some minutes after its last connection; others stay', async () => {
    const clock = new ManualClock();
    const store = createMemoryStore({ now: () => clock.now() });
    const { duologue, post } = harness([[text('Hi.')]], [], { store, clock });
    const watch = (id: string) =>
      duologue.fetch(new Request(`http://localhost/sessions/${id}/watch`, { method: 'POST' }));
    for (const id of ['silent', 'named', 'said']) await (await watch(id)).body?.cancel();
    const stays = await watch('watched');
    await store.renameSession({ app, user, id: 'named' }, 'Tea');
    await post(say('Hello', 'said'));
    expect((await idsIn(store)).sort()).toEqual(['named', 'said', 'silent', 'watched']);
    for (let minute = 0; minute < 8; minute++) {
      clock.advance(MINUTE);
      for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await idsIn(store)).sort()).toEqual(['named', 'said', 'watched']);
    await stays.body?.cancel();
  });

  it('[S28] is removed with the state that an application gave it, unless it has a title', async () => {
    const clock = new ManualClock();
    const store = createMemoryStore({ now: () => clock.now() });
    for (const id of ['prepared', 'titled']) await store.createSession({ app, user, id }, { plan: 'gold' });
    await store.renameSession({ app, user, id: 'titled' }, 'Your plan');
    const { duologue } = harness([], [], { store, clock });
    for (const id of ['prepared', 'titled']) {
      const request = new Request(`http://localhost/sessions/${id}/watch`, { method: 'POST' });
      await (await duologue.fetch(request)).body?.cancel();
    }
    for (let minute = 0; minute < 8; minute++) {
      clock.advance(MINUTE);
      for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await idsIn(store)).toEqual(['titled']);
    const kept = await store.loadSession({ app, user, id: 'titled' });
    expect(kept?.state).toMatchObject({ plan: 'gold' });
  });

  it('[S28] that a process left when it died is gone when the store is opened a day later', async () => {
    const folder = createFolder();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const first = await openSqliteStore(folder, { now: () => 0 });
    for (const id of ['silent', 'said', 'named', 'agent']) {
      const key = { app, user, id, fence: 0 };
      await first.createSession(key, {});
      await first.appendEvent(key, textEvent('client_identifier', ''));
      if (id === 'said') await first.putMessage(key, messageOf('m', 'hi'));
      if (id === 'named') await first.renameSession(key, 'Tea');
      if (id === 'agent') await first.appendEvent(key, textEvent('e1', 'done by an agent that is a tool'));
    }
    await first.close();
    const soon = await openSqliteStore(folder, { now: () => 1000 });
    expect(await idsIn(soon)).toHaveLength(4);
    await soon.close();
    const later = await openSqliteStore(folder, { now: () => 25 * 60 * MINUTE });
    expect((await idsIn(later)).sort()).toEqual(['agent', 'named', 'said']);
    await later.close();
  });
});
