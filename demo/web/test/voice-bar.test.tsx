// @vitest-environment jsdom
import { AudioError, type VoiceState } from 'duologue/client/voice';
import { beforeEach, expect, test, vi } from 'vitest';
import { PANEL_TEXTS } from '../src/i18n/panels.ts';
import { VoiceBar } from '../src/voice/voice-bar.tsx';
import { mount } from './support/mount.tsx';

beforeEach(() => {
  vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener() {}, removeEventListener() {} }));
  return () => vi.unstubAllGlobals();
});

const nothing = () => undefined;
const later = () => Promise.resolve();
const choice = { all: [], chosen: '', choose: nothing };
const HEARING = { speaker: null, isSilent: false, isBlocked: false };

/** Renders the voice bar in a state, and returns what it shows. */
async function shown(state: VoiceState) {
  await mount(
    <VoiceBar
      voice={{
        ...state,
        ...{ start: later, stop: later, press: later, release: later, listen: later },
        ...{ mute: nothing, silence: nothing, dismiss: nothing, detectWith: nothing, level: () => 0 },
        ...{ switchMicrophone: later, switchLoudspeaker: later },
      }}
      words={PANEL_TEXTS.en.voice}
      camera={{ shown: null, show: nothing, hide: nothing }}
      devices={{ microphone: choice, loudspeaker: choice, look: nothing }}
      detector={null}
      heard={{ text: '', isBeingUnderstood: false, isNothing: false }}
      isConnected
      sensitivity="medium"
      onSensitivity={nothing}
      onStop={nothing}
      onClose={nothing}
    />,
  );
  const bar = document.querySelector('[data-testid="voice-bar"]');
  return {
    says: bar?.querySelector('[role="status"]')?.textContent,
    isMicrophoneOn: bar?.querySelector('[aria-label="Microphone on"]') != null,
    pressed: [...(bar?.querySelectorAll('[aria-pressed="true"]') ?? [])].map((one) => one.ariaLabel),
  };
}

const HINT = 'Hold Ctrl or the button to talk, or press the button once';

test.each<[string, VoiceState, Awaited<ReturnType<typeof shown>>]>([
  [
    'off: how to talk',
    { status: 'off', error: null, ...HEARING },
    { says: HINT, isMicrophoneOn: false, pressed: [] },
  ],
  [
    'off, with a model that cannot hear: no invitation to talk to it',
    { status: 'off', error: new AudioError('deaf'), ...HEARING },
    { says: '', isMicrophoneOn: false, pressed: [] },
  ],
  [
    'starting: the browser may ask, and nothing is recorded yet',
    { status: 'starting', how: 'hands-free', ...HEARING },
    {
      says: 'Starting the microphone. Please allow it if the browser asks',
      isMicrophoneOn: false,
      pressed: [],
    },
  ],
  [
    'listening: the microphone is on',
    { status: 'listening', how: 'hands-free', ...HEARING },
    { says: 'Listening', isMicrophoneOn: true, pressed: [] },
  ],
  [
    'muted, the agent speaking unheard: both are told',
    { status: 'paused', how: 'hands-free', why: 'muted', ...HEARING, speaker: 'agent', isSilent: true },
    {
      says: 'Your microphone is muted',
      isMicrophoneOn: true,
      pressed: ['Unmute microphone', 'Unmute assistant'],
    },
  ],
])('%s', async (_name, state, expected) => {
  expect(await shown(state)).toEqual(expected);
});
