import type { Mode } from 'duologue/react';
import { DropdownMenu } from 'radix-ui';
import { useMessages } from '../i18n/language.tsx';
import { Choice, ChoiceGroup, MENU } from '../ui/choice-menu.tsx';
import { ConnectionButton, type Travel } from './connection-button.tsx';

/** The menu in which the user chooses the mode. */
export default function ConnectionItems({ onChange, ...travel }: Travel) {
  const { mode: words } = useMessages();
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>
        <ConnectionButton {...travel} />
      </DropdownMenu.Trigger>
      <DropdownMenu.Content align="end" sideOffset={8} collisionPadding={12} className={`w-72 ${MENU}`}>
        <ChoiceGroup label={words.label} value={travel.wanted} onChange={(value) => onChange(value as Mode)}>
          {(['bidi', 'sse'] as const).map((one) => (
            <Choice key={one} value={one}>
              <span>
                <span className="block font-medium">{words[one]}</span>
                <span className="block text-xs text-soft">
                  {one === 'sse' ? words.sseHint : words.bidiHint}
                </span>
              </span>
            </Choice>
          ))}
        </ChoiceGroup>
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  );
}
