import type { UseVoiceHelpers } from 'duologue/react';
import { Mic, MicOff } from 'lucide-react';
import { useRef } from 'react';
import type { PanelTexts } from '../i18n/panels.ts';
import { IconButton } from '../ui/icon-button.tsx';

/** Shorter than this is a tap, not holding. */
const TAP_MS = 300;

/** The microphone: held, the person is heard for as long; pressed once, it listens until it is pressed again. */
export function MicButton({
  voice,
  words,
  prepare,
}: {
  voice: UseVoiceHelpers;
  words: PanelTexts['voice'];
  /** Says whether one can talk at once. What is missing is fetched, and then the person presses again. */
  prepare: () => Promise<boolean>;
}) {
  /** The press that lasts: since when, and whether one can talk. Holding and tapping ask only once, or a fetch that failed would begin anew. */
  const pressed = useRef<{ since: number; canTalk: Promise<boolean> } | null>(null);
  /** Whether a press ends hands-free: the click that belongs to one that began it must not. */
  const isEnd = useRef(false);
  const isHandsFree = voice.status !== 'off' && voice.how === 'hands-free';
  const isOn = voice.status !== 'off';
  // By the time of the events, not of this code: a page that is busy makes no tap longer.
  const down = async (since: number) => {
    isEnd.current = isHandsFree;
    if (isHandsFree) return;
    const press = { since, canTalk: prepare() };
    pressed.current = press;
    if ((await press.canTalk) && pressed.current === press) await voice.press();
  };
  const up = async (now: number) => {
    const press = pressed.current;
    if (press === null) return;
    pressed.current = null;
    if (now - press.since < TAP_MS) await begin(press.canTalk);
    await voice.release();
  };
  const begin = async (canTalk: Promise<boolean>) => {
    if (await canTalk) await voice.start();
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
        void down(event.timeStamp);
      }}
      onPointerUp={(event) => void up(event.timeStamp)}
      onPointerCancel={(event) => void up(event.timeStamp)}
      onContextMenu={(event) => event.preventDefault()}
      onClick={(event) => {
        // With a pointer only the end of hands-free comes here; with a keyboard, all of it does.
        const isKeyboard = event.detail === 0;
        if (isKeyboard ? isHandsFree : isEnd.current) void voice.stop();
        else if (isKeyboard) void begin(prepare());
      }}
      className={`mb-0.5 touch-none select-none ${
        isOn ? 'bg-bad text-canvas hover:bg-bad-hover' : 'text-soft hover:bg-sunken hover:text-ink'
      }`}
    >
      {voice.status === 'paused' ? <MicOff className="size-5" /> : <Mic className="size-5" />}
    </IconButton>
  );
}
