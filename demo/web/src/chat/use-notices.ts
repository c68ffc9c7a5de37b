import type { TransientData } from 'duologue/react';
import { useCallback, useState } from 'react';

/** An error of the server that belongs to no message. */
export interface Notice {
  id: string;
  error: Error;
}

/** Codes of errors that the page shows in another place: at the connection, or below a message. */
const ELSEWHERE = [
  'taken_over',
  'idle',
  'moved',
  'shutting_down',
  'too_slow',
  'nothing_to_answer',
  'rate_limited',
  'busy',
];

/** Keeps the errors that the server reports until the user dismisses them. */
export function useNotices(): {
  list: readonly Notice[];
  hear: (data: TransientData) => void;
  dismiss: (id: string) => void;
  /** Removes an error that the conversation shows itself, so that it is not shown twice. */
  settle: (error: Error) => void;
} {
  const [list, setList] = useState<readonly Notice[]>([]);
  const hear = useCallback((data: TransientData) => {
    if (data.type !== 'data-error' || ELSEWHERE.includes(data.data.code)) return;
    const { code, message } = data.data;
    const error = Object.assign(new Error(message), { code });
    setList((all) => [
      ...all.filter((notice) => notice.error.message !== message),
      { id: crypto.randomUUID(), error },
    ]);
  }, []);
  const dismiss = useCallback((id: string) => setList((all) => all.filter((one) => one.id !== id)), []);
  const settle = useCallback(
    ({ message }: Error) => setList((all) => all.filter((notice) => notice.error.message !== message)),
    [],
  );
  return { list, hear, dismiss, settle };
}
