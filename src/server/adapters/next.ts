import type { Duologue } from '../duologue.ts';

type RouteHandler = (request: Request) => Promise<Response>;

/** Route handlers for a Next.js catch-all route, e.g. `app/api/chat/[...path]/route.ts` with `basePath: '/api/chat'`. */
export function duologueNext(
  duologue: Duologue,
): Record<'GET' | 'POST' | 'PATCH' | 'DELETE' | 'OPTIONS', RouteHandler> {
  const run: RouteHandler = (request) => duologue.fetch(request);
  return { GET: run, POST: run, PATCH: run, DELETE: run, OPTIONS: run };
}
