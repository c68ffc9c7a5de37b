import type { UseVoiceHelpers } from 'duologue/react';
import { Mic, MicOff } from 'lucide-react';
import { useRef } from 'react';
import type { PanelTexts } from '../i18n/panels.ts';
import { IconButton } from '../ui/icon-button.tsx';

/** A press that is shorter than this is a tap. */
const TAP_MS = 300;

/** The button of the microphone. While it is held, the microphone is on (push to talk). A short press turns hands-free on or off. */
export function MicButton({
  voice,
  words,
  prepare,
}: {
  voice: UseVoiceHelpers;
  words: PanelTexts['voice'];
  /** Returns whether the user can talk at once. Otherwise it loads the missing parts, and the user has to press again. */
  prepare: () => Promise<boolean>;
}) {
  /** The press in progress: when it began, and the result of `prepare`, which is called once for each press so that a failed download is not repeated. */
  const pressed = useRef<{ since: number; canTalk: Promise<boolean> } | null>(null);
  /** Whether a click ends hands-free. The click of the press that started hands-free must not end it. */
  const isEnd = useRef(false);
  const isHandsFree = voice.status !== 'off' && voice.how === 'hands-free';
  const isOn = voice.status !== 'off';
  // The times are those of the events, because a busy page handles them late and a tap would count as holding.
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
        // A click by pointer only ends hands-free, since the pointer events do the rest. A click by keyboard does everything.
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
