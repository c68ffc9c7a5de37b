import type { ExecutorContext } from 'duologue/client';

const TIMEOUT_MS = 15_000;

/** Why there is no position, as the assistant is told. */
const REASONS: Readonly<Record<number, string>> = {
  1: 'The user did not allow the browser to share the location.',
  2: 'The browser cannot find the location right now.',
  3: 'The browser took too long to find the location.',
};

/** The browser tool `get_location`: where the person is, if the browser may tell. */
export function getLocation(
  _input: unknown,
  { signal }: ExecutorContext,
): Promise<{ latitude: number; longitude: number; accuracy: number; timestamp: string }> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('The request was cancelled.')), { once: true });
    if (!('geolocation' in navigator)) {
      reject(new Error('This browser has no way to find the location.'));
      return;
    }
    navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude, accuracy }, timestamp }) =>
        resolve({ latitude, longitude, accuracy, timestamp: new Date(timestamp).toISOString() }),
      ({ code }) => reject(new Error(REASONS[code] ?? 'The location is not available.')),
      { enableHighAccuracy: true, timeout: TIMEOUT_MS, maximumAge: 60_000 },
    );
  });
}
