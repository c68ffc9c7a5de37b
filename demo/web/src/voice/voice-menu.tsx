import { Settings2 } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import type { PanelTexts } from '../i18n/panels.ts';
import { Choice, ChoiceGroup, MENU, MenuLine } from '../ui/choice-menu.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import type { Sensitivity } from './sensitivity.ts';
import { type DeviceChoice, STANDARD, type VoiceDevices } from './use-devices.ts';

/** The menu of voice: microphone, speaker, and how readily sound counts as speech. */
export function VoiceMenu({
  devices: { microphone, loudspeaker, look },
  words,
  sensitivity,
  onSensitivity,
}: {
  devices: VoiceDevices;
  words: PanelTexts['voice'];
  sensitivity: Sensitivity;
  onSensitivity: (sensitivity: Sensitivity) => void;
}) {
  return (
    <DropdownMenu.Root modal={false} onOpenChange={(isOpen) => isOpen && look()}>
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
        <Devices label={words.microphone} choice={microphone} standard={words.standard} />
        <MenuLine />
        <Devices label={words.loudspeaker} choice={loudspeaker} standard={words.standard} />
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

function Devices({ label, choice, standard }: { label: string; choice: DeviceChoice; standard: string }) {
  const { all, chosen, choose } = choice;
  return (
    <ChoiceGroup label={label} value={chosen} onChange={choose}>
      <Choice value={STANDARD}>{standard}</Choice>
      {all.map((one) => (
        <Choice key={one.deviceId} value={one.deviceId}>
          <span className="truncate">{one.label || one.kind}</span>
        </Choice>
      ))}
    </ChoiceGroup>
  );
}
