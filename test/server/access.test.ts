import { get, type IncomingMessage } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serve } from '../../src/server/adapters/node.ts';
import type { DuologueOptions } from '../../src/server/index.ts';
import { harness, say } from '../support/harness.ts';
import { text } from '../support/scripted-model.ts';

const server = (options: Partial<DuologueOptions> = {}) =>
  harness(
    Array.from({ length: 20 }, () => [text('Ok.')]),
    [],
    options,
  );

async function ask(
  options: Partial<DuologueOptions>,
  url: string,
  headers: Record<string, string>,
  method = 'GET',
) {
  const { duologue } = server(options);
  return duologue.fetch(new Request(url, { method, headers }));
}

describe('where a request comes from', () => {
  const table: [
    name: string,
    host: string,
    origin: string | null,
    options: Partial<DuologueOptions>,
    status: number,
  ][] = [
    ['[A6b] curl on this machine', 'localhost:3000', null, {}, 200],
    ['[A6b] curl to the address', '127.0.0.1:3000', null, {}, 200],
    ['[A6b] curl to the address of version 6', '[::1]:3000', null, {}, 200],
    ['[A6] the own page', 'localhost:3000', 'http://localhost:3000', {}, 200],
    ['[A6] another port of this machine', 'localhost:3000', 'http://localhost:5173', {}, 403],
    ['[A6] a foreign page', 'localhost:3000', 'https://evil.example', {}, 403],
    ['[A6] a page without an origin of its own', 'localhost:3000', 'null', {}, 403],
    [
      '[A6] a page whose name only looks like ours',
      'localhost:3000',
      'http://localhost.evil.example:3000',
      {},
      403,
    ],
    ['[A6] a name that was bound to this address', 'evil.example', null, {}, 403],
    ['[A6] a bound name with its own origin', 'evil.example', 'http://evil.example', {}, 403],
    ['[A6] a name with ours inside', 'localhost.evil.example', null, {}, 403],
    [
      '[A6] an allowed page',
      'localhost:3000',
      'https://app.example',
      { origins: ['https://app.example'] },
      200,
    ],
    [
      '[A6] the host of an allowed page',
      'app.example',
      'https://app.example',
      { origins: ['https://app.example'] },
      200,
    ],
    [
      '[A6] an allowed page by another scheme',
      'localhost:3000',
      'http://app.example',
      { origins: ['https://app.example'] },
      403,
    ],
    ['[A6] an allowed host', 'chat.example', null, { hosts: ['chat.example'] }, 200],
    ['[A6] an allowed host in capitals', 'CHAT.example', null, { hosts: ['chat.example'] }, 200],
  ];

  it.each(table)('%s', async (_, host, origin, options, status) => {
    const response = await ask(options, 'http://localhost:3000/sessions', {
      host,
      ...(origin === null ? {} : { origin }),
    });
    expect(response.status).toBe(status);
    if (status === 403) expect((await response.json()).error.code).toBe('forbidden');
  });

  const withoutOrigin: [
    name: string,
    site: string,
    referer: string | null,
    options: Partial<DuologueOptions>,
    status: number,
  ][] = [
    ['[A13] an image in a foreign page', 'cross-site', 'https://evil.example/', {}, 403],
    ['[A13] an image in a foreign page that hides its address', 'cross-site', null, {}, 403],
    ['[A13] a foreign page whose address is none', 'cross-site', 'evil', {}, 403],
    ['[A13] an image in a page on another port', 'same-site', 'http://localhost:5173/', {}, 403],
    ['[A13] a page of the same site that hides its address', 'same-site', null, {}, 403],
    ['[A13] an image in the own page', 'same-origin', 'http://localhost:3000/', {}, 200],
    ['[A13] an address that a person typed', 'none', null, {}, 200],
    [
      '[A13] an image in an allowed page',
      'cross-site',
      'https://app.example/chat',
      { origins: ['https://app.example'] },
      200,
    ],
    [
      '[A13] an image in an allowed page of the same site',
      'same-site',
      'http://localhost:5173/',
      { origins: ['http://localhost:5173'] },
      200,
    ],
    [
      '[A13] a foreign page with the name of an allowed one in its address',
      'cross-site',
      'https://evil.example/https://app.example/',
      { origins: ['https://app.example'] },
      403,
    ],
  ];

  it.each(withoutOrigin)('%s', async (_, site, referer, options, status) => {
    for (const path of ['/sessions', '/sessions/new/watch', '/approvals/new']) {
      const response = await ask(options, `http://localhost:3000${path}`, {
        host: 'localhost:3000',
        'sec-fetch-site': site,
        ...(referer === null ? {} : { referer }),
      });
      const isForbidden = response.status === 403;
      expect(isForbidden, path).toBe(status === 403);
      if (isForbidden) expect((await response.json()).error.code).toBe('forbidden');
      else await response.body?.cancel();
    }
  });

  it('[A13a] a link in a foreign page opens a page of the application', async () => {
    const { duologue } = server();
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    expect(await duologue.respond(new Request('http://localhost:3000/', { headers }))).toBeNull();
  });

  it('[A6a] a probe asks for the health under an address; a foreign page hears nothing of it', async () => {
    const asked = (headers: Record<string, string>) => ask({}, 'http://10.0.0.7:3000/health', headers);
    expect((await asked({ host: '10.0.0.7:3000' })).status).toBe(200);
    expect((await asked({ host: '10.0.0.7:3000', origin: 'https://evil.example' })).status).toBe(403);
  });

  it('[A6] is checked before any work: a foreign post makes no session and reaches no model', async () => {
    const made = server();
    const refused = await made.post(say('hi'), { origin: 'https://evil.example' });
    expect(refused.status).toBe(403);
    expect(made.model.requests).toEqual([]);
    expect(await (await made.get('/sessions')).json()).toEqual({ sessions: [] });
  });

  it('[A6] an allowed page may read what it gets, and asks first', async () => {
    const options = { origins: ['https://app.example'] };
    const headers = { host: 'localhost:3000', origin: 'https://app.example' };
    const preflight = await ask(options, 'http://localhost:3000/stream', headers, 'OPTIONS');
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': expect.stringContaining('content-type'),
      vary: 'origin',
    });
    const answer = await ask(options, 'http://localhost:3000/sessions', headers);
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
    const error = await ask(options, 'http://localhost:3000/sessions/none', headers);
    expect([error.status, error.headers.get('access-control-allow-origin')]).toEqual([
      404,
      'https://app.example',
    ]);
    const own = await ask(options, 'http://localhost:3000/sessions', { host: 'localhost:3000' });
    expect(own.headers.get('access-control-allow-origin')).toBeNull();
    const foreign = await ask(
      options,
      'http://localhost:3000/stream',
      { ...headers, origin: 'https://evil.example' },
      'OPTIONS',
    );
    expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });
});

describe('who makes a request', () => {
  const apiKey = 'correct horse battery';
  const base64url = Buffer.from(apiKey).toString('base64url');

  it.each([
    ['[A5] no key', {}, 401],
    ['[A5a] the key as a bearer', { authorization: `Bearer ${apiKey}` }, 200],
    ['[A5] the key as a bearer in small letters', { authorization: `bearer ${apiKey}` }, 200],
    ['[A5a] the key as a header', { 'x-api-key': apiKey }, 200],
    [
      '[A5a] the key as a subprotocol',
      { 'sec-websocket-protocol': `duologue.v1, duologue.key.${base64url}` },
      200,
    ],
    ['[A5] a wrong bearer', { authorization: 'Bearer wrong' }, 401],
    ['[A5] a wrong header', { 'x-api-key': `${apiKey} ` }, 200],
    ['[A5] half a key', { 'x-api-key': apiKey.slice(0, 5) }, 401],
    ['[A5] the key itself as the cookie', { cookie: `duologue=${encodeURIComponent(apiKey)}` }, 401],
    [
      '[A5] basic authentication',
      { authorization: `Basic ${Buffer.from(`x:${apiKey}`).toString('base64')}` },
      401,
    ],
  ])('%s', async (_, headers, status) => {
    const response = await ask({ apiKey }, 'http://localhost/sessions', headers as Record<string, string>);
    expect(response.status).toBe(status);
    if (status === 401) expect((await response.json()).error.code).toBe('unauthorized');
  });

  it('[A5b] the key in an address is not looked at', async () => {
    for (const query of [`?key=${apiKey}`, `?api_key=${apiKey}`, `?authorization=Bearer ${apiKey}`]) {
      expect((await ask({ apiKey }, `http://localhost/sessions${query}`, {})).status).toBe(401);
    }
  });

  it('[A5] [A6a] health needs no key, nor do commands of other nodes, which need the id of a stored command', async () => {
    expect((await ask({ apiKey }, 'http://localhost/health', {})).status).toBe(200);
    const request = new Request('http://10.0.0.7/cluster/commands', {
      method: 'POST',
      headers: { host: '10.0.0.7', 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'guessed' }),
    });
    expect((await server({ apiKey }).duologue.fetch(request)).status).toBe(404);
  });

  it('[A5a] [A5c] log in once, and the cookie stands for the key', async () => {
    const made = server({ apiKey });
    const login = (key: unknown, url = 'http://localhost/login') =>
      made.duologue.fetch(
        new Request(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ key }),
        }),
      );
    for (const wrong of ['nope', '', null, 7, { toString: apiKey }])
      expect((await login(wrong)).status).toBe(401);
    const answer = await login(apiKey);
    expect(answer.status).toBe(204);
    const cookie = answer.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^duologue=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=2592000$/);
    expect(cookie).not.toContain('horse');
    expect((await login(apiKey, 'https://localhost/login')).headers.get('set-cookie')).toMatch(/; Secure$/);
    const [pair = ''] = cookie.split(';');
    expect((await made.get('/sessions', { cookie: `other=1; ${pair}` })).status).toBe(200);
    expect((await made.get('/sessions', { cookie: `${pair}x` })).status).toBe(401);
    // A neighbouring host planted one, and the browser sends it first.
    expect((await made.get('/sessions', { cookie: `duologue=planted; ${pair}` })).status).toBe(200);
    expect((await made.get('/sessions', { cookie: 'duologue=planted; duologue=other' })).status).toBe(401);
  });

  it('[A5c] behind a proxy that speaks TLS the cookie is for TLS alone', async () => {
    const served = await serve(server({ apiKey }).duologue, { port: 0 });
    const cookies = ['https', 'https, http', 'http', undefined].map(async (proto) => {
      const headers = { 'content-type': 'application/json', ...(proto && { 'x-forwarded-proto': proto }) };
      const body = JSON.stringify({ key: apiKey });
      const answer = await fetch(`${served.url}/login`, { method: 'POST', headers, body });
      return answer.headers.get('set-cookie')?.includes('; Secure');
    });
    expect(await Promise.all(cookies)).toEqual([true, true, false, false]);
    await served.close();
  });

  it('[A5] without a key there is nothing to log in to', async () => {
    const { duologue } = server();
    const answer = await duologue.fetch(
      new Request('http://localhost/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"key": "x"}',
      }),
    );
    expect(answer.status).toBe(401);
  });

  it('[A4] the application tells who it is; whoever it does not know is refused', async () => {
    const authenticate = async (request: Request) => request.headers.get('x-user');
    const made = server({ authenticate });
    expect((await made.post(say('hi'))).status).toBe(401);
    expect((await made.post(say('hi'), { 'x-user': '' })).status).toBe(401);
    await made.post(say('hi'), { 'x-user': 'alice' });
    const list = async (name: string) =>
      (await (await made.get('/sessions', { 'x-user': name })).json()).sessions.length;
    expect([await list('alice'), await list('bob')]).toEqual([1, 0]);
  });

  it('[A4] key and application are both asked', async () => {
    const made = server({ apiKey, authenticate: () => 'alice' });
    expect((await made.get('/sessions')).status).toBe(401);
    expect((await made.get('/sessions', { 'x-api-key': apiKey })).status).toBe(200);
  });

  it('[A4] an application that fails to tell is a fault of the server, and nobody gets in', async () => {
    const made = server({
      authenticate: () => {
        throw new Error('database of users is down');
      },
    });
    const refused = await made.post(say('hi'));
    expect(refused.status).toBe(500);
    expect(JSON.stringify(refused.json)).not.toContain('database');
    expect(made.model.requests).toEqual([]);
  });

  it('[A6c] a public address with neither a key nor authenticate is refused at the start', async () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.4', 'chat.example']) {
      await expect(serve(server().duologue, { host, port: 0 })).rejects.toThrow('without a key');
    }
    const keyed = await serve(server({ apiKey }).duologue, { host: '0.0.0.0', port: 0 });
    await keyed.close();
    const known = await serve(server({ authenticate: () => null }).duologue, { host: '0.0.0.0', port: 0 });
    await known.close();
  });
});

describe('[A10] nothing that the server sends is taken for something else', () => {
  const json = { 'content-type': 'application/json' };
  const message = JSON.stringify(say('hello'));

  it.each<[string, string, RequestInit | undefined, number]>([
    ['a list', '/sessions', undefined, 200],
    ['a response', '/stream', { method: 'POST', headers: json, body: message }, 200],
    ['no content', '/stream/none/stream', undefined, 204],
    ['what is not JSON', '/stream', { method: 'POST', headers: json, body: '{' }, 400],
    ['a foreign origin', '/sessions', { headers: { origin: 'https://evil.example' } }, 403],
    ['what is not there', '/sessions/none', undefined, 404],
    ['another path', '/nowhere', undefined, 404],
    ['another method', '/stream', { method: 'PUT' }, 405],
    ['another type', '/stream', { method: 'POST', body: message }, 415],
    ['an audit log', '/approvals/none', undefined, 200],
    ['the health', '/health', undefined, 200],
  ])('%s', async (_, path, init, status) => {
    const { duologue } = server();
    const served = await serve(duologue, { port: 0, host: '127.0.0.1' });
    onTestFinished(() => served.close());
    const answers = [
      await fetch(served.url + path, init),
      await duologue.fetch(new Request(`http://localhost${path}`, init)),
    ];
    for (const answer of answers) {
      await answer.text();
      expect([answer.status, answer.headers.get('x-content-type-options')]).toEqual([status, 'nosniff']);
    }
  });

  it.each([
    ['a refused handshake', '/live', 403],
    ['a handshake elsewhere', '/nowhere', 404],
  ])('%s', async (_, path, status) => {
    const served = await serve(server().duologue, { port: 0, host: '127.0.0.1' });
    onTestFinished(() => served.close());
    const headers = {
      origin: 'https://evil.example',
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      get(served.url + path, { headers }, (response) => resolve(response.resume())).on('error', reject);
    });
    expect([answer.statusCode, answer.headers['x-content-type-options']]).toEqual([status, 'nosniff']);
  });
});
