import type { UseVoiceHelpers } from 'duologue/react';
import { Camera, CameraOff, MicOff, MonitorUp, MonitorX, Square, Volume2, VolumeX, X } from 'lucide-react';
import type { PanelTexts } from '../i18n/panels.ts';
import { IconButton } from '../ui/icon-button.tsx';
import { useMedia } from '../ui/use-media.ts';
import { LevelMeter } from './level-meter.tsx';
import { Preview } from './preview.tsx';
import { ProgressBar } from './progress-bar.tsx';
import type { Sensitivity } from './sensitivity.ts';
import type { useCamera } from './use-camera.ts';
import type { VoiceDevices } from './use-devices.ts';
import type { HeardSoFar } from './use-heard.ts';
import { KEY_NAME } from './use-hold-key.ts';
import type { Preparation } from './use-preparation.ts';
import { VoiceMenu } from './voice-menu.tsx';

/** The bar with the state of voice (who speaks, what is on) and with its controls. */
export function VoiceBar({
  voice,
  words,
  camera,
  devices,
  detector,
  heard,
  isConnected,
  sensitivity,
  onSensitivity,
  onStop,
  onClose,
}: {
  voice: UseVoiceHelpers;
  words: PanelTexts['voice'];
  camera: ReturnType<typeof useCamera>;
  devices: VoiceDevices;
  /** The state of the download of the better speech detector; null while hands-free is off. */
  detector: Preparation | null;
  /** The state of the user's last speech, such as interim words or a pending transcription. */
  heard: HeardSoFar;
  isConnected: boolean;
  sensitivity: Sensitivity;
  onSensitivity: (sensitivity: Sensitivity) => void;
  onStop: () => void;
  onClose: () => void;
}) {
  const isTouch = useMedia('(pointer: coarse)');
  const isOn = voice.status !== 'off';
  const isRecording = isOn && voice.status !== 'starting';
  const { shown, show, hide } = camera;
  const isMuted = voice.status === 'paused' && voice.why === 'muted';
  return (
    <section
      aria-label={words.bar}
      data-testid="voice-bar"
      data-speaker={voice.speaker ?? ''}
      data-status={voice.status}
      data-detector={detector?.status ?? ''}
      className="mb-2 animate-rise rounded-2xl border border-line bg-surface px-3 py-2 shadow-lift"
    >
      {heard.text === '' ? null : (
        <p dir="auto" role="status" aria-label={words.heard} className="px-1 pb-2 text-sm text-soft italic">
          {heard.text}
        </p>
      )}
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        {shown ? (
          <Preview
            stream={shown.stream}
            label={shown.source === 'camera' ? words.cameraOn : words.screenOn}
          />
        ) : null}
        <span className="flex min-w-40 grow basis-0 items-center gap-2.5 px-1 text-sm">
          {isRecording ? (
            <span
              role="img"
              aria-label={words.microphoneOn}
              className={`size-2.5 shrink-0 rounded-full bg-bad ${voice.status === 'paused' ? '' : 'animate-breathe'}`}
            />
          ) : null}
          <LevelMeter
            level={voice.level}
            look={voice.speaker === 'agent' ? 'bg-accent' : voice.speaker === 'person' ? 'bg-bad' : 'bg-soft'}
          />
          <span role="status" className="min-w-0">
            {statusOf(voice, words, { heard, isConnected, isTouch })}
          </span>
        </span>
        <span className="ml-auto flex items-center">
          {voice.speaker === 'agent' ? (
            <IconButton label={words.stopSpeaking} onClick={onStop}>
              <Square className="size-3.5 fill-current" />
            </IconButton>
          ) : null}
          {isOn && voice.how === 'hands-free' ? (
            <IconButton
              label={isMuted ? words.unmute : words.mute}
              aria-pressed={isMuted}
              onClick={() => voice.mute(!isMuted)}
              isWarning={isMuted}
            >
              <MicOff className="size-4.5" />
            </IconButton>
          ) : null}
          <IconButton
            label={voice.isSilent ? words.soundOn : words.soundOff}
            aria-pressed={voice.isSilent}
            onClick={() => voice.silence(!voice.isSilent)}
            isWarning={voice.isSilent}
          >
            {voice.isSilent ? <VolumeX className="size-4.5" /> : <Volume2 className="size-4.5" />}
          </IconButton>
          <IconButton
            label={shown?.source === 'camera' ? words.cameraOff : words.camera}
            aria-pressed={shown?.source === 'camera'}
            onClick={() => (shown?.source === 'camera' ? hide() : show('camera'))}
            isWarning={shown?.source === 'camera'}
          >
            {shown?.source === 'camera' ? (
              <CameraOff className="size-4.5" />
            ) : (
              <Camera className="size-4.5" />
            )}
          </IconButton>
          {isTouch ? null : (
            <IconButton
              label={shown?.source === 'screen' ? words.screenOff : words.screen}
              aria-pressed={shown?.source === 'screen'}
              onClick={() => (shown?.source === 'screen' ? hide() : show('screen'))}
              isWarning={shown?.source === 'screen'}
            >
              {shown?.source === 'screen' ? (
                <MonitorX className="size-4.5" />
              ) : (
                <MonitorUp className="size-4.5" />
              )}
            </IconButton>
          )}
          <VoiceMenu
            devices={devices}
            words={words}
            sensitivity={sensitivity}
            onSensitivity={onSensitivity}
          />
          <IconButton label={words.closeBar} onClick={onClose}>
            <X className="size-4.5" />
          </IconButton>
        </span>
      </div>
      {detector?.status === 'fetching' ? (
        <p className="flex flex-col gap-1.5 px-1 pt-2 text-xs text-soft">
          {words.detection.better}
          <ProgressBar label={words.detection.better} bytes={detector.bytes} total={detector.total} />
        </p>
      ) : null}
      {detector?.status === 'failed' ? (
        <p className="px-1 pt-2 text-xs text-soft">{words.detection.failed}</p>
      ) : null}
    </section>
  );
}

/** The state of voice in a few words. */
function statusOf(
  voice: UseVoiceHelpers,
  { status: words }: PanelTexts['voice'],
  { heard, isConnected, isTouch }: { heard: HeardSoFar; isConnected: boolean; isTouch: boolean },
): string {
  if (voice.status === 'paused') return words[voice.why];
  if (voice.status !== 'off' && voice.status !== 'starting' && !isConnected) return words.waiting;
  // The error above the bar says why the microphone is off.
  if (voice.status === 'off' && voice.error?.code === 'deaf') return '';
  if (voice.status === 'hearing') return words.hearing;
  if (voice.speaker === 'agent') return words.agent;
  if (heard.isBeingUnderstood) return words.understanding;
  if (heard.isNothing) return words.nothing;
  if (voice.status === 'off') return isTouch ? words.touch : words.off(KEY_NAME);
  return words[voice.status];
}
