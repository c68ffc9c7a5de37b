import { AudioError } from 'duologue/client/voice';
import type { UseVoiceHelpers } from 'duologue/react';
import { Settings2 } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { useState } from 'react';
import { Choice, ChoiceGroup, MENU, MenuLine } from '../ui/choice-menu.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import type { Sensitivity } from './sensitivity.ts';
import { useDevices } from './use-devices.ts';
import type { WORDS } from './words.ts';

const STANDARD = '';

/** With what one talks and hears, and how readily one is heard. */
export function VoiceMenu({
  voice,
  words,
  sensitivity,
  onSensitivity,
  onError,
}: {
  voice: UseVoiceHelpers;
  words: (typeof WORDS)['en'];
  sensitivity: Sensitivity;
  onSensitivity: (sensitivity: Sensitivity) => void;
  onError: (error: AudioError) => void;
}) {
  const { microphones, loudspeakers } = useDevices();
  const [microphone, setMicrophone] = useState(STANDARD);
  const [loudspeaker, setLoudspeaker] = useState(STANDARD);
  const choose = (deviceId: string, take: (id: string) => Promise<void>, done: (id: string) => void) => {
    take(deviceId).then(
      () => done(deviceId),
      (cause: unknown) => onError(AudioError.from(cause)),
    );
  };
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        <IconButton label={words.menu}>
          <Settings2 className="size-4.5" />
        </IconButton>
      </DropdownMenu.Trigger>
      <DropdownMenu.Content
        align="end"
        side="top"
        sideOffset={8}
        collisionPadding={12}
        className={`max-h-[70dvh] w-72 overflow-y-auto ${MENU}`}
      >
        <ChoiceGroup
          label={words.microphone}
          value={microphone}
          onChange={(id) => choose(id, voice.switchMicrophone, setMicrophone)}
        >
          <Choice value={STANDARD}>{words.standard}</Choice>
          <Devices devices={microphones} />
        </ChoiceGroup>
        <MenuLine />
        <ChoiceGroup
          label={words.loudspeaker}
          value={loudspeaker}
          onChange={(id) => choose(id, voice.switchLoudspeaker, setLoudspeaker)}
        >
          <Choice value={STANDARD}>{words.standard}</Choice>
          <Devices devices={loudspeakers} />
        </ChoiceGroup>
        <MenuLine />
        <ChoiceGroup
          label={words.sensitivity}
          value={sensitivity}
          onChange={(value) => onSensitivity(value as Sensitivity)}
        >
          {(['low', 'medium', 'high'] as const).map((id) => (
            <Choice key={id} value={id}>
              {words.sensitivities[id]}
            </Choice>
          ))}
        </ChoiceGroup>
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  );
}

function Devices({ devices }: { devices: readonly MediaDeviceInfo[] }) {
  return devices.map(({ deviceId, label, kind }) => (
    <Choice key={deviceId} value={deviceId}>
      <span className="truncate">{label || kind}</span>
    </Choice>
  ));
}
