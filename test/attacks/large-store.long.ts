import { randomUUID } from 'node:crypto';
import { on, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { CHAT_REQUESTS } from '../../src/protocol/wire/chat-frames.ts';
import { CLIENT_FRAMES } from '../../src/protocol/wire/frames.ts';
import { TestSocket } from '../support/socket.ts';
import { fillLargeStore } from './support/large-store.ts';
import { type SmallServer, startSmall } from './support/small-heap.ts';

/** What one request or frame cost the server. */
interface Cost {
  step: string;
  /** The status of a response, or the type of the frame that ended the answer of `/ws`. */
  status: number | string | null;
  bytes: number;
  heapMb: number;
  cpuMs: number;
  /** The longest time that the event loop was held up. */
  heldMs: number;
}

const SOUND = Buffer.alloc(640).toString('base64');
const forged = { toolCallId: 'x', state: 'approval-responded', approval: { id: 'y', approved: true } };
const answers = [{ id: 'z', role: 'assistant', parts: [{ type: 'tool-x', ...forged }] }];
const says = (text: string, id: string = randomUUID()) => [
  { id, role: 'user', parts: [{ type: 'text', text }] },
];

/** Every route of PROTOCOL.md, as requests about one session: a name, the method, the path, and a body. */
const requests = (id: string): [string, string, string, object?][] => [
  ['GET /health', 'GET', '/health'],
  ['GET /live', 'GET', '/live'],
  ['POST /login', 'POST', '/login', { key: 'none' }],
  ['GET /sessions', 'GET', '/sessions'],
  ['GET /sessions, an older page', 'GET', `/sessions?before=${Date.now()}.other-25000`],
  ['GET /sessions/:id', 'GET', `/sessions/${id}`],
  ['GET /sessions/:id, before the first message', 'GET', `/sessions/${id}?before=message-0`],
  ['GET /approvals/:id', 'GET', `/approvals/${id}`],
  ['GET /approvals/:id, an older page', 'GET', `/approvals/${id}?before=250000&limit=1000`],
  ['GET /sessions/:id/events', 'GET', `/sessions/${id}/events`],
  ['GET /sessions/:id/events, from the 700th', 'GET', `/sessions/${id}/events?from=700`],
  ['GET /sessions/:id/files/:file', 'GET', `/sessions/${id}/files/none`],
  ['GET /sessions/:id/artifacts', 'GET', `/sessions/${id}/artifacts?name=none`],
  ['GET /sign-in/callback', 'GET', '/sign-in/callback?state=none&code=none'],
  ['POST /sign-in/callback', 'POST', '/sign-in/callback', { state: 'none', code: 'none' }],
  ['GET /stream/:id/stream', 'GET', `/stream/${id}/stream`],
  ['GET /stream/:id/stream, replayed', 'GET', `/stream/${id}/stream?replay=1`],
  ['POST /stream/:id/settled', 'POST', `/stream/${id}/settled`, {}],
  ['POST /stream/:id/received', 'POST', `/stream/${id}/received`, { last: 'gone:1' }],
  ['PATCH /sessions/:id', 'PATCH', `/sessions/${id}`, { title: 'A title' }],
  ['POST /stream', 'POST', '/stream', { id, messages: says('hi') }],
  ['POST /stream, forged answers', 'POST', '/stream', { id, messages: answers }],
  [
    'POST /stream, regenerated',
    'POST',
    '/stream',
    { id, messages: says('hi', 'r'), trigger: 'regenerate-message' },
  ],
  ['POST /stream, continued', 'POST', '/stream', { id, trigger: 'continue-message', messageId: 'message-0' }],
  ['POST /sessions/:id/stop', 'POST', `/sessions/${id}/stop`],
  ['POST /sessions/:id/floor', 'POST', `/sessions/${id}/floor`],
  ['GET /sessions/:id/watch', 'GET', `/sessions/${id}/watch`],
  ['POST /sessions/:id/watch', 'POST', `/sessions/${id}/watch`, {}],
];

/** Every frame, and the chunk or end of a turn after which it has been dealt with. */
const frames: [string, keyof typeof CLIENT_FRAMES, object, 'done' | 'data-error' | null][] = [
  ['floor', 'floor', {}, null],
  ['ping', 'ping', { timestamp: 1 }, null],
  ['interrupt', 'interrupt', { playedMs: 1, messageId: 'message-0' }, null],
  ['tool_result', 'tool_result', { toolCallId: 'x', result: {} }, 'data-error'],
  ['audio_control', 'audio_control', { action: 'start' }, null],
  ['audio_chunk', 'audio_chunk', { chunk: SOUND, sampleRate: 16000, channels: 1, bitDepth: 16 }, null],
  ['video_frame', 'video_frame', { mediaType: 'image/jpeg', data: SOUND }, null],
  ['message, forged answers', 'message', { messages: answers }, 'data-error'],
  ['message', 'message', { messages: says('hi again') }, 'done'],
  ['message, continued', 'message', { trigger: 'continue-message', messageId: 'message-0' }, 'data-error'],
];

/** Every frame of `/ws`: a name, its type, its fields, and the type of the frame that ends the answer; null when there is no answer. */
const chatFrames: [string, string, object, 'end' | 'error' | 'no-active' | null][] = [
  ['resume', 'resume', {}, 'end'],
  ['send', 'send', { trigger: 'submit-message', messages: says('hi, stock', 'stock') }, 'end'],
  ['resume, confirmed', 'resume', {}, 'no-active'],
  ['send, once more', 'send', { trigger: 'submit-message', messages: says('hi, stock') }, 'end'],
  [
    'send, an answered message again',
    'send',
    { trigger: 'submit-message', messages: says('hi, stock', 'stock') },
    'error',
  ],
  [
    'send, regenerated',
    'send',
    { trigger: 'regenerate-message', messages: says('hi, stock', 'stock') },
    'end',
  ],
  ['send, forged answers', 'send', { trigger: 'submit-message', messages: answers }, 'error'],
  ['abort', 'abort', {}, null],
];

/** Sends a frame over a socket of `/ws`, and returns the type of the frame that ends its answer. */
async function ask(socket: WebSocket, frame: { type: string; requestId: string }): Promise<Cost['status']> {
  socket.send(JSON.stringify({ headers: {}, body: {}, ...frame }));
  for await (const [data] of on(socket, 'message')) {
    const { type, requestId } = JSON.parse(String(data)) as { type: string; requestId: string };
    if (requestId === frame.requestId && type !== 'chunk' && type !== 'start') return type;
  }
  return null;
}

/** Asks every route and sends every frame about a session, and measures each. */
async function walk(server: SmallServer, id: string): Promise<Cost[]> {
  const { url } = server;
  const costs: Cost[] = [];
  const cost = async (step: string, work: () => Promise<Pick<Cost, 'status' | 'bytes'>>) => {
    await server.measure();
    const reported = await work();
    costs.push({ step, ...reported, ...(await server.measure()) });
  };
  for (const [step, method, path, body] of requests(id)) {
    await cost(step, async () => {
      const leaving = new AbortController();
      const answer = await fetch(`${url}${path}`, {
        method,
        signal: leaving.signal,
        headers: { 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      const { status } = answer;
      if (!path.endsWith('/watch')) return { status, bytes: (await answer.arrayBuffer()).byteLength };
      const first = await answer.body?.getReader().read();
      leaving.abort();
      return { status, bytes: first?.value?.byteLength ?? 0 };
    });
  }
  let socket = new TestSocket(`${url}/live?session=${id}`, { protocols: ['duologue.v2'] });
  await cost('a connection that resumes after a chunk that is not kept', async () => {
    socket = new TestSocket(`${url}/live?session=${id}&last=gone:1`, { protocols: ['duologue.v2'] });
    await socket.chunk('data-reset');
    return { status: null, bytes: 0 };
  });
  for (const [step, type, data, end] of frames) {
    await cost(`frame ${step}`, async () => {
      const before = socket.received.length;
      socket.send(type, data);
      if (end === null) {
        socket.send('ping', { timestamp: step });
        await socket.until(
          (all) => all.slice(before).some(({ kind }) => kind === 'raw'),
          `a pong after ${step}`,
        );
      } else {
        const isEnd = (one: (typeof socket.received)[number]) =>
          end === 'done' ? one.kind === 'done' : one.kind === 'chunk' && one.chunk.type === end;
        await socket.until((all) => all.slice(before).some(isEnd), `the end of ${step}`);
      }
      return { status: null, bytes: 0 };
    });
  }
  const chat = new WebSocket(`${url.replace('http', 'ws')}/ws`);
  await once(chat, 'open');
  for (const [step, type, fields, end] of chatFrames) {
    await cost(`frame ${step} of /ws`, async () => {
      const frame = { type, id, requestId: randomUUID(), ...fields };
      if (end !== null) return { status: await ask(chat, frame), bytes: 0 };
      // An abort has no answer. Frames are handled in order, so the answer to the next one shows that the abort was handled.
      chat.send(JSON.stringify(frame));
      const next = { type: 'send', id, requestId: randomUUID(), messages: [{ role: 'system' }] };
      return { status: await ask(chat, next), bytes: 0 };
    });
  }
  chat.close();
  await once(chat, 'close');
  // This removes all that came after the question.
  await cost('frame message, a question of long ago again', async () => {
    const dones = socket.dones;
    socket.send('message', { messages: says('And?', 'message-0') });
    await socket.until(() => socket.dones > dones);
    return { status: null, bytes: 0 };
  });
  socket.close();
  await socket.closed();
  await cost('DELETE /sessions/:id', async () => {
    const { status } = await fetch(`${url}/sessions/${id}`, { method: 'DELETE' });
    return { status, bytes: 0 };
  });
  return costs;
}

it('[E4] every route and frame costs what a page costs, with 300 MB of history, 500,000 audit lines and 50,000 sessions', {
  timeout: 400_000,
}, async () => {
  const server = await startSmall({
    heapMb: 256,
    prepare: (folder) => fillLargeStore(folder, 'live_user'),
  });
  // The first walk is slow because nothing is compiled yet.
  await walk(server, 'other-1');
  const small = await walk(server, 'small');
  const long = await walk(server, 'long');
  expect(server.isAlive()).toBe(true);
  expect(long.map(({ step, status }) => [step, status])).toEqual(
    small.map(({ step, status }) => [step, status]),
  );
  expect(long.flatMap(({ step, status }) => (step.endsWith('of /ws') ? [[step, status]] : []))).toEqual(
    chatFrames.map(([step, , , end]) => [`frame ${step} of /ws`, end ?? 'error']),
  );
  expect(long.find(({ step }) => step === 'GET /sessions')?.bytes).toBeGreaterThan(10_000);
  // CPU time of the server is what holds up its event loop; it does not depend on what else the machine does.
  const dear = long.filter(({ step, cpuMs, heapMb, bytes }, n) => {
    // What is removed is all that there is, piece by piece.
    const limit = step.startsWith('DELETE') ? 5000 : 15 * Math.max(small[n]?.cpuMs ?? 0, 20);
    return bytes > 5 * 1024 * 1024 || heapMb >= 192 || cpuMs > limit;
  });
  expect(dear).toEqual([]);
});

it('walks every route and every frame of PROTOCOL.md', () => {
  const text = readFileSync(resolve(import.meta.dirname, '../../PROTOCOL.md'), 'utf8');
  const section = text.slice(text.indexOf('\n## S. '), text.indexOf('**S1**'));
  const rows = [...section.matchAll(/^\| `?(GET|POST|PATCH|DELETE)`?(?: or `POST)? ([^`?]+)[`?]/gm)];
  const walked = requests(':id').map(([step]) => step.split(',')[0]);
  for (const [, method, path] of rows)
    expect([...walked, 'DELETE /sessions/:id']).toContain(`${method} ${path}`);
  expect(rows.length).toBeGreaterThan(12);
  expect(new Set(frames.map(([, type]) => type))).toEqual(new Set(Object.keys(CLIENT_FRAMES)));
  expect(new Set(chatFrames.map(([, type]) => type))).toEqual(new Set(Object.keys(CHAT_REQUESTS)));
  expect(walked).toContain('GET /stream/:id/stream');
  expect(requests(':id').map(([, , path]) => path)).toContain('/stream/:id/stream?replay=1');
});
