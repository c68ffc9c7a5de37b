import type { LlmResponse } from '@google/adk';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/protocol/index.ts';
import { say } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { calls, hanging, partial, text } from '../support/scripted-model.ts';

const counted = (response: LlmResponse, output: number): LlmResponse => ({
  ...response,
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: output, totalTokenCount: 10 + output },
});

/** The usage of the last stored message. */
async function usageOf(get: (path: string) => Promise<Response>): Promise<unknown> {
  const { messages } = (await (await get('/sessions/chat-1')).json()) as { messages: Message[] };
  return messages.at(-1)?.metadata?.usage;
}

const first = [counted(partial('Once '), 1), counted(partial('upon '), 2)];
const WEATHER = counted(calls({ id: 'call-1', name: 'nothing', args: {} }), 5);

describe.each(['live', 'turn'] as const)('an answer that is stopped over a socket, driver %s', (driver) => {
  it('[C12] has the usage that the model sent last', async () => {
    const { turn } = hanging(...first);
    const { connect, get } = await live([turn], [], { driver });
    const socket = await connect('?session=chat-1');
    socket.say('tell');
    await socket.chunk('text-delta', 2);
    socket.send('interrupt');
    await socket.done();
    expect(await usageOf(get)).toMatchObject({ input: 10, output: 2, total: 12 });
  });

  it('[C12b] adds it to the usage of the steps before', async () => {
    const { turn } = hanging(...first);
    const { connect, get } = await live([[WEATHER], turn], [], { driver });
    const socket = await connect('?session=chat-1');
    socket.say('tell');
    await socket.chunk('text-delta', 2);
    socket.send('interrupt');
    await socket.done();
    expect(await usageOf(get)).toMatchObject({ input: 20, output: 7, total: 27 });
  });

  it('[C12] an answer that is whole has the usage of its end alone', async () => {
    const whole = [...first, counted(text('Once upon '), 3)];
    const { connect, get } = await live([whole], [], { driver });
    const socket = await connect('?session=chat-1');
    socket.say('tell');
    await socket.done();
    expect(await usageOf(get)).toMatchObject({ input: 10, output: 3, total: 13 });
  });

  it('[C12] one whose model counts in its pieces alone has the usage of the last piece', async () => {
    const { connect, get } = await live([[...first, text('Once upon ')]], [], { driver });
    const socket = await connect('?session=chat-1');
    socket.say('tell');
    await socket.done();
    expect(await usageOf(get)).toMatchObject({ input: 10, output: 2, total: 12 });
  });
});

describe('an answer over SSE', () => {
  it('[C12b] that is stopped has the usage that the model sent last', async () => {
    const { turn } = hanging(...first);
    const { post, get, duologue, served } = await live([turn], []);
    const answer = post(say('tell'));
    const watcher = await fetch(`${served.url}/sessions/chat-1/watch`).then((response) => response.body);
    const reader = watcher?.getReader();
    let seen = '';
    while (!seen.includes('upon')) seen += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
    await duologue.fetch(new Request('http://localhost/sessions/chat-1/stop', { method: 'POST' }));
    const { chunks } = await answer;
    expect(chunks.at(-1)).toMatchObject({
      type: 'finish',
      messageMetadata: { interrupted: true, usage: { input: 10, output: 2, total: 12 } },
    });
    expect(await usageOf(get)).toMatchObject({ input: 10, output: 2, total: 12 });
  });

  it('[C12] that the provider breaks off has the usage that the model sent last', async () => {
    const { post, get } = await live([[...first, new Error('The provider broke off.')]], []);
    await post(say('tell'));
    expect(await usageOf(get)).toMatchObject({ input: 10, output: 2, total: 12 });
  });
});
