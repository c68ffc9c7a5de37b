import { InMemoryCredentialService } from '@google/adk';
import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/adk/index.ts';
import { type AuditLine, createMemoryStore, type DuologueOptions } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { fourTools } from '../support/demo-tools.ts';
import { harness, say } from '../support/harness.ts';
import { decision, type LiveHarness, live } from '../support/live.ts';
import { calls, text } from '../support/scripted-model.ts';

const TEXT = 'The person who approved is no longer signed in';
const PAY = calls({ id: 'call-a', name: 'process_payment', args: { amount: 600, recipient: 'Ann' } });

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** An application in which people sign in and out: each sign-in has a token of its own. */
function application() {
  const tokens = new Set<string>();
  const asked: { user: string; token?: unknown }[] = [];
  let answer: () => boolean | Promise<boolean> = () => true;
  const options = {
    authenticate: (request: Request) => {
      const token = request.headers.get('x-token') ?? '';
      return tokens.has(token) ? { user: 'ann', token } : null;
    },
    stillSignedIn: async (identity: { user: string; token?: unknown }) => {
      asked.push(identity);
      return (await answer()) && tokens.has(String(identity.token));
    },
  } satisfies Partial<DuologueOptions>;
  return {
    options,
    asked,
    signIn: (token: string) => {
      tokens.add(token);
      return { headers: { 'x-token': token } };
    },
    signOut: (token: string) => tokens.delete(token),
    /** What the application does when it is asked, before it says what it knows. */
    whenAsked: (what: typeof answer) => {
      answer = what;
    },
  };
}

async function auditOf(server: Pick<LiveHarness, 'get'>, headers: Record<string, string>) {
  const lines = (await (await server.get('/approvals/pay', headers)).text()).trim().split('\n');
  return lines.map((line) => JSON.parse(line) as AuditLine).map(({ kind, reason }) => [kind, reason]);
}

const partsOf = async (server: Pick<LiveHarness, 'get'>, headers: Record<string, string>) =>
  ((await (await server.get('/sessions/pay', headers)).json()) as { messages: { parts: unknown[] }[] })
    .messages[1]?.parts[0];

describe('a person who has signed out', () => {
  it('[A12b] [T5] cannot approve over an open socket: it is closed, and the call ends for good', async () => {
    const app = application();
    const log: string[] = [];
    const server = await live([[PAY], [text('So.')]], [fourTools(log).payment], app.options);
    const socket = await server.connect('?session=pay', app.signIn('first'));
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    app.signOut('first');
    socket.send('message', decision(card));
    expect(await socket.closed()).toBe(4401);
    expect((await socket.chunk('data-error')).data.code).toBe('unauthorized');
    expect(app.asked).toEqual([{ user: 'ann', token: 'first' }]);

    const again = app.signIn('second');
    const back = await server.connect(`?session=pay&last=${socket.lastId}`, again);
    expect(await back.chunk('tool-output-error')).toMatchObject({ toolCallId: 'call-a', errorText: TEXT });
    back.send('message', decision(card));
    await back.chunk('data-error');
    expect(log).toEqual([]);
    expect(await auditOf(server, again.headers)).toEqual([
      ['issued', null],
      ['refused', TEXT],
    ]);
  });

  it('[A12b] cannot deny either; the card is still there for whoever signs in', async () => {
    const app = application();
    const log: string[] = [];
    const server = await live([[PAY], [text('So.')]], [fourTools(log).payment], app.options);
    const socket = await server.connect('?session=pay', app.signIn('first'));
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    app.signOut('first');
    socket.send('message', decision(card, false));
    expect(await socket.closed()).toBe(4401);
    const again = app.signIn('second');
    const back = await server.connect('?session=pay', again);
    back.send('message', decision(card));
    await back.done();
    expect(log).toEqual(['pay Ann 600']);
    expect(await auditOf(server, again.headers)).toEqual([
      ['issued', null],
      ['refused', TEXT],
      ['approved', null],
      ['consumed', null],
    ]);
  });

  it('[A12a] [T5] cannot approve over SSE: the request is unauthorized, and the call ends for good', async () => {
    const app = application();
    const log: string[] = [];
    const server = harness([[PAY], [text('So.')]], [fourTools(log).payment], app.options);
    const { headers } = app.signIn('first');
    const { chunks } = await server.post(say('pay', 'pay'), headers);
    const card = chunks.find((chunk) => chunk.type === 'tool-approval-request');
    if (card?.type !== 'tool-approval-request') throw new Error('no card');
    // Signed out while the post was on its way.
    app.whenAsked(() => false);
    const answer = { id: 'pay', ...decision(card) };
    expect(await server.post(answer, headers)).toMatchObject({
      status: 401,
      json: { error: { code: 'unauthorized' } },
    });
    app.whenAsked(() => true);
    expect(await partsOf(server, headers)).toMatchObject({ state: 'output-error', errorText: TEXT });
    await server.post(answer, headers);
    expect(log).toEqual([]);
    expect(await auditOf(server, headers)).toEqual([
      ['issued', null],
      ['refused', TEXT],
    ]);
  });

  it('[A12b] [T5] [T22] has approved nothing that still waits for its turn', async () => {
    const app = application();
    const log: string[] = [];
    let end: () => void = () => undefined;
    const slow = defineTool({
      name: 'slow',
      description: 'Slow',
      execute: () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    });
    const both = calls(
      { id: 'call-s', name: 'slow', args: {} },
      { id: 'call-a', name: 'process_payment', args: { amount: 600, recipient: 'Ann' } },
    );
    const server = await live([[both], [text('So.')]], [slow, fourTools(log).payment], app.options);
    const socket = await server.connect('?session=pay', app.signIn('first'));
    socket.say('pay');
    socket.send('message', decision(await socket.chunk('tool-approval-request')));
    await until(() => app.asked.length === 1);
    app.signOut('first');
    end();
    expect(await socket.closed()).toBe(4401);
    const again = app.signIn('second');
    const back = await server.connect(`?session=pay&last=${socket.lastId}`, again);
    expect((await back.chunk('tool-output-error')).errorText).toBe(TEXT);
    expect(log).toEqual([]);
    expect(await auditOf(server, again.headers)).toEqual([
      ['issued', null],
      ['approved', null],
      ['refused', TEXT],
    ]);
  });

  it('[A12a] [E5a] loses an open connection within a minute', async () => {
    const app = application();
    const clock = new ManualClock();
    const server = await live([], [], {
      ...app.options,
      clock,
      socketLimits: { silenceMs: Number.POSITIVE_INFINITY },
    });
    const out = await server.connect('', app.signIn('out'));
    const stays = await server.connect('', app.signIn('in'));
    await out.chunk('data-session');
    await stays.chunk('data-session');
    clock.advance(60_000);
    await until(() => app.asked.length === 2);
    app.signOut('out');
    // The next question is asked a minute after the last answer.
    await until(() => {
      clock.advance(1000);
      return app.asked.length >= 4;
    });
    expect(await out.closed()).toBe(4401);
    expect(stays.received.some(({ kind }) => kind === 'close')).toBe(false);
    stays.close();
    await stays.closed();
    const count = app.asked.length;
    await until(() => server.duologue.sockets.size === 0);
    clock.advance(180_000);
    expect(app.asked).toHaveLength(count);
  });

  it.each([
    ['its frame', (socket: { send(type: string, data?: object): void }) => socket.send('floor')],
    [
      'the microphone',
      (socket: { send(type: string, data?: object): void }) =>
        socket.send('audio_control', { action: 'start' }),
    ],
  ])('[A12a] [B31] loses the connection when it claims the active connection with %s', async (_, claim) => {
    const app = application();
    const server = await live([], [], { ...app.options, clock: new ManualClock() });
    const stays = await server.connect('?session=pay', { ...app.signIn('in'), protocols: ['duologue.v2'] });
    const stayingId = (await stays.chunk('data-session')).data.connectionId;
    const out = await server.connect('?session=pay', { ...app.signIn('out'), protocols: ['duologue.v2'] });
    expect((await out.chunk('data-session')).data.floor).toBe(stayingId);
    app.signOut('out');
    claim(out);
    claim(out);
    expect(await out.closed()).toBe(4401);
    claim(stays);
    await until(() => app.asked.some(({ token }) => token === 'in'));
    expect(stays.received.some(({ kind }) => kind === 'close')).toBe(false);
  });

  it('[A12] [R7] is not heard again by the next process either', async () => {
    const app = application();
    const log: string[] = [];
    const store = createMemoryStore();
    store.close = async () => undefined;
    const server = await live([[PAY]], [fourTools(log).payment], { ...app.options, store });
    const first = app.signIn('first');
    const socket = await server.connect('?session=pay', first);
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    // The process dies when it has refused, and before the call has ended.
    const { appendEvent } = store;
    store.appendEvent = () => new Promise(() => undefined);
    app.signOut('first');
    socket.send('message', decision(card));
    await socket.closed();
    while ((await store.openCalls({ app: 'duologue', user: 'ann', id: 'pay' }))[0]?.status !== 'expired')
      await new Promise((resolve) => setImmediate(resolve));
    store.appendEvent = appendEvent;
    const next = await live([[text('So.')]], [fourTools(log).payment], { ...app.options, store });
    const again = app.signIn('second');
    const back = await next.connect('?session=pay', again);
    back.send('message', decision(card));
    await back.chunk('data-error');
    expect(await partsOf(next, again.headers)).toMatchObject({ state: 'output-error', errorText: TEXT });
    expect(log).toEqual([]);
  });
});

describe('an application that cannot tell', () => {
  it.each([
    ['throws', () => Promise.reject(new Error('no database'))],
    ['never answers', () => new Promise<boolean>(() => undefined)],
  ])('[A12c] and %s keeps the socket, and decisions wait until it can', async (_, trouble) => {
    const app = application();
    const clock = new ManualClock();
    const log: string[] = [];
    const server = await live([[PAY], [text('Paid.')]], [fourTools(log).payment], {
      ...app.options,
      clock,
      approvalTimeoutMs: null,
      socketLimits: { silenceMs: Number.POSITIVE_INFINITY },
    });
    const socket = await server.connect('?session=pay', app.signIn('first'));
    socket.say('pay');
    const card = await socket.chunk('tool-approval-request');
    app.whenAsked(trouble);
    clock.advance(60_000);
    await until(() => app.asked.length === 1);
    socket.send('message', decision(card));
    await until(() => app.asked.length === 2);
    clock.advance(5000);
    expect((await socket.chunk('data-error')).data).toMatchObject({ code: 'internal', retryable: true });
    expect(log).toEqual([]);
    app.whenAsked(() => true);
    socket.send('message', decision(card));
    await socket.until(() => {
      clock.advance(20);
      return socket.dones === 1;
    });
    expect(log).toEqual(['pay Ann 600']);
  });
});

describe('a person who is signed in', () => {
  it('[A12] [T19] is asked about in order: the output of a browser tool does not overtake its approval', async () => {
    const app = application();
    app.whenAsked(async () => {
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      return true;
    });
    const server = await live(
      [[calls({ id: 'call-l', name: 'get_location', args: {} })], [text('Tokyo.')]],
      [fourTools().location],
      app.options,
    );
    const socket = await server.connect('', app.signIn('first'));
    socket.say('where');
    socket.send('message', decision(await socket.chunk('tool-approval-request')));
    socket.send('tool_result', { toolCallId: 'call-l', result: { latitude: 35.7 } });
    await socket.done();
    expect((await socket.chunk('tool-output-available')).output).toEqual({ latitude: 35.7 });
  });
});

describe('a server', () => {
  const warningsOf = (options: Partial<DuologueOptions>) => {
    const warnings: string[] = [];
    const logger = { info() {}, error() {}, warn: (message: string) => void warnings.push(message) };
    harness([], [], { ...options, logger });
    return warnings;
  };

  it('[A12] that authenticates and cannot ask again says so once, when it starts', () => {
    const { authenticate, stillSignedIn } = application().options;
    expect(warningsOf({ authenticate })).toHaveLength(1);
    expect(warningsOf({ authenticate, stillSignedIn })).toEqual([]);
    expect(warningsOf({})).toEqual([]);
  });

  it('[T36d] that keeps credentials or open sign-ins in memory says what is lost, once each, when it starts', () => {
    const callbackUrl = 'https://chat.example/sign-in/callback';
    const credentialService = new InMemoryCredentialService();
    expect(warningsOf({ toolSignIn: { callbackUrl } })).toEqual([
      expect.stringContaining('set the option `credentialService`'),
      expect.stringContaining('set the option `toolSignIn.secret`'),
    ]);
    const toolSignIn = { callbackUrl, secret: 'the key of all the nodes' };
    expect(warningsOf({ toolSignIn })).toHaveLength(1);
    expect(warningsOf({ toolSignIn, credentialService })).toEqual([]);
  });

  it('[A12] takes a user alone or with a token, and nothing else for one', async () => {
    for (const [given, status] of [
      ['ann', 200],
      [{ user: 'ann' }, 200],
      [{ user: 'ann', token: { any: 'thing' } }, 200],
      [{ user: '' }, 401],
      [{ token: 'x' }, 401],
      [{ user: 1 }, 401],
      [null, 401],
      [undefined, 401],
    ] as const) {
      const server = harness([], [], { authenticate: () => given as never });
      expect((await server.get('/sessions')).status).toBe(status);
    }
  });
});
