// @vitest-environment jsdom
import { AudioError, type VoiceState } from 'duologue/client/voice';
import { act } from 'react';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { PANEL_TEXTS } from '../src/i18n/panels.ts';
import { type HeardSoFar, useHeard } from '../src/voice/use-heard.ts';
import { VoiceBar } from '../src/voice/voice-bar.tsx';
import { mount, mountHook } from './support/mount.tsx';

beforeEach(() => {
  vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener() {}, removeEventListener() {} }));
  return () => vi.unstubAllGlobals();
});

const nothing = () => undefined;
const later = () => Promise.resolve();
const choice = { all: [], chosen: '', choose: nothing };
const HEARING = { speaker: null, isSilent: false, isBlocked: false };

/** Renders the voice bar in a state, and returns what it shows. */
async function shown(state: VoiceState, heard: Partial<HeardSoFar> = {}) {
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
      heard={{ text: '', isBeingUnderstood: false, isNothing: false, ...heard }}
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

const NOTHING_HEARD = 'I didn’t catch that. Please say it again.';

test.each<[string, VoiceState, Partial<HeardSoFar>, string]>([
  [
    'heard no word, after the button',
    { status: 'off', error: null, ...HEARING },
    { isNothing: true },
    NOTHING_HEARD,
  ],
  [
    'heard no word, hands-free',
    { status: 'listening', how: 'hands-free', ...HEARING },
    { isNothing: true },
    NOTHING_HEARD,
  ],
  [
    'heard no word before, and hears the user again',
    { status: 'hearing', how: 'hands-free', ...HEARING },
    { isNothing: true },
    'You are speaking',
  ],
  [
    'is still at it',
    { status: 'listening', how: 'hands-free', ...HEARING },
    { isBeingUnderstood: true },
    'Understanding…',
  ],
])('the server %s', async (_name, state, heard, says) => {
  expect((await shown(state, heard)).says).toBe(says);
});

test('an empty transcript means for five seconds that no word was heard', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const listeners = new Set<(event: object) => void>();
  const connection = {
    listen(listener: (event: object) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const live = { connection } as unknown as Parameters<typeof useHeard>[0];
  const hook = await mountHook(() => useHeard(live, true));
  const transcript = (data: { text: string; finished: boolean }) =>
    act(async () => {
      for (const tell of listeners) tell({ type: 'chunk', chunk: { type: 'data-transcript', data } });
    });
  await transcript({ text: 'What is', finished: false });
  expect(hook.result).toEqual({ text: 'What is', isBeingUnderstood: false, isNothing: false });
  await hook.again(() => useHeard(live, false));
  expect(hook.result).toEqual({ text: '', isBeingUnderstood: true, isNothing: false });
  await transcript({ text: '', finished: true });
  expect(hook.result).toEqual({ text: '', isBeingUnderstood: false, isNothing: true });
  await act(async () => vi.advanceTimersByTime(5000));
  expect(hook.result).toEqual({ text: '', isBeingUnderstood: false, isNothing: false });
});
