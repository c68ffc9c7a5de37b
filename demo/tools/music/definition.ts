import { defineTool } from 'duologue/adk';
import { z } from 'zod';
import { ERRORS } from './texts/index.ts';

/** Changes the background music in the browser. Over SSE the agent continues at once, with an optimistic output. */
export function musicTool() {
  return defineTool({
    name: 'change_bgm',
    description: 'Changes the background music in the user’s browser to track 1 or track 2.',
    parameters: z.object({
      track: z.coerce.number().optional().describe('1 or 2'),
      track_name: z.string().optional().describe('Another way to name the track, e.g. "track 2"'),
    }),
    runsOn: 'client',
    check: (args) => {
      trackIn(args);
    },
    optimistic: (args) => ({ success: true, track: trackIn(args) }),
  });
}

function trackIn({
  track,
  track_name,
}: {
  track?: number | undefined;
  track_name?: string | undefined;
}): number {
  const wanted = track ?? Number(/^\D*(\d+)\D*$/.exec(track_name ?? '')?.[1]);
  if (wanted !== 1 && wanted !== 2) throw new Error(ERRORS.noTrack);
  return wanted;
}
