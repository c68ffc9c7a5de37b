import { createEvent, type Event } from '@google/adk';
import { describe, expect, test } from 'vitest';
import { rewindEvent } from '../../src/adk/for-server.ts';
import { windowOf } from '../../src/server/store/session-cache.ts';
import { callOf } from '../../src/testing/store/setup.ts';

const user = (text: string) => createEvent({ author: 'user', content: { role: 'user', parts: [{ text }] } });
const model = (text: string) =>
  createEvent({ author: 'agent', content: { role: 'model', parts: [{ text }] } });
const call = (id: string) =>
  createEvent({
    author: 'agent',
    content: { role: 'model', parts: [{ functionCall: { id, name: 'pay', args: {} } }] },
  });
const answer = (...ids: string[]) =>
  createEvent({
    author: 'agent',
    content: {
      role: 'user',
      parts: ids.map((id) => ({ functionResponse: { id, name: 'pay', response: { ok: true } } })),
    },
  });

/** What stands in events, in short. */
const short = (events: readonly Event[]) =>
  events.map(({ content }) =>
    content?.parts?.map(
      ({ text, functionCall, functionResponse }) =>
        text ?? (functionCall ? `call ${functionCall.id}` : `answer ${functionResponse?.id}`),
    ),
  );

describe('the window of a long history', () => {
  test('begins with a message of the user, not with the rest of an answer', () => {
    expect(short(windowOf([model('rest'), user('one'), model('two')], []))).toEqual([['one'], ['two']]);
    expect(short(windowOf([answer('c0'), call('c1'), answer('c1')], []))).toEqual([
      ['call c1'],
      ['answer c1'],
    ]);
  });

  test('has no response without its call', () => {
    const events = [user('one'), call('c1'), answer('c0', 'c1'), answer('c0'), model('two')];
    expect(short(windowOf(events, []))).toEqual([['one'], ['call c1'], ['answer c1'], ['two']]);
  });

  test('has the calls that are open, though their events are older, and what answers them', () => {
    const events = [user('one'), answer('c0'), model('two')];
    const open = [callOf('c0', { args: { amount: 7 } })];
    const made = windowOf(events, open);
    expect(short(made)).toEqual([
      ['[Earlier messages are omitted.]'],
      ['call c0'],
      ['one'],
      ['answer c0'],
      ['two'],
    ]);
    expect(made[1]?.content?.parts?.[0]?.functionCall?.args).toEqual({ amount: 7 });
    expect(short(windowOf([user('one'), call('c0')], open))).toEqual([['one'], ['call c0']]);
  });

  test('has no events that were rewound together with a message older than the window', () => {
    const kept = user('two');
    const events = [
      user('zero'),
      rewindEvent('older'),
      user('one'),
      kept,
      model('gone'),
      rewindEvent(kept.id),
    ];
    expect(windowOf(events, [])).toEqual(events.slice(2));
  });
});
