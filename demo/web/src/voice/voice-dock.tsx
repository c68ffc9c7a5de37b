import type { AudioError } from 'duologue/client/voice';
import { type Mode, type UseDuologueHelpers, useVoice } from 'duologue/react';
import { AudioLines, CircleAlert, VolumeX } from 'lucide-react';
import { useCallback, useEffect, useState } from 'react';
import { createPortal } from 'react-dom';
import { usePanelTexts } from '../i18n/panels.ts';
import { Banner } from '../ui/banner.tsx';
import { Button } from '../ui/button.tsx';
import { MicButton } from './mic-button.tsx';
import { ProgressBar } from './progress-bar.tsx';
import { useSensitivity } from './sensitivity.ts';
import { useCamera } from './use-camera.ts';
import { useDetector } from './use-detector.ts';
import { useDevices } from './use-devices.ts';
import { useHeard } from './use-heard.ts';
import { KEY_NAME, useHoldKey } from './use-hold-key.ts';
import { usePreparation } from './use-preparation.ts';
import { VoiceBar } from './voice-bar.tsx';

/** Voice: the microphone beside the message box, and the voice bar above. */
export default function VoiceDock({
  duologue,
  slot,
  onMode,
  onSpeech,
}: {
  duologue: UseDuologueHelpers;
  /** The element for the microphone button; null until it is rendered. */
  slot: HTMLElement | null;
  onMode: (mode: Mode) => void;
  /** Called when the user or the agent starts or stops speaking, so that music can be lowered. */
  onSpeech: (isSpeech: boolean) => void;
}) {
  const words = usePanelTexts().voice;
  const [sensitivity, setSensitivity] = useSensitivity();
  const voice = useVoice(duologue);
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<AudioError | null>(null);
  const offline = usePreparation('/voice');
  const camera = useCamera(duologue.live, duologue.session.id, setError);
  const devices = useDevices(voice, setError);
  const heard = useHeard(duologue.live, voice.speaker === 'person');

  const isHandsFree = voice.status !== 'off' && voice.how === 'hands-free';
  const detector = useDetector(isHandsFree, sensitivity, voice.detectWith);

  const shownError = error ?? (voice.status === 'off' ? voice.error : null);
  const { speaker } = voice;
  useEffect(() => onSpeech(speaker !== null), [onSpeech, speaker]);
  useEffect(() => () => onSpeech(false), [onSpeech]);

  const { interrupt } = duologue;
  useEffect(() => {
    if (speaker !== 'agent') return;
    const onKeyDown = (event: KeyboardEvent) => {
      // An open menu or dialog handles Escape itself.
      const isTaken = event.target instanceof Element && event.target.closest('[role=menu], [role=dialog]');
      if (event.key === 'Escape' && !isTaken) interrupt();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [speaker, interrupt]);

  const { now, prepare: fetchVoice } = offline;
  const isReady = now.status === 'ready';
  const isLive = duologue.mode === 'bidi';
  const prepare = useCallback(async () => {
    setOpen(true);
    setError(null);
    if (!isLive) onMode('bidi');
    if (isReady) return true;
    // The microphone does not start by itself when a download ends a minute later.
    return (await fetchVoice()) === 'there';
  }, [isLive, isReady, onMode, fetchVoice]);
  const { press, release } = voice;
  const [isHinted, showHint] = useState(false);
  useHoldKey(
    isOpen && isReady,
    () => {
      // While voice is closed, holding the key only opens it, or shows a hint if its files are missing. Holding it again talks.
      if (isOpen && isReady) void press();
      else if (isReady) void prepare();
      else if (!isOpen) showHint(true);
    },
    () => {
      if (isOpen && isReady) void release();
    },
  );

  const close = () => {
    setOpen(false);
    setError(null);
    camera.hide();
    void voice.stop();
    if (speaker === 'agent') interrupt();
  };
  const isConnected = duologue.connection.status === 'live';
  return (
    <>
      {slot ? createPortal(<MicButton voice={voice} words={words} prepare={prepare} />, slot) : null}
      {shownError ? (
        <Banner
          id="voice-error"
          icon={<CircleAlert className="size-4" />}
          text={words.errors[shownError.code].replace(
            '{device}',
            words.errorDevices[shownError.device ?? 'unknown'],
          )}
          look="border-bad-line bg-bad-tint"
        >
          <Button
            onClick={() => {
              setError(null);
              voice.dismiss();
            }}
          >
            {words.dismiss}
          </Button>
        </Banner>
      ) : null}
      {isHinted && !isOpen ? (
        <Banner
          id="voice-hint"
          icon={<AudioLines className="size-4" />}
          text={words.keyHint(KEY_NAME)}
          look="border-line bg-surface"
        >
          <Button look="accent" onClick={() => void prepare()}>
            {words.switchOn}
          </Button>
          <Button onClick={() => showHint(false)}>{words.dismiss}</Button>
        </Banner>
      ) : null}
      {isOpen && voice.isBlocked ? (
        <Banner
          id="voice-blocked"
          icon={<VolumeX className="size-4" />}
          text={words.blocked}
          look="border-warn-line bg-warn-tint"
        >
          <Button look="accent" onClick={() => void voice.listen()}>
            {words.allow}
          </Button>
        </Banner>
      ) : null}
      {isOpen && now.status === 'fetching' ? (
        <Banner
          id="voice-fetching"
          icon={<AudioLines className="size-4" />}
          text={`${words.fetching(mega(now.bytes), mega(now.total))} ${words.englishOnly}`}
          look="border-line bg-surface"
        >
          <ProgressBar label={words.bar} bytes={now.bytes} total={now.total} />
        </Banner>
      ) : null}
      {isOpen && now.status === 'failed' ? (
        <Banner
          id="voice-failed"
          icon={<CircleAlert className="size-4" />}
          text={`${words.fetchFailed} ${words.fetchReason(now.message)}`}
          look="border-bad-line bg-bad-tint"
        >
          <Button onClick={() => void fetchVoice()}>{words.tryAgain}</Button>
        </Banner>
      ) : null}
      {isOpen && isReady ? (
        <VoiceBar
          voice={voice}
          words={words}
          camera={camera}
          devices={devices}
          detector={isHandsFree ? detector : null}
          heard={heard}
          isConnected={isConnected}
          sensitivity={sensitivity}
          onSensitivity={setSensitivity}
          onStop={interrupt}
          onClose={close}
        />
      ) : null}
    </>
  );
}

function mega(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
