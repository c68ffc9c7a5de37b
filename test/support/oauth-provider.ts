import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

const CLIENT = { id: 'client-1', secret: 'the secret of the client' };

/**
 * An OAuth 2 provider on this machine: codes are used once, and need the secret of the client, the address to come back to, and PKCE. A browser gets a page with
 * the links Allow and Decline; any other client gets the code at once.
 */
export class OAuthProvider {
  /** Every access token that was given out. */
  readonly tokens: string[] = [];
  /** Requests to the token endpoint, and what became of each. */
  readonly exchanges: string[] = [];
  /** The codes that were given out and not used yet. */
  private readonly codes = new Map<string, { redirectUri: string; challenge: string }>();
  private readonly server = createServer((request, response) => void this.answer(request, response));

  /** Starts a provider; it is closed after the test. */
  static async start(): Promise<OAuthProvider> {
    const provider = new OAuthProvider();
    provider.server.listen(0, '127.0.0.1');
    await once(provider.server, 'listening');
    onTestFinished(async () => {
      provider.server.close();
      provider.server.closeAllConnections();
      await once(provider.server, 'close');
    });
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The configuration of a tool whose credential comes from this provider. */
  config(credentialKey = 'calendar') {
    const oauth2 = { clientId: CLIENT.id, clientSecret: CLIENT.secret };
    return {
      credentialKey,
      authScheme: {
        type: 'oauth2' as const,
        flows: {
          authorizationCode: {
            authorizationUrl: `${this.url}/authorize`,
            tokenUrl: `${this.url}/token`,
            scopes: { 'calendar.read': 'reads' },
          },
        },
      },
      rawAuthCredential: { authType: 'oauth2' as never, oauth2 },
    };
  }

  /** The secrets that must be seen nowhere else. */
  get secrets(): string[] {
    return [...this.tokens, CLIENT.secret];
  }

  /** The user agrees at the address of a sign-in. Returns the address to which the browser is sent back. */
  async consent(url: string): Promise<URL> {
    const answer = await fetch(url, { redirect: 'manual' });
    const location = answer.headers.get('location');
    if (location === null) throw new Error(`The provider answered ${answer.status}: ${await answer.text()}`);
    return new URL(location);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    if (url.pathname === '/authorize') {
      const given = (name: string) => url.searchParams.get(name) ?? '';
      if (given('client_id') !== CLIENT.id || given('code_challenge_method') !== 'S256') {
        response.writeHead(400).end('Unknown client, or no PKCE.');
        return;
      }
      if (request.headers.accept?.includes('text/html') && given('answer') === '') {
        const link = (answer: string) =>
          `<a href="${url.search.replaceAll('&', '&amp;')}&amp;answer=${answer}">${answer}</a>`;
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
        response.end(
          `<!doctype html><title>Provider</title><h1>Calendar</h1><p>${link('Allow')} ${link('Decline')}</p>`,
        );
        return;
      }
      const back = new URL(given('redirect_uri'));
      if (given('answer') === 'Decline') back.searchParams.set('error', 'access_denied');
      else {
        const code = randomBytes(8).toString('hex');
        this.codes.set(code, { redirectUri: given('redirect_uri'), challenge: given('code_challenge') });
        back.searchParams.set('code', code);
      }
      back.searchParams.set('state', given('state'));
      response.writeHead(302, { location: back.href }).end();
      return;
    }
    if (url.pathname !== '/token') {
      response.writeHead(404).end();
      return;
    }
    let text = '';
    for await (const piece of request) text += String(piece);
    const body = new URLSearchParams(text);
    const code = body.get('code') ?? '';
    const known = this.codes.get(code);
    this.codes.delete(code);
    const challenge = createHash('sha256')
      .update(body.get('code_verifier') ?? '')
      .digest('base64url');
    const isRight =
      known?.challenge === challenge &&
      known.redirectUri === body.get('redirect_uri') &&
      body.get('client_secret') === CLIENT.secret;
    this.exchanges.push(isRight ? 'token' : 'refused');
    if (!isRight) {
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
      return;
    }
    const token = `token-${randomBytes(16).toString('hex')}`;
    this.tokens.push(token);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 3600 }));
  }
}
