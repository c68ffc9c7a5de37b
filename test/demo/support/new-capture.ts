import { type Capture, captureAll, startBackends } from '../../../scripts/fixtures/capture.ts';

/** Plays every scenario of the fixtures to servers that are started for it. */
export async function capturedByNewBackends(): Promise<Capture[]> {
  const backends = await startBackends();
  try {
    return await captureAll(backends);
  } finally {
    await backends.stop();
  }
}
