import { describe, expect, onTestFinished, test } from 'vitest';
import { DuologueHttp } from '../../src/client/index.ts';
import { Connection, httpLinks } from '../../src/client/link/index.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { turns } from '../server/support/turns.ts';
import { harness, say } from '../support/harness.ts';
import { type ScriptedTurn, text } from '../support/scripted-model.ts';

/** A client whose network is the server itself. */
function page(script: ScriptedTurn[], options: Partial<DuologueOptions> = {}, key?: string) {
  const { duologue, post } = harness(script, [], options);
  const http = new DuologueHttp({
    url: 'http://localhost/',
    key,
    fetch: (url, init) => duologue.fetch(new Request(String(url), init)),
  });
  return { http, post };
}

describe('over HTTP a page', () => {
  test('lists its sessions, the one used last first, names them, and removes them', async () => {
    const { http, post } = page([[text('one')], [text('two')]]);
    await post(say('hi', 'a'));
    await post(say('hi', 'b'));
    await http.renameSession('a', 'First');
    expect((await http.listSessions()).map(({ id, title }) => [id, title])).toEqual(
      expect.arrayContaining([['a', 'First']]),
    );
    const times = (await http.listSessions()).map(({ updatedAt }) => updatedAt);
    expect(times).toEqual([...times].sort((one, other) => other - one));
    expect((await http.readSession('b'))?.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    await http.deleteSession('b');
    // What is gone is gone: to remove it again is no failure.
    await http.deleteSession('b');
    expect([await http.readSession('b'), await http.readPage('b', null)]).toEqual([null, null]);
    expect((await http.listSessions()).map(({ id }) => id)).toEqual(['a']);
  });

  test('stops the agent, and hears when there is nothing to stop', async () => {
    const { http, post } = page([[text('one')]]);
    expect(await http.stopSession('never-was')).toBe(false);
    await post(say('hi', 'a'));
    expect(await http.stopSession('a')).toBe(false);
  });

  test('gets what is refused as an error with its code', async () => {
    const { http } = page([]);
    await expect(http.renameSession('none', 'x')).rejects.toMatchObject({
      name: 'ProtocolError',
      code: 'not_found',
    });
  });

  test('opens a session of its own when no id is given, as a socket does', async () => {
    const { duologue } = harness([]);
    const live = async () => {
      const kind = httpLinks({
        url: 'http://localhost/',
        fetch: (url, init) => duologue.fetch(new Request(String(url), init)),
      });
      const connection = new Connection(kind);
      onTestFinished(() => connection.close());
      connection.connect();
      await turns(() => connection.state.status === 'live');
      return connection.sessionId;
    };
    const ids = [await live(), await live()];
    expect(ids).toEqual([expect.stringMatching(/^[\w-]{20,}$/), expect.stringMatching(/^[\w-]{20,}$/)]);
    expect(ids[0]).not.toBe(ids[1]);
  });

  test('[A5] shows its key, and without one is told to', async () => {
    const apiKey = 'correct horse battery';
    await expect(page([], { apiKey }).http.listSessions()).rejects.toMatchObject({ code: 'unauthorized' });
    expect(await page([], { apiKey }, apiKey).http.listSessions()).toEqual([]);
    await expect(page([], { apiKey }).http.login('wrong')).rejects.toMatchObject({ code: 'unauthorized' });
    await page([], { apiKey }).http.login(apiKey);
  });
});
