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

/** How long after traffic on the wire the events are read again, in milliseconds. */
const DELAY_MS = 400;

/** Reads the events of a session, and those that come, while something happens on the wire. */
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

/** All events; null when the server does not tell them. */
async function readEvents(sessionId: string, signal: AbortSignal): Promise<AdkEvent[] | null> {
  const all: AdkEvent[] = [];
  for (let from = 0; ; ) {
    const response = await http.request(`/sessions/${encodeURIComponent(sessionId)}/events?from=${from}`, {
      signal,
    });
    // A server without this path answers with the HTML of the page.
    if (!/json/.test(response.headers.get('content-type') ?? '')) return null;
    // Nothing was said in this conversation yet.
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
