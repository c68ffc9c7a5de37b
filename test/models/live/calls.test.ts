import type { Content } from '@google/genai';
import { describe, expect, test } from 'vitest';
import { PENDING_RESPONSE } from '../../../src/adk/history.ts';
import { LiveCalls } from '../../../src/models/live/calls.ts';

const pay = (id: string, amount = 30) => ({ id, name: 'pay', args: { to: 'Alice', amount } });
/** The same call, its arguments in another order. */
const again = (id: string) => ({ id, name: 'pay', args: { amount: 30, to: 'Alice' } });
const result = (id: string, response: Record<string, unknown> = { ok: true }) => ({
  id,
  name: 'pay',
  response,
});
const texts = (role: string, text: string): Content => ({ role, parts: [{ text }] });
const called = (id: string): Content => ({ role: 'model', parts: [{ functionCall: pay(id) }] });
const answered = (id: string, response: Record<string, unknown> = { ok: true }): Content => ({
  role: 'user',
  parts: [{ functionResponse: result(id, response) }],
});

describe('the calls of a live session', () => {
  test('a call that is made again while it is open is not made twice, and every id gets the answer', () => {
    const calls = new LiveCalls();
    expect(calls.add([pay('a')])).toEqual({ fresh: [pay('a')], responses: [] });
    expect(calls.add([again('b')])).toEqual({ fresh: [], responses: [] });
    expect(calls.answer([result('a')], false)).toEqual({
      responses: [result('a'), result('b')],
      notices: [],
    });
    expect(calls.areOpen).toBe(false);
  });

  test('one that is made again in the turn of its answer is answered, in a later turn it is another', () => {
    const calls = new LiveCalls();
    calls.add([pay('a')]);
    calls.answer([result('a')], false);
    expect(calls.add([again('b')])).toEqual({ fresh: [], responses: [result('b')] });
    calls.endTurn();
    expect(calls.add([again('c')]).fresh).toEqual([again('c')]);
  });

  test('it is another in a later turn also while a third one is open', () => {
    const calls = new LiveCalls();
    calls.add([pay('open', 99)]);
    calls.add([pay('a')]);
    calls.answer([result('a')], false);
    calls.endTurn();
    expect(calls.add([again('b')])).toEqual({ fresh: [again('b')], responses: [] });
    expect(calls.areOpen).toBe(true);
  });

  test('calls that are over are forgotten after a while, open ones never', () => {
    const calls = new LiveCalls();
    calls.add([pay('open', 0)]);
    for (let i = 1; i <= 3000; i++) {
      calls.add([pay(`id-${i}`, i)]);
      calls.answer([result(`id-${i}`)], false);
      calls.endTurn();
    }
    const { responses, notices } = calls.answer([result('id-1'), result('id-3000'), result('open')], false);
    expect(responses.map(({ id }) => id)).toEqual(['id-3000', 'open']);
    expect(notices).toHaveLength(1);
  });

  test('two that come together are two, other arguments are another call', () => {
    const calls = new LiveCalls();
    expect(calls.add([pay('a'), pay('b')]).fresh).toHaveLength(2);
    expect(calls.add([pay('c', 31)]).fresh).toHaveLength(1);
    expect(calls.add([again('d'), again('e')]).fresh).toHaveLength(0);
    expect(calls.answer([result('a')], false).responses.map(({ id }) => id)).toEqual(['a', 'd']);
    expect(calls.answer([result('b')], false).responses.map(({ id }) => id)).toEqual(['b', 'e']);
  });

  test('a call that is told twice under one id is one, and is answered again when it was answered', () => {
    const calls = new LiveCalls();
    calls.add([pay('a')]);
    expect(calls.add([pay('a'), pay('a')])).toEqual({ fresh: [], responses: [] });
    expect(calls.answer([result('a')], false).responses).toEqual([result('a')]);
    expect(calls.add([pay('a')])).toEqual({ fresh: [], responses: [result('a')] });
  });

  test('an id that names two open calls is refused, that of a call which is over may be used again', () => {
    const calls = new LiveCalls();
    calls.add([pay('a')]);
    expect(() => calls.add([pay('a', 99)])).toThrow('one id');
    calls.answer([result('a')], false);
    calls.endTurn();
    expect(calls.add([pay('a', 99)]).fresh).toEqual([pay('a', 99)]);
  });

  test('calls without end are refused, under many ids or under one', () => {
    const many = () => {
      const calls = new LiveCalls();
      for (let i = 0; i < 1000; i++) calls.add([pay(`id-${i}`, i)]);
    };
    const same = () => {
      const calls = new LiveCalls();
      for (let i = 0; i < 1000; i++) calls.add([pay(`id-${i}`)]);
    };
    expect(many).toThrow('more than 128 open calls');
    expect(same).toThrow('more than 128 times');
  });

  test('a call that is taken back gets no answer, and is not made when it comes behind that', () => {
    const calls = new LiveCalls();
    calls.add([pay('a')]);
    expect(calls.cancel(['a', 'b', 'never'])).toEqual(['a']);
    expect([calls.areOpen, calls.answer([result('a')], false)]).toEqual([
      false,
      { responses: [], notices: [] },
    ]);
    expect(calls.add([pay('b')])).toEqual({ fresh: [], responses: [] });
  });
});

describe('the calls that another process knew', () => {
  test('an open one is not made again in the session that made it', () => {
    const calls = new LiveCalls();
    calls.addHistory([texts('user', 'pay'), called('a'), answered('a', { ...PENDING_RESPONSE })], true);
    expect([calls.areOpen, calls.add([again('b')])]).toEqual([true, { fresh: [], responses: [] }]);
    expect(calls.answer([result('a')], true).responses.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  test('one that the model took back is another call when it is made again', () => {
    const calls = new LiveCalls();
    calls.addHistory(
      [texts('user', 'pay'), called('a'), answered('a', { error: 'Cancelled by the agent' })],
      true,
    );
    expect(calls.add([again('b')])).toEqual({ fresh: [again('b')], responses: [] });
    expect(calls.answer([result('a')], true)).toEqual({ responses: [], notices: [] });
  });

  test('one whose answer the model may not have heard is answered when it is made again', () => {
    const calls = new LiveCalls();
    calls.addHistory([texts('user', 'pay'), called('a'), answered('a')], true);
    expect([calls.areOpen, calls.add([again('b')])]).toEqual([
      false,
      { fresh: [], responses: [result('b')] },
    ]);
  });

  test('one that the model has spoken of is another when it is made again', () => {
    const calls = new LiveCalls();
    calls.addHistory([texts('user', 'pay'), called('a'), answered('a'), texts('model', 'Paid.')], true);
    expect(calls.add([again('b')]).fresh).toEqual([again('b')]);
  });

  test('an answer that is sent once more counts as unheard, whatever was said before it came', () => {
    const calls = new LiveCalls();
    calls.addHistory([called('a'), answered('a'), texts('user', 'hello'), texts('model', 'Hi.')], true);
    expect(calls.answer([result('a')], true).responses).toEqual([result('a')]);
    expect(calls.add([again('b')])).toEqual({ fresh: [], responses: [result('b')] });
  });

  test('an open one that a new session was only told of is answered under the id by which it makes it', () => {
    const calls = new LiveCalls();
    calls.addHistory([texts('user', 'pay'), called('a')], false);
    expect([calls.areOpen, calls.add([again('b')])]).toEqual([false, { fresh: [], responses: [] }]);
    expect(calls.answer([result('a')], false)).toEqual({ responses: [result('b')], notices: [] });
  });

  test('otherwise its answer is told in words', () => {
    const calls = new LiveCalls();
    calls.addHistory([texts('user', 'pay'), called('a')], false);
    const { responses, notices } = calls.answer([result('a')], false);
    expect(responses).toEqual([]);
    expect(notices).toEqual([{ text: expect.stringContaining('"to":"Alice"'), isSilent: false }]);
  });
});
