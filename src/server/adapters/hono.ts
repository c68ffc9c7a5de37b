import type { Context, MiddlewareHandler } from 'hono';
import { noteAddress } from '../access/client-address.ts';
import type { Duologue } from '../duologue.ts';

/** Middleware for Hono. Requests for other paths continue to the next handler. An earlier middleware may read the body of a request. */
export function duologueHono(duologue: Duologue): MiddlewareHandler {
  return async (context, next) => {
    // On Node, Hono passes Node's request as `env.incoming`.
    const { incoming } = (context.env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } };
    const request = await requestOf(context);
    noteAddress(request, incoming?.socket?.remoteAddress);
    const response = await duologue.respond(request);
    if (!response) return next();
    return response;
  };
}

/** The request with its body. When a middleware has read the body, the web request no longer has the body, but Hono's request does. */
async function requestOf({ req }: Context): Promise<Request> {
  const { raw } = req;
  if (!raw.bodyUsed) return raw;
  return new Request(raw.url, { method: raw.method, headers: raw.headers, body: await req.arrayBuffer() });
}
