import type { UseDuologueHelpers } from 'duologue/react';
import { useEffect, useState } from 'react';

/** What was understood so far of what the person is saying; nothing once it stands in the conversation. */
export function useHeard(live: UseDuologueHelpers['live']): string {
  const [heard, setHeard] = useState('');
  useEffect(
    () =>
      live.connection.listen((event) => {
        if (event.type !== 'chunk' || event.chunk.type !== 'data-transcript') return;
        const { role, text, finished } = event.chunk.data;
        if (role === 'user') setHeard(finished ? '' : text);
      }),
    [live],
  );
  return heard;
}
