import { CheckCircle2, FastForward, Pause, Play, RotateCcw, StepForward, TriangleAlert } from 'lucide-react';
import { useEffect, useSyncExternalStore } from 'react';
import { focusBox } from '../composer/focus-box.ts';
import { number } from '../i18n/format.ts';
import { useLanguage } from '../i18n/language.tsx';
import { usePanelTexts } from '../i18n/panels.ts';
import { Button } from '../ui/button.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { useWire } from '../wire/wire.tsx';
import { ReplayPlayer } from './player.ts';

/** Takes the place of the message box during a replay, and controls the replay. */
export default function ReplayBar({ player }: { player: ReplayPlayer }) {
  const words = usePanelTexts().replay;
  const { language } = useLanguage();
  const { showReplay } = useWire();
  const { status, isBusy, position, total, matches } = useSyncExternalStore(
    player.subscribe,
    () => player.state,
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the button that was pressed may be removed, or be disabled at the end
  useEffect(() => {
    if (document.activeElement === document.body) focusBox();
  }, [status]);
  return (
    <section
      // The link at the top of the page leads here, where the message box was.
      id="message"
      tabIndex={-1}
      aria-label={words.label}
      data-testid="replay-bar"
      data-status={status}
      aria-busy={isBusy}
      className="animate-rise rounded-3xl border border-accent-line bg-surface p-3 shadow-lift"
    >
      <div className="flex flex-wrap items-center gap-x-1 gap-y-2">
        <span className="mr-2 ml-1 text-sm font-semibold text-accent">{words.title}</span>
        {status === 'playing' ? (
          <IconButton label={words.pause} onClick={() => player.pause()}>
            <Pause className="size-4" />
          </IconButton>
        ) : (
          <IconButton label={words.play} disabled={status === 'ended'} onClick={() => player.play('real')}>
            <Play className="size-4" />
          </IconButton>
        )}
        <IconButton label={words.step} disabled={status === 'ended'} onClick={() => void player.step()}>
          <StepForward className="size-4" />
        </IconButton>
        <IconButton label={words.fast} disabled={status === 'ended'} onClick={() => player.play('fast')}>
          <FastForward className="size-4" />
        </IconButton>
        <IconButton label={words.again} onClick={() => showReplay(new ReplayPlayer(player.recording))}>
          <RotateCcw className="size-4" />
        </IconButton>
        <span data-testid="replay-position" className="ml-2 text-xs text-soft tabular-nums">
          {words.position(number(position, language), number(total, language))}
        </span>
        <Button className="ml-auto min-h-9" onClick={() => showReplay(null)}>
          {words.close}
        </Button>
      </div>
      <progress
        aria-label={words.progress}
        value={position}
        max={Math.max(1, total)}
        className="mt-3 block h-1.5 w-full overflow-hidden rounded-full bg-sunken [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:bg-accent"
      />
      <div role="status" className="text-sm empty:hidden">
        {matches === null ? null : (
          <p className={`mt-3 flex items-center gap-2 ${matches ? 'text-good' : 'text-bad'}`}>
            {matches ? (
              <CheckCircle2 className="size-4 shrink-0" aria-hidden="true" />
            ) : (
              <TriangleAlert className="size-4 shrink-0" aria-hidden="true" />
            )}
            {matches ? words.matches : words.differs}
          </p>
        )}
      </div>
      {player.recording.isCut ? <p className="mt-2 text-xs text-soft">{words.cut}</p> : null}
    </section>
  );
}
