import { FinishReason } from '@google/genai';
import { describe, expect, test, vi } from 'vitest';
import { fourTools } from '../../support/demo-tools.ts';
import { live } from '../../support/live.ts';
import { call, calls, partial, streamed, text } from '../../support/scripted-model.ts';
import { firstApproval, mount, story } from './page.tsx';

const PAY_ALICE = { name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };
const PAY_BOB = { name: 'process_payment', args: { amount: 40, recipient: 'Bob' } };
const PAID_ALICE = { success: true, recipient: 'Alice', amount: 30, wallet_balance: 970 };
const { MAX_TOKENS } = FinishReason;
const modes = ['sse', 'bidi'] as const;

/** The tests of the hook in both modes, for every version of the SDK. */
export function describeConversations(sdk: string): void {
  describe.each(modes)(`useDuologue on ${sdk}, over %s`, (mode) => {
    test('streams an answer, and a second one', async () => {
      const { served } = await live([streamed('Hel', 'lo'), [text('Again')]]);
      const page = mount({ url: served.url, mode, isStrict: true });
      void page.now.sendMessage({ text: 'hi' });
      await page.rest();
      void page.now.sendMessage({ text: 'more' });
      const now = await page.until(({ status, messages }) => status === 'ready' && messages.length === 4);
      expect(story(now)).toEqual([
        ['user', 'hi'],
        ['assistant', 'Hello'],
        ['user', 'more'],
        ['assistant', 'Again'],
      ]);
      expect([page.sockets.length, page.posts.length]).toEqual(mode === 'bidi' ? [1, 0] : [0, 2]);
    });

    test.each(['its length', 'an error'])(
      '[S29] [S31] continues an answer that was cut by %s',
      async (why) => {
        const end = why === 'an error' ? new Error('gone') : { ...text('Hel'), finishReason: MAX_TOKENS };
        const { location } = fourTools();
        const script = [[partial('Hel'), end], [partial('lo '), call('get_location')], [text('Tokyo')]];
        const { served } = await live(script, [location]);
        const tools = { get_location: () => ({ latitude: 35 }) };
        const page = mount({ url: served.url, mode, tools });
        const other = mount({ url: served.url, mode, sessionId: page.now.session.id });
        void page.now.sendMessage({ text: 'hi' });
        const cut = why === 'an error' ? 'error' : 'ready';
        await page.until(({ status, messages }) => status === cut && messages.length === 2);
        expect(story(page.now)[1]).toEqual(['assistant', 'Hel']);
        void page.now.continueAnswer();
        void page.now.approve(firstApproval(await page.asked()));
        for (const one of [page, other]) {
          const now = await one.until(
            ({ status, messages }) =>
              status === 'ready' && JSON.stringify(messages).includes('Tokyo') && messages.length === 2,
          );
          expect(story(now)[1]).toEqual([
            'assistant',
            'Hello ',
            ['get_location', 'output-available', { latitude: 35 }],
            'Tokyo',
          ]);
          expect(now.error).toBeUndefined();
          const { finishReason = 'stop', failed = false } = now.messages[1]?.metadata ?? {};
          expect([finishReason, failed]).toEqual(['stop', false]);
        }
        // The answer is complete now: the server replies that there is nothing to continue.
        void page.now.continueAnswer();
        const { error } = await page.until(({ status }) => status === 'error');
        expect(error).toMatchObject({ code: 'nothing_to_continue' });
      },
    );

    test('[S31] [R7] continues an answer behind the words that the server has, where it lost some', async () => {
      const script = [[{ ...text('Hel'), finishReason: MAX_TOKENS }], [text('lo')]];
      const { served } = await live(script);
      const first = mount({ url: served.url, mode });
      void first.now.sendMessage({ text: 'hi' });
      const { messages: cut } = await first.texts('Hel');
      const messages = cut.map((message) =>
        message.role === 'user'
          ? message
          : { ...message, parts: [{ type: 'text' as const, text: 'Hello' }], metadata: { cutOff: true } },
      );
      const sessionId = first.now.session.id;
      first.unmount();
      const page = mount({ url: served.url, mode, sessionId, messages });
      await page.rest();
      void page.now.continueAnswer();
      const now = await page.until(
        ({ status, messages: [, answer] }) => status === 'ready' && answer?.parts.length === 2,
      );
      expect(story(now)[1]).toEqual(['assistant', 'Hello']);
    });

    test('pays what is approved and not what is denied, with the reason', async () => {
      const log: string[] = [];
      const { payment } = fourTools(log);
      const { served } = await live([[calls(PAY_ALICE, PAY_BOB)], [text('Alice paid.')]], [payment]);
      const page = mount({ url: served.url, mode });
      void page.now.sendMessage({ text: 'pay both' });
      const asked = await page.asked();
      expect(firstApproval(asked)).toMatchObject({ toolName: 'process_payment', input: PAY_ALICE.args });
      void page.now.approve(firstApproval(asked));
      const next = await page.until(
        ({ approvals }) =>
          JSON.stringify(approvals).includes('Bob') && !JSON.stringify(approvals).includes('Alice'),
      );
      void page.now.deny(firstApproval(next), 'too much');
      const now = await page.until(
        ({ messages, status }) =>
          status === 'ready' &&
          story({ messages } as typeof next)
            .flat(2)
            .includes('Alice paid.'),
      );
      expect(story(now)).toEqual([
        ['user', 'pay both'],
        [
          'assistant',
          ['process_payment', 'output-available', PAID_ALICE],
          ['process_payment', 'output-error', 'User denied the tool call: too much'],
          'Alice paid.',
        ],
      ]);
      expect(log).toEqual(['pay Alice 30']);
      expect(now.approvals).toEqual([]);
      expect(page.sockets.length).toBe(mode === 'bidi' ? 1 : 0);
    });

    test('runs a browser tool once, after the approval, with the newest executor, and answers with its output', async () => {
      const { location } = fourTools();
      const { served } = await live([[call('get_location')], [text('Tokyo')]], [location]);
      const old = vi.fn(() => ({ latitude: 0 }));
      const newest = vi.fn(() => ({ latitude: 35 }));
      const page = mount({ url: served.url, mode, isStrict: true, tools: { get_location: old } });
      page.update({ tools: { get_location: newest } });
      void page.now.sendMessage({ text: 'where am I' });
      const asked = await page.asked();
      expect(newest).not.toHaveBeenCalled();
      void page.now.approve(firstApproval(asked));
      const now = await page.until(
        ({ status, messages }) =>
          status === 'ready' &&
          story({ messages } as typeof asked)
            .flat(2)
            .includes('Tokyo'),
      );
      expect(story(now)[1]).toEqual([
        'assistant',
        ['get_location', 'output-available', { latitude: 35 }],
        'Tokyo',
      ]);
      expect([old.mock.calls.length, newest.mock.calls.length]).toEqual([0, 1]);
    });

    test('runs no browser tool that was denied', async () => {
      const { location } = fourTools();
      const { served } = await live([[call('get_location')], [text('Then not.')]], [location]);
      const get_location = vi.fn(() => ({}));
      const page = mount({ url: served.url, mode, tools: { get_location } });
      void page.now.sendMessage({ text: 'where am I' });
      const asked = await page.asked();
      void page.now.deny(firstApproval(asked));
      const now = await page.until(
        ({ status, messages }) =>
          status === 'ready' &&
          story({ messages } as typeof asked)
            .flat(2)
            .includes('Then not.'),
      );
      expect(story(now)[1]).toEqual([
        'assistant',
        ['get_location', 'output-error', 'User denied the tool call'],
        'Then not.',
      ]);
      expect(get_location).not.toHaveBeenCalled();
    });

    test('two calls of one browser tool are two calls, and one that throws is an error with its message', async () => {
      const { music } = fourTools();
      const both = calls(
        { name: 'change_bgm', args: { track: 1 } },
        { name: 'change_bgm', args: { track: 9 } },
      );
      const { served } = await live([[both], [text('Half done.')]], [music]);
      const change_bgm = ({ track }: { track: number }) => {
        if (track > 2) throw new Error('There is no track 9.');
        return { track };
      };
      const page = mount({ url: served.url, mode, tools: { change_bgm } });
      void page.now.sendMessage({ text: 'music' });
      const now = await page.until(
        ({ status, messages }) => status === 'ready' && messages.at(-1)?.parts.at(-1)?.type === 'text',
      );
      expect(story(now)[1]).toEqual([
        'assistant',
        ['change_bgm', 'output-available', { track: 1 }],
        ['change_bgm', 'output-error', 'There is no track 9.'],
        'Half done.',
      ]);
    });

    test('a tool with an optimistic output is carried out once, and over SSE nothing more is posted', async () => {
      const { optimisticMusic } = fourTools();
      const { served } = await live(
        [[call('change_bgm', { track: 2 })], [text('Music.')]],
        [optimisticMusic],
      );
      const change_bgm = vi.fn(({ track }: { track: number }) => ({ success: true, track, isReal: true }));
      const page = mount({ url: served.url, mode, isStrict: true, tools: { change_bgm } });
      void page.now.sendMessage({ text: 'music' });
      const output = { success: true, track: 2, ...(mode === 'bidi' ? { isReal: true } : {}) };
      expect(story(await page.texts('Music.'))[1]).toEqual([
        'assistant',
        ['change_bgm', 'output-available', output],
        'Music.',
      ]);
      expect(change_bgm).toHaveBeenCalledTimes(1);
      expect(page.posts.length).toBe(mode === 'bidi' ? 0 : 1);
    });

    test('a page that is loaded again has the history and the open card, and the answer counts once', async () => {
      const log: string[] = [];
      const { payment } = fourTools(log);
      const { served } = await live([[call('process_payment', PAY_ALICE.args)], [text('Paid.')]], [payment]);
      const before = mount({ url: served.url, mode, sessionId: 'chat-1', messages: [] });
      void before.now.sendMessage({ text: 'pay' });
      await before.until(({ approvals, status }) => approvals.length > 0 && status === 'ready');
      before.unmount();

      const page = mount({ url: served.url, mode, sessionId: 'chat-1', isStrict: true });
      expect(page.now.session.status).toBe('loading');
      const asked = await page.until(
        ({ approvals, session }) => approvals.length > 0 && session.status === 'ready',
      );
      void page.now.approve(firstApproval(asked));
      const now = await page.until(
        ({ status, messages }) =>
          status === 'ready' &&
          story({ messages } as typeof asked)
            .flat(2)
            .includes('Paid.'),
      );
      expect(story(now)).toEqual([
        ['user', 'pay'],
        ['assistant', ['process_payment', 'output-available', PAID_ALICE], 'Paid.'],
      ]);
      expect(log).toEqual(['pay Alice 30']);
      // One connection, and perhaps one more to load everything again.
      expect(page.sockets.length).toBeLessThanOrEqual(mode === 'bidi' ? 2 : 0);
    });

    test('the question may be a call of its own, whose output is the decision', async () => {
      const log: string[] = [];
      const { payment } = fourTools(log);
      const { served } = await live([[call('process_payment', PAY_ALICE.args)], [text('Paid.')]], [payment], {
        confirmations: 'tool',
      });
      const page = mount({ url: served.url, mode });
      void page.now.sendMessage({ text: 'pay' });
      const asked = await page.asked();
      expect(firstApproval(asked)).toMatchObject({
        toolName: 'process_payment',
        input: PAY_ALICE.args,
        isConfirmation: true,
      });
      void page.now.approve(firstApproval(asked));
      const now = await page.until(
        ({ status, messages }) =>
          status === 'ready' &&
          story({ messages } as typeof asked)
            .flat(2)
            .includes('Paid.'),
      );
      expect(story(now)[1]).toEqual([
        'assistant',
        ['adk_request_confirmation', 'output-available', { confirmed: true }],
        ['process_payment', 'output-available', PAID_ALICE],
        'Paid.',
      ]);
      expect(log).toEqual(['pay Alice 30']);
    });

    test('an interrupted answer keeps what was said, and says that it was stopped', async () => {
      const { served } = await live([
        async function* (_request, _stream, signal) {
          yield partial('One, ');
          yield partial('two');
          await new Promise((resolve) => signal?.addEventListener('abort', resolve));
        },
      ]);
      const page = mount({ url: served.url, mode });
      void page.now.sendMessage({ text: 'count' });
      await page.until(({ messages }) =>
        story({ messages } as never)
          .flat()
          .includes('One, two'),
      );
      page.now.interrupt();
      const now = await page.rest();
      expect(story(now)[1]).toEqual(['assistant', 'One, two']);
      expect(now.messages[1]?.metadata?.interrupted).toBe(true);
    });

    test('tells the tokens of the whole conversation', async () => {
      const usage = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
      const counted = { ...text('Yes'), usageMetadata: usage };
      const { served } = await live([[counted], [counted]]);
      const page = mount({ url: served.url, mode });
      void page.now.sendMessage({ text: 'one' });
      await page.rest();
      void page.now.sendMessage({ text: 'two' });
      const now = await page.until(({ status, messages }) => status === 'ready' && messages.length === 4);
      expect(now.usage).toMatchObject({ input: 20, output: 10, total: 30 });
    });

    test('a page of a session that never was is empty', async () => {
      const { served } = await live([[text('Hello')]]);
      const page = mount({ url: served.url, mode, sessionId: 'nobody' });
      const now = await page.until(({ session }) => session.status === 'ready');
      expect(now.messages).toEqual([]);
    });

    test('a server that cannot be reached is told, and can be tried again', async () => {
      const { served } = await live([]);
      await served.close();
      const page = mount({ url: served.url, mode, sessionId: 'chat-1' });
      const now = await page.until(({ session }) => session.status === 'failed');
      expect(now.session).toMatchObject({ status: 'failed', error: expect.any(TypeError) });
    });
  });
}
