import { afterEach, describe, expect, it } from 'vitest';
import { type Served, serve } from '../../src/server/use/node.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness, shape } from '../support/harness.ts';
import { call, calls, streamed, text } from '../support/scripted-model.ts';
import { TestSocket } from '../support/socket.ts';

const open: Served[] = [];
afterEach(async () => {
  for (const served of open.splice(0)) await served.close();
});

async function live(...args: Parameters<typeof harness>) {
  const made = harness(...args);
  const served = await serve(made.duologue, { port: 0 });
  open.push(served);
  const url = `${served.url.replace('http', 'ws')}/live`;
  return {
    ...made,
    served,
    url,
    connect: (query = '', options = {}) => new TestSocket(url + query, options),
  };
}

const approve = (request: { approvalId: string; toolCallId: string }, approved = true) => ({
  messages: [
    {
      id: 'any',
      role: 'assistant',
      parts: [
        {
          type: 'tool-process_payment',
          toolCallId: request.toolCallId,
          state: 'approval-responded',
          approval: { id: request.approvalId, approved },
        },
      ],
    },
  ],
});

describe('a turn over BIDI', () => {
  it('streams text and ends with one [DONE]', async () => {
    const { connect } = await live([streamed('Hel', 'lo')]);
    const socket = connect();
    await socket.opened();
    socket.say('hi');
    await socket.done();
    expect(shape(socket.chunks)).toEqual(['start', 'text-start', 'text-delta', 'text-end', 'finish']);
  });

  it('runs a server tool beside the run', async () => {
    const { weather } = fourTools();
    const { connect } = await live([[call('get_weather', { location: 'Tokyo' })], [text('20')]], [weather]);
    const socket = connect();
    await socket.opened();
    socket.say('weather');
    await socket.done();
    expect(shape(socket.chunks)).toEqual([
      'start',
      'tool-input-start',
      'tool-input-available',
      'tool-output-available',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
  });

  it('asks one after the other and goes on after each answer, with one [DONE]', async () => {
    const log: string[] = [];
    const { payment } = fourTools(log);
    const { connect } = await live(
      [
        [
          calls(
            { name: 'process_payment', args: { amount: 30, recipient: 'Alice' } },
            { name: 'process_payment', args: { amount: 40, recipient: 'Bob' } },
          ),
        ],
        [text('Alice paid, Bob not.')],
      ],
      [payment],
    );
    const socket = connect();
    await socket.opened();
    socket.say('pay both');
    const alice = await socket.chunk('tool-approval-request');
    await socket.chunk('finish-step');
    expect(socket.dones).toBe(0);
    socket.send('message', approve(alice));
    const bob = await socket.chunk('tool-approval-request', 2);
    socket.send('message', approve(bob, false));
    await socket.done();
    expect(shape(socket.chunks)).toEqual([
      'start',
      'tool-input-start',
      'tool-input-available',
      'start-step',
      'tool-approval-request',
      'finish-step',
      'tool-output-available',
      'tool-input-start',
      'tool-input-available',
      'start-step',
      'tool-approval-request',
      'finish-step',
      'tool-output-error',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
    expect(log).toEqual(['pay Alice 30']);
    expect(socket.dones).toBe(1);
  });
});
