import { AudioError } from 'duologue/client/voice';
import type { UseVoiceHelpers } from 'duologue/react';
import { useCallback, useEffect, useState } from 'react';

/** The id that stands for the device that the browser prefers. */
export const STANDARD = '';

/** Devices of one kind, and the one that is used. */
export interface DeviceChoice {
  all: readonly MediaDeviceInfo[];
  chosen: string;
  choose: (deviceId: string) => void;
}

/** The microphones and speakers of the user's device. */
export interface VoiceDevices {
  microphone: DeviceChoice;
  loudspeaker: DeviceChoice;
  /** Asks the browser for the devices again, because it reports their names only after the user has allowed the microphone. */
  look: () => void;
}

/** Keeps the list of devices and the chosen ones. A chosen device that fails is reported, and the device before it stays in use. */
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
      // A device that was unplugged is no longer chosen.
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
