import type { UseVoiceHelpers } from 'duologue/react';
import { Mic, MicOff } from 'lucide-react';
import { useRef } from 'react';
import { IconButton } from '../ui/icon-button.tsx';
import type { WORDS } from './words.ts';

/** Shorter than this is a press, not holding. */
const TAP_MS = 300;

/** The microphone: held, the person is heard for as long; pressed once, it listens until it is pressed again. */
export function MicButton({
  voice,
  words,
  prepare,
}: {
  voice: UseVoiceHelpers;
  words: (typeof WORDS)['en'];
  /** Says whether one can talk at once. What is missing is fetched, and then the person presses again. */
  prepare: () => Promise<boolean>;
}) {
  const downAt = useRef<number | null>(null);
  const isHandsFree = voice.status !== 'off' && voice.how === 'hands-free';
  const isOn = voice.status !== 'off';
  const down = async () => {
    if (isHandsFree) return;
    const since = performance.now();
    downAt.current = since;
    if ((await prepare()) && downAt.current === since) await voice.press();
  };
  const up = async () => {
    const since = downAt.current;
    if (since === null) return;
    downAt.current = null;
    const isTap = performance.now() - since < TAP_MS;
    await voice.release();
    if (isTap) await begin();
  };
  const begin = async () => {
    if (await prepare()) await voice.start();
  };
  return (
    <IconButton
      label={isHandsFree ? words.stopTalking : words.talk}
      hint={isHandsFree ? words.stopTalking : words.talkHint}
      aria-pressed={isOn}
      data-testid="microphone"
      data-status={voice.status}
      isRound
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        void down();
      }}
      onPointerUp={() => void up()}
      onPointerCancel={() => void up()}
      onContextMenu={(event) => event.preventDefault()}
      onClick={(event) => {
        // With a pointer only the end of hands-free comes here; with a keyboard, all of it does.
        if (isHandsFree) void voice.stop();
        else if (event.detail === 0) void begin();
      }}
      className={`mb-0.5 touch-none select-none ${
        isOn ? 'bg-bad text-canvas hover:bg-bad-hover' : 'text-soft hover:bg-sunken hover:text-ink'
      }`}
    >
      {voice.status === 'paused' ? <MicOff className="size-5" /> : <Mic className="size-5" />}
    </IconButton>
  );
}
