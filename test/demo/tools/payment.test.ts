import { describe, expect, it } from 'vitest';
import { decision } from '../../support/live.ts';
import { call, calls, ScriptedModel, text } from '../../support/scripted-model.ts';
import { cardsIn, chunksOf, demo, outcomesIn, sqliteIn, temporaryFolder, wordsIn } from '../support/demo.ts';

const pay = (args: Record<string, unknown>) => ({ name: 'process_payment', args });
const payment = (args: Record<string, unknown> = {}) => ({ amount: 50, recipient: 'Hanako', ...args });

/** The demo with a model that makes these calls at once, then says a word. */
function scripted(...all: Record<string, unknown>[]) {
  return demo({ model: new ScriptedModel([[calls(...all.map(pay))], [text('Well.')]]) });
}

const receipt = (recipient: string, amount: number, balance: number, more: object = {}) => ({
  success: true,
  transaction_id: expect.stringMatching(/^txn_[0-9a-f]{12}$/),
  amount,
  currency: 'USD',
  recipient,
  description: '',
  wallet_balance: balance,
  timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  ...more,
});

describe('a payment that cannot work is refused before anyone is asked', () => {
  it.each([
    ['nothing', { amount: 0 }, 'Invalid amount: 0. The amount must be positive.'],
    ['less than nothing', { amount: -50 }, 'Invalid amount: -50. The amount must be positive.'],
    ['no number', { amount: '50' }, 'amount: The amount must be a finite number.'],
    ['not even a value', { amount: undefined }, 'amount: The amount must be a finite number.'],
    ['NaN', { amount: Number.NaN }, 'amount: The amount must be a finite number.'],
    ['endlessly much', { amount: Number.POSITIVE_INFINITY }, 'amount: The amount must be a finite number.'],
    [
      'a tenth of a cent',
      { amount: 12.345 },
      'Invalid amount: 12.345. The amount may have two decimals at most.',
    ],
    [
      'a millionth of a cent',
      { amount: 0.00000001 },
      'Invalid amount: 1e-8. The amount may have two decimals at most.',
    ],
    [
      'a hair more than a round sum',
      { amount: 100.000000001 },
      'Invalid amount: 100.000000001. The amount may have two decimals at most.',
    ],
    [
      'a cent more than there is',
      { amount: 1000.01 },
      'Insufficient funds. Balance: 1000.00 USD, requested: 1000.01 USD.',
    ],
    ['absurdly much', { amount: 1e308 }, 'Insufficient funds. Balance: 1000.00 USD, requested: 1e+308 USD.'],
    ['euros', { currency: 'eur' }, 'Payments in EUR are not supported. The wallet holds USD.'],
    ['yen', { currency: 'JPY' }, 'Payments in JPY are not supported. The wallet holds USD.'],
    ['no currency', { currency: ' ' }, 'The currency is missing. The wallet holds USD.'],
    ['nobody', { recipient: '' }, 'The recipient is missing.'],
    ['a space', { recipient: ' \t　' }, 'The recipient is missing.'],
    ['an invisible recipient', { recipient: '\u200b\u2060' }, 'The recipient is missing.'],
  ])('%s', async (_, change, error) => {
    const { say, audit, messages } = scripted(payment(change));
    const { chunks } = await say('pay');
    expect(cardsIn({ chunks } as never)).toEqual([]);
    expect(outcomesIn(chunks)).toEqual([error]);
    expect(chunksOf(chunks, 'finish')).toMatchObject([{ finishReason: 'stop' }]);
    expect(await audit()).toEqual([]);
    expect(await messages()).toHaveLength(2);
  });

  it.each([
    [
      'Send $2,000 to Bob',
      'The payment of $2,000 to Bob was refused: Insufficient funds. Balance: 1000.00 USD, requested: 2000.00 USD.',
    ],
    [
      'Bobに2000ドル送金して',
      'Bobさんへの2,000ドルの送金はできませんでした：残高が足りません。残高は 1000.00 USD、送金額は 2000.00 USD です。',
    ],
    [
      'Pay Alice 30 euros',
      'The payment of €30 to Alice was refused: Payments in EUR are not supported. The wallet holds USD.',
    ],
    ['アリスに30ユーロ送って', 'アリスさんへの30ユーロの送金はできませんでした：その通貨は使えません。'],
    [
      'Pay Bob 12.345 dollars',
      'The payment of $12.345 to Bob was refused: Invalid amount: 12.345. The amount may have two decimals at most.',
    ],
    ['Bobに0ドル送金して', 'Bobさんへの0ドルの送金はできませんでした：金額は0より大きくなければなりません。'],
  ])('the embedded model says so: %s', async (texts, answer) => {
    const { say, audit } = demo();
    const { chunks } = await say(texts);
    expect(wordsIn(chunks)).toBe(answer);
    expect(await audit()).toEqual([]);
  });
});

describe('a payment that was approved', () => {
  it('is taken from the wallet, to the cent', async () => {
    const { say, decide } = scripted(
      payment({ amount: 0.1, recipient: ' Hanako ', description: 'tea', currency: 'usd' }),
    );
    const card = cardsIn(await say('pay'));
    const { chunks } = await decide(card, [true]);
    expect(outcomesIn(chunks)).toEqual([receipt('Hanako', 0.1, 999.9, { description: 'tea' })]);
  });

  it('may be all there is, after which nothing is left', async () => {
    const model = new ScriptedModel([
      [call('process_payment', payment({ amount: 1000 }))],
      [text('Done.')],
      [call('process_payment', payment({ amount: 0.01 }))],
      [text('No.')],
    ]);
    const { say, decide } = demo({ model });
    const paid = await decide(cardsIn(await say('all')), [true]);
    expect(outcomesIn(paid.chunks)).toEqual([receipt('Hanako', 1000, 0)]);
    const refused = await say('a cent more');
    expect(outcomesIn(refused.chunks)).toEqual([
      'Insufficient funds. Balance: 0.00 USD, requested: 0.01 USD.',
    ]);
  });

  it('is checked again: two that only together are too much', async () => {
    const { say, decide, audit } = scripted(
      payment({ recipient: 'Alice', amount: 600 }),
      payment({ recipient: 'Bob', amount: 600 }),
    );
    const cards = cardsIn(await say('pay both'));
    expect(cards).toHaveLength(2);
    const { chunks } = await decide(cards, [true, true]);
    expect(outcomesIn(chunks)).toEqual([
      receipt('Alice', 600, 400),
      'Insufficient funds. Balance: 400.00 USD, requested: 600.00 USD.',
    ]);
    expect((await audit()).map(({ kind }) => kind)).toEqual([
      'issued',
      'issued',
      'approved',
      'approved',
      'consumed',
      'consumed',
    ]);
  });

  it('is told as it was when the second check refuses it', async () => {
    const { say, decide } = demo();
    const { chunks } = await decide(cardsIn(await say('Send $600 to Alice and $500 to Bob')), [true, true]);
    expect(wordsIn(chunks)).toBe(
      'I sent $600 to Alice. The payment of $500 to Bob was refused: Insufficient funds. Balance: 400.00 USD, requested: 500.00 USD.',
    );
  });

  it('pays once, however often and in whatever way the approval is repeated', async () => {
    const { say, decide, messages } = demo();
    const cards = cardsIn(await say('Send $50 to Hanako'));
    const answers = await Promise.all(Array.from({ length: 5 }, () => decide(cards, [true])));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
    expect((await decide(cards, [true])).status).toBe(409);
    expect((await say('what is my balance?')).status).toBe(200);
    expect(JSON.stringify(await messages())).toContain('the balance was $950');
  });

  it('has the same transaction id only for the same call', async () => {
    const { say, decide } = demo();
    const ids: unknown[] = [];
    for (let round = 0; round < 2; round++) {
      const { chunks } = await decide(cardsIn(await say('Send $50 to Hanako')), [true]);
      ids.push(...outcomesIn(chunks).map((output) => (output as { transaction_id: string }).transaction_id));
    }
    expect(new Set(ids).size).toBe(2);
  });
});

describe('the wallet', () => {
  it('belongs to the session: another one has its own', async () => {
    const { say, decide } = demo();
    const balances: unknown[] = [];
    for (const session of ['mine', 'yours', 'mine']) {
      const { chunks } = await decide(cardsIn(await say('Send $50 to Hanako', session)), [true], session);
      balances.push(...outcomesIn(chunks));
    }
    expect(balances).toEqual([
      receipt('Hanako', 50, 950),
      receipt('Hanako', 50, 950),
      receipt('Hanako', 50, 900),
    ]);
  });

  it('is the same over SSE and BIDI', async () => {
    const { say, decide, connect } = demo();
    await decide(cardsIn(await say('Send $50 to Hanako')), [true]);
    const socket = await connect('chat-1');
    socket.say('Send $25.50 to Bob');
    const { toolCallId } = await socket.chunk('tool-approval-request');
    socket.send('tool_result', { toolCallId, status: 'approved' });
    await socket.done();
    socket.close();
    expect(outcomesIn(socket.chunks)).toEqual([receipt('Bob', 25.5, 924.5)]);
  });

  it('outlives the server, and so does an open card', async () => {
    const folder = temporaryFolder();
    const before = demo({ store: await sqliteIn(folder) });
    await before.decide(cardsIn(await before.say('Send $50 to Hanako')), [true]);
    const cards = cardsIn(await before.say('Send $30 to Bob'));
    await before.close();
    const after = demo({ store: await sqliteIn(folder) });
    const { chunks } = await after.decide(cards, [true]);
    expect(outcomesIn(chunks)).toEqual([receipt('Bob', 30, 920)]);
    expect(wordsIn((await after.say('What is my balance?')).chunks)).toBe(
      'After the last payment I know of, the balance was $920.',
    );
  });

  it('is not touched by a denied payment', async () => {
    const { say, decide } = demo();
    await decide(cardsIn(await say('Send $50 to Hanako')), [false]);
    const { chunks } = await decide(cardsIn(await say('Send $30 to Hanako')), [true]);
    expect(outcomesIn(chunks)).toEqual([receipt('Hanako', 30, 970)]);
  });
});

describe('two payments of $600 out of $1,000, approved together', () => {
  const balanceOf = (outcomes: unknown[]) => [
    outcomes.filter((one) => typeof one === 'object'),
    outcomes.filter((one) => typeof one === 'string'),
  ];
  const once = (recipient: string) => [
    [receipt(recipient, 600, 400)],
    ['Insufficient funds. Balance: 400.00 USD, requested: 600.00 USD.'],
  ];

  it.each([
    ['the first card first', 0, 'Alice'],
    ['the second card first', 1, 'Bob'],
  ])('[T22] pay once over BIDI, %s', async (_, first, paid) => {
    const { connect, say: ask } = demo({ approvals: 'parallel' });
    const socket = await connect('wallet');
    socket.say('Send $600 to Alice and $600 to Bob');
    const cards = [
      await socket.chunk('tool-approval-request', 1),
      await socket.chunk('tool-approval-request', 2),
    ];
    for (const card of first === 0 ? cards : cards.reverse()) socket.send('message', decision(card));
    await socket.done();
    expect(balanceOf(outcomesIn(socket.chunks))).toEqual(once(paid));
    expect(wordsIn((await ask('What is my balance?', 'wallet')).chunks)).toContain('400');
  });

  it('[T22] pay once over SSE', async () => {
    const { say: ask, decide } = demo({ approvals: 'parallel' });
    const asked = await ask('Send $600 to Alice and $600 to Bob');
    const { chunks } = await decide(cardsIn(asked), [true, true]);
    expect(balanceOf(outcomesIn(chunks))).toEqual(once('Alice'));
  });
});
