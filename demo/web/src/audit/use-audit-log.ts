import { useCallback, useEffect, useRef, useState } from 'react';
import { useWire } from '../wire/wire.tsx';
import { type AuditLine, readAuditLog } from './audit-line.ts';

/** The log follows the conversation with this delay. */
const DELAY_MS = 400;

/** The approval log of a session, read again when something happened in the conversation. */
export function useAuditLog(sessionId: string): {
  lines: readonly AuditLine[] | null;
  hasFailed: boolean;
  refresh: () => void;
} {
  const { recorder } = useWire();
  const [lines, setLines] = useState<readonly AuditLine[] | null>(null);
  const [hasFailed, setFailed] = useState(false);
  const reading = useRef<AbortController>(null);

  const refresh = useCallback(() => {
    reading.current?.abort();
    const controller = new AbortController();
    reading.current = controller;
    readAuditLog(sessionId, controller.signal).then(
      (read) => {
        setLines(read);
        setFailed(false);
      },
      () => {
        if (!controller.signal.aborted) setFailed(true);
      },
    );
  }, [sessionId]);

  useEffect(() => {
    refresh();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = recorder.subscribe(() => {
      clearTimeout(timer);
      timer = setTimeout(refresh, DELAY_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
      reading.current?.abort();
    };
  }, [recorder, refresh]);
  return { lines, hasFailed, refresh };
}
