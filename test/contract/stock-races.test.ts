import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BaseTool } from '@google/adk';
import { afterAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Message } from '../../src/protocol/index.ts';
import { serve } from '../../src/server/adapters/node.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { brief, chatOf, type TestChat } from '../client/support/chat.ts';
import { latch } from '../server/support/listen.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness } from '../support/harness.ts';
import { calls, partial, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { hasStockSocket, newestSdk } from '../support/sdks.ts';
import { settled } from '../support/settled.ts';
import { closing, until } from './support/play.ts';
import { failOnUnhandled } from './support/unhandled.ts';
import { type WayContext, type WayName, ways } from './support/ways.ts';

failOnUnhandled();

const PAY = { id: 'call-a', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };
const PAID = { success: true, recipient: 'Alice', amount: 30, wallet_balance: 970 };

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function storeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'duologue-'));
  folders.push(folder);
  return folder;
}

/** A page of the stock client. After a network error it does what docs/clients.md says. */
function openPage(url: string, messages: Message[], given: Partial<WayContext>, name: WayName) {
  const way = closing(ways[name]({ sdk: newestSdk, url, executors: {}, ...given } as WayContext));
  const page = { recoveries: 0 };
  const chat: TestChat = chatOf(newestSdk, {
    transport: way.transport,
    sendAutomaticallyWhen: way.sendAutomaticallyWhen,
    messages,
    generateId: () => randomUUID(),
    onError: (error) => {
      if (!(error instanceof TypeError)) return;
      // The chat changes its status after this call.
      setImmediate(() => void way.recover?.(chat).then(() => page.recoveries++));
    },
  });
  const last = () => brief(chat.messages.at(-1));
  return Object.assign(page, {
    chat,
    last,
    rests: (...answer: unknown[]) =>
      until(
        () => chat.status === 'ready' && JSON.stringify(last()) === JSON.stringify(answer),
        () => [chat.status, chat.error?.message, chat.messages.map(brief), answer],
      ),
    asks: () =>
      until(
        () => chat.status === 'ready' && approvalOf(chat) !== '',
        () => [chat.status, chat.error?.message, last()],
      ),
  });
}

async function world(
  turns: ScriptedTurn[],
  tools: BaseTool[],
  options: Partial<DuologueOptions> = {},
  port = 0,
) {
  const made = harness(turns, tools, { newId: randomUUID, ...options });
  const served = closing(await serve(made.duologue, { port }));
  return {
    ...made,
    served,
    page: (messages: Message[] = [], given: Partial<WayContext> = {}, name: WayName = 'stock WebSocket') =>
      openPage(served.url, messages, { duologue: made.duologue, ...given }, name),
    async stored(): Promise<Message[]> {
      const body = (await (await made.get('/sessions/chat-1')).json()) as { messages: Message[] };
      return body.messages;
    },
  };
}

const approvalOf = (chat: TestChat): string => {
  const part = chat.messages.at(-1)?.parts.find((one) => 'approval' in one && one.approval !== undefined);
  return part && 'approval' in part ? (part.approval?.id ?? '') : '';
};

if (!hasStockSocket(newestSdk))
  it('[W1] only ai 7 has a WebSocket transport of its own', () => {
    expect(newestSdk).not.toHaveProperty('WebSocketChatTransport');
  });

/** What `races.test.ts` asks of our own transports, asked of the stock WebSocket of `ai` 7. */
describe.each(hasStockSocket(newestSdk) ? ['7'] : [])('with the stock WebSocket of ai %s', () => {
  it('[T16] a request that was not answered in time changes nothing when it is answered, and the agent continues', async () => {
    const log: string[] = [];
    const clock = new ManualClock();
    const options = { clock, approvalTimeoutMs: 30_000 };
    const w = await world([[calls(PAY)], [text('Too late.')]], [fourTools(log).payment], options);
    const page = w.page();
    void page.chat.sendMessage({ text: 'pay' });
    await page.asks();
    clock.advance(30_000);
    await settled();
    const pump = setInterval(() => clock.advance(20), 1);
    await page.chat.addToolApprovalResponse({ id: approvalOf(page.chat), approved: true });
    await page.rests(['call-a', 'output-error', true, 'Approval request timed out'], 'Too late.');
    clearInterval(pump);
    expect(log).toEqual([]);
    expect((await w.stored()).map(brief).at(-1)).toEqual([
      ['call-a', 'output-error', 'Approval request timed out'],
      'Too late.',
    ]);
  });

  it('[T9] [T12] the same answer twice runs the tool once', async () => {
    const log: string[] = [];
    const w = await world([[calls(PAY)], [text('Paid.')]], [fourTools(log).payment]);
    const { chat, asks, rests } = w.page();
    void chat.sendMessage({ text: 'pay' });
    await asks();
    const id = approvalOf(chat);
    const first = chat.addToolApprovalResponse({ id, approved: true });
    await chat.addToolApprovalResponse({ id, approved: true });
    await first;
    await rests(['call-a', 'output-available', true, PAID], 'Paid.');
    expect(log).toEqual(['pay Alice 30']);
  });

  it('[T9] of two tabs with the same open request both may answer, and the tool runs once', async () => {
    const log: string[] = [];
    const w = await world([[calls(PAY)], [text('Paid.')]], [fourTools(log).payment]);
    const first = w.page();
    void first.chat.sendMessage({ text: 'pay' });
    await first.asks();
    const second = w.page(await w.stored());
    await second.chat.addToolApprovalResponse({ id: approvalOf(second.chat), approved: true });
    await second.rests(['call-a', 'output-available', true, PAID], 'Paid.');
    await first.chat.addToolApprovalResponse({ id: approvalOf(first.chat), approved: true });
    await until(
      () => first.chat.status === 'error',
      () => first.chat.status,
    );
    expect(first.chat.error).toMatchObject({ message: expect.stringContaining('open') });
    expect(log).toEqual(['pay Alice 30']);
    // The answer went to the second tab; the first shows it after a reload.
    expect((await w.stored()).map(brief)).toEqual(second.chat.messages.map(brief));
  });

  it('[W6] a second tab that comes in mid-turn shows the message from its beginning, and the first keeps it', async () => {
    const { open, opened } = latch();
    const slow: ScriptedTurn = async function* () {
      yield partial('Once ');
      yield partial('upon ');
      await opened;
      yield partial('a time.');
      yield text('Once upon a time.');
    };
    const w = await world([slow], []);
    const first = w.page();
    void first.chat.sendMessage({ text: 'story' });
    await until(
      () => JSON.stringify(first.last()).includes('upon'),
      () => first.last(),
    );
    const second = w.page((await w.stored()).slice(0, 1));
    void second.chat.resumeStream();
    await until(
      () => JSON.stringify(second.last()).includes('upon'),
      () => second.last(),
    );
    open();
    await Promise.all([second.rests('Once upon a time.'), first.rests('Once upon a time.')]);
    expect([first.chat.messages.length, second.chat.messages.length]).toEqual([2, 2]);
  });

  it('[T18] a message typed while a request is open is answered, and the tool never runs', async () => {
    const log: string[] = [];
    const w = await world([[calls(PAY)], [text('Sunny.')]], [fourTools(log).payment]);
    const { chat, asks, rests } = w.page();
    void chat.sendMessage({ text: 'pay' });
    await asks();
    void chat.sendMessage({ text: 'weather?' });
    await rests('Sunny.');
    await settled();
    expect(log).toEqual([]);
    expect((await w.stored()).map(brief).slice(2)).toEqual([['weather?'], ['Sunny.']]);
  });

  it('[S11a] regenerating and editing take back what came from there on, once', async () => {
    const w = await world([[text('One.')], [text('Two.')], [text('Three.')], [text('Four.')]], []);
    const { chat, rests } = w.page();
    void chat.sendMessage({ text: 'a' });
    await rests('One.');
    void chat.sendMessage({ text: 'b' });
    await rests('Two.');
    void chat.regenerate();
    await rests('Three.');
    expect((await w.stored()).map(brief)).toEqual([['a'], ['One.'], ['b'], ['Three.']]);
    void chat.sendMessage({ text: 'a, edited', messageId: chat.messages[0]?.id ?? '' });
    await rests('Four.');
    expect((await w.stored()).map(brief)).toEqual([['a, edited'], ['Four.']]);
    expect(chat.messages.map(brief)).toEqual([['a, edited'], ['Four.']]);
  });

  it('[W6] a regeneration whose socket breaks once the server has it happens once', async () => {
    const w = await world([[text('One.')], [text('Two.')]], []);
    let drops = 0;
    class Dropping extends WebSocket {
      override send(data: string, ...rest: never[]): void {
        super.send(data, ...rest);
        if (!data.includes('regenerate-message') || drops++ > 0) return;
        // The frame arrives, and the page gets nothing of the answer.
        this.onmessage = null;
        const hasArrived = () => w.model.requests.length === 2;
        void until(hasArrived, () => w.model.requests).then(() => this.terminate());
      }
    }
    const page = w.page([], { WebSocket: Dropping as never });
    void page.chat.sendMessage({ text: 'a' });
    await page.rests('One.');
    void page.chat.regenerate();
    await until(
      () => page.recoveries === 1,
      () => [page.chat.status, page.chat.messages.map(brief)],
    );
    await page.rests('Two.');
    expect([w.model.left, w.model.requests.length]).toEqual([0, 2]);
    expect((await w.stored()).map(brief)).toEqual([['a'], ['Two.']]);
  });

  it('[S13] one conversation goes from SSE to the socket and back with a request open in between', async () => {
    const log: string[] = [];
    const w = await world(
      [[text('Hello.')], [calls(PAY)], [text('Paid.')], [text('Bye.')]],
      [fourTools(log).payment],
    );
    const byPost = w.page([], {}, 'SSE, stock');
    await byPost.chat.sendMessage({ text: 'hi' });
    await byPost.chat.sendMessage({ text: 'pay' });
    expect(byPost.last()).toEqual([['call-a', 'approval-requested']]);
    const live = w.page(byPost.chat.messages);
    await live.chat.addToolApprovalResponse({ id: approvalOf(live.chat), approved: true });
    await live.rests(['call-a', 'output-available', true, PAID], 'Paid.');
    const again = w.page(live.chat.messages, {}, 'SSE, stock');
    await again.chat.sendMessage({ text: 'bye' });
    expect(again.chat.messages.map(brief)).toEqual([
      ['hi'],
      ['Hello.'],
      ['pay'],
      [['call-a', 'output-available', true, PAID], 'Paid.'],
      ['bye'],
      ['Bye.'],
    ]);
    expect((await w.stored()).map(brief)).toEqual(again.chat.messages.map(brief));
    expect(log).toEqual(['pay Alice 30']);
  });

  it('[R7] after a restart of the server the page finishes the approval', async () => {
    const folder = await storeFolder();
    const log: string[] = [];
    const { payment } = fourTools(log);
    const before = await world([[calls(PAY)]], [payment], { store: await openSqliteStore(folder) });
    const { chat, asks, rests } = before.page();
    void chat.sendMessage({ text: 'pay' });
    await asks();
    const { port } = before.served;
    await before.served.close();
    const store = await openSqliteStore(folder);
    const after = await world([[text('Paid.')]], [payment], { store }, port);
    await chat.addToolApprovalResponse({ id: approvalOf(chat), approved: true });
    await rests(['call-a', 'output-available', true, PAID], 'Paid.');
    expect(log).toEqual(['pay Alice 30']);
    expect((await after.stored()).map(brief)).toEqual(chat.messages.map(brief));
  });

  it('[W6] a page that resumes after each restart of the server shows every part of the answer once', async () => {
    const folder = await storeFolder();
    const { payment } = fourTools();
    const start = async (...turns: ScriptedTurn[]) =>
      world(turns, [payment], { store: await openSqliteStore(folder) });
    const first = await start([calls(PAY)]);
    const page = first.page();
    void page.chat.sendMessage({ text: 'pay' });
    await page.asks();
    await first.served.close();
    const second = await start([text('Paid.')]);
    const again = second.page(await second.stored());
    await again.chat.resumeStream();
    expect(again.chat.messages.map(brief)).toEqual([['pay'], [['call-a', 'approval-requested']]]);
    await again.chat.addToolApprovalResponse({ id: approvalOf(again.chat), approved: true });
    await again.rests(['call-a', 'output-available', true, PAID], 'Paid.');
    await second.served.close();
    // Only the process that has ended knew that a page has the answer, so the next one sends it again.
    const third = await start();
    const last = third.page(await third.stored());
    await last.chat.resumeStream();
    expect(last.chat.messages.map(brief)).toEqual(again.chat.messages.map(brief));
  });
});
