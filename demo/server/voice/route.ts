import type { Duologue, Reply } from 'duologue/server';
import type { FetchedParts, FetchState } from './fetched-parts.ts';

/**
 * Serves the state of voice at a path. `GET` returns whether the files of voice are there, and `POST` also starts the download of missing ones. Both
 * need the access that all routes need. `fetched` is null for a model that accepts and produces audio itself: it needs no files, so the state is `ready`.
 */
export function voiceRoute(
  path: string,
  fetched: Pick<FetchedParts, 'now' | 'prepare'> | null,
  { guard }: Pick<Duologue, 'guard'>,
): (request: Request) => Promise<Reply | null> {
  return async (request) => {
    if (new URL(request.url).pathname !== path) return null;
    const refusal = await guard(request);
    if (refusal) return refusal;
    if (request.method !== 'GET' && request.method !== 'POST')
      return answer(405, null, { allow: 'GET, POST' });
    if (request.method === 'POST') fetched?.prepare();
    const now: FetchState = fetched?.now ?? { status: 'ready' };
    return answer(200, JSON.stringify(now), { 'content-type': 'application/json; charset=utf-8' });
  };
}

function answer(status: number, body: string | null, headers: Record<string, string>): Reply {
  return {
    status,
    body,
    headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers },
  };
}
