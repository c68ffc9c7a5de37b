import type { Content } from '@google/genai';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { noticeOf, noticesIn, readNotice } from '../../src/models/notice.ts';

const record = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.parse(JSON.stringify(value)));

test('a notice is one line and reads back as it was written', () => {
  fc.assert(
    fc.property(fc.string(), record, record, (name, args, response) => {
      const notice = noticeOf(name, args, response);
      expect(notice).not.toMatch(/[\n\r]/);
      expect(readNotice(notice)).toEqual({ name, args, response });
    }),
  );
});

test.each([
  'Hello',
  'The result of an earlier tool call has arrived: no JSON',
  'The result of an earlier tool call has arrived: {"name":"pay"}',
  'The result of an earlier tool call has arrived: {"name":1,"args":{},"response":{}}',
])('no notice is read from: %s', (text) => {
  expect(readNotice(text)).toBeUndefined();
});

test('a notice counts only when the response behind the call says the same', () => {
  const history = (response: Record<string, unknown>): Content[] => [
    { role: 'model', parts: [{ functionCall: { name: 'pay', id: 'a', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'pay', id: 'a', response } }] },
    { role: 'user', parts: [{ text: noticeOf('pay', {}, { ok: true }) }] },
  ];
  expect(noticesIn(history({ ok: true }))).toEqual([{ name: 'pay', args: {}, response: { ok: true } }]);
  expect(noticesIn(history({ status: 'pending' }))).toEqual([]);
  expect(noticesIn([...history({ ok: true }), { role: 'model', parts: [{ text: 'Paid.' }] }])).toEqual([]);
  expect(noticesIn([])).toEqual([]);
});
