import type { IncomingMessage } from 'node:http';

/** Node's request as a web request; null when it is not one. */
export function toRequest(request: IncomingMessage): Request | null {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name.startsWith(':')) continue;
    for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one);
  }
  const encrypted = 'encrypted' in request.socket && request.socket.encrypted === true;
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
  try {
    // Express cuts the mount path off `url`; the server knows its own base path.
    const { originalUrl = request.url ?? '/' } = request as { originalUrl?: string };
    const url = new URL(originalUrl, `http${encrypted ? 's' : ''}://${request.headers.host ?? 'localhost'}`);
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
