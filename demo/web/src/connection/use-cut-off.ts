import { useSyncExternalStore } from 'react';
import { useWire } from '../wire/wire.tsx';
import type { WireEvent } from '../wire/wire-event.ts';

/** Whether the SSE response of the current answer broke off, so that the transport is resuming it. */
export function useIsCutOff(isReading: boolean): boolean {
  const { recorder } = useWire();
  return useSyncExternalStore(recorder.subscribe, () => isReading && isCutOff(recorder.events));
}

/** Whether the newest response of `/stream` ended because its connection broke. */
export function isCutOff(events: readonly WireEvent[]): boolean {
  /**
   * How each request ended, by its channel: it got data, or its connection broke. Requests in progress have no entry.
   */
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
