import type { DataParts, Message } from 'duologue/protocol';
import type { TransientData } from 'duologue/react';
import { useCallback, useEffect, useState } from 'react';

/** Keeps the reason why the server is calling the model again (`data-waiting`). */
export function useWaiting(): {
  reason: DataParts['waiting']['reason'] | null;
  hear: (data: TransientData) => void;
  clear: () => void;
} {
  const [reason, setReason] = useState<DataParts['waiting']['reason'] | null>(null);
  const hear = useCallback((data: TransientData) => {
    if (data.type === 'data-waiting') setReason(data.data.reason);
  }, []);
  const clear = useCallback(() => setReason(null), []);
  return { reason, hear, clear };
}

/** Calls `then` when the assistant writes more, or stops. */
export function useOnNewText(messages: readonly Message[], isBusy: boolean, then: () => void): void {
  const last = messages.at(-1);
  const parts = last?.role === 'assistant' ? last.parts : [];
  const end = parts.at(-1);
  const texts = end && 'text' in end ? end.text.length : 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: these changes are what it waits for
  useEffect(() => then(), [parts.length, texts, isBusy, then]);
}
