import { expect } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/adk/index.ts';
import type { Store } from '../../../src/server/store/store.ts';
import { png } from '../../server/support/images.ts';
import { type Harness, harness, say } from '../../support/harness.ts';
import { type ScriptedTurn, text } from '../../support/scripted-model.ts';

/** The sessions in the saved databases. The session `deleted` is gone; its audit log is not. */
const SESSIONS = ['text', 'picture', 'payment', 'deleted'];

/** The server whose data was saved: a payment asks, and waits without a deadline. */
function server(store: Store, turns: readonly ScriptedTurn[], paid: unknown[] = []): Harness {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }) => {
      paid.push(amount);
      return { paid: amount };
    },
  });
  return harness(turns, [pay], { store, approvalTimeoutMs: null, inspect: true, rateLimit: false });
}

/** Everything that the routes of a server return of the saved sessions. */
async function everything({ get }: Harness): Promise<unknown> {
  const sessions: Record<string, unknown> = {};
  for (const id of SESSIONS) {
    const [session, events, approvals] = await Promise.all(
      [`/sessions/${id}`, `/sessions/${id}/events`, `/approvals/${id}`].map((path) => get(path)),
    );
    sessions[id] = {
      session: await session?.json(),
      events: await events?.json(),
      approvals: (await approvals?.text())
        ?.split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    };
  }
  const { sessions: list } = await (await get('/sessions')).json();
  return { list: { sessions: list }, sessions };
}

/** Opens saved data with the build of today: everything is read as it was, and the conversations go on. */
export async function expectUpgrade(store: Store, expected: unknown): Promise<void> {
  const paid: unknown[] = [];
  const one = server(store, [[text('Paid 7.')], [text('A dot.')]], paid);
  expect(await everything(one)).toEqual(expected);
  const picture = await (await one.get('/sessions/picture')).json();
  const file = picture.messages[0].parts.find(({ type }: { type: string }) => type === 'file');
  const loaded = await one.duologue.fetch(new Request(file.url));
  expect(Buffer.from(await loaded.arrayBuffer())).toEqual(png);

  const { messages } = await (await one.get('/sessions/payment')).json();
  const { id, parts } = messages.at(-1);
  const card = parts.find(({ state }: { state?: string }) => state === 'approval-requested');
  const approved = { ...card, state: 'approval-responded', approval: { ...card.approval, approved: true } };
  await one.post({ id: 'payment', messages: [{ id, role: 'assistant', parts: [approved] }], messageId: id });
  expect(paid).toEqual([7]);

  await one.post(say('What was it?', 'picture'));
  expect(one.model.lastContents[0]?.parts).toEqual([
    { text: 'What is this?' },
    { inlineData: { mimeType: 'image/png', data: png.toString('base64'), displayName: 'dot.png' } },
  ]);
  await one.duologue.close();
}
