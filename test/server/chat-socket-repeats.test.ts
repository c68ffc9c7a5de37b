import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { freePort } from '../../scripts/cluster/free-port.ts';
import { type Served, serve } from '../../src/server/adapters/node.ts';
import { systemClock } from '../../src/server/clock.ts';
import { createMemoryStore, type DuologueOptions, type Store } from '../../src/server/index.ts';
import { harness, say } from '../support/harness.ts';
import { MemoryDatabase, type NodeStore } from '../support/memory-nodes.ts';
import { partial, type ScriptedTurn, text } from '../support/scripted-model.ts';
import { png } from './support/images.ts';
import { latch } from './support/listen.ts';

type Frame = {
  type: string;
  requestId: string;
  chunk?: { type: string; delta?: string };
  errorText?: string;
};

const toClose: { close(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of toClose.splice(0).reverse()) await one.close();
});

/** A socket to `/ws`, and the frames that it received. */
async function connect({ url }: Pick<Served, 'url'>) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`);
  toClose.push({ close: () => socket.terminate() });
  const frames: Frame[] = [];
  const waiting: (() => void)[] = [];
  socket.on('message', (data) => {
    frames.push(JSON.parse(String(data)));
    for (const wake of waiting.splice(0)) wake();
  });
  await once(socket, 'open');
  const next = async (isThat: (frame: Frame) => boolean): Promise<Frame> => {
    for (;;) {
      const found = frames.find(isThat);
      if (found) return found;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  return {
    next,
    drop: () => socket.terminate(),
    send: (frame: object) => socket.send(JSON.stringify({ headers: {}, body: {}, ...frame })),
    /** The result of a request: the text that it streamed, or the frame that refused it. */
    async resultOf(requestId: string): Promise<string> {
      const last = await next(
        (frame) => frame.requestId === requestId && !['start', 'chunk'].includes(frame.type),
      );
      if (last.type !== 'end') return last.errorText ?? last.type;
      const own = frames.filter((frame) => frame.requestId === requestId);
      return own.map(({ chunk }) => chunk?.delta ?? '').join('');
    },
  };
}

async function serverWith(turns: ScriptedTurn[], options: Partial<DuologueOptions> = {}, port = 0) {
  const made = harness(turns, [], { newId: randomUUID, rateLimit: false, ...options });
  const served = await serve(made.duologue, { port, host: '127.0.0.1', quiet: true });
  toClose.push(served);
  const stored = async (): Promise<string[]> => {
    const { messages } = await (await made.get('/sessions/chat-1')).json();
    return messages.map(({ parts }: { parts: { text?: string }[] }) =>
      parts.map((part) => part.text).join(''),
    );
  };
  return { ...made, served, stored };
}

const send = (requestId: string, words: string, more: object = {}) => ({
  type: 'send',
  requestId,
  ...say(words),
  ...more,
});
/** A frame of `sendMessage({ text, files })`: a question about a picture. Pictures with other `pixels` have other bytes. */
const ask = (requestId: string, pixels: string, more: object = {}) => {
  const url = `data:image/png;base64,${Buffer.concat([png, Buffer.from(pixels)]).toString('base64')}`;
  const parts = [
    { type: 'text', text: 'What is this?' },
    { type: 'file', mediaType: 'image/png', url },
  ];
  return send(requestId, 'x', { messages: [{ id: 'user-1', role: 'user', parts }], ...more });
};
const AGAIN = { trigger: 'regenerate-message' };

/** A turn that says its first word, and the rest when `opened` resolves. */
const slow = (opened: Promise<void>): ScriptedTurn =>
  async function* () {
    yield partial('One ');
    await opened;
    yield partial('two.');
    yield text('One two.');
  };

describe('a message that a stock client sends again', () => {
  it('[W10] [W10a] [W10b] is answered with the response to it while that runs, and when it is over', async () => {
    const { open, opened } = latch();
    const { served, stored, model } = await serverWith([slow(opened)]);
    const first = await connect(served);
    first.send(send('q-1', 'count'));
    await first.next(({ chunk }) => chunk?.type === 'text-delta');
    const second = await connect(served);
    second.send(send('q-2', 'count'));
    // `sendMessage()` without arguments names the last message, which is the user's.
    second.send(send('q-3', 'count', { messageId: 'user-count' }));
    await second.next(({ requestId, chunk }) => requestId === 'q-3' && chunk?.type === 'text-delta');
    open();
    expect(await Promise.all(['q-2', 'q-3'].map(second.resultOf))).toEqual(['One two.', 'One two.']);
    second.send(send('q-4', 'count'));
    expect(await second.resultOf('q-4')).toBe('One two.');
    expect([await stored(), model.requests.length]).toEqual([['count', 'One two.'], 1]);
  });

  it('[W10] is answered once when its first copy still waits for its turn', async () => {
    const { open, opened } = latch();
    const { served, stored, model } = await serverWith([slow(opened), [text('Three.')]]);
    const page = await connect(served);
    page.send(send('q-1', 'count'));
    await page.next(({ chunk }) => chunk?.type === 'text-delta');
    page.send(send('q-2', 'more'));
    page.send(send('q-3', 'more'));
    // Frames are handled in order, so both requests have arrived when this one is refused.
    page.send({ ...send('q-4', 'x'), messages: [{ role: 'system' }] });
    await page.resultOf('q-4');
    open();
    expect(await Promise.all(['q-2', 'q-3'].map(page.resultOf))).toEqual(['Three.', 'Three.']);
    expect([await stored(), model.requests.length]).toEqual([['count', 'One two.', 'more', 'Three.'], 2]);
  });

  it.each([
    ['the first', []],
    ['a later', ['One.']],
  ])(
    '[W10a] [W10b] that is %s message gets the response to it when it arrives while the store writes the message',
    async (_, before) => {
      const store = createMemoryStore();
      const { open, opened } = latch();
      const { open: hasBegun, opened: begun } = latch();
      const slowStore: Store = {
        ...store,
        async putMessage(...given) {
          if (given[1].id === 'user-b') {
            hasBegun();
            await opened;
          }
          await store.putMessage(...given);
        },
      };
      const turns = [...before, 'Two.', 'Three.'].map((words) => [text(words)]);
      const { served, stored } = await serverWith(turns, { store: slowStore });
      const page = await connect(served);
      for (const answer of before) {
        page.send(send('q-1', 'a'));
        expect(await page.resultOf('q-1')).toBe(answer);
      }
      page.send(send('q-2', 'b'));
      await begun;
      const again = await connect(served);
      again.send(send('q-3', 'b'));
      again.send(send('q-4', 'b', { messageId: 'user-b' }));
      // Frames are handled in order, so the server has handled the copies when this one is refused.
      again.send({ ...send('q-5', 'x'), messages: [{ role: 'system' }] });
      await again.resultOf('q-5');
      open();
      const results = [page.resultOf('q-2'), ...['q-3', 'q-4'].map(again.resultOf)];
      expect(await Promise.all(results)).toEqual(['Two.', 'Two.', 'Two.']);
      expect(await stored()).toEqual([...before.flatMap((answer) => ['a', answer]), 'b', 'Two.']);
    },
  );

  it('[W10] starts no turn when it arrives after the page regenerated its answer', async () => {
    const { served, stored, model } = await serverWith([[text('Once.')]]);
    const page = await connect(served);
    page.send(send('q-2', 'go', AGAIN));
    expect(await page.resultOf('q-2')).toBe('Once.');
    const late = await connect(served);
    late.send(send('q-1', 'go'));
    expect(await late.resultOf('q-1')).toBe('Once.');
    expect([await stored(), model.requests.length]).toEqual([['go', 'Once.'], 1]);
  });

  it('[W10] [W10b] removes no later message when it arrives after one', async () => {
    const { served, stored, model } = await serverWith([[text('One.')], [text('Two.')]]);
    const page = await connect(served);
    page.send(send('q-1', 'a'));
    await page.resultOf('q-1');
    page.send(send('q-2', 'b'));
    await page.resultOf('q-2');
    page.send(send('q-3', 'a'));
    await page.next(({ type, requestId }) => type === 'error' && requestId === 'q-3');
    expect([await stored(), model.requests.length]).toEqual([['a', 'One.', 'b', 'Two.'], 2]);
  });

  it('[W10a] [S11a] runs again when it is regenerated, edited, or an earlier message that the page names', async () => {
    const turns = ['One.', 'Two.', 'Three.', 'Four.', 'Five.'].map((words) => [text(words)]);
    const { served, stored } = await serverWith(turns);
    const page = await connect(served);
    const results: string[] = [];
    const edited = {
      messages: [{ id: 'user-a', role: 'user', parts: [{ type: 'text', text: 'a, edited' }] }],
    };
    const named = { messageId: 'user-a' };
    const all = [
      send('1', 'a'),
      send('2', 'a', AGAIN),
      send('3', 'a', { ...edited, ...named }),
      send('4', 'b'),
    ];
    for (const frame of [...all, send('5', 'a', { ...edited, ...named })]) {
      page.send(frame);
      results.push(await page.resultOf(frame.requestId));
    }
    expect(results).toEqual(['One.', 'Two.', 'Three.', 'Four.', 'Five.']);
    expect(await stored()).toEqual(['a, edited', 'Five.']);
  });

  it('[W10a] [S11a] runs again when the edit replaces only a picture, and not when the picture is the same', async () => {
    const { served, get, model } = await serverWith([[text('A cat.')], [text('A dog.')]]);
    const page = await connect(served);
    const named = { messageId: 'user-1' };
    page.send(ask('q-1', 'cat'));
    expect(await page.resultOf('q-1')).toBe('A cat.');
    page.send(ask('q-2', 'cat', named));
    expect(await page.resultOf('q-2')).toBe('A cat.');
    page.send(ask('q-3', 'dog', named));
    expect(await page.resultOf('q-3')).toBe('A dog.');
    const { messages } = await (await get('/sessions/chat-1')).json();
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant']);
    const shown = await get(new URL(messages[0].parts[1].url).pathname);
    expect(
      Buffer.from(await shown.arrayBuffer())
        .subarray(png.length)
        .toString(),
    ).toBe('dog');
    // A page that was loaded again sends the address of the picture instead of its bytes.
    page.send({ ...ask('q-4', ''), messages: [messages[0]], ...named });
    expect(await page.resultOf('q-4')).toBe('A dog.');
    expect(model.requests.length).toBe(2);
  });

  it('[W10a] is told from an edit of its picture after a restart of the server', async () => {
    const store = createMemoryStore();
    store.close = async () => undefined;
    const first = await serverWith([[text('A cat.')]], { store });
    const page = await connect(first.served);
    page.send(ask('q-1', 'cat'));
    expect(await page.resultOf('q-1')).toBe('A cat.');
    await first.served.close();
    const { served, model } = await serverWith([[text('A dog.')]], { store });
    const later = await connect(served);
    later.send(ask('q-2', 'cat', { messageId: 'user-1' }));
    expect(await later.resultOf('q-2')).toBe('A cat.');
    later.send(ask('q-3', 'dog', { messageId: 'user-1' }));
    expect(await later.resultOf('q-3')).toBe('A dog.');
    expect(model.requests.length).toBe(1);
  });
});

describe('two nodes', () => {
  async function twoNodes(turns: ScriptedTurn[]) {
    const database = new MemoryDatabase(systemClock);
    const start = async () => {
      const store: NodeStore = database.open();
      const port = await freePort();
      // No lease ends while the store of a node is cut off.
      const node = { address: `http://127.0.0.1:${port}`, leaseMs: 60_000 };
      return { ...(await serverWith(turns, { store, node }, port)), store };
    };
    return { one: await start(), other: await start() };
  }

  it.each([
    ['message', {}],
    ['regeneration', AGAIN],
  ])(
    '[W7a] answer a resume with the response to a %s that the other node has read, and that no owner has yet',
    async (_, more) => {
      const { one, other } = await twoNodes([[text('Hello.')]]);
      await Promise.all([one.get('/sessions/none'), other.get('/sessions/none')]);
      const first = await connect(one.served);
      one.store.cut();
      first.send(send('q-1', 'hello', more));
      // Frames are handled in order, so the node has read the message when this one is refused.
      first.send({ ...send('q-2', 'x'), messages: [{ role: 'system' }] });
      await first.resultOf('q-2');
      first.drop();
      const second = await connect(other.served);
      const { open: hasLooked, opened: looked } = latch();
      other.store.onDone = (method) => method === 'acquire' && hasLooked();
      second.send({ type: 'resume', requestId: 'q-3', id: 'chat-1' });
      await looked;
      one.store.mend();
      expect(await second.resultOf('q-3')).toBe('Hello.');
      expect(one.model.requests.length + other.model.requests.length).toBe(1);
    },
  );

  it('[W7] answer that nothing runs when no node has read a send', async () => {
    const { one, other } = await twoNodes([]);
    await one.get('/sessions/none');
    const page = await connect(other.served);
    page.send({ type: 'resume', requestId: 'q-1', id: 'chat-1' });
    expect(await page.resultOf('q-1')).toBe('no-active');
  });
});
