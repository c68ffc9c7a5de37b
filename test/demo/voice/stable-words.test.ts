import { expect, test } from 'vitest';
import { StableWords } from '../../../demo/server/voice/stable-words.ts';

test.each([
  ['what is said once is not told yet', ['What is the'], ['']],
  [
    'what two looks agree on is told, each word once',
    ['What is the.', 'What is the weather', 'What is the weather in Tokyo?', 'What is the weather in Tokyo?'],
    ['', 'What is ', 'the weather ', 'in Tokyo? '],
  ],
  ['nothing is taken back', ['I will', 'I will go', 'A whale', 'A whale goes'], ['', 'I will ', '', '']],
  ['silence tells nothing', ['', '', 'Hello', ''], ['', '', '', '']],
])('%s', (_name, looks, reported) => {
  const stable = new StableWords();
  expect(looks.map((look) => stable.push(look))).toEqual(reported);
});
