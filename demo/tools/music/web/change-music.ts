import type { ExecutorContext } from 'duologue/client';
import { fields } from '../../../web/src/tools/tool-part.ts';
import { ERRORS } from '../texts/index.ts';
import type { MusicPlayer } from './player.ts';

/** The browser tool `change_bgm`: plays the track that the agent names. */
export function changeMusic(player: MusicPlayer) {
  return async (input: unknown, { signal }: ExecutorContext): Promise<{ success: true; track: 1 | 2 }> => {
    const { track, track_name: name } = fields(input);
    const wanted = Number(track ?? /[12]/.exec(String(name ?? ''))?.[0]);
    if (wanted !== 1 && wanted !== 2) throw new Error(ERRORS.noTrack);
    await player.play(wanted, signal);
    return { success: true, track: wanted };
  };
}
