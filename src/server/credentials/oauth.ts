import { createHash, randomBytes } from 'node:crypto';
import type { AuthConfig, AuthCredential } from '@google/adk';

/** How long the provider may take to exchange a code. */
const EXCHANGE_SECONDS = 10;

/** Makes the PKCE code verifier of a sign-in, with which the server proves at the exchange of the code that it began the sign-in. */
export function newVerifier(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * The address at which the user signs in. It is the address that ADK made from the tool's configuration, with the server's `state`, the address to which the
 * provider sends the browser back, and the PKCE challenge. Throws when the address is not safe to open.
 */
export function authorizationUrl(
  authUri: string,
  { state, redirectUri, verifier }: { state: string; redirectUri: string; verifier: string },
): string {
  const url = URL.canParse(authUri) ? new URL(authUri) : null;
  if (!url || !isSafe(url))
    throw new Error(
      `the authorization address ${JSON.stringify(authUri.slice(0, 200))} must begin with https://, or with http:// on this machine`,
    );
  url.searchParams.set('redirect_uri', redirectUri);
  url.searchParams.set('state', state);
  url.searchParams.set('code_challenge', createHash('sha256').update(verifier).digest('base64url'));
  url.searchParams.set('code_challenge_method', 'S256');
  return url.href;
}

/**
 * Exchanges a code for tokens at the token endpoint of the tool's configuration. The model reads the texts of errors, so they contain no code, token or client
 * secret.
 */
export async function exchangeCode(
  config: AuthConfig,
  { code, redirectUri, verifier }: { code: string; redirectUri: string; verifier: string },
  now: () => number,
): Promise<AuthCredential> {
  const raw = config.rawAuthCredential;
  const { clientId = '', clientSecret, tokenEndpointAuthMethod } = raw?.oauth2 ?? {};
  if (!raw) throw new Error('the configuration of the tool has no rawAuthCredential');
  const endpoint = tokenEndpointOf(config);
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  };
  if (tokenEndpointAuthMethod === 'client_secret_basic') {
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret ?? '')}`;
    headers.authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
  } else {
    body.set('client_id', clientId);
    if (clientSecret !== undefined) body.set('client_secret', clientSecret);
  }
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers,
    body,
    // A redirect would send the client secret of the application to another host.
    redirect: 'error',
    signal: AbortSignal.timeout(EXCHANGE_SECONDS * 1000),
  }).catch(() => {
    throw new Error(
      `the token endpoint of the provider cannot be reached, redirects, or did not answer within ${EXCHANGE_SECONDS} s`,
    );
  });
  if (!answer.ok) {
    await answer.body?.cancel();
    throw new Error(`the provider did not exchange the sign-in code (HTTP ${answer.status})`);
  }
  const tokens = (await answer.json().catch(() => ({}))) as Record<string, unknown>;
  if (typeof tokens.access_token !== 'string' || tokens.access_token === '')
    throw new Error('the provider sent no access token');
  const expiresIn = Number(tokens.expires_in);
  return {
    ...raw,
    oauth2: {
      ...raw.oauth2,
      accessToken: tokens.access_token,
      ...(typeof tokens.refresh_token === 'string' ? { refreshToken: tokens.refresh_token } : {}),
      ...(typeof tokens.id_token === 'string' ? { idToken: tokens.id_token } : {}),
      ...(expiresIn > 0 ? { expiresIn, expiresAt: now() + expiresIn * 1000 } : {}),
    },
  };
}

/** Whether the access token of a credential has expired or expires within 30 seconds. */
export function isExpired({ oauth2 }: AuthCredential, now: number): boolean {
  return oauth2?.expiresAt !== undefined && oauth2.expiresAt - 30_000 < now;
}

/** The token endpoint of a configuration. Throws when the configuration has no token endpoint, or when the endpoint is not safe for secrets. */
export function tokenEndpointOf({ authScheme }: AuthConfig): string {
  const scheme = authScheme as {
    tokenEndpoint?: string;
    flows?: { authorizationCode?: { tokenUrl?: string } };
  };
  const endpoint = scheme.flows?.authorizationCode?.tokenUrl ?? scheme.tokenEndpoint;
  if (endpoint === undefined || !URL.canParse(endpoint) || !isSafe(new URL(endpoint)))
    throw new Error(
      'the configuration of the tool needs a token endpoint that begins with https://, or with http:// on this machine',
    );
  return endpoint;
}

/** Whether an address is safe for secrets: HTTPS, or this machine. */
function isSafe({ protocol, hostname }: URL): boolean {
  const isHere = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isHere);
}
