import type { IncomingMessage } from 'node:http';

/** Node's request as a web request; null when it is not one. */
export function toRequest(request: IncomingMessage): Request | null {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name.startsWith(':')) continue;
    for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one);
  }
  const isEncrypted = 'encrypted' in request.socket && request.socket.encrypted === true;
  // What a proxy says is believed: it decides only how addresses in the answer are written, and whether a cookie is for TLS alone.
  const isForwarded = /^https\b/i.test(headers.get('x-forwarded-proto') ?? '');
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
  try {
    // Express cuts the mount path off `url`; the server knows its own base path.
    const { originalUrl = request.url ?? '/' } = request as { originalUrl?: string };
    const url = new URL(
      originalUrl,
      `http${isEncrypted || isForwarded ? 's' : ''}://${request.headers.host ?? 'localhost'}`,
    );
    return new Request(url, {
      method: request.method ?? 'GET',
      headers,
      ...(hasBody ? { body: bodyOf(request), duplex: 'half' } : {}),
    } as RequestInit);
  } catch {
    return null;
  }
}

/** The body as it comes; frameworks that read it already leave it on the request. */
function bodyOf(request: IncomingMessage): BodyInit {
  const { body } = request as { body?: unknown };
  if (body === undefined || body === null) return request as unknown as BodyInit;
  if (typeof body === 'string' || body instanceof Uint8Array) return body as BodyInit;
  return JSON.stringify(body);
}
