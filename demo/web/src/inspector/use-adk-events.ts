import { useCallback, useEffect, useRef, useState } from 'react';
import { http } from '../sessions/http.ts';
import type { WireSource } from './row-log.ts';

/** The fields of an ADK event that the list shows. */
export interface AdkEvent {
  author?: string;
  timestamp?: number;
  errorMessage?: string;
  customMetadata?: Record<string, unknown>;
  turnComplete?: boolean;
  interrupted?: boolean;
  actions?: { stateDelta?: Record<string, unknown> };
  content?: {
    parts?: {
      text?: string;
      inlineData?: { mimeType?: string };
      functionCall?: { name?: string; args?: unknown };
      functionResponse?: { name?: string; response?: unknown };
    }[];
  };
}

type Problem = 'off' | 'failed' | null;

/** How many milliseconds after the last event of the wire the ADK events are read again. */
const DELAY_MS = 400;

/** Reads the ADK events of a session, and reads them again after the page sent or received something. */
export function useAdkEvents(
  sessionId: string,
  source: WireSource,
): { events: readonly AdkEvent[]; problem: Problem; refresh: () => void } {
  const [events, setEvents] = useState<readonly AdkEvent[]>([]);
  const [problem, setProblem] = useState<Problem>(null);
  const reading = useRef<AbortController>(null);

  const refresh = useCallback(async () => {
    reading.current?.abort();
    const controller = new AbortController();
    reading.current = controller;
    try {
      const read = await readEvents(sessionId, controller.signal);
      setProblem(read === null ? 'off' : null);
      if (read) setEvents(read);
    } catch {
      if (!controller.signal.aborted) setProblem('failed');
    }
  }, [sessionId]);

  useEffect(() => {
    void refresh();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = source.subscribe(() => {
      clearTimeout(timer);
      timer = setTimeout(() => void refresh(), DELAY_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
      reading.current?.abort();
    };
  }, [refresh, source]);
  return { events, problem, refresh: () => void refresh() };
}

/** Reads all events; null when the server does not offer them. */
async function readEvents(sessionId: string, signal: AbortSignal): Promise<AdkEvent[] | null> {
  const all: AdkEvent[] = [];
  for (let from = 0; ; ) {
    const response = await http.request(`/sessions/${encodeURIComponent(sessionId)}/events?from=${from}`, {
      signal,
    });
    // A server without this route answers with the HTML of the page.
    if (!/json/.test(response.headers.get('content-type') ?? '')) return null;
    // The session has no message yet, so the server has not stored it.
    if (response.status === 404) return [];
    if (!response.ok) throw new Error(`The server answered with status ${response.status}.`);
    const { events, next, count } = (await response.json()) as {
      events: AdkEvent[];
      next: number;
      count: number;
    };
    all.push(...events);
    if (events.length === 0 || next >= count) return all;
    from = next;
  }
}
