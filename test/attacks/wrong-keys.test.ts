import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { toProtocolError } from '../../src/protocol/index.ts';
import { addressOf, noteAddress } from '../../src/server/access/client-address.ts';
import { serve } from '../../src/server/adapters/node.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { ManualClock } from '../support/clock.ts';
import { harness } from '../support/harness.ts';

const apiKey = 'correct horse battery';
const subprotocol = (key: string) => `duologue.key.${Buffer.from(key).toString('base64url')}`;

function server(options: Partial<DuologueOptions> = {}) {
  const clock = new ManualClock();
  const lines: [message: string, fields: Record<string, unknown> | undefined][] = [];
  const logger = {
    info() {},
    warn: (message: string, fields?: Record<string, unknown>) => void lines.push([message, fields]),
    error() {},
  };
  const { duologue } = harness([], [], { apiKey, clock, logger, ...options });
  const request = (path: string, address: string, init: RequestInit) => {
    const made = new Request(`http://localhost${path}`, init);
    noteAddress(made, address);
    return made;
  };
  const ask = async (path: string, address: string, init: RequestInit) =>
    (await duologue.fetch(request(path, address, init))).status;
  /** Every way to show a key, from an address; each answers with its status. */
  const ways = (key: string, address: string): [name: string, show: () => Promise<number>][] => [
    ['bearer', () => ask('/sessions', address, { headers: { authorization: `Bearer ${key}` } })],
    ['header', () => ask('/approvals/x', address, { headers: { 'x-api-key': key } })],
    [
      'post',
      () =>
        ask('/sessions/x/stop', address, { method: 'POST', headers: { 'x-api-key': key } }).then((status) =>
          status === 404 ? 200 : status,
        ),
    ],
    [
      'login',
      () =>
        ask('/login', address, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ key }),
        }),
    ],
    [
      'handshake',
      async () => {
        const headers = { 'sec-websocket-protocol': subprotocol(key) };
        try {
          (await duologue.sockets.admit(request('/live', address, { headers }))).drop();
          return 101;
        } catch (thrown) {
          return toProtocolError(thrown).status;
        }
      },
    ],
  ];
  return { duologue, clock, lines, ask, ways };
}

describe('wrong keys', () => {
  it('could hit a short key, which the server warns about at its start', () => {
    const warning = 'the API key is short enough to be guessed: make one from 24 random bytes';
    expect(server().lines).toEqual([]);
    expect(server({ apiKey: 'x'.repeat(16) }).lines).toEqual([]);
    expect(server({ apiKey: 'x'.repeat(15) }).lines).toEqual([[warning, { characters: 15 }]]);
  });

  it('[A14] [A14a] are limited by address, on every route and handshake alike, and the right key never is', async () => {
    const { ways, ask, clock } = server();
    const count = new Map<number, number>();
    for (let round = 0; round < 40; round++) {
      for (const [, show] of ways('wrong', '203.0.113.7')) {
        const status = await show();
        count.set(status, (count.get(status) ?? 0) + 1);
      }
    }
    expect([...count]).toEqual([
      [401, 20],
      [429, 180],
    ]);
    for (const address of ['203.0.113.7', '203.0.113.8']) {
      const statuses = await Promise.all(ways(apiKey, address).map(([, show]) => show()));
      expect(statuses).toEqual([200, 200, 200, 204, 101]);
    }
    for (const [name, show] of ways('wrong', '203.0.113.8')) expect(await show(), name).toBe(401);
    // A request without any key gets 401, however many wrong keys came from its address.
    expect(await ask('/sessions', '203.0.113.7', {})).toBe(401);
    clock.advance(60_000);
    for (const [name, show] of ways('wrong', '203.0.113.7')) expect(await show(), name).toBe(401);
  });

  it('[A14] of an application count as well', async () => {
    const { ask } = server({
      apiKey: undefined,
      authenticate: (request) => (request.headers.get('authorization') === 'Bearer good' ? 'ann' : null),
    });
    const show = (token: string) =>
      ask('/sessions', '203.0.113.7', { headers: { authorization: `Bearer ${token}` } });
    const statuses = [];
    for (let round = 0; round < 25; round++) statuses.push(await show('bad'));
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
    expect(await show('good')).toBe(200);
  });

  it('[A14] write one line at once, and one a minute for all others of their address', async () => {
    const { ways, lines, clock } = server();
    for (let round = 0; round < 100; round++) {
      for (const [, show] of ways('wrong', '203.0.113.7')) await show();
    }
    const refused = () => lines.map(([message, fields]) => [message, fields?.code, fields?.count]);
    expect(refused()).toEqual([
      ['a request was rejected: see code and why', 'unauthorized', undefined],
      ['a connection was rejected: see code and why', 'unauthorized', undefined],
      [
        'an address sends too many wrong keys: further ones get the code rate_limited; a right key still works',
        'rate_limited',
        undefined,
      ],
    ]);
    clock.advance(60_000);
    expect(refused().slice(3)).toEqual([
      ['a request was rejected: see code and why (repeated within a minute: see count)', 'unauthorized', 15],
      [
        'a connection was rejected: see code and why (repeated within a minute: see count)',
        'unauthorized',
        3,
      ],
      [
        'an address sends too many wrong keys: further ones get the code rate_limited; a right key still works (repeated within a minute: see count)',
        'rate_limited',
        479,
      ],
    ]);
    clock.advance(600_000);
    expect(lines).toHaveLength(6);
  });

  it('[A14b] come from the address of the connection, whatever X-Forwarded-For says', async () => {
    const served = await serve(server().duologue, { port: 0 });
    onTestFinished(() => served.close());
    const statuses: (number | undefined)[] = [];
    for (let round = 0; round < 22; round++) {
      const headers = { 'x-api-key': 'wrong', 'x-forwarded-for': `203.0.113.${round}` };
      statuses.push((await fetch(`${served.url}/sessions`, { headers })).status);
    }
    expect(statuses.slice(20)).toEqual([429, 429]);
    const socket = new WebSocket(`${served.url.replace('http', 'ws')}/live`, [subprotocol('wrong')]);
    const status = await new Promise<number | undefined>((resolve) => {
      socket.once('unexpected-response', (_, { statusCode }) => resolve(statusCode));
    });
    expect(status).toBe(429);
    socket.on('error', () => undefined);
    socket.terminate();
  });
});

describe('the address of a client', () => {
  const table: [
    name: string,
    trusted: DuologueOptions['trustedProxies'],
    socket: string,
    header: string | null,
    address: string,
  ][] = [
    ['no proxy is trusted', undefined, '10.0.0.1', '203.0.113.7', '10.0.0.1'],
    ['one hop', 1, '10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['one hop, and a forged entry before it', 1, '10.0.0.1', '1.2.3.4, 203.0.113.7', '203.0.113.7'],
    ['two hops', 2, '10.0.0.1', '1.2.3.4, 203.0.113.7, 10.0.0.2', '203.0.113.7'],
    ['fewer entries than hops', 3, '10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['a hop that sends no header', 1, '10.0.0.1', null, '10.0.0.1'],
    ['an address of the list', ['10.0.0.1'], '10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['an address that is not in the list', ['10.0.0.1'], '10.0.0.9', '203.0.113.7', '10.0.0.9'],
    [
      'a network of the list',
      ['10.0.0.0/8'],
      '::ffff:10.1.2.3',
      '1.2.3.4, 203.0.113.7, 10.9.9.9',
      '203.0.113.7',
    ],
    ['only proxies', ['10.0.0.0/8'], '10.0.0.1', '10.0.0.2', '10.0.0.2'],
    ['an entry that is no address', ['10.0.0.0/8'], '10.0.0.1', '203.0.113.7, evil', '10.0.0.1'],
    ['a port behind the address', 1, '10.0.0.1', '203.0.113.7:4711', '203.0.113.7'],
    ['IPv6: the network of 64 bits', undefined, '2001:db8:1:2:3:4:5:6', null, '2001:db8:1:2::/64'],
    ['IPv6, short', undefined, '2001:db8::1', null, '2001:db8:0:0::/64'],
    ['IPv6 in brackets, with a port', 1, '10.0.0.1', '[2001:db8::1]:443', '2001:db8:0:0::/64'],
    ['nothing is known', undefined, '', null, 'unknown'],
  ];

  it.each(table)('[A14b] %s', (_, trusted, socket, header, address) => {
    const headers = new Headers(header === null ? {} : { 'x-forwarded-for': header });
    const request = new Request('http://localhost/', { headers });
    if (socket) noteAddress(request, socket);
    expect(addressOf(request, trusted)).toBe(address);
  });

  it('[A14] proxies that are none are refused at the start', () => {
    for (const trustedProxies of [
      -1,
      1.5,
      ['proxy.example'],
      ['10.0.0.0/99'],
      ['10.0.0.0/'],
      'all',
    ] as never[])
      expect(() => server({ trustedProxies })).toThrow(/trustedProxies/);
  });
});
