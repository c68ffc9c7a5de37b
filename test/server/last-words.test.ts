import { createEvent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../src/server/index.ts';
import { reconcile } from '../../src/server/ledger/history.ts';

const key = { app: 'duologue', user: 'live_user', id: 'words', fence: 0 };

async function stored(shown: string[], texts: string[]) {
  const store = createMemoryStore();
  await store.createSession(key, {});
  await store.putMessage(key, { id: 'u', role: 'user', parts: [{ type: 'text', text: 'hi' }] });
  await store.putMessage(key, {
    id: 'a',
    role: 'assistant',
    parts: shown.map((text) => ({ type: 'text', text, state: 'done' })),
  });
  const events = [
    createEvent({
      author: 'user',
      content: { role: 'user', parts: [{ text: 'hi' }] },
      customMetadata: { messageId: 'u' },
    }),
    ...texts.map((text) =>
      createEvent({ author: 'assistant', content: { role: 'model', parts: [{ text }] } }),
    ),
  ];
  const stored = await store.loadMessages(key);
  await reconcile(store, key, stored, {
    id: 'words',
    appName: 'duologue',
    userId: 'live_user',
    state: {},
    events,
    lastUpdateTime: 0,
  });
  const message = (await store.loadMessages(key))[1];
  return message?.parts.map((part) => (part.type === 'text' ? part.text : part.type));
}

describe('a process that died after ADK kept the last words', () => {
  it('[R7] words that only the history has are in the message again', async () => {
    expect(await stored([], ['Paid.'])).toEqual(['Paid.']);
    expect(await stored(['One moment. '], ['One moment. ', 'Paid.'])).toEqual(['One moment. ', 'Paid.']);
  });

  it('a message that has them all, or that says something else, is left alone', async () => {
    expect(await stored(['Paid.'], ['Paid.'])).toEqual(['Paid.']);
    expect(await stored(['Something else.'], ['Paid.'])).toEqual(['Something else.']);
  });
});
