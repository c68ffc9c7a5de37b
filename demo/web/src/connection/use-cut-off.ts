import { useSyncExternalStore } from 'react';
import { useWire } from '../wire/wire.tsx';
import type { WireEvent } from '../wire/wire-event.ts';

/** Whether the answer that is being read over HTTP broke off, and its rest is being asked for. */
export function useIsCutOff(isReading: boolean): boolean {
  const { recorder } = useWire();
  return useSyncExternalStore(recorder.subscribe, () => isReading && isCutOff(recorder.events));
}

/** Whether the last event of an answer is that it broke off. */
export function isCutOff(events: readonly WireEvent[]): boolean {
  /** What each request came to in the end; those that are still open have come to nothing yet. */
  const ends = new Map<number, 'heard' | 'broken'>();
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index];
    if (!event) break;
    const { channel, type } = event;
    if (type === 'text' && !ends.has(channel)) ends.set(channel, 'heard');
    if (type === 'close' && event.direction === 'in' && event.reason !== '') ends.set(channel, 'broken');
    if (type !== 'request' || !event.path.startsWith('/stream')) continue;
    const end = ends.get(channel);
    if (end !== undefined) return end === 'broken';
  }
  return false;
}
