import { type DetectSpeech, energyDetector } from 'duologue/client/voice';
import { useEffect, useState } from 'react';
import { DEGREES, type Sensitivity } from './sensitivity.ts';
import type { loadSilero } from './silero.ts';
import { type Preparation, usePreparation } from './use-preparation.ts';

/**
 * Passes the speech detector for hands-free to `use`: at first one for loudness, and a model once the user has used hands-free and the
 * model is loaded. Returns the state of the download.
 */
export function useDetector(
  isWanted: boolean,
  sensitivity: Sensitivity,
  use: (detect: DetectSpeech) => void,
): Preparation {
  const { now, prepare } = usePreparation('/voice/detector');
  const [silero, setSilero] = useState<Awaited<ReturnType<typeof loadSilero>> | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    if (!isWanted || silero) return;
    let isHere = true;
    const load = async () => {
      if ((await prepare()) === 'missing' || !isHere) return;
      const { loadSilero: load } = await import('./silero.ts');
      const loaded = await load();
      if (isHere) setSilero(() => loaded);
    };
    load().catch((error: unknown) => {
      if (isHere) setFailure(error instanceof Error ? error.message : String(error));
    });
    return () => {
      isHere = false;
    };
  }, [isWanted, silero, prepare]);
  useEffect(() => {
    const degree = DEGREES[sensitivity];
    use(silero ? silero(degree) : energyDetector({ sensitivity: degree }));
  }, [use, silero, sensitivity]);
  if (failure !== null) return { status: 'failed', message: failure };
  return now.status === 'ready' && !silero ? { status: 'unknown' } : now;
}
