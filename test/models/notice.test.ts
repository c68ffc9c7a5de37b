import fc from 'fast-check';
import { expect, test } from 'vitest';
import { noticeOf, readNotice } from '../../src/models/prompt-texts.ts';

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
