// @vitest-environment jsdom
import { useChat } from '@ai-sdk/react';
import { lastAssistantMessageIsCompleteWithApprovalResponses as approvalsComplete } from 'ai';
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DuologueTransport, resumeWhen } from '../../src/client/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { brief } from './support/chat.ts';
import { announce, ask, FakeServer, MUSIC, PAY } from './support/server.ts';
import { FakeNetwork, FakeTimers } from './support/time.ts';

type Chat = ReturnType<typeof useChat<Message>>;

const timers = new FakeTimers();
let server: FakeServer;
let chat: Chat;
let leave: () => Promise<void>;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
});

afterEach(() => leave());

/** A page with the real hook, a card for each call that asks and a browser call for each other. */
async function page(
  rule: 'approval helper' | 'our rule',
  calls: { id: string; facts: typeof PAY }[],
): Promise<void> {
  server = new FakeServer();
  const transport = new DuologueTransport<Message>({
    url: 'ws://localhost:1',
    WebSocket: server.WebSocket,
    timers,
    network: new FakeNetwork(),
  });
  const sendAutomaticallyWhen = rule === 'our rule' ? resumeWhen(transport) : approvalsComplete;
  function Page(): null {
    chat = useChat<Message>({ id: 'chat-1', transport, sendAutomaticallyWhen });
    return null;
  }
  const root = createRoot(document.createElement('div'));
  leave = () => act(async () => root.unmount());
  await act(async () => root.render(<Page />));
  await does(() => void chat.sendMessage({ text: 'go' }));
  await does(() =>
    server.say(
      { type: 'start', messageId: 'a1' },
      ...calls.flatMap(({ id, facts }) => announce(id, 'do_it', {}, facts)),
      ...calls.flatMap(({ id, facts }) => (facts.asks ? ask(id) : [])),
    ),
  );
  expect([chat.status, server.framesOf('message').length]).toEqual(['ready', 1]);
}

async function does(work: () => void): Promise<void> {
  await act(async () => {
    work();
    await timers.settle();
  });
}

const decide = (id: string, approved: boolean) =>
  does(() => void chat.addToolApprovalResponse({ id: `approval-${id}`, approved }));
const give = (toolCallId: string) =>
  does(() => void chat.addToolOutput({ tool: 'do_it' as never, toolCallId, output: 'done' as never }));

/** What the second frame says. */
function answers(): unknown {
  const [, answered, ...more] = server.framesOf('message');
  const messages = answered?.messages as Message[] | undefined;
  return more.length > 0 ? 'sent more than once' : brief(messages?.[0]);
}

describe.each(['approval helper', 'our rule'] as const)('useChat with the %s', (rule) => {
  test.each([true, false])('sends an approval (%s) as soon as all is answered', async (approved) => {
    await page(rule, [{ id: 'c1', facts: PAY }]);
    await decide('c1', approved);
    expect(answers()).toEqual([['c1', 'approval-responded', approved]]);
    await does(() =>
      server.say({ type: 'tool-output-error', toolCallId: 'c1', errorText: 'x' }, { type: 'finish' }, null),
    );
    expect([chat.status, server.framesOf('message').length]).toEqual(['ready', 2]);
  });

  test.each([true, false])(
    'sends an approval (%s) and an output together, exactly once',
    async (approved) => {
      await page(rule, [
        { id: 'c1', facts: PAY },
        { id: 'c2', facts: MUSIC },
      ]);
      await decide('c1', approved);
      expect(server.framesOf('message')).toHaveLength(1);
      await give('c2');
      const parts = answers() as unknown[];
      expect(parts).toEqual([
        ['c1', 'approval-responded', approved],
        ['c2', 'output-available', 'done'],
      ]);
      await does(() =>
        server.say(
          { type: 'tool-output-error', toolCallId: 'c1', errorText: 'x' },
          { type: 'tool-output-available', toolCallId: 'c2', output: 'done' },
          { type: 'finish' },
          null,
        ),
      );
      expect([chat.status, server.framesOf('message').length]).toEqual(['ready', 2]);
    },
  );
});

test('useChat with the approval helper shows an output but does not send it', async () => {
  await page('approval helper', [{ id: 'c1', facts: MUSIC }]);
  await give('c1');
  expect(brief(chat.messages.at(-1))).toEqual([['c1', 'output-available', 'done']]);
  expect(server.framesOf('message')).toHaveLength(1);
});

test('useChat with our rule sends an output', async () => {
  await page('our rule', [{ id: 'c1', facts: MUSIC }]);
  await give('c1');
  expect(answers()).toEqual([['c1', 'output-available', 'done']]);
});
