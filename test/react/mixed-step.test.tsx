// @vitest-environment jsdom
import './support/native-abort.ts';
import { type UseChatHelpers, useChat } from '@ai-sdk/react';
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { useEffect } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { DuologueTransport, resumeWhen } from '../../src/client/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { brief } from '../client/support/chat.ts';
import { fourTools } from '../support/demo-tools.ts';
import { live } from '../support/live.ts';
import { calls, text } from '../support/scripted-model.ts';
import { hooks } from '../support/sdks.ts';

const PAY = { name: 'process_payment', id: 'pay', args: { amount: 30, recipient: 'Alice' } };
const MUSIC = { name: 'change_bgm', id: 'music', args: { track: 1 } };
const WEATHER = { name: 'get_weather', id: 'weather', args: { location: 'Tokyo' } };

type Chat = UseChatHelpers<Message>;

const rules = ['the approval helper', 'the resume rule'] as const;
const drivers = ['live', 'turn'] as const;
const orders: [string, (typeof PAY | typeof MUSIC | typeof WEATHER)[]][] = [
  ['the card first', [PAY, MUSIC]],
  ['the browser tool first', [MUSIC, PAY]],
  ['a server tool between', [PAY, WEATHER, MUSIC]],
];

/** A page with the stock hook over a WebSocket of the real server, and the requests that it sent. */
async function page(
  rule: (transport: DuologueTransport<Message>) => (options: { messages: Message[] }) => boolean,
  driver: (typeof drivers)[number],
  step: (typeof orders)[number][1],
) {
  const paid: string[] = [];
  const { payment, music, weather } = fourTools(paid);
  const { served } = await live([[calls(...step)], [text('All done.')]], [payment, music, weather], {
    driver,
  });
  let sends = 0;
  const transport = new DuologueTransport<Message>({
    url: served.url,
    WebSocket,
    onFrame: (direction, data) => {
      if (direction === 'out' && typeof data === 'string' && data.includes('"type":"message"')) sends++;
    },
  });
  const sendAutomaticallyWhen = rule(transport);
  let now: Chat | undefined;
  const waiting = new Set<() => void>();
  function Page(): null {
    const chat = useChat<Message>({ id: 'chat-1', transport, sendAutomaticallyWhen });
    useEffect(() => {
      now = chat;
      for (const check of [...waiting]) check();
    });
    return null;
  }
  const root = createRoot(document.createElement('div'));
  onTestFinished(() => {
    root.unmount();
    transport.close();
  });
  flushSync(() => root.render(<Page />));
  const until = (condition: (chat: Chat) => boolean) =>
    new Promise<Chat>((resolve) => {
      const check = () => {
        if (!now || !condition(now)) return;
        waiting.delete(check);
        resolve(now);
      };
      waiting.add(check);
      check();
    });
  return { until, paid, sends: () => sends };
}

const partOf = ({ messages }: Chat, id: string) =>
  messages
    .flatMap(({ parts }) => parts as { toolCallId?: string; state?: string; approval?: { id: string } }[])
    .find(({ toolCallId }) => toolCallId === id);

describe(`[T17d] an approval and a browser tool in one step, ${hooks}`, () => {
  describe.each(rules)('with %s', (rule) => {
    const ruleOf = (transport: DuologueTransport<Message>) =>
      rule === 'the resume rule'
        ? resumeWhen(transport)
        : lastAssistantMessageIsCompleteWithApprovalResponses;
    describe.each(drivers)('driver %s', (driver) => {
      test.each(orders)('waits for both answers and sends them together, %s', async (_order, step) => {
        const { until, paid, sends } = await page(ruleOf, driver, step);
        void (await until(() => true)).sendMessage({ text: 'go' });
        const chat = await until(
          (now) => now.status === 'ready' && partOf(now, 'pay')?.state === 'approval-requested',
        );
        expect(partOf(chat, 'music')?.state).toBe('input-available');
        await chat.addToolApprovalResponse({ id: String(partOf(chat, 'pay')?.approval?.id), approved: true });
        expect(sends()).toBe(1);
        await chat.addToolOutput({ tool: 'change_bgm' as never, toolCallId: 'music', output: 'on' as never });
        const ended = await until(
          ({ status, messages }) => status === 'ready' && brief(messages.at(-1)).includes('All done.'),
        );
        expect(sends()).toBe(2);
        expect(paid.filter((line) => line.startsWith('pay'))).toEqual(['pay Alice 30']);
        expect(partOf(ended, 'music')).toMatchObject({ state: 'output-available', output: 'on' });
        expect(partOf(ended, 'pay')).toMatchObject({ state: 'output-available' });
      });
    });
  });
});
