import { useEffect, useState } from 'react';

/** What can be recorded and played with, as far as the browser tells: names only once the microphone was allowed. */
export function useDevices(): { microphones: MediaDeviceInfo[]; loudspeakers: MediaDeviceInfo[] } {
  const [devices, setDevices] = useState<MediaDeviceInfo[]>([]);
  useEffect(() => {
    let isHere = true;
    const look = () => {
      navigator.mediaDevices?.enumerateDevices().then(
        (all) => {
          if (isHere) setDevices(all);
        },
        () => undefined,
      );
    };
    look();
    navigator.mediaDevices?.addEventListener('devicechange', look);
    return () => {
      isHere = false;
      navigator.mediaDevices?.removeEventListener('devicechange', look);
    };
  }, []);
  const named = (kind: MediaDeviceKind) =>
    devices.filter((one) => one.kind === kind && one.deviceId !== '' && one.deviceId !== 'default');
  return { microphones: named('audioinput'), loudspeakers: named('audiooutput') };
}
