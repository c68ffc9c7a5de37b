import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/adk/index.ts';
import { fourTools } from '../support/demo-tools.ts';
import { decision, live } from '../support/live.ts';
import { call, calls, partial, type ScriptedTurn, text } from '../support/scripted-model.ts';

const PAY = { name: 'process_payment', args: { amount: 5, recipient: 'Eve' } };

describe('a connection of its own', () => {
  it('[B11a] a tool knows its connection, and each connection has open calls of its own', async () => {
    const seen: unknown[] = [];
    const look = defineTool({
      name: 'look',
      description: 'Looks round',
      parameters: z.object({ who: z.string() }),
      execute: ({ who }, context) => {
        seen.push(context.state.get('client_identifier'));
        return { who };
      },
    });
    const { payment } = fourTools();
    const turn = (recipient: string): ScriptedTurn => [
      calls({ ...PAY, args: { amount: 5, recipient } }, { name: 'look', args: { who: recipient } }),
    ];
    const logged: { message: string; fields: Record<string, unknown> | undefined }[] = [];
    const note = (message: string, fields?: Record<string, unknown>) => logged.push({ message, fields });
    const { connect } = await live([turn('Alice'), turn('Bob')], [payment, look], {
      logger: { info: note, warn: note, error: note },
    });
    const first = await connect();
    first.say('one');
    await first.chunk('tool-output-available');
    const second = await connect();
    second.say('two');
    await second.chunk('tool-output-available');
    const ids = [first, second].map((socket) => {
      const greeting = socket.received[0];
      return greeting?.kind === 'chunk' && greeting.chunk.type === 'data-session'
        ? greeting.chunk.data.connectionId
        : null;
    });
    expect(seen).toEqual(ids);
    const cards = await Promise.all([first, second].map((socket) => socket.chunk('tool-approval-request')));
    for (const [index, socket] of [first, second].entries()) {
      const shown = socket.chunks.flatMap((chunk) => (chunk.type === 'tool-approval-request' ? [chunk] : []));
      expect(shown).toEqual([cards[index]]);
    }
    // The answer of one connection does not count for the call of the other.
    const [card] = cards;
    if (card) second.send('message', decision(card));
    expect((await second.chunk('data-error')).data.code).toMatch(/nothing_to_answer|answer_refused/);
    expect(
      logged.filter(({ message }) => message === 'connected').map(({ fields }) => fields?.connection),
    ).toEqual(ids);
  });

  it('[B15] a card may be answered while the agent still speaks, by frame or by message', async () => {
    for (const answer of ['frame', 'message'] as const) {
      const log: string[] = [];
      const { payment } = fourTools(log);
      let release: () => void = () => undefined;
      const speaks: ScriptedTurn = async function* () {
        yield partial('While you think, ');
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        yield text('While you think, I talk.');
      };
      const { connect } = await live([[calls(PAY)], speaks, [text('Paid.')]], [payment]);
      const socket = await connect();
      socket.say('pay');
      const card = await socket.chunk('tool-approval-request');
      socket.say('talk to me');
      await socket.chunk('text-delta');
      if (answer === 'frame')
        socket.send('tool_result', { toolCallId: card.toolCallId, status: 'approved', result: null });
      else socket.send('message', decision(card));
      await socket.chunk('tool-output-available');
      expect(log).toEqual(['pay Eve 5']);
      expect(socket.dones).toBe(0);
      release();
      await socket.done(2);
      const texts = socket.chunks.flatMap((chunk) => (chunk.type === 'text-delta' ? [chunk.delta] : []));
      expect(texts).toEqual(['While you think, ', 'I talk.', 'Paid.']);
    }
  });

  it('a call of a tool that does not exist is answered as an error, and the turn goes on', async () => {
    const { connect } = await live([[call('make_coffee')], [text('I cannot.')]]);
    const socket = await connect();
    socket.say('coffee');
    await socket.done();
    expect(socket.chunks.map(({ type }) => type)).toContain('tool-output-error');
    expect(socket.chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
  });

  it('[S2e] a session is in the list once something was said in it: a connection to a deleted one leaves nothing there', async () => {
    const server = await live([[text('Hello.')], [text('Hello again.')]]);
    const listed = async () =>
      ((await (await server.get('/sessions')).json()) as { sessions: { id: string }[] }).sessions.map(
        ({ id }) => id,
      );
    const first = await server.connect('?session=gone');
    expect(await listed()).toEqual([]);
    first.say('hi');
    await first.done();
    expect(await listed()).toEqual(['gone']);
    await server.duologue.fetch(new Request('http://localhost/sessions/gone', { method: 'DELETE' }));
    const second = await server.connect('?session=gone');
    await second.chunk('data-session');
    expect(await listed()).toEqual([]);
    const { messages, title } = (await (await server.get('/sessions/gone')).json()) as Record<
      string,
      unknown
    >;
    expect({ messages, title }).toEqual({ messages: [], title: null });
    second.say('hi');
    await second.done();
    expect(await listed()).toEqual(['gone']);
  });
});
