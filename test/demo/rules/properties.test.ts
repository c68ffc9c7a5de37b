import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answered, ask, called, user } from './talk.ts';

const name = fc.constantFrom('Bob', 'Alice', 'Carol Smith', '花子', '太郎');
const amount = fc.integer({ min: 1, max: 5000 });
const negations = [
  "don't ",
  'Do not ',
  'please do not ',
  'never ',
  "I don't want you to ",
  'please never ever ',
  "you shouldn't ",
  'I did not ask you to ',
  'stop, do not ',
  "Don't you dare ",
];

describe('whatever is written', () => {
  test('the model always answers with words or calls and never throws', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.string({ maxLength: 3000 })),
        async (text) => {
          const texts = await ask([user(text)]);
          expect(texts.text !== '' || texts.calls.length > 0).toBe(true);
        },
      ),
      { numRuns: 400 },
    );
  });

  test('words of the rules in any order never throw and answer in time', async () => {
    const words = fc.constantFrom(
      'send',
      'pay',
      '$50',
      '50 dollars',
      'to',
      'Bob',
      'and',
      ',',
      'weather',
      'in',
      'Tokyo',
      'track',
      '2',
      'the same',
      'each',
      'for',
      'lunch',
      '?',
      '.',
      '花子さんに',
      '50ドル',
      '送金して',
      'と',
      '、',
      '天気',
      'を',
      '東京',
      'の',
      'トラック2',
      'ずつ',
      'として',
      '同じ',
      'ください',
      'not',
      'ないで',
      '⟦0⟧',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(words, { maxLength: 60 }),
        fc.constantFrom('', ' '),
        async (list, between) => {
          const texts = await ask([user(list.join(between))]);
          expect(texts.text !== '' || texts.calls.length > 0).toBe(true);
        },
      ),
      { numRuns: 600 },
    );
  });

  test.each(['process_payment', 'get_weather', 'change_bgm', 'get_location', 'other'])(
    'a response of %s whose values cannot become text is told',
    async (tool) => {
      const bare = { toString: null };
      for (const response of [
        { error: [bare] },
        { error: bare },
        { success: true, track: bare, note: bare, condition: bare, amount: bare, latitude: bare },
      ]) {
        const texts = await ask([
          user('hello'),
          called([tool, { location: bare }]),
          answered([tool, response]),
        ]);
        expect(texts.text).not.toBe('');
      }
    },
  );

  test('any response of a tool is told without a new call', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('process_payment', 'get_weather', 'change_bgm', 'get_location', 'other'),
        fc.dictionary(
          fc.constantFrom(
            'success',
            'error',
            'status',
            'result',
            'temperature',
            'latitude',
            'track',
            'amount',
            'note',
            'condition',
          ),
          fc.jsonValue(),
        ),
        async (tool, response) => {
          const texts = await ask([
            user('send $50 to Bob'),
            called([tool, { amount: 50 }]),
            answered([tool, response as Record<string, unknown>]),
          ]);
          expect({ calls: texts.calls, isSilent: texts.text === '' }).toEqual({ calls: [], isSilent: false });
        },
      ),
      { numRuns: 400 },
    );
  });

  test('a payment that did not succeed is never called sent', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(
          fc.constantFrom('success', 'error', 'status', 'result', 'amount', 'recipient'),
          fc.jsonValue(),
        ),
        async (response) => {
          fc.pre(
            response.success !== true && (response.result as { success?: unknown } | null)?.success !== true,
          );
          const texts = await ask([
            user('send $50 to Bob'),
            called(['process_payment', { amount: 50, recipient: 'Bob', currency: 'USD' }]),
            answered(['process_payment', response as Record<string, unknown>]),
          ]);
          expect(texts.text).not.toMatch(/^I sent|\. I sent/);
        },
      ),
      {
        numRuns: 400,
        examples: [[{ amount: { toString: false } }], [{ recipient: { valueOf: 1 }, success: 'yes' }]],
      },
    );
  });
});

describe('a negated request never pays', () => {
  test('in English', async () => {
    const verb = fc.constantFrom('send', 'pay', 'transfer', 'give', 'wire');
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...negations),
        verb,
        name,
        amount,
        async (negation, verbed, recipient, dollars) => {
          const { calls } = await ask([user(`${negation}${verbed} ${recipient} $${dollars}`)]);
          expect(calls).toEqual([]);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('in English, when the negation comes later', async () => {
    const ending = fc.constantFrom(
      ', not!',
      '. No, do not.',
      " - never mind, don't",
      '. Cancel that.',
      '. Stop.',
      ' is not what I want',
    );
    await fc.assert(
      fc.asyncProperty(name, amount, ending, async (recipient, dollars, end) => {
        expect((await ask([user(`send ${dollars} dollars to ${recipient}${end}`)])).calls).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  test('in Japanese', async () => {
    const ending = fc.constantFrom(
      '送金しないで',
      '送金しないでください',
      '送らないで',
      '払わないでください',
      '送金するな',
      '送金はやめて',
      '送金をキャンセルして',
      '送金したくない',
      '送金してほしくない',
      '送金する必要はない',
    );
    await fc.assert(
      fc.asyncProperty(name, amount, ending, async (recipient, dollars, end) => {
        expect((await ask([user(`${recipient}さんに${dollars}ドル${end}`)])).calls).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  test('every amount and name of a plain request arrives unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('Bob', 'Alice', 'Carol'),
        amount,
        fc.integer({ min: 0, max: 99 }),
        async (recipient, dollars, cents) => {
          const value = Number(`${dollars}.${String(cents).padStart(2, '0')}`);
          const expected = [['process_payment', { amount: value, recipient, currency: 'USD' }]];
          expect((await ask([user(`send $${value} to ${recipient}`)])).calls).toEqual(expected);
          expect((await ask([user(`pay ${recipient} ${value} dollars`)])).calls).toEqual(expected);
          expect((await ask([user(`${recipient}さんに${value}ドル送金してください`)])).calls).toEqual(
            expected,
          );
        },
      ),
      { numRuns: 100 },
    );
  });
});

test('a message too long for the rules is never acted upon', async () => {
  const texts = await ask([user(`send $50 to Bob ${'and so on '.repeat(200)}`)]);
  expect(texts.calls).toEqual([]);
  expect(texts.text).toMatch(/^This message is too long for my rules/);
});
