// @vitest-environment jsdom
import { describe, expect, test } from 'vitest';
import type { Mode, TransientData, UseDuologueHelpers, UseDuologueOptions } from '../../src/react/index.ts';
import { serve } from '../../src/server/adapters/node.ts';
import { createMemoryStore } from '../../src/server/index.ts';
import { PNG } from '../contract/support/scenarios.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { call, calls, partial, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { firstApproval, mount, story } from './support/page.tsx';

const PAY = { amount: 30, recipient: 'Alice' };
const PAID = { success: true, recipient: 'Alice', amount: 30, wallet_balance: 970 };

const PICTURE = {
  type: 'file' as const,
  mediaType: 'image/png',
  url: `data:image/png;base64,${PNG}`,
};

/** A turn that says something, and continues when the test says so. */
function heldTurn(): { turn: ScriptedTurn; goOn: () => void } {
  let goOn = () => {};
  const wait = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  return {
    turn: async function* () {
      yield partial('Well, ');
      await wait;
      yield partial('yes.');
      yield text('Well, yes.');
    },
    goOn,
  };
}

describe('switching modes', () => {
  test('keeps the history; each message travels in the mode of its time', async () => {
    const { served } = await live([[text('one')], [text('two')], [text('three')]]);
    const page = mount({ url: served.url, mode: 'sse' });
    void page.now.sendMessage({ text: '1' });
    await page.texts('one');
    page.update({ mode: 'bidi' });
    await page.until(({ mode, connection }) => mode === 'bidi' && connection.status === 'live');
    void page.now.sendMessage({ text: '2' });
    await page.texts('two');
    page.update({ mode: 'sse' });
    await page.until(({ mode }) => mode === 'sse');
    void page.now.sendMessage({ text: '3' });
    expect(story(await page.texts('three'))).toEqual([
      ['user', '1'],
      ['assistant', 'one'],
      ['user', '2'],
      ['assistant', 'two'],
      ['user', '3'],
      ['assistant', 'three'],
    ]);
    expect([page.posts.length, page.sockets.length]).toEqual([2, 1]);
  });

  test('waits for the answer that is being read', async () => {
    const { turn, goOn } = heldTurn();
    const { served } = await live([turn]);
    const page = mount({ url: served.url, mode: 'bidi' });
    void page.now.sendMessage({ text: 'really?' });
    await page.until(({ status }) => status === 'streaming');
    page.update({ mode: 'sse' });
    await page.until(({ messages }) => messages.length === 2);
    expect(page.now.mode).toBe('bidi');
    goOn();
    const now = await page.until(({ mode }) => mode === 'sse');
    expect(story(now)).toEqual([
      ['user', 'really?'],
      ['assistant', 'Well, yes.'],
    ]);
  });

  test.each([
    ['bidi', 'sse'],
    ['sse', 'bidi'],
  ] as const)('a card that was shown over %s is answered over %s, and all is told once', async (from, to) => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const { served } = await live(
      [[call('process_payment', PAY)], [text('Paid.')], [text('Bye.')]],
      [payment],
    );
    const page = mount({ url: served.url, mode: from, isStrict: true });
    void page.now.sendMessage({ text: 'pay' });
    await page.until(({ approvals, status }) => approvals.length > 0 && status === 'ready');
    page.update({ mode: to });
    const asked = await page.until(
      ({ mode, connection }) => mode === to && (to === 'sse' || connection.status === 'live'),
    );
    void page.now.approve(firstApproval(asked));
    await page.texts('Paid.');
    page.update({ mode: from });
    await page.until(
      ({ mode, connection }) => mode === from && (from === 'sse' || connection.status === 'live'),
    );
    void page.now.sendMessage({ text: 'bye' });
    expect(story(await page.texts('Bye.'))).toEqual([
      ['user', 'pay'],
      ['assistant', ['process_payment', 'output-available', PAID], 'Paid.'],
      ['user', 'bye'],
      ['assistant', 'Bye.'],
    ]);
    expect(log).toEqual(['pay Alice 30']);
  });
});

describe('the connection of a page', () => {
  test('is one socket, also when React mounts twice, and none before the first word', async () => {
    const { served } = await live([[text('Hello')]]);
    const page = mount({ url: served.url, mode: 'bidi', isStrict: true });
    await page.until(({ session }) => session.status === 'ready');
    expect(page.now.connection).toEqual({ status: 'idle' });
    void page.now.sendMessage({ text: 'hi' });
    await page.texts('Hello');
    expect(page.sockets.length).toBe(1);
    const closed = new Promise((resolve) => page.sockets[0]?.once('close', resolve));
    page.unmount();
    expect(await closed).toBe(1000);
  });

  describe.each([
    ['bidi', 'bidi'],
    ['bidi', 'sse'],
    ['sse', 'bidi'],
    ['sse', 'sse'],
  ] as const)('beside another, %s and %s', (one, other) => {
    const here = (url: string, mode: Mode, more: Partial<UseDuologueOptions> = {}) =>
      mount({ url, mode, sessionId: 'chat-1', ...more });
    const isThere = ({ session, connection }: UseDuologueHelpers) =>
      session.status === 'ready' && connection.status === 'live';

    test('[B30] [S20] what is said on one page is shown on the other, live', async () => {
      const { turn, goOn } = heldTurn();
      const { served } = await live([[text('one')], turn, [text('three')]]);
      const first = here(served.url, one, { messages: [] });
      void first.now.sendMessage({ text: '1' });
      await first.texts('one');
      const second = here(served.url, other);
      await second.until(isThere);
      // A page that posts is active while no socket is.
      await first.until(({ active }) => active.isHere === (one === 'bidi' || other === 'sse'));
      expect(second.now.active.isHere).toBe(one === 'sse');
      void second.now.sendMessage({ text: '2' });
      await first.until((now) => story(now).flat().includes('Well, '));
      goOn();
      await second.texts('Well, yes.');
      await first.texts('Well, yes.');
      await first.until(({ active }) => active.isHere === (one === 'sse' && other === 'sse'));
      first.now.active.claim();
      await first.until(({ active }) => active.isHere);
      void first.now.sendMessage({ text: '3' });
      const whole = [
        ['user', '1'],
        ['assistant', 'one'],
        ['user', '2'],
        ['assistant', 'Well, yes.'],
        ['user', '3'],
        ['assistant', 'three'],
      ];
      expect(story(await first.texts('three'))).toEqual(whole);
      expect(story(await second.texts('three'))).toEqual(whole);
    });

    test('[B32] a picture is shown on the other page, from wherever that page is', async () => {
      const { served } = await live([[text('Hi.')], [text('Nice.')]]);
      const first = here(served.url, one, { messages: [] });
      void first.now.sendMessage({ text: 'hi' });
      await first.texts('Hi.');
      const second = here(served.url, other);
      await second.until(isThere);
      void first.now.sendMessage({ text: 'look', files: [PICTURE] });
      const { messages } = await second.texts('Nice.');
      const part = messages[2]?.parts.find(({ type }) => type === 'file') as { url: string } | undefined;
      const shown = await fetch(String(part?.url));
      expect([part?.url.startsWith(served.url), shown.headers.get('content-type')]).toEqual([
        true,
        'image/png',
      ]);
    });

    test('[B30] a card that is answered on one page closes on the other, which hears who decided', async () => {
      const log: string[] = [];
      const reported: Record<string, string[]> = { first: [], second: [] };
      const hears = (page: string) => (data: TransientData) => {
        if (data.type === 'data-decided') reported[page]?.push(data.data.by);
      };
      const { payment } = fourTools(log);
      const { served } = await live([[call('process_payment', PAY)], [text('Paid.')]], [payment]);
      const first = here(served.url, one, { messages: [], onData: hears('first') });
      void first.now.sendMessage({ text: 'pay' });
      await first.until(({ approvals, status }) => approvals.length > 0 && status === 'ready');
      const second = here(served.url, other, { onData: hears('second') });
      const asked = await second.until((now) => isThere(now) && now.approvals.length > 0);
      const { connection } = asked;
      void second.now.approve(firstApproval(asked));
      const whole = story(await second.texts('Paid.'));
      expect(story(await first.texts('Paid.'))).toEqual(whole);
      expect([log, first.now.approvals, second.now.approvals]).toEqual([['pay Alice 30'], [], []]);
      const by = other === 'bidi' && connection.status === 'live' ? connection.connectionId : 'live_user';
      expect(reported).toEqual({ first: [by], second: [] });
    });

    test('[S6] [T17] of two cards one is answered here and one there, and both count', async () => {
      const log: string[] = [];
      const { payment } = fourTools(log);
      const both = calls(
        { name: 'process_payment', args: PAY },
        { name: 'process_payment', args: { amount: 40, recipient: 'Bob' } },
      );
      const { served } = await live([[both], [text('Done.')]], [payment], { approvals: 'parallel' });
      const first = here(served.url, one, { messages: [] });
      void first.now.sendMessage({ text: 'pay both' });
      const asked = await first.until(
        ({ approvals, status }) => approvals.length === 2 && status === 'ready',
      );
      const second = here(served.url, other);
      const seen = await second.until((now) => isThere(now) && now.approvals.length === 2);
      void first.now.approve(firstApproval(asked));
      await second.until(({ approvals }) => approvals.length === 1);
      void second.now.deny(seen.approvals[1] as (typeof seen.approvals)[number]);
      const whole = story(await first.texts('Done.'));
      expect(story(await second.texts('Done.'))).toEqual(whole);
      expect(whole[1]).toEqual([
        'assistant',
        ['process_payment', 'output-available', PAID],
        ['process_payment', 'output-error', 'User denied the tool call'],
        'Done.',
      ]);
      expect(log).toEqual(['pay Alice 30']);
    });

    test('[B30a] [S21b] a browser tool runs on the page where it was approved, and only there', async () => {
      const { location } = fourTools();
      const { served } = await live([[call('get_location')], [text('Tokyo')]], [location]);
      const ran: string[] = [];
      const tools = (page: string) => ({
        get_location: () => {
          ran.push(page);
          return { latitude: 35 };
        },
      });
      const first = here(served.url, one, { messages: [], tools: tools('first') });
      void first.now.sendMessage({ text: 'where am I' });
      await first.until(({ approvals, status }) => approvals.length > 0 && status === 'ready');
      const second = here(served.url, other, { tools: tools('second') });
      const asked = await second.until((now) => isThere(now) && now.approvals.length > 0);
      void second.now.approve(firstApproval(asked));
      await second.texts('Tokyo');
      await first.texts('Tokyo');
      expect(ran).toEqual(['second']);
    });

    test('[B31] [S21b] a browser tool that asks nobody runs on the page that asked for it', async () => {
      const { music } = fourTools();
      const { served } = await live(
        [[text('Hi.')], [call('change_bgm', { track: 2 })], [text('On.')]],
        [music],
      );
      const ran: string[] = [];
      const tools = (page: string) => ({ change_bgm: () => void ran.push(page) });
      const first = here(served.url, one, { messages: [], tools: tools('first') });
      void first.now.sendMessage({ text: 'hi' });
      await first.texts('Hi.');
      const second = here(served.url, other, { tools: tools('second') });
      await second.until(isThere);
      void first.now.sendMessage({ text: 'music' });
      await first.texts('On.');
      await second.texts('On.');
      expect(ran).toEqual(['first']);
    });
  });

  test('[B31d] a browser tool that runs when the floor is taken runs on where it is, and nowhere else', async () => {
    const { music } = fourTools();
    const { served } = await live([[call('change_bgm', { track: 2 })], [text('On.')]], [music]);
    const ran: string[] = [];
    let end = () => {};
    const tools = (page: string) => ({
      change_bgm: () => {
        ran.push(page);
        return new Promise<string>((resolve) => {
          end = () => resolve(page);
        });
      },
    });
    const page = { url: served.url, mode: 'bidi' as const, sessionId: 'chat-floor' };
    const first = mount({ ...page, messages: [], tools: tools('first') });
    void first.now.sendMessage({ text: 'music' });
    await first.until(({ messages }) => JSON.stringify(messages).includes('input-available'));
    const second = mount({ ...page, tools: tools('second') });
    await second.until(
      ({ session, connection, active }) =>
        session.status === 'ready' && connection.status === 'live' && !active.isHere,
    );
    second.now.active.claim();
    await second.until(({ active }) => active.isHere);
    await first.until(({ active }) => !active.isHere);
    end();
    const whole = story(await first.texts('On.'));
    expect(whole[1]).toEqual(['assistant', ['change_bgm', 'output-available', 'first'], 'On.']);
    expect(story(await second.texts('On.'))).toEqual(whole);
    expect(ran).toEqual(['first']);
  });

  test('carries each of several decisions at once, in any order', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const both = calls(
      { name: 'process_payment', args: PAY },
      { name: 'process_payment', args: { amount: 40, recipient: 'Bob' } },
    );
    const { served } = await live([[both], [text('Done.')]], [payment], { approvals: 'parallel' });
    const page = mount({ url: served.url, mode: 'bidi' });
    void page.now.sendMessage({ text: 'pay both' });
    const asked = await page.until(({ approvals, status }) => approvals.length === 2 && status === 'ready');
    const [alice, bob] = asked.approvals;
    if (!alice || !bob) throw new Error('Both should ask.');
    void page.now.approve(bob);
    await page.until(({ messages }) => JSON.stringify(messages).includes('"recipient":"Bob","amount":40'));
    expect(log).toEqual(['pay Bob 40']);
    void page.now.deny(alice);
    const now = await page.texts('Done.');
    expect(story(now)[1]).toEqual([
      'assistant',
      ['process_payment', 'output-error', 'User denied the tool call'],
      ['process_payment', 'output-available', expect.objectContaining({ success: true, recipient: 'Bob' })],
      'Done.',
    ]);
    expect(log).toEqual(['pay Bob 40']);
  });

  test('that breaks off loses nothing and says nothing twice', async () => {
    const { turn, goOn } = heldTurn();
    const { served } = await live([turn, [text('Fine.')]]);
    const page = mount({ url: served.url, mode: 'bidi' });
    void page.now.sendMessage({ text: 'really?' });
    await page.until(({ messages }) =>
      story({ messages } as never)
        .flat()
        .includes('Well, '),
    );
    page.sockets[0]?.terminate();
    await page.until(({ connection }) => connection.status === 'reconnecting');
    goOn();
    const now = await page.texts('Well, yes.');
    expect(story(now)).toEqual([
      ['user', 'really?'],
      ['assistant', 'Well, yes.'],
    ]);
    expect([now.error, page.sockets.length]).toEqual([undefined, 2]);
  });

  test('to a server that starts again keeps what was typed meanwhile', async () => {
    const store = Object.assign(createMemoryStore(), { close: async () => {} });
    const options = { store, newId: () => crypto.randomUUID() };
    const before = harness([[text('one')]], [], options);
    const served = await serve(before.duologue, { port: 0 });
    const page = mount({ url: served.url, mode: 'bidi' });
    void page.now.sendMessage({ text: '1' });
    await page.texts('one');
    await served.close();
    await page.until(({ connection }) => connection.status !== 'live');
    void page.now.sendMessage({ text: '2' });
    const after = harness([[text('two')]], [], options);
    const again = await serve(after.duologue, { port: served.port });
    const now = await page.texts('two');
    await again.close();
    expect(story(now)).toEqual([
      ['user', '1'],
      ['assistant', 'one'],
      ['user', '2'],
      ['assistant', 'two'],
    ]);
  });
});

describe('what comes while no answer is read', () => {
  test('an approval that times out goes on in its message', async () => {
    const { payment } = fourTools();
    const { served } = await live([[call('process_payment', PAY)], [text('Too late.')]], [payment], {
      approvalTimeoutMs: 50,
    });
    const page = mount({ url: served.url, mode: 'bidi' });
    void page.now.sendMessage({ text: 'pay' });
    expect(story(await page.texts('Too late.'))).toEqual([
      ['user', 'pay'],
      ['assistant', ['process_payment', 'output-error', 'Approval request timed out'], 'Too late.'],
    ]);
  });

  test('a decision while the agent speaks of something else counts at once, in its own message', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const { turn, goOn } = heldTurn();
    const { served } = await live([[call('process_payment', PAY)], turn, [text('Paid.')]], [payment]);
    const page = mount({ url: served.url, mode: 'bidi' });
    void page.now.sendMessage({ text: 'pay' });
    const asked = await page.until(({ approvals, status }) => approvals.length > 0 && status === 'ready');
    void page.now.sendMessage({ text: 'really?' });
    await page.until(({ status, messages }) => status === 'streaming' && messages.length === 4);
    void page.now.approve(firstApproval(asked));
    await page.until(
      ({ messages }) =>
        story({ messages } as never)
          .flat(2)
          .includes(PAID) || log.length > 0,
    );
    goOn();
    const now = await page.until(
      ({ messages, status }) =>
        status === 'ready' && messages[1]?.parts.some((part) => part.type === 'text') === true,
    );
    expect(story(now)).toEqual([
      ['user', 'pay'],
      ['assistant', ['process_payment', 'output-available', PAID], 'Paid.'],
      ['user', 'really?'],
      ['assistant', 'Well, yes.'],
    ]);
    expect(log).toEqual(['pay Alice 30']);
  });
});
