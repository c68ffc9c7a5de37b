import type { ConnectionState } from 'duologue/client';
import type { Mode } from 'duologue/react';
import { ChevronDown } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { useMessages } from '../i18n/language.tsx';
import { Choice, ChoiceGroup, MENU } from '../ui/choice-menu.tsx';
import { ConnectionBadge } from './badge.tsx';

/**
 * Says how the connection is, and lets the person choose how messages travel. `mode` is in force; another `wanted` one takes
 * over after the current answer.
 */
export function ConnectionMenu({
  mode,
  wanted,
  connection,
  onChange,
}: {
  mode: Mode;
  wanted: Mode;
  connection: ConnectionState;
  onChange: (mode: Mode) => void;
}) {
  const { mode: words } = useMessages();
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger
        data-mode={mode}
        className={`inline-flex h-9 shrink-0 items-center gap-1.5 rounded-lg px-2.5 text-xs text-soft transition-colors hover:bg-sunken hover:text-ink data-[state=open]:bg-sunken ${wanted === mode ? '' : 'animate-pulse'}`}
      >
        <span className="sr-only">{words.label}: </span>
        <ConnectionBadge mode={mode} connection={connection} />
        <ChevronDown className="size-3.5" aria-hidden="true" />
      </DropdownMenu.Trigger>
      <DropdownMenu.Content align="end" sideOffset={8} collisionPadding={12} className={`w-72 ${MENU}`}>
        <ChoiceGroup label={words.label} value={wanted} onChange={(value) => onChange(value as Mode)}>
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
