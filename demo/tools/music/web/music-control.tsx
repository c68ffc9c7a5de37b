import { onDemand } from '../../../web/src/ui/on-demand.tsx';
import { MusicButton } from './music-button.tsx';
import type { MusicPlayer } from './player.ts';

/** The button in the header that opens the tracks and the volume. */
export const MusicControl = onDemand<{ player: MusicPlayer }>(
  () => import('./music-popover.tsx'),
  ({ player, opener }) => <MusicButton player={player} {...opener} />,
  'dialog',
);
