import { Music2 } from 'lucide-react';
import { Popover } from 'radix-ui';
import { lazy, Suspense, useSyncExternalStore } from 'react';
import { useLanguage, useMessages } from '../../../web/src/i18n/language.tsx';
import { IconButton } from '../../../web/src/ui/icon-button.tsx';
import type { MusicPlayer } from './player.ts';
import { WORDS } from './words.ts';

const MusicControls = lazy(() => import('./music-controls.tsx').catch(() => ({ default: Missing })));

/** The music of the page: what plays, how loud, and the other track. */
export function MusicButton({ player }: { player: MusicPlayer }) {
  const { messages, language } = useLanguage();
  const { title, tracks } = WORDS[language];
  const { track, isPlaying } = useSyncExternalStore(player.subscribe, () => player.state);
  const label = isPlaying && track !== null ? `${title}: ${tracks[track]}` : title;
  return (
    <Popover.Root>
      <Popover.Trigger asChild>
        <IconButton
          label={label}
          className={isPlaying ? 'text-accent' : ''}
          data-track={isPlaying ? track : ''}
        >
          {isPlaying ? <Equaliser /> : <Music2 className="size-4.5" />}
        </IconButton>
      </Popover.Trigger>
      <Popover.Content
        align="end"
        sideOffset={8}
        collisionPadding={12}
        className="z-40 w-72 animate-fade rounded-2xl border border-line bg-surface p-3 shadow-float"
      >
        <Suspense fallback={<p className="p-3 text-sm text-soft">{messages.panel.loading}</p>}>
          <MusicControls player={player} />
        </Suspense>
      </Popover.Content>
    </Popover.Root>
  );
}

/** Stands where the controls could not be loaded. */
function Missing() {
  const { panel } = useMessages();
  return (
    <p role="alert" className="p-3 text-sm">
      {panel.missing}
    </p>
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
