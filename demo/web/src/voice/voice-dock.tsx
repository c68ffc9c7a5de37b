import { type AudioError, energyGate } from 'duologue/client/voice';
import { type Mode, type UseDuologueHelpers, useVoice } from 'duologue/react';
import { AudioLines, CircleAlert, VolumeX } from 'lucide-react';
import { useCallback, useEffect, useState } from 'react';
import { createPortal } from 'react-dom';
import { useLanguage } from '../i18n/language.tsx';
import { Banner } from '../ui/banner.tsx';
import { Button } from '../ui/button.tsx';
import { MicButton } from './mic-button.tsx';
import { DEGREES, useSensitivity } from './sensitivity.ts';
import { useCamera } from './use-camera.ts';
import { useHeard } from './use-heard.ts';
import { useHoldKey } from './use-hold-key.ts';
import { usePreparation } from './use-preparation.ts';
import { VoiceBar } from './voice-bar.tsx';
import { WORDS } from './words.ts';

/** Talking: the microphone beside the place where one writes, and what belongs to it above. */
export default function VoiceDock({
  duologue,
  slot,
  onMode,
  onSpeech,
}: {
  duologue: UseDuologueHelpers;
  /** Where the button stands. */
  slot: HTMLElement | null;
  onMode: (mode: Mode) => void;
  /** Somebody speaks, or nobody: whatever else makes noise may want to know. */
  onSpeech: (isSpeech: boolean) => void;
}) {
  const words = WORDS[useLanguage().language];
  const [sensitivity, setSensitivity] = useSensitivity();
  const [detect] = useState(() => energyGate({ sensitivity: DEGREES[sensitivity] }));
  const voice = useVoice(duologue, { detect });
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<AudioError | null>(null);
  const offline = usePreparation('/voice');
  const camera = useCamera(duologue.live, duologue.session.id, setError);
  const heard = useHeard(duologue.live);

  const { detectWith } = voice;
  useEffect(() => {
    detectWith(energyGate({ sensitivity: DEGREES[sensitivity] }));
  }, [detectWith, sensitivity]);

  const shownError = error ?? (voice.status === 'off' ? voice.error : null);
  const { speaker } = voice;
  useEffect(() => onSpeech(speaker !== null), [onSpeech, speaker]);
  useEffect(() => () => onSpeech(false), [onSpeech]);

  const { interrupt } = duologue;
  useEffect(() => {
    if (speaker !== 'agent') return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape') interrupt();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [speaker, interrupt]);

  const { now, prepare: fetchVoice } = offline;
  const isReady = now.status === 'ready';
  const isLive = duologue.mode === 'bidi';
  const prepare = useCallback(() => {
    setOpen(true);
    setError(null);
    if (!isLive) onMode('bidi');
    if (!isReady) void fetchVoice();
    return isReady;
  }, [isLive, isReady, onMode, fetchVoice]);
  const { press, release } = voice;
  useHoldKey(
    isOpen && isReady,
    () => void press(),
    () => void release(),
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
          text={words.errors[shownError.code]}
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
          text={`${words.fetching(mega(now.bytes), mega(now.total))}. ${words.englishOnly}`}
          look="border-line bg-surface"
        >
          <span className="h-1.5 w-full overflow-hidden rounded-full bg-sunken">
            <span
              role="progressbar"
              aria-label={words.bar}
              aria-valuenow={Math.round((100 * now.bytes) / now.total)}
              style={{ width: `${(100 * now.bytes) / now.total}%` }}
              className="block h-full rounded-full bg-accent transition-[width]"
            />
          </span>
        </Banner>
      ) : null}
      {isOpen && now.status === 'failed' ? (
        <Banner
          id="voice-failed"
          icon={<CircleAlert className="size-4" />}
          text={`${words.fetchFailed} ${now.message}`}
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
          heard={heard}
          isConnected={isConnected}
          sensitivity={sensitivity}
          onSensitivity={setSensitivity}
          onStop={interrupt}
          onClose={close}
          onError={setError}
        />
      ) : null}
    </>
  );
}

function mega(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
