import { Pause, Play, Volume2 } from 'lucide-react';
import { Slider } from 'radix-ui';
import { useState, useSyncExternalStore } from 'react';
import { useLanguage } from '../../../web/src/i18n/language.tsx';
import { PAGE } from '../texts/index.ts';
import type { MusicPlayer } from './player.ts';
import type { TrackNumber } from './score.ts';

/** The tracks and the volume. They are loaded when the user opens them, because most users never do. */
export default function MusicControls({ player }: { player: MusicPlayer }) {
  const music = PAGE[useLanguage().language];
  const { track, isPlaying, volume } = useSyncExternalStore(player.subscribe, () => player.state);
  const [isBlocked, setBlocked] = useState(false);
  const play = (wanted: TrackNumber) => {
    setBlocked(false);
    player.play(wanted).catch(() => setBlocked(true));
  };
  return (
    <>
      <ul className="space-y-1">
        {([1, 2] as const).map((number) => {
          const isThis = isPlaying && track === number;
          return (
            <li key={number}>
              <button
                type="button"
                aria-pressed={isThis}
                onClick={() => (isThis ? player.pause() : play(number))}
                className="flex w-full items-center gap-3 rounded-xl px-3 py-2.5 text-left text-sm transition-colors hover:bg-sunken aria-pressed:bg-accent-tint aria-pressed:text-accent"
              >
                {isThis ? <Pause className="size-4" /> : <Play className="size-4" />}
                <span className="grow font-medium">{music.tracks[number]}</span>
                <span className="text-xs text-soft">{music.track(number)}</span>
              </button>
            </li>
          );
        })}
      </ul>
      <div className="mt-2 flex items-center gap-3 px-3 py-2">
        <Volume2 className="size-4 shrink-0 text-soft" />
        <Slider.Root
          value={[Math.round(volume * 100)]}
          onValueChange={([value = 0]) => player.setVolume(value / 100)}
          max={100}
          step={5}
          className="relative flex h-5 grow touch-none items-center select-none"
        >
          <Slider.Track className="relative h-1.5 grow rounded-full bg-sunken">
            <Slider.Range className="absolute h-full rounded-full bg-accent" />
          </Slider.Track>
          <Slider.Thumb
            aria-label={music.volume}
            className="block size-4 rounded-full border-2 border-accent bg-surface shadow-lift"
          />
        </Slider.Root>
      </div>
      {isBlocked ? <p className="px-3 pb-1 text-xs text-warn">{music.blocked}</p> : null}
    </>
  );
}
