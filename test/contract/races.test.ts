import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BaseTool } from '@google/adk';
import { afterAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import {
  DuologueSseTransport,
  DuologueTransport,
  type DuologueTransportOptions,
  resumeWhen,
} from '../../src/client/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { type Served, serve } from '../../src/server/adapters/node.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { openSqliteStore } from '../../src/server/sqlite/index.ts';
import { brief, chatOf, type TestChat } from '../client/support/chat.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { type Harness, harness } from '../support/harness.ts';
import { calls, partial, type ScriptedTurn, streamed, text } from '../support/scripted-model.ts';
import { newestSdk, newestSdks, type Sdk } from '../support/sdks.ts';
import { settled } from '../support/settled.ts';
import { closing, until } from './support/play.ts';
import { failOnUnhandled } from './support/unhandled.ts';
import { impatient } from './support/ways.ts';

failOnUnhandled();

const PAY = { id: 'call-a', name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };
const PAID = { success: true, recipient: 'Alice', amount: 30, wallet_balance: 970 };
const OSLO = { id: 'call-w', name: 'slow_weather', args: {} };

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

function latch() {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), passed };
}

interface Page {
  chat: TestChat;
  transport: DuologueTransport<Message>;
  pending: string[];
  resets: number;
  /** The last message in short. */
  last: () => unknown[];
  rests: (...answer: unknown[]) => Promise<void>;
}

interface World extends Harness {
  served: Served;
  url: string;
  page: (options?: Partial<DuologueTransportOptions>, messages?: Message[]) => Page;
  stored: () => Promise<Message[]>;
}

async function world(
  turns: ScriptedTurn[],
  tools: BaseTool[],
  options: Partial<DuologueOptions> = {},
  port = 0,
): Promise<World> {
  const made = harness(turns, tools, { newId: randomUUID, ...options });
  const served = closing(await serve(made.duologue, { port }));
  const { url } = served;
  return {
    ...made,
    served,
    url,
    page: (extra = {}, messages = []) => page(url, extra, messages),
    async stored() {
      const body = (await (await made.get('/sessions/chat-1')).json()) as { messages: Message[] };
      return body.messages;
    },
  };
}

let sdk: Sdk = newestSdk;

function page(url: string, options: Partial<DuologueTransportOptions>, messages: Message[]): Page {
  const opened: Page = {} as Page;
  opened.pending = [];
  opened.resets = 0;
  opened.transport = closing(
    new DuologueTransport<Message>({
      url,
      WebSocket: WebSocket as never,
      timers: impatient,
      onPending: ({ messageId, isNew }) => {
        opened.pending.push(messageId);
        // The one documented line for plain chats.
        void (isNew ? opened.chat.resumeStream() : opened.chat.sendMessage());
      },
      onReset: (all) => {
        opened.resets++;
        opened.chat.messages = all;
      },
      ...options,
    }),
  );
  opened.chat = chatOf(sdk, {
    transport: opened.transport,
    sendAutomaticallyWhen: resumeWhen(opened.transport) as never,
    messages,
    onError: () => undefined,
  });
  opened.last = () => brief(opened.chat.messages.at(-1));
  opened.rests = (...answer) =>
    until(
      () => opened.chat.status === 'ready' && JSON.stringify(opened.last()) === JSON.stringify(answer),
      () => [opened.chat.status, opened.chat.error?.message, opened.chat.messages.map(brief), answer],
    );
  return opened;
}

const approvalOf = (chat: TestChat): string => {
  const part = chat.messages.at(-1)?.parts.find((one) => 'approval' in one && one.approval !== undefined);
  return part && 'approval' in part ? (part.approval?.id ?? '') : '';
};

const slowWeather = (gate: Promise<void>) =>
  defineTool({
    name: 'slow_weather',
    description: 'Slow',
    parameters: z.object({}),
    execute: async () => {
      await gate;
      return { sunny: true };
    },
  });

describe.each(newestSdks)('with the chat of ai %s', (_version, given) => {
  it.each(['the chat', 'a direct frame'])(
    '[B15] an answer given while the response is still read counts, given by %s',
    async (how) => {
      sdk = given;
      const log: string[] = [];
      const { open, passed } = latch();
      const w = await world(
        [[calls(OSLO, PAY)], streamed('All ', 'done.')],
        [fourTools(log).payment, slowWeather(passed)],
      );
      const { chat, transport, rests, last } = w.page();
      void chat.sendMessage({ text: 'go' });
      await until(
        () => JSON.stringify(last()).includes('approval-requested'),
        () => [chat.status, last()],
      );
      expect(chat.status).toBe('streaming');
      if (how === 'the chat') await chat.addToolApprovalResponse({ id: approvalOf(chat), approved: true });
      else transport.sendDecision('call-a', true);
      await settled();
      open();
      const decided = how === 'the chat' ? [true] : [];
      await rests(
        ['call-w', 'output-available', { sunny: true }],
        ['call-a', 'output-available', ...decided, PAID],
        'All done.',
      );
      expect(log).toEqual(['pay Alice 30']);
      expect((await w.stored()).map(brief).at(-1)).toEqual([
        ['call-w', 'output-available', { sunny: true }],
        ['call-a', 'output-available', true, PAID],
        'All done.',
      ]);
    },
  );

  it.each(['the chat', 'a direct frame'])(
    '[T16] process_payment-timeout: the card ends, the agent goes on, and a late answer by %s changes nothing',
    async (how) => {
      sdk = given;
      const log: string[] = [];
      const clock = new ManualClock();
      const w = await world([[calls(PAY)], [text('Too late.')]], [fourTools(log).payment], { clock });
      const { chat, transport, rests, last, pending } = w.page();
      void chat.sendMessage({ text: 'pay' });
      await until(
        () => chat.status === 'ready' && JSON.stringify(last()).includes('approval-requested'),
        () => [chat.status, last()],
      );
      const id = approvalOf(chat);
      clock.advance(30_000);
      const pump = setInterval(() => clock.advance(20), 1);
      await rests(['call-a', 'output-error', 'Approval request timed out'], 'Too late.');
      clearInterval(pump);
      expect(pending.length).toBeGreaterThan(0);
      if (how === 'the chat') await chat.addToolApprovalResponse({ id, approved: true });
      else transport.sendDecision('call-a', true);
      await settled();
      expect(log).toEqual([]);
      expect((await w.stored()).map(brief)).toEqual([
        ['pay'],
        [['call-a', 'output-error', 'Approval request timed out'], 'Too late.'],
      ]);
      expect(w.model.left).toBe(0);
    },
  );

  it('[T9] [T12] the same answer twice, in both ways and both tongues, runs the tool once', async () => {
    sdk = given;
    const log: string[] = [];
    const w = await world([[calls(PAY)], [text('Paid.')]], [fourTools(log).payment]);
    const { chat, transport, rests, last } = w.page();
    void chat.sendMessage({ text: 'pay' });
    await until(
      () => chat.status === 'ready' && JSON.stringify(last()).includes('approval-requested'),
      () => [chat.status, last()],
    );
    const id = approvalOf(chat);
    const first = chat.addToolApprovalResponse({ id, approved: true });
    transport.sendDecision('call-a', true);
    transport.sendDecision('call-a', false);
    await first;
    await chat.addToolApprovalResponse({ id, approved: true });
    await rests(['call-a', 'output-available', true, PAID], 'Paid.');
    expect(log).toEqual(['pay Alice 30']);
  });

  it('[B17] [T9] a second tab takes the conversation over with its open card; the first cannot answer any more', async () => {
    sdk = given;
    const log: string[] = [];
    const w = await world([[calls(PAY)], [text('Paid.')]], [fourTools(log).payment]);
    const first = w.page();
    void first.chat.sendMessage({ text: 'pay' });
    await until(
      () => first.chat.status === 'ready' && approvalOf(first.chat) !== '',
      () => first.last(),
    );
    const second = w.page({}, await w.stored());
    second.transport.connect('chat-1');
    await until(
      () => first.transport.connection.state.status === 'taken-over',
      () => first.transport.connection.state,
    );
    await first.chat.addToolApprovalResponse({ id: approvalOf(first.chat), approved: true });
    await settled();
    expect(log).toEqual([]);
    expect(first.chat.error).toMatchObject({ code: 'taken_over' });
    await second.chat.addToolApprovalResponse({ id: approvalOf(second.chat), approved: true });
    await second.rests(['call-a', 'output-available', true, PAID], 'Paid.');
    expect(log).toEqual(['pay Alice 30']);
    expect(first.transport.connection.state.status).toBe('taken-over');
  });

  it('[B17] [R3] a second tab that comes in mid-turn shows the message from its beginning', async () => {
    sdk = given;
    const { open, passed } = latch();
    const slow: ScriptedTurn = async function* () {
      yield partial('Once ');
      yield partial('upon ');
      await passed;
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
    const second = w.page({}, (await w.stored()).slice(0, 1));
    void second.chat.resumeStream();
    await until(
      () => first.transport.connection.state.status === 'taken-over',
      () => first.transport.connection.state,
    );
    open();
    await second.rests('Once upon a time.');
    expect(second.chat.messages).toHaveLength(2);
  });

  it('[B14] [T18b] a message typed while a card is open is answered, and the card’s result lands in its own message', async () => {
    sdk = given;
    const log: string[] = [];
    const w = await world(
      [[calls(PAY)], [text('Sunny.')], [text('Alice has it.')]],
      [fourTools(log).payment],
    );
    const { chat, transport, rests, last } = w.page();
    void chat.sendMessage({ text: 'pay' });
    await until(
      () => chat.status === 'ready' && JSON.stringify(last()).includes('approval-requested'),
      () => last(),
    );
    void chat.sendMessage({ text: 'weather?' });
    await rests('Sunny.');
    expect(chat.messages.map(brief)).toEqual([
      ['pay'],
      [['call-a', 'approval-requested']],
      ['weather?'],
      ['Sunny.'],
    ]);
    transport.sendDecision('call-a', true);
    await until(
      () => w.model.left === 0,
      () => w.model.left,
    );
    await settled();
    expect(log).toEqual(['pay Alice 30']);
    expect((await w.stored()).map(brief)).toEqual([
      ['pay'],
      [['call-a', 'output-available', true, PAID], 'Alice has it.'],
      ['weather?'],
      ['Sunny.'],
    ]);
  });

  it('[S11a] [B2b] regenerating and editing over the socket take back what came from there on, once', async () => {
    sdk = given;
    const w = await world([[text('One.')], [text('Two.')], [text('Three.')], [text('Four.')]], []);
    const { chat, rests } = w.page();
    void chat.sendMessage({ text: 'a' });
    await rests('One.');
    void chat.sendMessage({ text: 'b' });
    await rests('Two.');
    void chat.regenerate();
    await rests('Three.');
    expect((await w.stored()).map(brief)).toEqual([['a'], ['One.'], ['b'], ['Three.']]);
    const edited = chat.messages[0]?.id ?? '';
    void chat.sendMessage({ text: 'a, edited', messageId: edited });
    await rests('Four.');
    expect((await w.stored()).map(brief)).toEqual([['a, edited'], ['Four.']]);
    expect(chat.messages.map(brief)).toEqual([['a, edited'], ['Four.']]);
    expect(w.model.lastContents.map(({ role, parts }) => [role, parts?.[0]?.text])).toEqual([
      ['user', 'a, edited'],
    ]);
  });

  it('[B2] a regeneration whose frame is sent again after a drop happens once', async () => {
    sdk = given;
    const w = await world([[text('One.')], [text('Two.')]], []);
    let drops = 0;
    class Dropping extends WebSocket {
      override send(data: string, ...rest: never[]): void {
        super.send(data, ...rest);
        if (!data.includes('regenerate-message') || drops++ > 0) return;
        // It arrives, and the page does not hear of it.
        this.onmessage = null;
        const hasArrived = () => w.model.requests.length === 2;
        void until(hasArrived, () => w.model.requests).then(() => this.terminate());
      }
    }
    const { chat, rests } = w.page({ WebSocket: Dropping as never });
    void chat.sendMessage({ text: 'a' });
    await rests('One.');
    void chat.regenerate();
    await rests('Two.');
    await settled();
    expect([w.model.left, w.model.requests.length]).toEqual([0, 2]);
    expect((await w.stored()).map(brief)).toEqual([['a'], ['Two.']]);
  });

  it('[S13] one conversation goes from SSE to the socket and back with a card open in between', async () => {
    sdk = given;
    const log: string[] = [];
    const w = await world(
      [
        [text('Hello.')],
        [
          {
            content: { role: 'model', parts: [{ text: 'I will.' }, { functionCall: PAY }] },
            partial: false,
          },
        ],
        [text('Paid.')],
        [text('Bye.')],
      ],
      [fourTools(log).payment],
    );
    const over = (messages: Message[]) => {
      const transport = closing(new DuologueSseTransport<Message>({ url: w.url, timers: impatient }));
      return chatOf(sdk, {
        transport,
        sendAutomaticallyWhen: resumeWhen(transport) as never,
        messages,
        generateId: () => randomUUID(),
      });
    };
    const byPost = over([]);
    await byPost.sendMessage({ text: 'hi' });
    await byPost.sendMessage({ text: 'pay' });
    expect(byPost.messages.map(brief).at(-1)).toEqual(['I will.', ['call-a', 'approval-requested']]);
    const live = w.page({}, byPost.messages);
    await live.chat.addToolApprovalResponse({ id: approvalOf(live.chat), approved: true });
    await live.rests('I will.', ['call-a', 'output-available', true, PAID], 'Paid.');
    live.transport.close();
    const again = over(live.chat.messages);
    await again.sendMessage({ text: 'bye' });
    expect(again.messages.map(brief)).toEqual([
      ['hi'],
      ['Hello.'],
      ['pay'],
      ['I will.', ['call-a', 'output-available', true, PAID], 'Paid.'],
      ['bye'],
      ['Bye.'],
    ]);
    expect((await w.stored()).map(brief)).toEqual(again.messages.map(brief));
    expect(log).toEqual(['pay Alice 30']);
  });

  it('[R7] [R5] after a restart of the server the page comes back by itself and finishes the approval', async () => {
    sdk = given;
    const folder = await mkdtemp(join(tmpdir(), 'duologue-'));
    folders.push(folder);
    const log: string[] = [];
    const { payment } = fourTools(log);
    const before = await world([[calls(PAY)]], [payment], { store: await openSqliteStore(folder) });
    const opened = before.page();
    const { chat, rests, last, transport } = opened;
    void chat.sendMessage({ text: 'pay' });
    await until(
      () => chat.status === 'ready' && approvalOf(chat) !== '',
      () => last(),
    );
    await before.served.close();
    const after = await world(
      [[text('Paid.')]],
      [payment],
      { store: await openSqliteStore(folder) },
      before.served.port,
    );
    await until(
      () => transport.connection.state.status === 'live' && opened.resets > 0,
      () => transport.connection.state,
    );
    await chat.addToolApprovalResponse({ id: approvalOf(chat), approved: true });
    await rests(['call-a', 'output-available', true, PAID], 'Paid.');
    expect(log).toEqual(['pay Alice 30']);
    expect((await after.stored()).map(brief)).toEqual(chat.messages.map(brief));
  });

  it('[R5] [R7] after a restart that came before the agent said a word, no empty answer stands there, and the message is answered', async () => {
    sdk = given;
    const folder = await mkdtemp(join(tmpdir(), 'duologue-'));
    folders.push(folder);
    const mute: ScriptedTurn = async function* (_request, _stream, signal) {
      await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    };
    const before = await world([mute], [], { store: await openSqliteStore(folder) });
    let hasBegun = false;
    const opened = before.page({
      // While the server is away, the client reaches its longest wait between two tries: that is left out. Its other timeouts are real.
      timers: { ...impatient, after: (ms, work) => impatient.after(ms > 15_000 ? 0 : ms, work) },
      onFrame: (_direction, data) => {
        hasBegun ||= String(data).includes('"start"');
      },
    });
    const { chat, rests } = opened;
    void chat.sendMessage({ text: 'hello' });
    await until(
      () => hasBegun,
      () => chat.status,
    );
    await before.served.close();
    await world([[text('Hello.')]], [], { store: await openSqliteStore(folder) }, before.served.port);
    await rests('Hello.');
    expect(opened.resets).toBeGreaterThan(0);
    expect(chat.messages.map(brief)).toEqual([['hello'], ['Hello.']]);
  });
});
