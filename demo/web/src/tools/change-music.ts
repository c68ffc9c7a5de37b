import type { ExecutorContext } from 'duologue/client';
import type { MusicPlayer } from '../music/player.ts';
import { fields } from './tool-part.ts';

/** The browser tool `change_bgm`: plays the track that the agent names. */
export function changeMusic(player: MusicPlayer) {
  return async (input: unknown, { signal }: ExecutorContext): Promise<{ success: true; track: 1 | 2 }> => {
    const { track, track_name: name } = fields(input);
    const wanted = Number(track ?? /[12]/.exec(String(name ?? ''))?.[0]);
    if (wanted !== 1 && wanted !== 2) throw new Error('There are two tracks: 1 and 2.');
    await player.play(wanted, signal);
    return { success: true, track: wanted };
  };
}
