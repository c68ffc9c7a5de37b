import type { ExecutorContext } from 'duologue/client';

const TIMEOUT_MS = 15_000;

/** Why there is no position, as the assistant is told. */
export const LOCATION_FAILURES = {
  denied: 'The user did not allow the browser to share the location.',
  unavailable: 'The browser cannot find the location right now.',
  slow: 'The browser took too long to find the location.',
  unsupported: 'This browser has no way to find the location.',
} as const;

const BY_CODE: Readonly<Record<number, keyof typeof LOCATION_FAILURES>> = {
  1: 'denied',
  2: 'unavailable',
  3: 'slow',
};

/** The browser tool `get_location`: where the person is, if the browser may tell. */
export function getLocation(
  _input: unknown,
  { signal }: ExecutorContext,
): Promise<{ latitude: number; longitude: number; accuracy: number; timestamp: string }> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('The request was cancelled.')), { once: true });
    if (!('geolocation' in navigator)) {
      reject(new Error(LOCATION_FAILURES.unsupported));
      return;
    }
    navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude, accuracy }, timestamp }) =>
        resolve({ latitude, longitude, accuracy, timestamp: new Date(timestamp).toISOString() }),
      ({ code }) => reject(new Error(LOCATION_FAILURES[BY_CODE[code] ?? 'unavailable'])),
      { enableHighAccuracy: true, timeout: TIMEOUT_MS, maximumAge: 60_000 },
    );
  });
}
