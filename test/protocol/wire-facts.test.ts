import { LlmAgent } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { decodeBinary, isForWatchers, parseChunkId } from '../../src/protocol/index.ts';
import { read } from '../repository/support/repository.ts';
import { fourTools } from '../support/demo-tools.ts';
import { read as readResponse } from '../support/harness.ts';
import { live } from '../support/live.ts';
import { calls, ScriptedLiveConnection, ScriptedModel, text } from '../support/scripted-model.ts';

/** The ids of the chunks that a test socket received, in order. */
const idsOf = (socket: { received: { kind: string; id?: string | undefined }[] }): string[] =>
  socket.received.flatMap((one) => (one.kind === 'chunk' && one.id ? [one.id] : []));

const seqOf = (id: string | undefined): number => parseChunkId(id ?? '')?.seq ?? Number.NaN;

const dones = (socket: { received: { kind: string }[] }): number =>
  socket.received.filter(({ kind }) => kind === 'done').length;

describe('places in the log', () => {
  it('[C5a] [B10a] [B10b] [R2a] [DONE] has the seq after its turn, which the next connection names as newest', async () => {
    const server = await live([[text('One.')], [text('Two.')]]);
    const first = await server.connect('?session=s');
    first.say('hi');
    await first.done();
    const finish = idsOf(first).at(-1);
    first.close();

    const second = await server.connect(`?session=s&last=${finish}`);
    const { data } = await second.chunk('data-session');
    const done = data.newest;
    expect([data.resumed, seqOf(done)]).toEqual([true, seqOf(finish) + 1]);
    expect(idsOf(second)[0]).toBe(finish);
    await second.done();
    second.close();

    const third = await server.connect(`?session=s&last=${done}`);
    const reported = await third.chunk('data-session');
    expect([reported.data.resumed, idsOf(third)[0]]).toEqual([true, done]);
    third.say('again');
    await third.done();
    expect([dones(second), dones(third)]).toEqual([1, 1]);
    expect(seqOf(idsOf(third)[1])).toBeGreaterThan(seqOf(done));
  });

  it('[S2d] a post names the chunk before its response, and the response can be read again after it', async () => {
    const server = await live([[text('One.')], [text('Two.')]]);
    const body = (texts: string) => ({ id: 's', messages: [{ role: 'user', content: texts }] });
    const first = await server.post(body('a'));
    const second = await server.post(body('b'));
    const last = second.headers.get('x-duologue-last') ?? '';
    expect(seqOf(last)).toBeGreaterThan(seqOf(first.ids.at(-1)));
    const again = await readResponse(await server.get(`/stream/s/stream?last=${last}`));
    expect([again.chunks, again.ids]).toEqual([second.chunks, second.ids]);
  });

  it('[S18b] a page before a message that is not there is not found', async () => {
    const server = await live([[text('One.')]]);
    await server.post({ id: 's', messages: [{ role: 'user', content: 'a' }] });
    const answer = await server.get('/sessions/s?before=nothing');
    expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
      404,
      'not_found',
    ]);
  });
});

describe('a handshake', () => {
  it('[B9] [B9a] of a client that offers both subprotocols takes the newer, and its chunks have ids', async () => {
    const server = await live([[text('One.')]]);
    const socket = await server.connect('?session=s', { protocols: ['duologue.v1', 'duologue.v2'] });
    expect(socket.socket.protocol).toBe('duologue.v2');
    socket.say('hi');
    await socket.done();
    const reported = socket.received.flatMap((one) => (one.kind === 'chunk' ? [one] : []));
    const unnamed = reported.filter(({ id }) => id === undefined).map(({ chunk }) => chunk.type);
    expect([reported.length > 4, unnamed]).toEqual([true, []]);
  });
});

describe('two connections of a session', () => {
  it('[B30] the active one gets sound, and one that watches gets every chunk and no sound', async () => {
    const connection = new ScriptedLiveConnection();
    const model = new ScriptedModel([], { connections: [connection] });
    const server = await live([], [], { agent: new LlmAgent({ name: 'assistant', model }) });
    const protocols = ['duologue.v2'];
    const active = await server.connect('?session=s', { protocols });
    await active.chunk('data-session');
    const watcher = await server.connect('?session=s', { protocols });
    await watcher.chunk('data-session');
    const heard = new Promise<void>((resolve) => {
      connection.onSend = () => resolve();
    });
    active.say('count');
    await heard;
    const data = Buffer.alloc(200).toString('base64');
    connection.push(
      { content: { role: 'model', parts: [{ inlineData: { mimeType: 'audio/pcm;rate=1000', data } }] } },
      { outputTranscription: { text: 'One.', finished: true }, partial: false },
      { turnComplete: true },
    );
    await Promise.all([active.done(), watcher.done()]);
    const sounds = [active, watcher].map(
      ({ received }) =>
        received.filter(
          (one) => one.kind === 'binary' || (one.kind === 'chunk' && one.chunk.type === 'data-sound'),
        ).length,
    );
    expect([sounds, watcher.chunks]).toEqual([[2, 0], active.chunks]);
  });

  it('[B32b] a client without duologue.v2 gets nothing that is for watchers', async () => {
    const typesOf = async (protocols: string[]): Promise<string[]> => {
      const server = await live([[text('One.')]]);
      const socket = await server.connect('?session=s', { protocols });
      socket.say('hi');
      await socket.done();
      socket.send('floor');
      socket.send('ping', { timestamp: 1 });
      await socket.until((all) => all.some(({ kind }) => kind === 'raw'));
      return socket.received.flatMap((one) =>
        one.kind === 'chunk' && isForWatchers(one.chunk) ? [one.chunk.type] : [],
      );
    };
    expect([await typesOf(['duologue.v1']), await typesOf(['duologue.v2'])]).toEqual([[], ['data-message']]);
  });
});

describe('an approval request', () => {
  it('[T16] says when it expires, by the clock of the server', async () => {
    const pay = { name: 'process_payment', args: { amount: 30, recipient: 'Alice' } };
    const approvalTimeoutMs = 20_000;
    const server = await live([[calls(pay)]], [fourTools().payment], { approvalTimeoutMs });
    const socket = await server.connect('?session=s');
    const before = Date.now();
    socket.say('pay');
    const { approvalDescriptor } = await socket.chunk('tool-approval-request');
    const { expiresAt } = approvalDescriptor as unknown as { expiresAt: number };
    const issuedAt = expiresAt - approvalTimeoutMs;
    expect([issuedAt >= before, issuedAt <= Date.now()]).toEqual([true, true]);
  });
});

describe('the binary frame that PROTOCOL.md shows', () => {
  it('[C13] is two samples of microphone sound', () => {
    const [, hex = ''] = /^```hex\n(.*)\n```$/m.exec(read('PROTOCOL.md')) ?? [];
    const frame = decodeBinary(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
    expect({ ...frame, payload: [...(frame?.payload ?? [])] }).toEqual({
      kind: 1,
      sampleRate: 16_000,
      payload: [1, 0, 255, 255],
    });
  });
});
