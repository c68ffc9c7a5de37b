import type { Duologue, Reply } from 'duologue/server';
import type { Voice, VoiceState } from './voice.ts';

/**
 * `GET /voice` says whether voice can be used, `POST /voice` fetches what is missing: for whoever may use the server. A model that hears
 * and speaks by itself needs nothing: `voice` is null.
 */
export function voiceRoute(
  voice: Pick<Voice, 'now' | 'prepare'> | null,
  { guard }: Pick<Duologue, 'guard'>,
): (request: Request) => Promise<Reply | null> {
  return async (request) => {
    if (new URL(request.url).pathname !== '/voice') return null;
    const refusal = await guard(request);
    if (refusal) return refusal;
    if (request.method !== 'GET' && request.method !== 'POST')
      return answer(405, null, { allow: 'GET, POST' });
    if (request.method === 'POST') voice?.prepare();
    const now: VoiceState = voice?.now ?? { status: 'ready' };
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
