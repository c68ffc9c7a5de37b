import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { LlmAgent, LogLevel, LongRunningFunctionTool, setLogLevel } from '@google/adk';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/adk/index.ts';
import { attachWebSocket, nodeListener } from '../../../src/server/adapters/node.ts';
import { type Clock, createDuologue, type Duologue, type SharedStore } from '../../../src/server/index.ts';
import { type ScriptTurn, scriptModel, testClient } from '../../../src/testing/index.ts';

const USER = 'live_user';
setLogLevel(LogLevel.ERROR);

interface Nodes {
  nodes: [Duologue, Duologue];
  paid: number[];
}

/** Two nodes in this process, each with a port of its own. The first has the script of the model. */
async function twoNodes(
  turns: readonly ScriptTurn[],
  open: () => Promise<SharedStore>,
  clock?: Clock,
): Promise<Nodes> {
  const paid: number[] = [];
  const start = async (script: readonly ScriptTurn[]): Promise<Duologue> => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters: z.object({ amount: z.number() }),
      needsApproval: true,
      execute: ({ amount }) => paid.push(amount),
    });
    const upload = new LongRunningFunctionTool({
      name: 'upload',
      description: 'Starts an upload.',
      parameters: z.object({}),
      execute: () => null,
    });
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const duologue = createDuologue({
      agent: new LlmAgent({ name: 'assistant', model: scriptModel(script), tools: [pay, upload] }),
      store: await open(),
      node: { address: `http://127.0.0.1:${port}`, drainMs: 0 },
      logger: { info() {}, warn() {}, error() {} },
      ...(clock && { clock }),
    });
    server.on('request', nodeListener(duologue));
    attachWebSocket(server, duologue);
    onTestFinished(async () => {
      await duologue.close();
      server.closeAllConnections();
      server.close();
    });
    return duologue;
  };
  return { nodes: [await start(turns), await start([])], paid };
}

async function textsOf(duologue: Duologue, id: string): Promise<string[]> {
  const { messages } = await duologue.sessions.read({ user: USER, id });
  return messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? part.text : [])));
}

async function untilText(duologue: Duologue, id: string, text: string): Promise<void> {
  while (!(await textsOf(duologue, id)).includes(text)) await setImmediate();
}

/** The server API on a node that does not own the session, on stores that two nodes share. */
export function apiNodesSuite(stores: () => { open: () => Promise<SharedStore>; clock?: Clock }): void {
  it('decides, completes, sends, says, renames and deletes, whichever node is called', async () => {
    const { open, clock } = stores();
    const script: ScriptTurn[] = [
      { call: 'pay', args: { amount: 5 } },
      { call: 'upload', id: 'call-1' },
      'Uploaded.',
      'Noted.',
      'Ready.',
    ];
    const { nodes, paid } = await twoNodes(script, open, clock);
    const [owner, other] = nodes;
    const chat = testClient(owner);
    const session = { user: USER, id: chat.session };
    const [request] = (await chat.say('Pay 5')).approvals;
    const decision = { approvalId: request?.approvalId ?? '', approved: true, by: 'mia' };
    await other.decide(decision);
    await expect(other.decide(decision)).rejects.toMatchObject({ code: 'already_decided' });
    const parked = await chat.next();
    expect([paid, parked.toolCalls.map(({ toolName }) => toolName)]).toEqual([[5], ['pay', 'upload']]);
    await other.complete({ callId: 'call-1', output: { ok: true } });
    await untilText(other, chat.session, 'Uploaded.');
    const sent = await other.send(session, 'I am here.');
    await untilText(other, chat.session, 'Noted.');
    // The owner writes to the session after this, and must keep the title.
    await other.sessions.rename(session, 'Parcel');
    await other.say(session, 'Your parcel has arrived.');
    await other.say(session, { instruction: 'Tell that the export is ready.' });
    await untilText(other, chat.session, 'Ready.');
    const texts = ['Pay 5', 'Uploaded.', 'I am here.', 'Noted.', 'Your parcel has arrived.', 'Ready.'];
    expect(await textsOf(other, chat.session)).toEqual(texts);
    expect(chat.messages.some(({ id }) => id === sent.messageId)).toBe(true);
    const { approvals } = await other.sessions.export(session, 'json');
    expect(approvals.map(({ kind }) => kind)).toEqual(['issued', 'approved', 'consumed']);
    for (const node of nodes) {
      const { sessions } = await node.sessions.list();
      expect(sessions.map(({ id, title }) => [id, title])).toEqual([[chat.session, 'Parcel']]);
    }
    await other.sessions.delete(session);
    for (const node of nodes)
      await expect(node.sessions.read(session)).rejects.toMatchObject({ code: 'not_found' });
    await expect(other.sessions.delete(session)).rejects.toMatchObject({ code: 'not_found' });
    await expect(other.sessions.rename(session, 'Gone')).rejects.toMatchObject({ code: 'not_found' });
  });
}
