import { useCallback, useEffect, useRef, useState } from 'react';
import { useWire } from '../wire/wire.tsx';
import { type AuditLog, readAuditLog } from './audit-line.ts';

/** How long after the last recorded request, chunk or frame the log is read again. */
const DELAY_MS = 400;

/**
 * Reads the newest pages of the approval log of a session, and reads them again whenever the page sent or received
 * something.
 */
export function useAuditLog(sessionId: string): {
  log: AuditLog | null;
  hasFailed: boolean;
  refresh: () => void;
  /** Reads one more page of older lines. */
  readOlder: () => void;
} {
  const { recorder } = useWire();
  const [log, setLog] = useState<AuditLog | null>(null);
  const [pages, setPages] = useState(1);
  const [hasFailed, setFailed] = useState(false);
  const reading = useRef<AbortController>(null);

  const refresh = useCallback(() => {
    reading.current?.abort();
    const controller = new AbortController();
    reading.current = controller;
    readAuditLog(sessionId, pages, controller.signal).then(
      (read) => {
        setLog(read);
        setFailed(false);
      },
      () => {
        if (!controller.signal.aborted) setFailed(true);
      },
    );
  }, [sessionId, pages]);

  const readOlder = useCallback(() => setPages((count) => count + 1), []);

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
  return { log, hasFailed, refresh, readOlder };
}
