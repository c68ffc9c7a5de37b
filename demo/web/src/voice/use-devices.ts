import { AudioError } from 'duologue/client/voice';
import type { UseVoiceHelpers } from 'duologue/react';
import { useCallback, useEffect, useState } from 'react';

/** The one that the browser prefers. */
export const STANDARD = '';

/** Devices of one kind, and the one that is used. */
export interface DeviceChoice {
  all: readonly MediaDeviceInfo[];
  chosen: string;
  choose: (deviceId: string) => void;
}

/** With what one talks and hears. */
export interface VoiceDevices {
  microphone: DeviceChoice;
  loudspeaker: DeviceChoice;
  /** Asks the browser anew: it tells names only once the microphone was allowed. */
  look: () => void;
}

/** What can be recorded and played with, and what is. What cannot be used is told, and the one before goes on. */
export function useDevices(
  { switchMicrophone, switchLoudspeaker }: UseVoiceHelpers,
  onError: (error: AudioError | null) => void,
): VoiceDevices {
  const [devices, setDevices] = useState<readonly MediaDeviceInfo[]>([]);
  const [microphone, setMicrophone] = useState(STANDARD);
  const [loudspeaker, setLoudspeaker] = useState(STANDARD);
  const look = useCallback(() => {
    navigator.mediaDevices?.enumerateDevices().then(setDevices, () => undefined);
  }, []);
  useEffect(() => {
    navigator.mediaDevices?.addEventListener('devicechange', look);
    return () => navigator.mediaDevices?.removeEventListener('devicechange', look);
  }, [look]);
  const choice = (
    kind: MediaDeviceKind,
    wanted: string,
    take: (deviceId: string) => Promise<void>,
    done: (deviceId: string) => void,
  ): DeviceChoice => {
    const all = devices.filter(
      (one) => one.kind === kind && one.deviceId !== STANDARD && one.deviceId !== 'default',
    );
    return {
      all,
      // One that was unplugged is used no more.
      chosen: all.some(({ deviceId }) => deviceId === wanted) ? wanted : STANDARD,
      choose: (deviceId) => {
        onError(null);
        take(deviceId).then(
          () => done(deviceId),
          (cause: unknown) => onError(AudioError.from(cause)),
        );
      },
    };
  };
  return {
    microphone: choice('audioinput', microphone, switchMicrophone, setMicrophone),
    loudspeaker: choice('audiooutput', loudspeaker, switchLoudspeaker, setLoudspeaker),
    look,
  };
}
