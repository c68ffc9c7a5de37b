import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import type { Message } from '../../src/protocol/index.ts';
import { chatOf } from '../client/support/chat.ts';
import { live } from '../support/live.ts';
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
