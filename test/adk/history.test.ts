import { createEvent, type Event } from '@google/adk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { danglingCalls, rewindEvent } from '../../src/adk/for-server.ts';
import { PENDING_RESPONSE, prepareHistory } from '../../src/adk/history.ts';

const user = (text: string, id = text) =>
  createEvent({ id, author: 'user', content: { role: 'user', parts: [{ text }] } });
const model = (text: string) => createEvent({ author: 'a', content: { role: 'model', parts: [{ text }] } });
const called = (...ids: string[]) =>
  createEvent({
    author: 'a',
    content: { role: 'model', parts: ids.map((id) => ({ functionCall: { id, name: 'f', args: {} } })) },
  });
const answered = (...ids: string[]) =>
  createEvent({
    author: 'a',
    content: {
      role: 'user',
      parts: ids.map((id) => ({ functionResponse: { id, name: 'f', response: { of: id } } })),
    },
  });

/** Events in short: texts, calls and responses. */
function brief(events: readonly Event[]): string[] {
  return events.map(({ content }) =>
    (content?.parts ?? [])
      .map(({ text, functionCall, functionResponse }) =>
        functionCall
          ? `?${functionCall.id}`
          : functionResponse
            ? `${functionResponse.response === undefined || 'of' in functionResponse.response ? '!' : '~'}${functionResponse.id}`
            : text,
      )
      .join(' '),
  );
}

const cases: [name: string, events: Event[], out: string[], open: boolean][] = [
  [
    'a history in order stays as it is',
    [user('q'), called('1'), answered('1'), model('a')],
    ['q', '?1', '!1', 'a'],
    false,
  ],
  [
    'responses given one by one stand together',
    [called('1', '2'), answered('2'), answered('1')],
    ['?1 ?2', '!1 !2'],
    false,
  ],
  [
    'a late response moves behind its call',
    [called('1'), user('meanwhile'), model('ok'), answered('1'), model('done')],
    ['?1', '!1', 'meanwhile', 'ok', 'done'],
    false,
  ],
  [
    'a call without a response is open',
    [user('q'), called('1', '2'), answered('1')],
    ['q', '?1 ?2', '!1'],
    true,
  ],
];

describe('the history that a model is shown', () => {
  it.each(cases)('%s', (_, events, out, open) => {
    const prepared = prepareHistory(events, { placeholders: false });
    expect(brief(prepared.events)).toEqual(out);
    expect(prepared.open.length > 0).toBe(open);
  });

  it('is the very list when nothing has to be done', () => {
    const events = [user('q'), called('1'), answered('1'), model('a')];
    expect(prepareHistory(events, { placeholders: true }).events).toBe(events);
  });

  it('has a placeholder for an open call, where the model is called all the same', () => {
    const prepared = prepareHistory([called('1', '2'), answered('2'), user('and?')], { placeholders: true });
    expect(brief(prepared.events)).toEqual(['?1 ?2', '~1 !2', 'and?']);
    expect(prepared.events[1]?.content?.parts?.[0]?.functionResponse?.response).toEqual(PENDING_RESPONSE);
  });

  it('[S11] leaves out what was taken back, also twice, and an unknown mark takes nothing', () => {
    const events = [
      user('one'),
      model('1'),
      user('two'),
      model('2'),
      rewindEvent('two'),
      user('two', 'two-b'),
      model('2b'),
    ];
    const brief1 = (all: Event[]) => brief(prepareHistory(all, { placeholders: false }).events);
    expect(brief1(events)).toEqual(['one', '1', 'two', '2b']);
    expect(brief1([...events, rewindEvent('one'), user('new')])).toEqual(['new']);
    expect(brief1([...events, rewindEvent('nobody')])).toEqual(['one', '1', 'two', '2b']);
  });

  it('[S11] does not wait for a call that was taken back', () => {
    const events = [user('q'), called('1'), rewindEvent('q'), user('q2')];
    expect(prepareHistory(events, { placeholders: false }).open).toEqual([]);
    expect(danglingCalls(events)).toEqual([]);
  });

  it('names the calls that nothing answers', () => {
    expect(danglingCalls([called('1', '2'), answered('1'), called('3')]).map(({ id }) => id)).toEqual([
      '2',
      '3',
    ]);
  });

  it('puts each response right behind its call, whatever the order', () => {
    const steps = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(steps, fc.infiniteStream(fc.nat()), (sizes, picks) => {
        const events: Event[] = [];
        const waiting: string[] = [];
        sizes.forEach((size, step) => {
          const ids = Array.from({ length: size }, (_, index) => `${step}.${index}`);
          events.push(user(`q${step}`), called(...ids));
          waiting.push(...ids);
          while (waiting.length > 0 && (picks.next().value ?? 0) % 3 > 0) {
            const at = (picks.next().value ?? 0) % waiting.length;
            events.push(answered(...waiting.splice(at, 1)));
          }
        });
        for (const id of waiting.splice(0)) events.push(answered(id));
        const out = brief(prepareHistory(events, { placeholders: false }).events);
        const expected = sizes.flatMap((size, step) => {
          const ids = Array.from({ length: size }, (_, index) => `${step}.${index}`);
          return [`q${step}`, ids.map((id) => `?${id}`).join(' '), ids.map((id) => `!${id}`).join(' ')];
        });
        expect(out).toEqual(expected);
      }),
    );
  });
});
