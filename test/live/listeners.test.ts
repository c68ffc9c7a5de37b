import { LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { BlockDecoder, type Chunk, WATCHING_SUBPROTOCOL } from '../../src/protocol/index.ts';
import { createMemoryStore } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { decision, type LiveHarness, live } from '../support/live.ts';
import { call, ScriptedModel, text } from '../support/scripted-model.ts';
import type { TestSocket } from '../support/socket.ts';

const pay = call('process_payment', { amount: 30, recipient: 'Alice' }, 'call-p');
const locate = call('get_location', {}, 'call-l');

function watching(server: LiveHarness, session = 'shared'): Promise<TestSocket> {
  return server.connect(`?session=${session}`, { protocols: [WATCHING_SUBPROTOCOL] });
}

function idOf(socket: TestSocket): Promise<string> {
  return socket.chunk('data-session').then(({ data }) => data.connectionId);
}

/** What a listener heard, without who it is. */
function heard({ received }: TestSocket): string[] {
  return received.flatMap((one) =>
    one.kind === 'done'
      ? ['[DONE]']
      : one.kind === 'chunk' && one.chunk.type !== 'data-session'
        ? [JSON.stringify(one.chunk)]
        : [],
  );
}

const holders = ({ received }: TestSocket) =>
  received.flatMap((one) =>
    one.kind === 'chunk' && one.chunk.type === 'data-floor' ? [one.chunk.data.connectionId] : [],
  );

describe('several listeners', () => {
  it('[B30b] [B32] one that comes while another has the floor watches: it hears what is said, asked and decided', async () => {
    const { payment } = fourTools();
    const server = await live([[pay], [text('Paid.')]], [payment]);
    const first = await watching(server);
    const firstId = await idOf(first);
    const second = await watching(server);
    expect((await second.chunk('data-session')).data.floor).toBe(firstId);
    first.say('pay', 'user-1');
    const card = await first.chunk('tool-approval-request');
    await second.chunk('tool-approval-request');
    first.send('message', decision(card));
    await first.done();
    await second.done();
    expect((await second.chunk('data-message')).data.message).toMatchObject({
      id: 'user-1',
      role: 'user',
      parts: [{ type: 'text', text: 'pay' }],
    });
    expect((await second.chunk('data-decided')).data).toEqual({
      toolCallId: 'call-p',
      messageId: expect.stringMatching(/^msg_/),
      approved: true,
      by: firstId,
    });
    expect(heard(second)).toEqual(heard(first).filter((line) => !line.includes('data-floor')));
    expect(first.received.some(({ kind }) => kind === 'close')).toBe(false);
  });

  it('[B31] [B31e] [B30c] a message takes the floor, and so does its frame; who leaves sets it free', async () => {
    const server = await live([[text('Hi.')]]);
    const first = await watching(server);
    const second = await watching(server);
    const [firstId, secondId] = [await idOf(first), await idOf(second)];
    second.say('hi');
    await first.done();
    expect(holders(first).at(-1)).toBe(secondId);
    first.send('floor');
    await second.until(() => holders(second).at(-1) === firstId, 'the change of the floor');
    first.close();
    await second.until(() => holders(second).at(-1) === null, 'that the floor is free');
    const third = await watching(server);
    expect((await third.chunk('data-session')).data.floor).toBe(await idOf(third));
  });

  it('[B35] [B35a] claims of the active connection take effect ten at once and one a second; of further ones the last', async () => {
    const clock = new ManualClock();
    const server = await live([], [], { clock });
    const watcher = await watching(server);
    const claimers = [await watching(server), await watching(server), await watching(server)];
    const ids = await Promise.all(claimers.map(idOf));
    const claim = async (index: number) => {
      const socket = claimers[index];
      const pongs = () => socket?.received.filter(({ kind }) => kind === 'raw').length ?? 0;
      const before = pongs();
      socket?.send('floor');
      socket?.send('ping', { timestamp: 1 });
      await socket?.until(() => pongs() > before, 'a pong');
    };
    /** Lets time pass, and what was held back for a moment go out. */
    const pass = (ms: number) => {
      clock.advance(ms);
      clock.advance(20);
    };
    for (let round = 0; round < 100; round++) await claim(round % 3);
    await claim(1);
    pass(0);
    await watcher.until(() => holders(watcher).length === 10, 'ten changes');
    expect(holders(watcher).at(-1)).toBe(ids[0]);
    pass(1000);
    await watcher.until(() => holders(watcher).length === 11, 'the last claim');
    expect(holders(watcher).at(-1)).toBe(ids[1]);
    pass(10_000);
    // A page that posts sets it free at once, and ends a claim that waits.
    for (let round = 0; round < 30; round++) await claim(round % 3);
    const freed = await fetch(`${server.served.url}/sessions/shared/floor`, { method: 'POST' });
    expect(freed.status).toBe(204);
    pass(3000);
    await watcher.until(() => holders(watcher).at(-1) === null, 'that it is free');
    const changes = holders(watcher).length;
    await claim(2);
    pass(0);
    await watcher.until(() => holders(watcher).length > changes, 'a new claim');
    expect(holders(watcher).slice(changes)).toEqual([ids[2]]);
  });

  it('[B31f] a floor that stays free goes to the one who came last, not at once: whoever had it may come back', async () => {
    const clock = new ManualClock();
    const server = await live([], [], { clock });
    const first = await watching(server);
    const second = await watching(server);
    const third = await watching(server);
    const [secondId, thirdId] = [await idOf(second), await idOf(third)];
    first.close();
    await third.until(() => holders(third).at(-1) === null, 'that the floor is free');
    clock.advance(4999);
    const back = await watching(server);
    expect((await back.chunk('data-session')).data.floor).toBe(await idOf(back));
    clock.advance(10_000);
    back.close();
    // Free, claimed, free.
    await third.until(() => holders(third).length === 3, 'that the floor is free again');
    clock.advance(5000);
    await second.until(() => holders(second).at(-1) === thirdId, 'the floor for the one who came last');
    expect(holders(second)).not.toContain(secondId);
  });

  it('[B25f] what goes wrong with sound is told to the one who speaks, and to nobody else', async () => {
    const model = new ScriptedModel([], { connections: [new Error('API key not valid')] });
    const server = await live([], [], { agent: new LlmAgent({ name: 'assistant', model }) });
    const [speaker, watcher] = [await watching(server), await watching(server)];
    await idOf(watcher);
    speaker.send('audio_control', { action: 'start' });
    speaker.send('audio_chunk', { chunk: 'AAECAw==' });
    expect((await speaker.chunk('data-error')).data).toMatchObject({ code: 'model_not_configured' });
    watcher.send('ping');
    await watcher.until((all) => all.some(({ kind }) => kind === 'raw'), 'pong');
    expect(heard(watcher).filter((line) => line.includes('data-error'))).toEqual([]);
  });

  it('[B25f] that an approved call could not begin is told to the one who approved, and to nobody else', async () => {
    const { payment } = fourTools();
    const store = createMemoryStore();
    const server = await live([[pay], [text('Paid.')]], [payment], { store });
    const [approver, watcher] = [await watching(server), await watching(server)];
    approver.say('pay');
    const card = await approver.chunk('tool-approval-request');
    await watcher.chunk('tool-approval-request');
    const { moveCall } = store;
    store.moveCall = () => Promise.reject(new Error('The disk is full.'));
    approver.send('message', decision(card));
    expect((await approver.chunk('data-error')).data).toMatchObject({ code: 'internal' });
    store.moveCall = moveCall;
    watcher.send('ping');
    await watcher.until((all) => all.some(({ kind }) => kind === 'raw'), 'pong');
    expect(heard(watcher).filter((line) => line.includes('data-error'))).toEqual([]);
  });

  it('[B31] the approval of a browser tool takes the floor: what was asked for on the phone comes from the phone', async () => {
    const { location } = fourTools();
    const server = await live([[locate], [text('Tokyo.')]], [location]);
    const desk = await watching(server);
    const phone = await watching(server);
    desk.say('where am I?');
    const card = await phone.chunk('tool-approval-request');
    phone.send('message', decision(card));
    const phoneId = await idOf(phone);
    await desk.until(() => holders(desk).at(-1) === phoneId, 'the change of the floor');
    phone.send('tool_result', { toolCallId: 'call-l', result: { city: 'Tokyo' } });
    await desk.done();
  });

  it('[B17] [B31c] a client that cannot watch takes the floor when it comes, and is closed when it loses it', async () => {
    const server = await live([[text('Hi.')]]);
    const watcher = await watching(server);
    const old = await server.connect('?session=shared');
    await watcher.until(() => holders(watcher).length > 0, 'the change of the floor');
    watcher.say('hi');
    expect(await old.closed()).toBe(4001);
    await watcher.done();
    expect(old.received.some((one) => one.kind === 'chunk' && one.chunk.type === 'data-floor')).toBe(false);
  });

  it('[B32a] a message that is taken back is told, before what replaces it', async () => {
    const server = await live([[text('One.')], [text('Two.')]]);
    const first = await watching(server);
    const second = await watching(server);
    first.say('one', 'user-1');
    await second.done();
    const parts = [{ type: 'text', text: 'two' }];
    first.send('message', { messages: [{ id: 'user-1', role: 'user', parts }], messageId: 'user-1' });
    await second.done(2);
    const types = second.received.flatMap((one) => (one.kind === 'chunk' ? [one.chunk.type] : []));
    const reported = types.filter((type) => ['data-rewind', 'data-message', 'start'].includes(type));
    expect(reported).toEqual(['data-message', 'start', 'data-rewind', 'data-message', 'start']);
  });

  it('[B32] [C15] a picture that one page shows has a whole address for the others, which may be on another host', async () => {
    const server = await live([[text('A dot.')]]);
    const [first, second] = [await watching(server), await watching(server)];
    await idOf(second);
    const url =
      'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const parts = [{ type: 'file', mediaType: 'image/png', url }];
    first.send('message', { messages: [{ id: 'user-1', role: 'user', parts }] });
    const [part] = (await second.chunk('data-message')).data.message.parts;
    const address = part?.type === 'file' ? part.url : '';
    expect(address).toMatch(/^http:\/\/[^/]+\/sessions\/shared\/files\//);
    expect((await fetch(address)).headers.get('content-type')).toBe('image/png');
  });

  it('[S20] [S20c] [S20d] [S20b] a page over SSE watches: what is said over the socket, and what is posted', async () => {
    const server = await live([[text('Hi.')], [text('Again.')], [text('More.')]]);
    const socket = await watching(server);
    await idOf(socket);
    const abort = new AbortController();
    const response = await fetch(`${server.served.url}/sessions/shared/watch`, { signal: abort.signal });
    const reader = watch(response);
    socket.say('hi', 'user-1');
    await socket.done();
    await reader.until(({ dones }) => dones === 1);
    await server.post({
      id: 'shared',
      messages: [{ id: 'user-2', role: 'user', parts: [{ type: 'text', text: 'more' }] }],
    });
    await reader.until(({ dones }) => dones === 2);
    const brief = await server.post({
      id: 'shared',
      watches: true,
      requestId: 'r-3',
      messages: [{ id: 'user-3', role: 'user', parts: [{ type: 'text', text: 'and more' }] }],
    });
    expect([brief.chunks, brief.dones]).toEqual([
      [{ type: 'data-accepted', data: expect.objectContaining({ requestId: 'r-3' }), transient: true }],
      1,
    ]);
    await reader.until(({ dones }) => dones === 3);
    expect(reader.types[0]).toBe('data-session');
    expect(reader.types.filter((type) => type === 'data-message')).toHaveLength(3);
    expect(reader.types.filter((type) => type === 'finish')).toHaveLength(3);
    abort.abort();
    // A new session is created, as over a socket; its position is sent at once, though it has no message.
    const fresh = watch(await fetch(`${server.served.url}/sessions/new/watch`, { method: 'POST' }));
    await fresh.until(({ types }) => types.length > 0);
    expect([fresh.types, fresh.ids]).toEqual([['data-session'], [expect.stringMatching(/-0$/)]]);
    fresh.end();
  });

  it('[B31b] [S21] [S21a] what is posted sets the floor free, and so does the page that is used instead', async () => {
    const server = await live([[text('Hi.')]]);
    const socket = await watching(server);
    const id = await idOf(socket);
    await server.post({ id: 'shared', messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }] });
    await socket.done();
    expect(holders(socket)).toEqual([null]);
    socket.send('floor');
    await socket.until(() => holders(socket).at(-1) === id, 'the floor');
    const freed = await fetch(`${server.served.url}/sessions/shared/floor`, { method: 'POST' });
    expect(freed.status).toBe(204);
    await socket.until(() => holders(socket).at(-1) === null, 'that the floor is free');
  });
});

/** Reads a stream that does not end. */
function watch(response: Response) {
  const state = { types: [] as string[], ids: [] as (string | undefined)[], dones: 0 };
  const decoder = new BlockDecoder();
  const bytes = response.body?.getReader();
  const words = new TextDecoder();
  return {
    get types() {
      return state.types;
    },
    get ids() {
      return state.ids;
    },
    end: () => void bytes?.cancel(),
    async until(condition: (now: typeof state) => boolean): Promise<void> {
      while (!condition(state)) {
        const { value, done } = (await bytes?.read()) ?? { value: undefined, done: true };
        if (done) throw new Error(`It ended after ${state.types.join(' ')}`);
        for (const { data, id } of decoder.push(words.decode(value, { stream: true }))) {
          if (data === '[DONE]') state.dones++;
          else {
            state.types.push((JSON.parse(data) as Chunk).type);
            state.ids.push(id);
          }
        }
      }
    },
  };
}
