import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  Connection,
  type ConnectionEvent,
  type ConnectionOptions,
  type ConnectionState,
  type WebSocketLinkOptions,
  webSocketLinks,
} from '../../src/client/link/index.ts';
import { browserNetwork, systemTimers } from '../../src/client/platform.ts';
import { BINARY, type Chunk, encodeBinary, encodeBlock } from '../../src/protocol/index.ts';
import { FakeServer } from './support/server.ts';
import { FakeNetwork, FakeTimers } from './support/time.ts';

interface World {
  server: FakeServer;
  timers: FakeTimers;
  network: FakeNetwork;
  connection: Connection;
  states: ConnectionState[];
  events: ConnectionEvent[];
}

type Options = Partial<ConnectionOptions & WebSocketLinkOptions>;

function world(options: Options = {}): World {
  const server = new FakeServer();
  const timers = new FakeTimers();
  const network = new FakeNetwork();
  const kind = webSocketLinks({
    url: 'https://host/base',
    WebSocket: server.WebSocket,
    timers,
    ...options,
  });
  // Why no link opens is asked in dead-ends.test.ts.
  delete kind.findCause;
  const connection = new Connection(kind, { timers, network, ...options });
  const states: ConnectionState[] = [];
  const events: ConnectionEvent[] = [];
  connection.subscribe(() => states.push(connection.state));
  connection.listen((event) => events.push(event));
  return { server, timers, network, connection, states, events };
}

async function live(options: Options = {}): Promise<World> {
  const w = world(options);
  w.connection.connect('s 1');
  await w.timers.settle(0);
  return w;
}

const status = (states: readonly ConnectionState[]) => states.map((state) => state.status);

describe('a connection', () => {
  test('goes from idle over connecting to live, and knows its session', async () => {
    const w = world();
    expect([w.connection.state, w.connection.sessionId]).toEqual([{ status: 'idle' }, null]);
    w.connection.connect();
    await w.timers.settle();
    expect(w.states).toEqual([
      { status: 'connecting', attempt: 0 },
      { status: 'live', sessionId: 'session-1', connectionId: 'c1' },
    ]);
    expect([w.server.sockets[0]?.url, w.connection.sessionId]).toEqual(['wss://host/base/live', 'session-1']);
  });

  test('offers the subprotocol, and the key when it has one', async () => {
    const w = await live({ key: 'söße/key?' });
    expect(w.server.sockets[0]?.protocols).toEqual(['duologue.v1', 'duologue.key.c8O2w59lL2tleT8']);
    expect((await live({ watches: true })).server.sockets[0]?.protocols).toEqual([
      'duologue.v2',
      'duologue.v1',
    ]);
  });

  test('comes back with the session and the last chunk it saw', async () => {
    const w = await live();
    w.server.say({ type: 'start', messageId: 'a' }, { type: 'finish' }, null);
    w.server.socket?.end(1006);
    expect(w.connection.state).toEqual({ status: 'reconnecting', attempt: 1, retryAt: w.timers.now() + 500 });
    await w.timers.settle(500);
    expect(w.server.sockets[1]?.url).toBe('wss://host/base/live?session=s+1&last=e1-2');
    expect(w.connection.state.status).toBe('live');
  });

  test('waits longer after every failure, up to half a minute, with jitter', async () => {
    const w = await live();
    const delays: number[] = [];
    w.server.accepts = false;
    for (let attempt = 0; attempt < 8; attempt++) {
      w.timers.chance = attempt % 2;
      w.server.socket?.end(1006);
      const { state } = w.connection;
      const delay = state.status === 'reconnecting' ? state.retryAt - w.timers.now() : -1;
      delays.push(delay);
      w.timers.advance(delay);
    }
    expect(delays).toEqual([250, 1_000, 1_000, 4_000, 4_000, 16_000, 15_000, 30_000]);
  });

  test('starts counting anew once it was live again', async () => {
    const w = await live();
    w.server.socket?.end(1006);
    await w.timers.settle(500);
    w.server.socket?.end(1012);
    expect(w.connection.state).toMatchObject({ status: 'reconnecting', attempt: 1 });
  });

  test.each([1006, 1012, 1011, 1008, 4002, 4003])('tries again after close code %i', async (code) => {
    const w = await live();
    w.server.socket?.end(code);
    await w.timers.settle(500);
    expect([w.connection.state.status, w.server.sockets.length]).toEqual(['live', 2]);
  });

  test.each([4403, 4404])('does not try again after close code %i', async (code) => {
    const w = await live();
    w.server.socket?.end(code, 'no');
    await w.timers.settle(120_000);
    expect([w.connection.state, w.server.sockets.length]).toEqual([
      { status: 'closed', code, reason: 'no' },
      1,
    ]);
  });

  test.each([
    ['refused', (w: World) => w.server.socket?.end(1006)],
    ['closed again', (w: World) => w.server.socket?.end(4401, 'really no')],
    ['not answered', (w: World) => w.timers.advance(15_000)],
  ])('[A12d] tries once more after it was signed out, at once; %s, it stays closed', async (_, fail) => {
    const w = await live();
    w.server.accepts = false;
    w.server.socket?.end(4401, 'no');
    expect([w.connection.state.status, w.server.sockets.length]).toEqual(['connecting', 2]);
    fail(w);
    await w.timers.settle(120_000);
    expect([w.connection.state, w.server.sockets.length]).toEqual([
      { status: 'closed', code: 4401, reason: expect.stringMatching(/no$/) },
      2,
    ]);
    w.server.accepts = true;
    w.connection.connect();
    await w.timers.settle();
    expect(w.connection.state.status).toBe('live');
  });

  test('[A12d] that was signed out goes on where it was when the browser has fresh credentials', async () => {
    const w = await live();
    for (let round = 0; round < 2; round++) {
      w.server.socket?.end(4401, 'no');
      await w.timers.settle();
      expect(w.connection.state).toMatchObject({ status: 'live', sessionId: 's 1' });
    }
    expect(w.server.sockets).toHaveLength(3);
  });

  test('that is taken over does not come back by itself, only when it is told to', async () => {
    const w = await live();
    w.server.socket?.end(4001);
    w.network.comeBack();
    await w.timers.settle(120_000);
    expect([w.connection.state, w.server.sockets.length]).toEqual([{ status: 'taken-over' }, 1]);
    w.connection.connect();
    await w.timers.settle();
    expect([w.connection.state.status, w.server.sockets.length]).toEqual(['live', 2]);
  });

  test('is offline while the browser says so, and tries at once when the network is back', async () => {
    const w = await live();
    w.network.online = false;
    w.server.socket?.end(1006);
    expect(w.connection.state).toEqual({ status: 'offline', attempt: 1, retryAt: w.timers.now() + 30_000 });
    w.network.comeBack();
    await w.timers.settle();
    expect(w.connection.state.status).toBe('live');
  });

  test('tries at once when the page is seen again', async () => {
    const w = await live();
    w.server.socket?.end(1006);
    w.network.comeBack();
    w.network.comeBack();
    await w.timers.settle(0);
    expect([w.connection.state.status, w.server.sockets.length]).toEqual(['live', 2]);
  });

  test('that never says hello is given up and tried again', async () => {
    const w = world();
    w.server.accepts = false;
    w.connection.connect('s');
    w.timers.advance(10_000);
    expect([status(w.states), w.server.sockets[0]?.closedWith]).toEqual([
      ['connecting', 'reconnecting'],
      4000,
    ]);
  });

  test('pings, and stays while it is answered', async () => {
    const w = await live({ heartbeatMs: 1_000 });
    for (let beat = 0; beat < 10; beat++) w.timers.advance(1_000);
    expect([w.connection.state.status, w.server.sockets.length]).toEqual(['live', 1]);
    expect(w.server.sockets[0]?.sent).toHaveLength(10);
  });

  test('is dead after two pings without any word', async () => {
    const w = await live({ heartbeatMs: 1_000 });
    w.server.answersPings = false;
    w.timers.advance(2_999);
    expect(w.connection.state.status).toBe('live');
    w.timers.advance(1);
    expect([w.connection.state.status, w.server.sockets[0]?.closedWith]).toEqual(['reconnecting', 4000]);
  });

  test('any frame is a sign of life', async () => {
    const w = await live({ heartbeatMs: 1_000 });
    w.server.answersPings = false;
    for (let beat = 0; beat < 5; beat++) {
      w.timers.advance(1_000);
      w.server.say({ type: 'start', messageId: `a${beat}` });
    }
    expect(w.connection.state.status).toBe('live');
  });

  test('[B1c] a bare frame of a type that it does not know is a sign of life, and changes nothing else', async () => {
    const w = await live({ heartbeatMs: 1_000 });
    w.server.answersPings = false;
    const seen = w.events.length;
    for (let beat = 0; beat < 5; beat++) {
      w.timers.advance(1_000);
      w.server.socket?.deliver('{"type":"of-a-newer-server","data":{"type":"finish"}}');
    }
    expect([w.connection.state.status, w.events.slice(seen)]).toEqual(['live', []]);
    w.server.say({ type: 'start', messageId: 'a1' });
    expect(w.events.at(-2)).toMatchObject({ type: 'chunk', chunk: { type: 'start' } });
  });

  test('gives a frozen server up within six seconds while it waits for an answer', async () => {
    const w = await live();
    w.server.answersPings = false;
    w.timers.advance(5_999);
    expect(w.connection.state.status).toBe('live');
    w.timers.advance(1);
    expect([w.connection.state.status, w.server.sockets[0]?.closedWith]).toEqual(['reconnecting', 4000]);
  });

  test('pings every 15 seconds while nothing is awaited, and soon after something was sent or heard', async () => {
    const w = await live();
    w.connection.setAtRest(true);
    w.timers.advance(2_000);
    const pings = () => w.server.sockets[0]?.sent.filter((frame) => String(frame).includes('ping')).length;
    expect(pings()).toBe(1);
    w.timers.advance(60_000);
    expect(pings()).toBe(5);
    w.connection.send({ type: 'floor', data: {} });
    w.timers.advance(2_000);
    expect(pings()).toBe(6);
    w.server.say({ type: 'start', messageId: 'a1' });
    w.connection.setAtRest(false);
    w.timers.advance(6_000);
    expect(pings()).toBe(9);
    w.connection.setAtRest(true);
    w.timers.advance(2_000);
    w.server.answersPings = false;
    w.timers.advance(19_000);
    expect(w.connection.state.status).toBe('reconnecting');
  });

  test('stays open while the page is hidden: only a link that a browser allows few of pauses', async () => {
    const w = await live();
    w.connection.setAtRest(true);
    w.network.hidden = true;
    w.timers.advance(60_000);
    expect([w.connection.state.status, w.server.sockets.length]).toEqual(['live', 1]);
  });

  test('waits longer for the answer while a large frame leaves', async () => {
    const w = await live();
    w.server.answersPings = false;
    w.connection.send({ type: 'message', data: { id: null, messages: ['x'.repeat(2_000_000)] } });
    w.timers.advance(21_999);
    expect(w.connection.state.status).toBe('live');
    w.timers.advance(1);
    expect(w.connection.state.status).toBe('reconnecting');
  });

  test('learns soon after a sleep whether its socket still lives', async () => {
    const dead = await live();
    dead.server.answersPings = false;
    dead.network.comeBack();
    dead.timers.advance(5_000);
    expect(dead.connection.state.status).toBe('reconnecting');

    const alive = await live({ heartbeatMs: 1_000 });
    alive.network.comeBack();
    alive.timers.advance(60_000);
    expect([alive.connection.state.status, alive.server.sockets.length]).toEqual(['live', 1]);
  });

  test('hears nothing more of a socket that it gave up', async () => {
    const w = await live();
    const old = w.server.socket;
    w.connection.close();
    const before = w.events.length;
    old?.onmessage?.({ data: 'data: {"type":"start"}\n\n' } as never);
    expect([w.events.length, w.connection.state, w.timers.pending, w.network.listening]).toEqual([
      before,
      { status: 'closed', code: 1000, reason: '' },
      0,
      0,
    ]);
  });

  test('that was never asked for closes without a word', () => {
    const w = world();
    w.connection.close();
    expect([w.connection.state, w.states]).toEqual([{ status: 'idle' }, []]);
  });

  test('tells chunks, ends and the rest of each frame in order', async () => {
    const w = await live();
    const from = w.events.length;
    w.server.say({ type: 'start', messageId: 'a' }, { type: 'finish' }, null);
    expect(w.events.slice(from)).toEqual([
      { type: 'chunk', chunk: { type: 'start', messageId: 'a' } },
      { type: 'chunk', chunk: { type: 'finish' } },
      { type: 'done' },
      { type: 'frame-end' },
    ]);
  });

  test('passes over what it cannot read', async () => {
    const w = await live();
    const from = w.events.length;
    for (const frame of [
      '{"type":"pang"}',
      '{',
      'data: nonsense\n\n',
      'data: {"no":"type"}\n\n',
      'data: null\n\n',
    ]) {
      w.server.socket?.deliver(frame);
    }
    expect(w.events.slice(from).filter(({ type }) => type !== 'frame-end')).toEqual([]);
    expect(w.connection.state.status).toBe('live');
  });

  test('carries sound both ways, but not into a socket that is full or away', async () => {
    const w = await live();
    const sound = encodeBinary({
      kind: BINARY.audioDown,
      sampleRate: 24_000,
      payload: new Uint8Array([1, 2]),
    });
    w.server.socket?.deliver(sound.slice().buffer as ArrayBuffer);
    w.server.socket?.deliver(new ArrayBuffer(3));
    expect(w.events.filter(({ type }) => type === 'binary')).toEqual([
      {
        type: 'binary',
        frame: { kind: 2, sampleRate: 24_000, utterance: 0, payload: new Uint8Array([1, 2]) },
      },
    ]);
    const up = new Uint8Array(8);
    expect(w.connection.send(up)).toBe(true);
    if (w.server.socket) w.server.socket.bufferedAmount = 300_000;
    expect([w.connection.send(up), w.connection.send({ type: 'floor', data: {} })]).toEqual([false, true]);
    w.server.socket?.end(1006);
    expect(w.connection.send(up)).toBe(false);
  });

  test('shows every frame to whoever watches', async () => {
    const frames: [string, unknown][] = [];
    const w = await live({
      onFrame: (direction, data) => frames.push([direction, typeof data]),
      heartbeatMs: 1_000,
    });
    w.timers.advance(1_000);
    w.connection.send(new Uint8Array(2));
    w.server.socket?.deliver(new ArrayBuffer(9));
    expect(frames).toEqual([
      ['in', 'string'],
      ['out', 'string'],
      ['in', 'string'],
      ['out', 'object'],
      ['in', 'object'],
    ]);
  });

  test('another session begins anew', async () => {
    const w = await live();
    w.server.say({ type: 'start', messageId: 'a' });
    w.connection.connect('s 1');
    expect(w.server.sockets).toHaveLength(1);
    w.connection.connect('s2');
    await w.timers.settle();
    expect([w.server.sockets[0]?.closedWith, w.server.sockets[1]?.url]).toEqual([
      1000,
      'wss://host/base/live?session=s2',
    ]);
  });

  test('says what is missing where there is no WebSocket', () => {
    vi.stubGlobal('WebSocket', undefined);
    const connection = new Connection(webSocketLinks({ url: 'ws://x' }));
    expect(() => connection.connect()).toThrow(
      'This runtime has no WebSocket: pass one with the option "WebSocket".',
    );
  });
});

describe('what must arrive', () => {
  const letter = (requestId: string, more: object = {}) => ({
    requestId,
    frame: { type: 'message' as const, data: { id: null, messages: [], requestId } },
    ...more,
  });
  const sent = (w: World) => w.server.frames.map(({ data }) => data.requestId);

  test('waits for the connection, and goes in order before anything newer', async () => {
    const w = world();
    w.server.accepts = false;
    w.connection.connect('s');
    w.connection.post(letter('1'));
    w.connection.post(letter('2'));
    w.connection.listen((event) => {
      if (event.type === 'session') w.connection.post(letter('3'));
    });
    w.connection.subscribe(() => {
      if (w.connection.state.status === 'live') w.connection.post(letter('4'));
    });
    w.server.accepts = true;
    w.server.sockets[0]?.end(1006);
    await w.timers.settle(500);
    expect(sent(w)).toEqual(['1', '2', '3', '4']);
  });

  test.each([
    ['a request that the server has', [{ requestId: '1' }], false],
    ['a request that it has not', [{ requestId: '0' }], true],
  ])('[B24a] [B26a] after a drop %s: sent again is %s', async (_what, received, isSentAgain) => {
    const w = await live();
    w.server.remembers = false;
    w.server.losesNext = true;
    w.connection.post(letter('1'));
    w.server.tells = { received };
    await w.timers.settle(500);
    expect(sent(w)).toEqual(isSentAgain ? ['1'] : []);
  });

  test('[B24] is not sent again once the server has accepted or refused it', async () => {
    const w = await live();
    w.server.remembers = false;
    const error = { code: 'busy', message: 'No.', retryable: true };
    w.server.onFrame = ({ data }) => {
      if (data.requestId === '2') w.server.tell({ type: 'data-error', data: error, transient: true });
    };
    w.connection.post(letter('1'));
    w.connection.post(letter('2'));
    w.server.socket?.end(1006);
    await w.timers.settle(500);
    expect(sent(w)).toEqual(['1', '2']);
  });

  const refusal = (code: string): Chunk => ({
    type: 'data-error',
    data: { code, message: 'Elsewhere.', retryable: true },
    transient: true,
  });

  test.each(['moved', 'shutting_down'])(
    '[B34a] is sent again on the next connection, in order and under its name, when it was refused with %s',
    async (code) => {
      const w = await live();
      w.server.onFrame = ({ data }) => {
        if (w.server.sockets.length > 1 || data.requestId === '1') return;
        w.server.tell(refusal(code));
      };
      for (const name of ['1', '2', '3']) w.connection.post(letter(name));
      await w.timers.settle(500);
      expect([sent(w), w.server.sockets.length]).toEqual([['1', '2', '2', '3'], 2]);
      expect(w.server.sockets[0]?.isOpen).toBe(false);
      expect(w.events.filter((event) => event.type === 'chunk' && event.chunk.type === 'data-error')).toEqual(
        [],
      );
      w.server.socket?.end(1006);
      await w.timers.settle(500);
      expect(sent(w)).toHaveLength(4);
    },
  );

  test('[B34] other chunks of the frame that refuses it are delivered', async () => {
    const w = await live();
    w.server.onFrame = ({ data }) => {
      if (w.server.sockets.length > 1) return;
      const refused = { ...refusal('moved'), data: { ...data, code: 'moved', message: '', retryable: true } };
      const word = encodeBlock({ type: 'text-delta', id: 't', delta: 'last' }, 'e1-1');
      w.server.socket?.deliver(encodeBlock(refused as Chunk) + word);
    };
    w.connection.post(letter('1'));
    await w.timers.settle(500);
    expect(w.events).toContainEqual({ type: 'chunk', chunk: { type: 'text-delta', id: 't', delta: 'last' } });
    expect(w.server.sockets[1]?.url).toContain('last=e1-1');
  });

  test('[B34a] is given up after its tenth refusal', async () => {
    const w = await live();
    w.server.onFrame = () => w.server.tell(refusal('moved'));
    w.connection.post(letter('1'));
    for (let socket = 0; socket < 12; socket++) await w.timers.settle(500);
    expect(sent(w)).toHaveLength(10);
    expect(w.events).toContainEqual({
      type: 'chunk',
      chunk: {
        ...refusal('moved'),
        data: { code: 'moved', message: 'Elsewhere.', retryable: true, requestId: '1' },
      },
    });
  });

  test('may be taken back while it has not left', async () => {
    const w = await live();
    w.server.socket?.end(1006);
    w.connection.post(letter('1'));
    expect(w.connection.withdraw('1')).toBe(true);
    await w.timers.settle(500);
    expect(sent(w)).toEqual([]);
    w.connection.post(letter('2'));
    expect(w.connection.withdraw('2')).toBe(false);
  });

  test('has a limit', () => {
    const w = world();
    const typed = (name: string) => letter(name, { isTyped: true });
    for (let count = 0; count < 64; count++) w.connection.post(typed(String(count)));
    expect(() => w.connection.post(typed('one more'))).toThrow(expect.objectContaining({ code: 'busy' }));
    w.connection.post(letter('an answer'));
  });

  test.each([1002, 1009])('is not sent again when it was the reason for close code %i', async (code) => {
    const w = await live();
    w.server.remembers = false;
    w.server.onFrame = () => w.server.socket?.end(code, 'that will not do');
    w.connection.post(letter('1'));
    await w.timers.settle(500);
    expect([sent(w), w.connection.state.status]).toEqual([['1'], 'live']);
    expect(w.events).toContainEqual({ type: 'refused', code, reason: 'that will not do' });
  });
});

describe('the browser', () => {
  afterEach(() => vi.unstubAllGlobals());

  test('tells when the network and the page are back', () => {
    const page = Object.assign(new EventTarget(), { visibilityState: 'hidden' });
    const target = new EventTarget();
    vi.stubGlobal('document', page);
    vi.stubGlobal('navigator', { onLine: false });
    vi.stubGlobal('addEventListener', target.addEventListener.bind(target));
    vi.stubGlobal('removeEventListener', target.removeEventListener.bind(target));
    let returns = 0;
    const stop = browserNetwork.onReturn(() => returns++);
    expect(browserNetwork.isOnline()).toBe(false);
    page.dispatchEvent(new Event('visibilitychange'));
    expect(returns).toBe(0);
    page.visibilityState = 'visible';
    page.dispatchEvent(new Event('visibilitychange'));
    target.dispatchEvent(new Event('online'));
    expect(returns).toBe(2);
    stop();
    page.dispatchEvent(new Event('visibilitychange'));
    target.dispatchEvent(new Event('online'));
    expect(returns).toBe(2);
  });

  test('elsewhere the network counts as there, and nothing is told', () => {
    vi.stubGlobal('navigator', undefined);
    vi.stubGlobal('document', undefined);
    expect(browserNetwork.isOnline()).toBe(true);
    browserNetwork.onReturn(() => undefined)();
  });

  test('has timers that can be cancelled', () => {
    vi.useFakeTimers();
    try {
      const ran: number[] = [];
      systemTimers.after(5, () => ran.push(1));
      systemTimers.after(5, () => ran.push(2))();
      vi.advanceTimersByTime(5);
      expect([ran, systemTimers.now(), systemTimers.random() < 1]).toEqual([[1], Date.now(), true]);
    } finally {
      vi.useRealTimers();
    }
  });
});
