import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { type Message, OUTCOME_UNKNOWN } from '../../src/protocol/index.ts';
import { sqliteDatabase } from '../adk/support/sqlite-database.ts';
import { chatOf } from '../client/support/chat.ts';
import { decision, live } from '../support/live.ts';
import { call, text } from '../support/scripted-model.ts';
import { sdks } from '../support/sdks.ts';
import { failOnUnhandled } from './support/unhandled.ts';
import { type WayName, ways } from './support/ways.ts';

failOnUnhandled();

const SCRIPT = [[call('print', { pages: 2 }, 'call-1')], [text('Printed.')]];

/** The calls of the last message, as the page shows them. */
function shownIn(messages: readonly Message[]): unknown[] {
  return (messages.at(-1)?.parts ?? []).flatMap((part) => {
    if (!('toolCallId' in part)) return [];
    const { state, output, preliminary } = part as { state: string; output?: unknown; preliminary?: boolean };
    return [{ state, output, preliminary: preliminary === true }];
  });
}

const all: WayName[] = ['memory', 'SSE', 'SSE, stock', 'WebSocket', 'WebSocket, turn by turn'];
const cases = sdks.flatMap(([version, sdk]) => {
  const names: WayName[] = 'WebSocketChatTransport' in sdk ? [...all, 'stock WebSocket'] : all;
  return names.flatMap((name) => [true, false].map((asks) => [version, name, asks, sdk] as const));
});

describe('a chat of the AI SDK', () => {
  it.each(cases)(
    '%s over %s shows progress, then the output (asks first: %s)',
    async (_, name, needsApproval, sdk) => {
      let seen: () => void = () => undefined;
      const shown = new Promise<void>((resolve) => {
        seen = resolve;
      });
      const print = defineTool({
        name: 'print',
        description: 'Prints.',
        parameters: z.object({ pages: z.number() }),
        needsApproval,
        async *execute({ pages }) {
          yield { printed: 1 };
          await shown;
          return { printed: pages };
        },
      });
      const made = await live(SCRIPT, [print], { driver: name.endsWith('turn by turn') ? 'turn' : 'live' });
      const { duologue, served } = made;
      const way = ways[name]({ sdk, duologue, url: served.url, executors: {} });
      const { transport, sendAutomaticallyWhen } = way;
      const chat = chatOf(sdk, { transport, sendAutomaticallyWhen } as never);
      const sent = chat.sendMessage({ text: 'Print 2 pages.' });
      if (needsApproval) {
        await sent;
        const [part] = chat.messages.at(-1)?.parts.filter((one) => 'approval' in one) ?? [];
        const { id } = (part as { approval: { id: string } }).approval;
        chat.addToolApprovalResponse({ id, approved: true });
      }
      await expect
        .poll(() => shownIn(chat.messages))
        .toEqual([{ state: 'output-available', output: { printed: 1 }, preliminary: true }]);
      seen();
      await expect
        .poll(() => [shownIn(chat.messages), chat.status])
        .toEqual([[{ state: 'output-available', output: { printed: 2 }, preliminary: false }], 'ready']);
      expect(made.model.requests).toHaveLength(2);
      way.close();
    },
  );
});

describe.each([
  ['SSE', 'live'],
  ['BIDI, live', 'live'],
  ['BIDI, turn by turn', 'turn'],
] as const)('a preliminary output that a killed process had stored, over %s', (mode, driver) => {
  it.each([false, true])(
    'is no output: the call ends as unknown, and does not run again (asks first: %s)',
    async (needsApproval) => {
      let runs = 0;
      const print = defineTool({
        name: 'print',
        description: 'Prints.',
        parameters: z.object({ pages: z.number() }),
        needsApproval,
        async *execute(_input, { abortSignal }) {
          runs++;
          yield { printed: 1 };
          await new Promise((resolve) => abortSignal?.addEventListener('abort', resolve));
        },
      });
      const database = sqliteDatabase();
      const store = await database.open();
      const before = await live(SCRIPT, [print], { driver, store });
      const post = (message: object) =>
        fetch(`${before.served.url}/stream`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ id: 'chat-1', messages: [message] }),
        });
      const asked = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Print 2 pages.' }] };
      if (mode === 'SSE') {
        const response = await post(asked);
        if (needsApproval) {
          await response.text();
          const { messages } = await (await before.get('/sessions/chat-1')).json();
          const [part] = messages[1].parts;
          const approval = { ...part.approval, approved: true };
          await post({ ...messages[1], parts: [{ ...part, state: 'approval-responded', approval }] });
        }
      } else {
        const socket = await before.connect('?session=chat-1');
        socket.say('Print 2 pages.');
        if (needsApproval) socket.send('message', decision(await socket.chunk('tool-approval-request')));
      }
      const key = { app: 'duologue', user: 'live_user', id: 'chat-1' };
      const preliminary = [{ state: 'output-available', output: { printed: 1 }, preliminary: true }];
      await expect.poll(async () => shownIn(await store.loadMessages(key))).toEqual(preliminary);
      await database.kill();

      const after = await live([[text('Sorry.')], [text('Sorry.')]], [print], {
        driver,
        store: await database.open(),
      });
      const socket = await after.connect('?session=chat-1');
      await socket.chunk('data-session');
      const shown = async () => {
        const { messages } = await (await after.get('/sessions/chat-1')).json();
        return messages[1].parts.find((part: object) => 'toolCallId' in part);
      };
      await expect.poll(shown).toMatchObject({ state: 'output-error', errorText: OUTCOME_UNKNOWN });
      const part = await shown();
      expect(['output' in part, 'preliminary' in part]).toEqual([false, false]);
      if (after.model.requests.length === 0) socket.say('And now?');
      await expect.poll(() => JSON.stringify(after.model.lastContents)).toContain(OUTCOME_UNKNOWN);
      expect(JSON.stringify(after.model.lastContents)).not.toContain('printed');
      expect(runs).toBe(1);
    },
  );
});
