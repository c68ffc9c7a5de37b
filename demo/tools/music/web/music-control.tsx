import { onDemand } from '../../../web/src/ui/on-demand.tsx';
import { MusicButton } from './music-button.tsx';
import type { MusicPlayer } from './player.ts';

/** The music of the page: what plays, how loud, and the other track. */
export const MusicControl = onDemand<{ player: MusicPlayer }>(
  () => import('./music-popover.tsx'),
  ({ player, opener }) => <MusicButton player={player} {...opener} />,
  'dialog',
);
