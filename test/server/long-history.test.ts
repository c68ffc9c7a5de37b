import { createEvent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { createMemoryStore, type Store } from '../../src/server/index.ts';
import { answerEvent, callOf } from '../../src/testing/store/setup.ts';
import { harness, say } from '../support/harness.ts';
import { text } from '../support/scripted-model.ts';
import { png } from './support/images.ts';

const key = { app: 'duologue', user: 'live_user', id: 'chat-1', fence: 0 };

/** A store with a session of so many questions and answers, and a record of what is loaded of it. */
async function longSession(turns: number): Promise<{ store: Store; loaded: string[] }> {
  const store = createMemoryStore();
  await store.createSession(key, {});
  for (let n = 0; n < turns; n++) {
    for (const role of ['user', 'model'] as const) {
      const content = { role, parts: [{ text: `${role} ${n}` }] };
      const author = role === 'user' ? 'user' : 'assistant';
      const customMetadata = { messageId: `${role}-${n}` };
      await store.appendEvent(key, createEvent({ author, content, customMetadata }));
      const shown = role === 'user' ? 'user' : 'assistant';
      const part = { type: 'text' as const, text: `${role} ${n}` };
      await store.putMessage(key, { id: `${role}-${n}`, role: shown, parts: [part] });
    }
  }
  const loaded: string[] = [];
  const watched = new Proxy(store, {
    get(target, name: keyof Store) {
      if (name === 'loadSession') {
        return async (...args: Parameters<Store['loadSession']>) => {
          const session = await target.loadSession(...args);
          loaded.push(args[1] ? `${session?.events.length} events` : 'everything');
          return session;
        };
      }
      const method = target[name] as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        if (name.startsWith('load')) loaded.push(name);
        return method.apply(target, args);
      };
    },
  });
  return { store: watched, loaded };
}

const history = { maxEvents: 20, maxBytes: 1_000_000 };

describe('pictures of a long conversation', () => {
  const large = Buffer.concat([png, Buffer.alloc(60_000)]).toString('base64');
  const show = (filename: string, data: string) => ({
    id: 'chat-1',
    messages: [
      {
        id: `user-${filename}`,
        role: 'user',
        parts: [{ type: 'file', mediaType: 'image/png', filename, url: `data:image/png;base64,${data}` }],
      },
    ],
  });

  it('[S27] [S27a] are stored once, and given to the model up to a limit, the newest first', async () => {
    const store = createMemoryStore();
    const options = { store, history: { maxImageBytes: 100_000 } };
    const { post, model } = harness([[text('one')], [text('two')], [text('three')]], [], options);
    const inline = (displayName: string, data: string) => ({
      inlineData: { data, mimeType: 'image/png', displayName },
    });
    await post(show('a.png', large));
    expect(model.lastContents.at(-1)?.parts).toEqual([inline('a.png', large)]);
    const other = Buffer.concat([png, Buffer.alloc(60_000, 1)]).toString('base64');
    await post(show('b.png', other));
    await post(show('c.png', png.toString('base64')));
    expect(model.lastContents.filter(({ role }) => role === 'user').map(({ parts }) => parts)).toEqual([
      [{ text: '[image omitted: a.png, 61 kB]' }],
      [inline('b.png', other)],
      [inline('c.png', png.toString('base64'))],
    ]);
    const events = JSON.stringify((await store.loadSession(key))?.events);
    expect(events.length).toBeLessThan(10_000);
    // Three pictures in one file each, though messages and events refer to them.
    expect(await store.sessionBytes(key)).toBeLessThan(135_000);
  });
});

describe('a session that has reached its size limit', () => {
  it('[S26] [S26a] refuses messages with a text that says why, and can be read and removed', async () => {
    const store = createMemoryStore();
    const limited = { store, history: { maxSessionBytes: 20_000 } };
    const { post, get } = harness([[text('one')]], [], limited);
    expect((await post(say('x'.repeat(5000)))).status).toBe(200);
    const refused = await post(say('y'.repeat(6000)));
    expect([refused.status, refused.json]).toEqual([
      413,
      {
        error: {
          code: 'session_full',
          message: expect.any(String),
          retryable: false,
        },
      },
    ]);
    expect((await get('/sessions/chat-1')).status).toBe(200);
    // Another process reads the size before it takes the first message.
    const next = harness([], [], limited);
    expect((await next.post(say('z'.repeat(6000)))).status).toBe(413);
    const request = new Request('http://localhost/sessions/chat-1', { method: 'DELETE' });
    expect((await next.duologue.fetch(request)).status).toBe(204);
  });
});

describe('a history that is longer than what the model is given', () => {
  it('[S25] is given from a message of the user on, and grows no longer than the limit', async () => {
    const { store, loaded } = await longSession(100);
    const { post, model } = harness(
      Array.from({ length: 12 }, (_, n) => [text(`answer ${n}`)]),
      [],
      { store, history },
    );
    for (let n = 0; n < 12; n++) {
      await post(say(`question ${n}`));
      expect(model.lastContents.length).toBeLessThanOrEqual(21);
      expect(model.lastContents[0]?.role).toBe('user');
      expect(model.lastContents.at(-1)?.parts).toEqual([{ text: `question ${n}` }]);
    }
    expect(loaded).not.toContain('everything');
    expect(loaded).not.toContain('loadMessages');
  });

  it('[S25] has every call that is open, however old', async () => {
    const { store } = await longSession(1);
    await store.issueCalls(key, [callOf('c1', { agent: 'assistant', args: { amount: 7 } })]);
    for (let n = 0; n < 100; n++) {
      const content = { role: 'user', parts: [{ text: `more ${n}` }] };
      await store.appendEvent(key, createEvent({ author: 'user', content }));
    }
    const { post, model } = harness([[text('yes')]], [], { store, history });
    await post(say('still there?'));
    const calls = model.lastContents.flatMap(({ parts = [] }) =>
      parts.flatMap((part) => part.functionCall ?? []),
    );
    expect(calls).toEqual([{ id: 'c1', name: 'pay', args: { amount: 7 } }]);
  });

  it('[S25] has a call that was answered lately, however old the call is', async () => {
    const { store } = await longSession(1);
    await store.issueCalls(key, [callOf('c1', { agent: 'assistant', args: { amount: 7 } })]);
    for (let n = 0; n < 100; n++) {
      const content = { role: 'user', parts: [{ text: `more ${n}` }] };
      await store.appendEvent(key, createEvent({ author: 'user', content }));
    }
    await store.appendEvent(key, answerEvent('paid', ['c1']));
    const { post, model } = harness([[text('yes')]], [], { store, history });
    await post(say('did you pay?'));
    const parts = model.lastContents.flatMap(({ parts = [] }) => parts);
    expect(parts.filter(({ functionCall, functionResponse }) => functionCall ?? functionResponse)).toEqual([
      { functionCall: { id: 'c1', name: 'pay', args: { amount: 7 } } },
      { functionResponse: { id: 'c1', name: 'pay', response: { ok: true } } },
    ]);
  });

  it('[S25] is rewound to a message that is older than the window', async () => {
    const { store } = await longSession(100);
    const { post, model } = harness([[text('again')], [text('more')]], [], { store, history });
    await post(say('user 3', 'chat-1', 'user-3'));
    const texts = () => model.lastContents.flatMap(({ parts = [] }) => parts.map((part) => part.text));
    expect(texts()).toEqual(['user 3']);
    await post(say('on'));
    expect(texts()).toEqual(['user 3', 'again', 'on']);
    expect((await store.loadMessages(key)).map(({ id }) => id).slice(0, 7)).toEqual([
      'user-0',
      'model-0',
      'user-1',
      'model-1',
      'user-2',
      'model-2',
      'user-3',
    ]);
  });

  it('[S25] stays, when a message is taken back that was spoken and has no event of its own', async () => {
    const { store } = await longSession(100);
    await store.putMessage(key, { id: 'spoken', role: 'user', parts: [{ type: 'text', text: 'hm' }] });
    const { post, model } = harness([[text('again')]], [], { store, history });
    await post(say('hello', 'chat-1', 'spoken'));
    const texts = model.lastContents.flatMap(({ parts = [] }) => parts.map((part) => part.text));
    expect(texts.slice(-3)).toEqual(['user 99', 'model 99', 'hello']);
  });

  it('[S25] is removed without loading more than its newest event, whose state names other sessions to remove', async () => {
    const { store, loaded } = await longSession(3);
    const { duologue } = harness([], [], { store, history });
    const removed = await duologue.fetch(
      new Request('http://localhost/sessions/chat-1', { method: 'DELETE' }),
    );
    expect([removed.status, loaded]).toEqual([204, ['1 events']]);
    expect(await store.findSession(key)).toBeNull();
  });
});
