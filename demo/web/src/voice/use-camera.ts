import { AudioError, Camera, type CameraOptions, showPicture } from 'duologue/client/voice';
import type { UseDuologueHelpers } from 'duologue/react';
import { useCallback, useEffect, useRef, useState } from 'react';

/** The camera or screen that is being sent to the model. */
export interface Shown {
  source: NonNullable<CameraOptions['source']>;
  stream: MediaStream;
}

/** A camera or screen for the conversation; null while nothing is shown. */
export function useCamera(
  live: UseDuologueHelpers['live'],
  sessionId: string,
  onError: (error: AudioError) => void,
): { shown: Shown | null; show: (source: Shown['source']) => void; hide: () => void } {
  const [shown, setShown] = useState<Shown | null>(null);
  const camera = useRef<Camera | null>(null);
  const latest = useRef({ live, sessionId });
  useEffect(() => {
    latest.current = { live, sessionId };
  });
  const hide = useCallback(() => {
    camera.current?.stop();
    camera.current = null;
    setShown(null);
  }, []);
  const show = useCallback(
    (source: Shown['source']) => {
      hide();
      const next = new Camera({
        source,
        onPicture: (jpeg) => void showPicture(latest.current.live.connection, jpeg),
        onLost: (error) => {
          hide();
          // No message when the user ends sharing in the browser's own controls.
          if (source === 'camera') onError(error);
        },
      });
      camera.current = next;
      if (latest.current.live.connection.state.status === 'idle')
        latest.current.live.connect(latest.current.sessionId);
      next.start().then(
        (stream) => {
          if (camera.current === next) setShown({ source, stream });
        },
        (cause: unknown) => {
          if (camera.current !== next) return;
          camera.current = null;
          const error = AudioError.from(cause);
          // No error when the user closes the browser's screen picker.
          if (source === 'camera' || error.code !== 'refused') onError(error);
        },
      );
    },
    [hide, onError],
  );
  useEffect(() => hide, [hide]);
  return { shown, show, hide };
}
