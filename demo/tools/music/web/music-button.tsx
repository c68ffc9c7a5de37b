import { Music2 } from 'lucide-react';
import { type ComponentProps, useSyncExternalStore } from 'react';
import { useLanguage } from '../../../web/src/i18n/language.tsx';
import { IconButton } from '../../../web/src/ui/icon-button.tsx';
import { PAGE } from '../texts/index.ts';
import type { MusicPlayer } from './player.ts';

/** The button that shows whether music plays. */
export function MusicButton({ player, ...rest }: { player: MusicPlayer } & ComponentProps<'button'>) {
  const { title, tracks } = PAGE[useLanguage().language];
  const { track, isPlaying } = useSyncExternalStore(player.subscribe, () => player.state);
  const label = isPlaying && track !== null ? `${title}: ${tracks[track]}` : title;
  return (
    <IconButton
      {...rest}
      label={label}
      className={isPlaying ? 'text-accent' : ''}
      data-track={isPlaying ? track : ''}
    >
      {isPlaying ? <Equaliser /> : <Music2 className="size-4.5" />}
    </IconButton>
  );
}

function Equaliser() {
  return (
    <span aria-hidden="true" className="flex h-4 items-end gap-0.5">
      {[0, 180, 320].map((delay) => (
        <span
          key={delay}
          style={{ animationDelay: `${delay}ms` }}
          className="h-full w-1 origin-bottom animate-breathe rounded-full bg-current"
        />
      ))}
    </span>
  );
}
