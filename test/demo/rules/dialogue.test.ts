import { describe, expect, test } from 'vitest';
import { answered, ask, called, converse, model, user } from './talk.ts';

const paid = (amount: number, recipient: string, currency = 'USD'): [string, Record<string, unknown>][] => [
  ['process_payment', { amount, recipient, currency }],
];

describe('what is missing is asked for, and the short answer is understood', () => {
  test.each([
    [['send money to Bob', '50 dollars'], paid(50, 'Bob')],
    [['send money to Bob', '50'], paid(50, 'Bob')],
    [['pay Bob', 'make it $20 please'], paid(20, 'Bob')],
    [['pay Bob', 'send 20 euros'], paid(20, 'Bob', 'EUR')],
    [['send $50', 'to Bob'], paid(50, 'Bob')],
    [['send $50', 'Bob'], paid(50, 'Bob')],
    [['send $50', "it's for Bob Smith"], paid(50, 'Bob Smith')],
    [['I want to make a payment', 'Bob', '50 dollars'], paid(50, 'Bob')],
    [['I want to make a payment', '50 dollars', 'to Bob'], paid(50, 'Bob')],
    [['I want to make a payment', '50 dollars to Bob'], paid(50, 'Bob')],
    [['send $50', 'send it to Bob'], paid(50, 'Bob')],
    [['花子さんに送金して', '50ドル'], paid(50, '花子')],
    [['花子さんに送金して', '50ドルです'], paid(50, '花子')],
    [['花子さんに送金して', '5000円でお願いします'], paid(5000, '花子', 'JPY')],
    [['50ドル送金して', '花子さん'], paid(50, '花子')],
    [['50ドル送金して', '花子さんに'], paid(50, '花子')],
    [['50ドル送金して', '花子さんです'], paid(50, '花子')],
    [['50ドル送金して', 'Bob'], paid(50, 'Bob')],
    [['送金したい', '花子さんに', '50ドル'], paid(50, '花子')],
    [['送金したい', '花子さんに50ドル'], paid(50, '花子')],
  ])('%j ends in the payment', async (messages, calls) => {
    expect((await converse(...messages)).calls).toEqual(calls);
  });

  test.each([
    [['send money to Bob', 'never mind'], 'All right, I will not send anything.'],
    [['send money to Bob', 'Cancel that, please.'], 'All right, I will not send anything.'],
    [['send $50', 'no thanks'], 'All right, I will not send anything.'],
    [['花子さんに送金して', 'やっぱりやめて'], 'わかりました。送金はしません。'],
    [['花子さんに送金して', 'キャンセル'], 'わかりました。送金はしません。'],
    [['50ドル送金して', 'いいえ'], 'わかりました。送金はしません。'],
  ])('%j takes the payment back', async (messages, text) => {
    const texts = await converse(...messages);
    expect({ text: texts.text, calls: texts.calls }).toEqual({ text, calls: [] });
  });

  test.each([
    [['50 dollars']],
    [['send money to Bob', 'never mind', '50 dollars']],
    [['send money to Bob', 'hello', '50 dollars']],
    [['send $50', 'What is the weather?', 'Bob']],
    [['send $50', 'what?']],
    [['send $50', 'not to Bob']],
    [['花子さんに送金して', 'やっぱりやめて', '50ドル']],
    [['50ドル']],
  ])('%j does not pay', async (messages) => {
    const { calls } = await converse(...messages);
    expect(calls.filter(([name]) => name === 'process_payment')).toEqual([]);
  });

  test('a name is only taken as an answer when the model had asked', async () => {
    const contents = [user('send $50'), model('I cannot do that today.'), user('Bob')];
    expect((await ask(contents)).calls).toEqual([]);
  });

  test('the question survives an interruption that lost the words of the model', async () => {
    expect((await ask([user('send $50'), user('to Bob')])).calls).toEqual(paid(50, 'Bob'));
  });

  test('a Japanese question answered with a Latin name goes on in Japanese', async () => {
    expect((await converse('送金したい', 'Bob')).text).toBe('Bobさんにいくら送金しますか？');
  });

  test.each([
    [["What's the weather?", 'London'], 'London'],
    [["What's the weather?", 'in Paris please'], 'Paris'],
    [['天気を教えて', '大阪'], 'Osaka'],
    [['天気は？', '大阪です'], 'Osaka'],
    [['What is the weather in Tokyo?', 'and in London?'], 'London'],
    [['What is the weather in Tokyo?', 'How about new york'], 'New York'],
    [['What is the weather in Tokyo?', 'London?'], 'London'],
    [['東京の天気を教えて', 'ロンドンは？'], 'London'],
    [['東京の天気を教えて', 'じゃあ大阪はどう？'], 'Osaka'],
    [['What is the weather in Tokyo?', 'what is the weather?'], 'Tokyo'],
  ])('%j asks for the weather in %s', async (messages, location) => {
    expect((await converse(...messages)).calls).toEqual([['get_weather', { location }]]);
  });

  test('a city after something else is not a question about the weather', async () => {
    expect((await converse('What is the weather in Tokyo?', 'thanks', 'and in London?')).calls).toEqual([]);
  });

  test.each([
    ['What is the weather in Tokyo?', 'cool'],
    ['What is the weather in Tokyo?', 'Markdown'],
    ['What is the weather in Tokyo?', 'Oh well'],
    ["What's the weather?", 'cool'],
    ['東京の天気を教えて', 'マークダウン'],
  ])('after %j the word %j is not taken for a city', async (...messages) => {
    expect((await converse(...messages)).calls).toEqual([]);
  });

  test.each([
    ['What is the weather in Tokyo?', 'in lyon', 'lyon'],
    ['What is the weather in Tokyo?', 'Lyon?', 'Lyon'],
    ["What's the weather?", 'lyon', 'lyon'],
    ['東京の天気を教えて', 'リヨンは？', 'リヨン'],
  ])('after %j the answer %j is one, known or not', async (first, second, location) => {
    expect((await converse(first, second)).calls).toEqual([['get_weather', { location }]]);
  });
});

describe('the conversation is remembered', () => {
  test.each([
    [['send $30 to Alice', 'send Bob the same'], paid(30, 'Bob')],
    [['send $30 to Alice', 'the same to Bob'], paid(30, 'Bob')],
    [['send $30 to Alice', 'and 20 dollars to Carol'], paid(20, 'Carol')],
    [['send $30 to Alice', 'send her 20 more'], paid(20, 'Alice')],
    [['Aliceに30ドル送金して', 'Bobにも同じ額を送って'], paid(30, 'Bob')],
    [['Aliceに30ドル送金して', 'Bobにも'], paid(30, 'Bob')],
    [['花子さんに30ドル送金して', '太郎さんには40ドル'], paid(40, '太郎')],
  ])('%j means the payment', async (messages, calls) => {
    expect((await converse(...messages)).calls).toEqual(calls);
  });

  test('"the same" without an earlier payment is asked for', async () => {
    expect((await ask('send Bob the same')).text).toBe('How much should I send to Bob?');
  });

  test.each([
    [['my name is Ken', "what's my name?"], 'Your name is Ken.'],
    [["Hi, I'm Ken", 'hello', 'Who am I?'], 'Your name is Ken.'],
    [['call me Ken', 'thanks'], 'You are welcome, Ken!'],
    [['what is my name?'], 'You have not told me your name yet.'],
    [['私の名前は花子です', '私の名前は何ですか？'], '花子さんです。'],
    [['健と申します', '私は誰？'], '健さんです。'],
    [['私の名前は？'], 'まだお名前を伺っていません。'],
    [['hello', 'What did I ask before?'], 'Before this you wrote: “hello”'],
    [['What did I ask before?'], 'This is the first thing you have asked me.'],
    [['こんにちは', 'さっき何を聞いた？'], '直前のメッセージは「こんにちは」です。'],
    [['send $30 to Alice', 'who did I pay?'], 'In this conversation:\n\n- $30 to Alice: sent'],
    [['send $30 to Alice', 'Did you send Bob money?'], 'I know of no payment in this conversation.'],
    [['Aliceに30ドル送金して', '誰にいくら送った？'], 'この会話での送金：\n\n- Aliceさんに30ドル：送金済み'],
  ])('%j is answered from the conversation', async (messages, text) => {
    const texts = await converse(...messages);
    expect({ text: texts.text, calls: texts.calls }).toEqual({ text, calls: [] });
  });

  test('"I am tired" is no name', async () => {
    expect((await converse("I'm Tired", 'what is my name?')).text).toBe(
      'You have not told me your name yet.',
    );
  });

  test('the music goes to the track that does not play', async () => {
    expect((await converse('change the music', 'change the music')).calls).toEqual([
      ['change_bgm', { track: 1 }],
    ]);
    expect((await converse('play track 1', '曲を変えて')).calls).toEqual([['change_bgm', { track: 2 }]]);
  });

  test('a change of music that failed does not count', async () => {
    const contents = [
      user('play track 2'),
      called(['change_bgm', { track: 2 }]),
      answered(['change_bgm', { error: 'Timeout waiting for change_bgm result' }]),
      model('No result came in time.'),
      user('change the music'),
    ];
    expect((await ask(contents)).calls).toEqual([['change_bgm', { track: 2 }]]);
  });

  test('the balance is the one the last payment told', async () => {
    const contents = [
      user('send $30 to Alice'),
      called(['process_payment', { amount: 30, recipient: 'Alice', currency: 'USD' }]),
      answered(['process_payment', { success: true, amount: 30, recipient: 'Alice', wallet_balance: 970 }]),
      model('I sent $30 to Alice.'),
    ];
    expect((await ask([...contents, user('balance')])).text).toBe(
      'After the last payment I know of, the balance was $970.',
    );
    expect((await ask([...contents, user('残高は？')])).text).toBe('わかっている最後の残高は970ドルです。');
  });

  test('"try again" repeats a denied call, never a payment that may have happened', async () => {
    const tried = (response: Record<string, unknown>) => [
      user('send $30 to Alice'),
      called(['process_payment', { amount: 30, recipient: 'Alice', currency: 'USD' }]),
      answered(['process_payment', response]),
      model('…'),
      user('try again'),
    ];
    expect((await ask(tried({ error: 'User denied the tool call' }))).calls).toEqual(paid(30, 'Alice'));
    expect((await ask(tried({ success: true }))).calls).toEqual([]);
    expect((await ask(tried({ error: 'The outcome is unknown' }))).calls).toEqual([]);
    expect((await ask('try again')).text).toBe('There is nothing to repeat yet.');
  });
});
