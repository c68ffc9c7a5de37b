import type { ExecutorContext } from 'duologue/client';
import { ERRORS } from '../texts/index.ts';

const TIMEOUT_MS = 15_000;

const BY_CODE: Readonly<Record<number, keyof typeof ERRORS>> = {
  1: 'denied',
  2: 'unavailable',
  3: 'slow',
};

/** The browser tool `get_location`: the user's location, if the browser permits it. */
export function getLocation(
  _input: unknown,
  { signal }: ExecutorContext,
): Promise<{ latitude: number; longitude: number; accuracy: number; timestamp: string }> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error(ERRORS.cancelled)), { once: true });
    if (!('geolocation' in navigator)) {
      reject(new Error(ERRORS.unsupported));
      return;
    }
    navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude, accuracy }, timestamp }) =>
        resolve({ latitude, longitude, accuracy, timestamp: new Date(timestamp).toISOString() }),
      ({ code }) => reject(new Error(ERRORS[BY_CODE[code] ?? 'unavailable'])),
      { enableHighAccuracy: true, timeout: TIMEOUT_MS, maximumAge: 60_000 },
    );
  });
}
