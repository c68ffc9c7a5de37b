import { describe, expect, it, onTestFinished } from 'vitest';
import { DuologueSseTransport, resumeWhen } from '../../src/client/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { type Harness, harness } from '../support/harness.ts';
import { call, calls, streamed, text } from '../support/scripted-model.ts';
import { sdks } from '../support/sdks.ts';
import { cards, client } from './support/chat.ts';

const pay = (recipient: string, amount = 50) => ({ name: 'process_payment', args: { amount, recipient } });
const weather = { name: 'get_weather', args: { location: 'Tokyo' } };
const toolCallId = expect.stringMatching(/^adk-/);
const approvalId = expect.stringMatching(/^approval_/);
const metadata = { createdAt: expect.any(Number), usage: null };

/** The last stored message, as a page shows it after a reload. */
async function stored({ get }: Harness): Promise<Message> {
  const { messages } = await (await get('/sessions/chat-1')).json();
  expect(messages.map(({ role }: Message) => role)).toEqual(['user', 'assistant']);
  return messages[1];
}

function server(turns: Parameters<typeof harness>[0], options: Parameters<typeof harness>[2] = {}) {
  const log: string[] = [];
  const tools = fourTools(log);
  const made = harness(turns, [tools.weather, tools.payment, tools.music, tools.location], options);
  return { ...made, log };
}

const paid = (recipient: string, amount: number, balance: number, reason?: string) => ({
  type: 'tool-process_payment',
  toolCallId,
  state: 'output-available',
  input: { amount, recipient },
  output: { success: true, recipient, amount, wallet_balance: balance },
  toolMetadata: { runsOn: 'server', asks: true },
  approval: { id: approvalId, approved: true, ...(reason ? { reason } : {}) },
});

const denied = (recipient: string, amount: number, reason?: string) => ({
  type: 'tool-process_payment',
  toolCallId,
  state: 'output-error',
  input: { amount, recipient },
  errorText: reason ? `User denied the tool call: ${reason}` : 'User denied the tool call',
  toolMetadata: { runsOn: 'server', asks: true },
  approval: { id: approvalId, approved: false, ...(reason ? { reason } : {}) },
});

const weatherPart = {
  type: 'tool-get_weather',
  toolCallId,
  state: 'output-available',
  input: { location: 'Tokyo' },
  output: { location: 'Tokyo', temperature: 20 },
  toolMetadata: { runsOn: 'server', asks: false },
};

const texts = (words: string) => ({ type: 'text', text: words, state: 'done' });

/** A message as plain JSON: what the SDK leaves undefined is not there. */
const plain = (message: Message): Message => JSON.parse(JSON.stringify(message));

/** The message as it is stored: our transports begin steps of their own on the page. */
const withoutSteps = (message: Message): Message => ({
  ...plain(message),
  parts: plain(message).parts.filter(({ type }) => type !== 'step-start'),
});

describe.each(sdks)('the chat of ai %s with its own transport and approval helper', (_, sdk) => {
  const approvalHelper = sdk.lastAssistantMessageIsCompleteWithApprovalResponses;
  const toolCallsHelper = sdk.lastAssistantMessageIsCompleteWithToolCalls;

  it('shows a streamed text and stores the same message', async () => {
    const made = server([streamed('Hel', 'lo')]);
    const { chat, answer, quiet } = client(sdk, made.duologue, { sendAutomaticallyWhen: approvalHelper });
    await chat.sendMessage({ text: 'hi' });
    await quiet();
    expect(plain(answer())).toEqual({
      id: expect.stringMatching(/^msg_/),
      role: 'assistant',
      metadata,
      parts: [texts('Hello')],
    });
    expect(await stored(made)).toEqual(plain(answer()));
  });

  it.each([
    { approved: true, reason: undefined },
    { approved: true, reason: 'fine' },
    { approved: false, reason: undefined },
    { approved: false, reason: 'too much' },
  ])(
    '[S1] [S6] [T4] a card answered with $approved and reason $reason takes two responses',
    async ({ approved, reason }) => {
      const made = server([[call('process_payment', pay('Hanako').args)], [text('After.')]]);
      const { chat, answer, quiet, exchanges } = client(sdk, made.duologue, {
        sendAutomaticallyWhen: approvalHelper,
      });
      await chat.sendMessage({ text: 'pay' });
      await quiet();
      expect(chat.status).toBe('ready');
      const [id = ''] = cards(answer());
      await chat.addToolApprovalResponse({ id, approved, ...(reason ? { reason } : {}) });
      await quiet();
      expect(exchanges.map(({ status }) => status)).toEqual([200, 200]);
      expect(chat.messages).toHaveLength(2);
      expect(plain(answer()).parts).toEqual([
        approved ? paid('Hanako', 50, 950, reason) : denied('Hanako', 50, reason),
        texts('After.'),
      ]);
      expect(await stored(made)).toEqual(plain(answer()));
      expect(made.log).toEqual(approved ? ['pay Hanako 50'] : []);
      expect(chat.status).toBe('ready');
    },
  );

  it.each([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])('[S5] [S5a] [T17b] two cards at once, answered %s and %s, go in one request', async (alice, bob) => {
    const made = server([[calls(pay('Alice', 30), pay('Bob', 40))], [text('Both settled.')]]);
    const { chat, answer, quiet, exchanges } = client(sdk, made.duologue, {
      sendAutomaticallyWhen: approvalHelper,
    });
    await chat.sendMessage({ text: 'pay both' });
    await quiet();
    const [first = '', second = ''] = cards(answer());
    await chat.addToolApprovalResponse({ id: first, approved: alice });
    await quiet();
    expect(exchanges).toHaveLength(1);
    await chat.addToolApprovalResponse({ id: second, approved: bob });
    await quiet();
    expect(exchanges.map(({ status }) => status)).toEqual([200, 200]);
    const afterAlice = alice ? 970 : 1000;
    expect(plain(answer()).parts).toEqual([
      alice ? paid('Alice', 30, 970) : denied('Alice', 30),
      bob ? paid('Bob', 40, afterAlice - 40) : denied('Bob', 40),
      texts('Both settled.'),
    ]);
    expect(chat.messages).toHaveLength(2);
    expect(await stored(made)).toEqual(plain(answer()));
    expect(made.log).toEqual([...(alice ? ['pay Alice 30'] : []), ...(bob ? ['pay Bob 40'] : [])]);
    expect(made.model.requests).toHaveLength(2);
  });

  it.each([
    ['before', [weather, pay('Hanako')]],
    ['after', [pay('Hanako'), weather]],
  ] as const)('[S5] a plain tool %s an asking one has its output before the pause', async (where, both) => {
    const made = server([[calls(...both)], [text('Done.')]]);
    const { chat, answer, quiet } = client(sdk, made.duologue, { sendAutomaticallyWhen: approvalHelper });
    await chat.sendMessage({ text: 'both' });
    await quiet();
    expect(plain(answer()).parts).toContainEqual(weatherPart);
    const [id = ''] = cards(answer());
    await chat.addToolApprovalResponse({ id, approved: true });
    await quiet();
    const parts = [weatherPart, paid('Hanako', 50, 950)];
    expect(plain(answer()).parts).toEqual([
      ...(where === 'before' ? parts : parts.reverse()),
      texts('Done.'),
    ]);
    expect(chat.messages).toHaveLength(2);
    expect(await stored(made)).toEqual(plain(answer()));
  });

  it('a client tool that does not ask: the output goes with the next request', async () => {
    const made = server([[call('change_bgm', { track: 2 })], [text('Changed.')]]);
    const { chat, answer, quiet, exchanges } = client(sdk, made.duologue);
    await chat.sendMessage({ text: 'music' });
    await quiet();
    const [part] = answer().parts;
    if (part?.type !== 'tool-change_bgm' || !('toolCallId' in part)) throw new Error('no call');
    expect(part).toMatchObject({ state: 'input-available', toolMetadata: { runsOn: 'client', asks: false } });
    await chat.addToolOutput({ tool: 'change_bgm', toolCallId: part.toolCallId, output: { ok: true } });
    await chat.sendMessage();
    await quiet();
    expect(exchanges.map(({ status }) => status)).toEqual([200, 200]);
    expect(plain(answer()).parts).toEqual([
      {
        type: 'tool-change_bgm',
        toolCallId,
        state: 'output-available',
        input: { track: 2 },
        output: { ok: true },
        toolMetadata: { runsOn: 'client', asks: false },
      },
      texts('Changed.'),
    ]);
    expect(chat.messages).toHaveLength(2);
    expect(await stored(made)).toEqual(plain(answer()));
  });

  it('an error of a client tool reaches the model and the stored message', async () => {
    const made = server([[call('change_bgm', { track: 2 })], [text('Pity.')]]);
    const { chat, answer, quiet } = client(sdk, made.duologue);
    await chat.sendMessage({ text: 'music' });
    await quiet();
    const [part] = answer().parts;
    if (part === undefined || !('toolCallId' in part)) throw new Error('no call');
    await chat.addToolOutput({
      tool: 'change_bgm',
      toolCallId: part.toolCallId,
      state: 'output-error',
      errorText: 'no speakers',
    });
    await chat.sendMessage();
    await quiet();
    expect(plain(answer()).parts[0]).toMatchObject({ state: 'output-error', errorText: 'no speakers' });
    expect(await stored(made)).toEqual(plain(answer()));
    expect(made.model.lastContents.at(-1)?.parts?.[0]?.functionResponse?.response).toEqual({
      error: 'no speakers',
    });
  });

  it('[T19a] [T14b] an approved client tool with the stock helper takes three responses', async () => {
    const made = server([[call('get_location')], [text('You are here.')]]);
    const { chat, answer, quiet, exchanges } = client(sdk, made.duologue, {
      sendAutomaticallyWhen: approvalHelper,
    });
    await chat.sendMessage({ text: 'where am I' });
    await quiet();
    const [id = ''] = cards(answer());
    await chat.addToolApprovalResponse({ id, approved: true });
    await quiet();
    const [part] = answer().parts;
    if (part === undefined || !('toolCallId' in part)) throw new Error('no call');
    expect(part).toMatchObject({ state: 'input-available', approval: { id, approved: true } });
    await chat.addToolOutput({ tool: 'get_location', toolCallId: part.toolCallId, output: { lat: 35 } });
    await chat.sendMessage();
    await quiet();
    expect(exchanges.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(plain(answer()).parts).toEqual([
      {
        type: 'tool-get_location',
        toolCallId,
        state: 'output-available',
        input: {},
        output: { lat: 35 },
        toolMetadata: { runsOn: 'client', asks: true },
        approval: { id: approvalId, approved: true },
      },
      texts('You are here.'),
    ]);
    expect(chat.messages).toHaveLength(2);
    expect(await stored(made)).toEqual(plain(answer()));
  });

  it('[T19] an approved client tool whose output comes with the approval takes two responses', async () => {
    const made = server([[call('get_location')], [text('You are here.')]]);
    const { chat, answer, quiet, exchanges } = client(sdk, made.duologue);
    await chat.sendMessage({ text: 'where am I' });
    await quiet();
    const [part] = answer().parts;
    if (part === undefined || !('toolCallId' in part)) throw new Error('no call');
    const [id = ''] = cards(answer());
    await chat.addToolApprovalResponse({ id, approved: true });
    await chat.addToolOutput({ tool: 'get_location', toolCallId: part.toolCallId, output: { lat: 35 } });
    await chat.sendMessage();
    await quiet();
    expect(exchanges.map(({ status }) => status)).toEqual([200, 200]);
    expect(plain(answer()).parts).toEqual([
      {
        type: 'tool-get_location',
        toolCallId,
        state: 'output-available',
        input: {},
        output: { lat: 35 },
        toolMetadata: { runsOn: 'client', asks: true },
        approval: { id: approvalId, approved: true },
      },
      texts('You are here.'),
    ]);
    expect(await stored(made)).toEqual(plain(answer()));
  });

  it('a denied client tool ends with the denial and the agent goes on', async () => {
    const made = server([[call('get_location')], [text('As you wish.')]]);
    const { chat, answer, quiet, exchanges } = client(sdk, made.duologue, {
      sendAutomaticallyWhen: approvalHelper,
    });
    await chat.sendMessage({ text: 'where am I' });
    await quiet();
    const [id = ''] = cards(answer());
    await chat.addToolApprovalResponse({ id, approved: false });
    await quiet();
    expect(exchanges).toHaveLength(2);
    expect(plain(answer()).parts).toEqual([
      {
        type: 'tool-get_location',
        toolCallId,
        state: 'output-error',
        input: {},
        errorText: 'User denied the tool call',
        toolMetadata: { runsOn: 'client', asks: true },
        approval: { id: approvalId, approved: false },
      },
      texts('As you wish.'),
    ]);
    expect(await stored(made)).toEqual(plain(answer()));
  });

  it('[T14d] the stock tool-calls helper stops after one request that is answered with nothing', async () => {
    const made = server([[call('get_weather', weather.args)], [text('Sunny.')]]);
    const { chat, quiet, exchanges } = client(sdk, made.duologue, { sendAutomaticallyWhen: toolCallsHelper });
    await chat.sendMessage({ text: 'weather' });
    await quiet();
    expect(exchanges.map(({ status }) => status)).toEqual([200, 200]);
    expect(chat.status).toBe('ready');
    expect(made.model.requests).toHaveLength(1 + 1);
    expect(await stored(made)).toMatchObject({ parts: [weatherPart, texts('Sunny.')] });
  });

  it('[T4a] tool-output-denied instead of an error, when the server is told so', async () => {
    const made = server([[call('process_payment', pay('Hanako').args)], [text('After.')]], {
      denials: 'tool-output-denied',
    });
    const { chat, answer, quiet } = client(sdk, made.duologue, { sendAutomaticallyWhen: approvalHelper });
    await chat.sendMessage({ text: 'pay' });
    await quiet();
    const [id = ''] = cards(answer());
    await chat.addToolApprovalResponse({ id, approved: false, reason: 'no' });
    await quiet();
    expect(plain(answer()).parts).toEqual([
      {
        type: 'tool-process_payment',
        toolCallId,
        state: 'output-denied',
        input: { amount: 50, recipient: 'Hanako' },
        toolMetadata: { runsOn: 'server', asks: true },
        approval: { id: approvalId, approved: false, reason: 'no' },
      },
      texts('After.'),
    ]);
    expect(await stored(made)).toEqual(plain(answer()));
    const valid = await sdk.safeValidateUIMessages({ messages: plain(answer()) && [plain(answer())] });
    expect(valid.success).toBe(true);
  });

  it('a second question in the same chat gets its own message', async () => {
    const made = server([[text('One.')], [text('Two.')]]);
    const { chat, quiet } = client(sdk, made.duologue, { sendAutomaticallyWhen: approvalHelper });
    await chat.sendMessage({ text: 'first' });
    await quiet();
    await chat.sendMessage({ text: 'second' });
    await quiet();
    expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(made.model.lastContents.map(({ role, parts }) => [role, parts?.[0]?.text])).toEqual([
      ['user', 'first'],
      ['model', 'One.'],
      ['user', 'second'],
    ]);
  });

  it('[S11a] regenerate answers the same question again and forgets the first answer', async () => {
    const made = server([[text('One.')], [text('Two.')]]);
    const { chat, quiet, answer } = client(sdk, made.duologue);
    await chat.sendMessage({ text: 'first' });
    await quiet();
    await chat.regenerate();
    await quiet();
    expect(chat.messages).toHaveLength(2);
    expect(plain(answer()).parts).toEqual([texts('Two.')]);
    expect(await stored(made)).toEqual(plain(answer()));
    expect(made.model.lastContents.map(({ parts }) => parts?.[0]?.text)).toEqual(['first']);
  });

  it('[S11a] regenerating again forgets the answer before it as well', async () => {
    const made = server([[text('One.')], [text('Two.')], [text('Three.')]]);
    const { chat, quiet, answer } = client(sdk, made.duologue);
    await chat.sendMessage({ text: 'first' });
    await quiet();
    for (let i = 0; i < 2; i++) {
      await chat.regenerate();
      await quiet();
    }
    expect(plain(answer()).parts).toEqual([texts('Three.')]);
    expect(made.model.lastContents.map(({ parts }) => parts?.[0]?.text)).toEqual(['first']);
  });

  it('[S11] an edited message replaces the old one and all that followed', async () => {
    const made = server([[text('One.')], [text('Two.')], [text('Three.')]]);
    const { chat, quiet, answer } = client(sdk, made.duologue);
    await chat.sendMessage({ text: 'first' });
    await quiet();
    await chat.sendMessage({ text: 'second' });
    await quiet();
    const messageId = chat.messages[0]?.id ?? '';
    await chat.sendMessage({ text: 'first, better', messageId });
    await quiet();
    expect(chat.messages.map(({ parts }) => (parts[0] as { text: string }).text)).toEqual([
      'first, better',
      'Three.',
    ]);
    expect(await stored(made)).toEqual(plain(answer()));
    expect(made.model.lastContents.map(({ parts }) => parts?.[0]?.text)).toEqual(['first, better']);
  });
});

describe.each(sdks)('the chat of ai %s with our transport and resume rule', (_, sdk) => {
  function ruled(duologue: Parameters<typeof client>[1]) {
    const holder: { transport?: DuologueSseTransport<Message> } = {};
    const made = client(sdk, duologue, {
      transport: (fetch) => {
        holder.transport = new DuologueSseTransport<Message>({ url: 'http://localhost', fetch, mergeMs: 0 });
        onTestFinished(() => holder.transport?.close());
        return holder.transport as never;
      },
      sendAutomaticallyWhen: (options) =>
        holder.transport ? resumeWhen(holder.transport)(options as never) : false,
    });
    const posts = () => made.exchanges.filter(({ path }) => path === '/stream');
    return { ...made, posts };
  }

  it('[T19] an approved client tool goes in one combined request, and nothing is sent again', async () => {
    const made = server([[call('get_location')], [text('You are here.')]]);
    const { chat, answer, quiet, posts } = ruled(made.duologue);
    await chat.sendMessage({ text: 'where am I' });
    await quiet();
    const [part] = answer().parts;
    if (part === undefined || !('toolCallId' in part)) throw new Error('no call');
    const [id = ''] = cards(answer());
    await chat.addToolApprovalResponse({ id, approved: true });
    await quiet();
    expect(posts()).toHaveLength(1);
    await chat.addToolOutput({ tool: 'get_location', toolCallId: part.toolCallId, output: { lat: 35 } });
    await quiet();
    expect(posts().map(({ status }) => status)).toEqual([200, 200]);
    expect(withoutSteps(answer()).parts).toMatchObject([
      { state: 'output-available', output: { lat: 35 }, approval: { approved: true } },
      { text: 'You are here.' },
    ]);
    expect(await stored(made)).toEqual(withoutSteps(answer()));
  });

  it('a server tool, a client tool and a card: no request is refused', async () => {
    const made = server([
      [calls(weather, { name: 'change_bgm', args: { track: 1 } }, pay('Hanako'))],
      [text('All done.')],
    ]);
    const { chat, answer, quiet, posts } = ruled(made.duologue);
    await chat.sendMessage({ text: 'all' });
    await quiet();
    const music = answer().parts.find((part) => part.type === 'tool-change_bgm');
    if (music === undefined || !('toolCallId' in music)) throw new Error('no call');
    await chat.addToolOutput({ tool: 'change_bgm', toolCallId: music.toolCallId, output: 'on' });
    await quiet();
    expect(posts()).toHaveLength(1);
    const [id = ''] = cards(answer());
    await chat.addToolApprovalResponse({ id, approved: false, reason: 'no' });
    await quiet();
    expect(posts().map(({ status }) => status)).toEqual([200, 200]);
    expect(chat.status).toBe('ready');
    expect(await stored(made)).toEqual(withoutSteps(answer()));
    expect(made.log).toEqual(['weather Tokyo']);
  });
});
