import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { Voice, type VoiceOptions, type VoiceState } from '../client/voice/index.ts';
import type { UseDuologueHelpers } from './use-duologue.ts';

/** What a voice is doing, and what can be done with it. */
export type UseVoiceHelpers = VoiceState &
  Pick<
    Voice,
    | 'start'
    | 'stop'
    | 'press'
    | 'release'
    | 'mute'
    | 'silence'
    | 'listen'
    | 'dismiss'
    | 'switchMicrophone'
    | 'switchLoudspeaker'
    | 'detectWith'
  > & {
    /** How loud whoever speaks is, from 0 to 1. It changes all the time, so it is asked for. */
    level(): number;
  };

/** A voice for the conversation of `useDuologue`, in its live mode. The options are those of the first call. */
export function useVoice(
  { live, mode, session }: Pick<UseDuologueHelpers, 'live' | 'mode' | 'session'>,
  options: VoiceOptions = {},
): UseVoiceHelpers {
  const [voice] = useState(() => new Voice(options));
  const transport = mode === 'bidi' ? live : null;
  useEffect(() => voice.attach(transport, session.id), [voice, transport, session.id]);
  // Not in the effect above: another transport is no reason to hang up.
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
    const { start, stop, press, release, mute, silence, listen, dismiss } = voice;
    const { switchMicrophone, switchLoudspeaker, detectWith } = voice;
    const level = () => voice.level;
    return {
      ...state,
      ...{ start, stop, press, release, mute, silence, listen, dismiss, level },
      ...{ switchMicrophone, switchLoudspeaker, detectWith },
    };
  }, [voice, state]);
}
