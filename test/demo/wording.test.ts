import { expect, it } from 'vitest';
import { cardsIn, demo, wordsIn } from './support/demo.ts';

it.each([
  [
    'Send $10 to Bob',
    'yes',
    'The payment of $10 to Bob was cancelled, so it did not happen.\n\nA message cannot approve, and it cancelled the card. Please ask again, and press Approve on the card.',
  ],
  [
    'Where am I?',
    'approve it',
    'Reading your location was cancelled, so it did not happen.\n\nA message cannot approve, and it cancelled the card. Please ask again, and press Approve on the card.',
  ],
  [
    '花子さんに10ドル送金してください',
    'はい',
    '花子さんへの10ドルの送金は取り消されたため、行っていません。\n\nメッセージでは承認できず、カードは取り消されました。もう一度依頼して、カードの「承認」を押してください。',
  ],
  [
    'Send $10 to Bob',
    'no',
    'The payment of $10 to Bob was cancelled, so it did not happen.\n\nAll right. I have no open question; tell me what you would like next.',
  ],
])('over SSE words in place of a card are told for what they do: %s, %s', async (request, words, answer) => {
  const { say, decide } = demo();
  const cards = cardsIn(await say(request));
  expect(wordsIn((await say(words)).chunks)).toBe(answer);
  expect((await decide(cards, [true])).status).toBe(409);
});

it('an unknown request is answered without a gap between its Japanese sentences', async () => {
  const { chunks } = await demo().say('むにゃむにゃ');
  expect(wordsIn(chunks).split('\n')[0]).toBe(
    'すみません、理解できませんでした。私はLLMではなく、ルールの集まりです。できることはこちらです。',
  );
});
