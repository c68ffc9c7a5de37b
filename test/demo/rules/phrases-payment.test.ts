import { describe, expect, test } from 'vitest';
import { ask } from './talk.ts';

type Payment = Record<string, unknown>;
const usd = (amount: number, recipient: string): Payment => ({ amount, recipient, currency: 'USD' });

const understood: [text: string, ...payments: Payment[]][] = [
  ['send $50 to Bob', usd(50, 'Bob')],
  ['Send Bob $50', usd(50, 'Bob')],
  ['Please send 50 dollars to Bob.', usd(50, 'Bob')],
  ['Could you pay Alice 30 dollars?', usd(30, 'Alice')],
  ['can you please transfer 12.50 USD to Carol', usd(12.5, 'Carol')],
  ['I want to send 20 bucks to Dave', usd(20, 'Dave')],
  ["I'd like to pay Erin $1,000", usd(1000, 'Erin')],
  ['Process a payment of $100 to Alice', usd(100, 'Alice')],
  ['Make a payment of 75 dollars to Bob Smith', usd(75, 'Bob Smith')],
  ['make a $20 payment to Bob', usd(20, 'Bob')],
  ['transfer fifty dollars to my mother', usd(50, 'my mother')],
  ['wire a hundred and twenty dollars to Frank please', usd(120, 'Frank')],
  ['give Bob 5 dollars', usd(5, 'Bob')],
  ['Hey, send 50 to Bob right now', usd(50, 'Bob')],
  ['No, send $50 to Bob', usd(50, 'Bob')],
  ['Hi! Please send $50 to Bob. Thanks!', usd(50, 'Bob')],
  ['pay bob@example.com $9.99', usd(9.99, 'bob@example.com')],
  ['send €20 to Pierre', { amount: 20, recipient: 'Pierre', currency: 'EUR' }],
  ['send 20 euros to Pierre', { amount: 20, recipient: 'Pierre', currency: 'EUR' }],
  ['send 3000 yen to Hanako', { amount: 3000, recipient: 'Hanako', currency: 'JPY' }],
  ['send £15 to Harry', { amount: 15, recipient: 'Harry', currency: 'GBP' }],
  ['send 200 SEK to Sven', { amount: 200, recipient: 'Sven', currency: 'SEK' }],
  ['send -50 dollars to Bob', usd(-50, 'Bob')],
  ['send 0 dollars to Bob', usd(0, 'Bob')],
  ['send 10.999 dollars to Bob', usd(10.999, 'Bob')],
  ['pay Bob 50 cents', usd(0.5, 'Bob')],
  ['send $50 to Bob for lunch', { ...usd(50, 'Bob'), description: 'lunch' }],
  [
    'pay Alice 30 dollars for the concert tickets',
    { ...usd(30, 'Alice'), description: 'the concert tickets' },
  ],
  ['send $30 to Alice and $40 to Bob', usd(30, 'Alice'), usd(40, 'Bob')],
  ['send $30 to Alice and 40 dollars to Bob', usd(30, 'Alice'), usd(40, 'Bob')],
  ['Please pay Alice $30, Bob $40 and Carol $50', usd(30, 'Alice'), usd(40, 'Bob'), usd(50, 'Carol')],
  ['pay Alice $30 and then pay Bob $40', usd(30, 'Alice'), usd(40, 'Bob')],
  ['Send $30 to Alice. Send $40 to Bob.', usd(30, 'Alice'), usd(40, 'Bob')],
  ['send 30 dollars to Alice and a hundred dollars to Bob', usd(30, 'Alice'), usd(100, 'Bob')],
  ['Pay back Bob $20', usd(20, 'Bob')],
  ['Hey Duologue, send $50 to Bob', usd(50, 'Bob')],
  ['Please process payment: $20 to Bob', usd(20, 'Bob')],
  ['花子さんの口座に50ドル振り込んで', usd(50, '花子さんの口座')],
  ['send Alice and Bob $30 each', usd(30, 'Alice'), usd(30, 'Bob')],
  ['send $30 each to Alice, Bob and Carol', usd(30, 'Alice'), usd(30, 'Bob'), usd(30, 'Carol')],

  ['花子さんに50ドル送金してください', usd(50, '花子')],
  ['Hanakoさんに50ドル送金して', usd(50, 'Hanako')],
  ['次郎さんに200ドル送金してください', usd(200, '次郎')],
  ['花子さんへ50ドルを送金してください。', usd(50, '花子')],
  ['50ドルを花子さんに送ってください', usd(50, '花子')],
  ['花子ちゃんに２０ドル送って', usd(20, '花子')],
  ['田中様に百ドルお支払いお願いします', usd(100, '田中')],
  ['太郎くんに五十ドル払って', usd(50, '太郎')],
  ['くにこさんに50ドル送金して', usd(50, 'くにこ')],
  ['花子さんに50ドル送金してもらえませんか？', usd(50, '花子')],
  ['花子さんに50ドル送金していただけますか', usd(50, '花子')],
  ['花子さんに50ドル送金したいです', usd(50, '花子')],
  ['すみません、花子さんに50ドル振り込んでください', usd(50, '花子')],
  ['花子さん宛に50ドル送金', usd(50, '花子')],
  ['花子さんに50ドルの支払いをお願いします', usd(50, '花子')],
  ['私は花子さんに50ドル送金したい', usd(50, '花子')],
  ['花子さんに5000円送金して', { amount: 5000, recipient: '花子', currency: 'JPY' }],
  ['花子さんに1万5千円送金して', { amount: 15000, recipient: '花子', currency: 'JPY' }],
  ['ピエールさんに20ユーロ送って', { amount: 20, recipient: 'ピエール', currency: 'EUR' }],
  ['ランチ代として花子さんに20ドル送金して', { ...usd(20, '花子'), description: 'ランチ代' }],
  ['花子さんにランチ代として20ドル送金して', { ...usd(20, '花子'), description: 'ランチ代' }],
  ['花子さんにマイナス50ドル送金して', usd(-50, '花子')],
  ['Aliceに30ドル、Bobに40ドル送金してください', usd(30, 'Alice'), usd(40, 'Bob')],
  ['Aliceさんに30ドルとBobさんに40ドルを送金して', usd(30, 'Alice'), usd(40, 'Bob')],
  ['花子さんに30ドル送金して、太郎さんに40ドル送金して', usd(30, '花子'), usd(40, '太郎')],
  ['花子さんに30ドル送金して。太郎さんにも40ドル送金して。', usd(30, '花子'), usd(40, '太郎')],
  ['AliceとBobに30ドルずつ送金して', usd(30, 'Alice'), usd(30, 'Bob')],
  ['花子さんと太郎さんにそれぞれ30ドル送金して', usd(30, '花子'), usd(30, '太郎')],
  ['CarolとDaveに、それぞれ11ドルと22ドル送金して', usd(11, 'Carol'), usd(22, 'Dave')],
  ['花子さんと太郎さんにそれぞれ30ドル、40ドルを送金してください', usd(30, '花子'), usd(40, '太郎')],
];

const notUnderstood: string[] = [
  'how much is 50 dollars in yen',
  'How much is $50 in euros?',
  "don't send Bob anything",
  "Don't send $50 to Bob",
  'Do not send Bob 50 dollars',
  'please never pay Bob $50',
  'send $50 to Bob, not to Alice',
  'cancel sending $50 to Bob',
  'stop! do not pay Alice 30 dollars',
  'what is a payment?',
  'How do I send $50 to Bob?',
  'Did you send Bob $50?',
  'Should I pay Bob $50?',
  'What happens if I send Bob $50?',
  'I sent Bob $50 yesterday',
  'Bob paid me $50',
  'Alice wants to pay Bob $50',
  'remind me to pay Bob $50',
  'send Bob $50 tomorrow',
  'pay Bob $50 every month',
  'Pay Bob $50 if he asks',
  'send Bob an email about the $50',
  'send Bob an email',
  'send me $50',
  'give me 5 minutes',
  'pay attention',
  'a payment of $50 is too much',
  'send $30 to Alice and Bob',
  'send between 30 and 40 dollars to Bob',
  'Send $50 to Bob. Actually make it 60.',
  'Send $50 to Bob. No wait.',
  'send $1.5k to Bob',
  'send $50/month to Bob',
  'The shop said: send $50 to Bob',
  'can I send money to Bob from here?',
  'I like dollars',
  'send $30 to Alice and send Bob an email',
  'send $30 to Alice and tell me a secret',
  'Bob has 50 dollars',
  '送金しないで',
  '花子さんに50ドル送金しないでください',
  '花子さんに50ドル送るな',
  '花子さんへの50ドルの送金をやめて',
  '50ドルの送金をキャンセルして',
  '花子さんに送金する必要はありません',
  '50ドルは何円ですか',
  '送金とは何ですか',
  '送金の方法を教えて',
  '送金の手数料はいくらですか',
  '花子さんに50ドル送金しました',
  '花子さんに50ドル送金した？',
  'もし花子さんに50ドル送金したらどうなる？',
  '明日花子さんに50ドル送金して',
  '毎月花子さんに50ドル送金して',
  '花子さんに50ドル送金すべきですか',
  '花子さんに50ドル送金してもいいですか',
  '花子さんにメールを送って',
  '花子さんは50ドル持っています',
  '私に50ドル送って',
  'AliceとBobに30ドル送金して',
  '50ドルって高いですか',
];

const incomplete: [text: string, question: string][] = [
  ['send money to Bob', 'How much should I send to Bob?'],
  ['pay Bob', 'How much should I send to Bob?'],
  ['send Bob some money', 'How much should I send to Bob?'],
  ['send $50', 'Who should receive the $50?'],
  ['I want to make a payment', 'How much should I send, and to whom?'],
  ['transfer 20 euros please', 'Who should receive the €20?'],
  ['花子さんに送金して', '花子さんにいくら送金しますか？'],
  ['花子さんにお金を送って', '花子さんにいくら送金しますか？'],
  ['50ドル送金して', '50ドルを誰に送金しますか？'],
  ['送金したい', 'いくらを誰に送金しますか？'],
  ['送金してください', 'いくらを誰に送金しますか？'],
];

describe('several requests in one message', () => {
  const toBob = ['process_payment', usd(50, 'Bob')];
  const toHanako = ['process_payment', usd(50, '花子')];
  const inTokyo = ['get_weather', { location: 'Tokyo' }];
  test.each([
    ['Send 50 USD to Bob and tell me the weather in Tokyo', [toBob, inTokyo]],
    ["What's the weather in Tokyo and send Bob $50", [inTokyo, toBob]],
    ['What is the weather in Tokyo? And please send $50 to Bob.', [inTokyo, toBob]],
    ['東京の天気を教えて。それと花子さんに50ドル送金して。', [inTokyo, toHanako]],
    ['花子さんに50ドル送金して、東京の天気も教えて', [toHanako, inTokyo]],
    [
      'play track 2 and tell me where I am',
      [
        ['change_bgm', { track: 2 }],
        ['get_location', {}],
      ],
    ],
  ])('`%s` makes all the calls in order', async (text, calls) => {
    expect((await ask(text)).calls).toEqual(calls);
  });

  test('what one of them lacks is asked for beside the calls of the others', async () => {
    const { text, calls } = await ask('What is the weather in Tokyo? Send money to Bob.');
    expect({ text, calls }).toEqual({ text: 'How much should I send to Bob?', calls: [inTokyo] });
  });
});

describe('payments are understood in many wordings', () => {
  test.each(understood)('`%s` asks for the payments it names', async (text, ...payments) => {
    expect((await ask(text)).calls).toEqual(payments.map((args) => ['process_payment', args]));
  });

  test.each(notUnderstood)('`%s` calls no tool and says something', async (text) => {
    const { calls, text: spoken } = await ask(text);
    expect({ calls, isSilent: spoken === '' }).toEqual({ calls: [], isSilent: false });
  });

  test.each(incomplete)('`%s` is asked back', async (text, question) => {
    const { calls, text: spoken } = await ask(text);
    expect({ calls, spoken }).toEqual({ calls: [], spoken: question });
  });
});
