import { Popover } from 'radix-ui';
import { useLanguage } from '../../../web/src/i18n/language.tsx';
import { PAGE } from '../texts/index.ts';
import { MusicButton } from './music-button.tsx';
import MusicControls from './music-controls.tsx';
import type { MusicPlayer } from './player.ts';

/** The music button with its popover, which is open at first. */
export default function MusicPopover({ player }: { player: MusicPlayer }) {
  const { title } = PAGE[useLanguage().language];
  return (
    <Popover.Root defaultOpen>
      <Popover.Trigger asChild>
        <MusicButton player={player} />
      </Popover.Trigger>
      <Popover.Content
        aria-label={title}
        align="end"
        sideOffset={8}
        collisionPadding={12}
        className="z-40 w-72 animate-fade rounded-2xl border border-line bg-surface p-3 shadow-float"
      >
        <MusicControls player={player} />
      </Popover.Content>
    </Popover.Root>
  );
}
