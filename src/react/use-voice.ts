import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { Voice, type VoiceOptions, type VoiceState } from '../client/voice/index.ts';
import type { UseDuologueHelpers } from './use-duologue.ts';

/** The state of a voice, and its methods. */
export type UseVoiceHelpers = VoiceState &
  Omit<Voice, 'state' | 'subscribe' | 'attach' | 'dispose' | 'level'> & {
    /** Returns the loudness of the current speaker, from 0 to 1. It changes all the time, and causes no render. */
    level(): number;
  };

/**
 * Returns a voice for the conversation of `useDuologue`, in the mode `bidi`. Later changes of `options` have no effect. The voice is disposed
 * of when the component unmounts.
 *
 * @example
 * const chat = useDuologue({ url: '/duologue', mode: 'bidi' });
 * const voice = useVoice(chat);
 * return <button onClick={voice.start}>{voice.status}</button>;
 */
export function useVoice(
  { live, mode, session }: Pick<UseDuologueHelpers, 'live' | 'mode' | 'session'>,
  options: VoiceOptions = {},
): UseVoiceHelpers {
  const [voice] = useState(() => new Voice(options));
  const transport = mode === 'bidi' ? live : null;
  useEffect(() => voice.attach(transport, session.id), [voice, transport, session.id]);
  // This is a separate effect, because the cleanup of the effect above would also run when the transport changes, and would switch the microphone off.
  useEffect(
    () => () => {
      voice.attach(null);
      void voice.dispose();
    },
    [voice],
  );
  const state = useSyncExternalStore(
    voice.subscribe,
    () => voice.state,
    () => voice.state,
  );
  return useMemo(() => {
    const { subscribe: _subscribe, dispose: _dispose, ...actions } = voice;
    return { ...state, ...actions, level: () => voice.level };
  }, [voice, state]);
}
