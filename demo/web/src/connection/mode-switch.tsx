import type { Mode } from 'duologue/react';
import { ToggleGroup, Tooltip } from 'radix-ui';
import { useMessages } from '../i18n/language.tsx';

/** Chooses how messages travel. `mode` is in force; another `wanted` one takes over after the current answer. */
export function ModeSwitch({
  mode,
  wanted,
  onChange,
}: {
  mode: Mode;
  wanted: Mode;
  onChange: (mode: Mode) => void;
}) {
  const { mode: words } = useMessages();
  return (
    <ToggleGroup.Root
      type="single"
      value={wanted}
      onValueChange={(value) => (value === 'sse' || value === 'bidi') && onChange(value)}
      aria-label={words.label}
      data-mode={mode}
      className="inline-flex rounded-lg bg-sunken p-0.5"
    >
      {(['sse', 'bidi'] as const).map((one) => (
        <Tooltip.Root key={one}>
          <Tooltip.Trigger asChild>
            <ToggleGroup.Item
              value={one}
              className={`h-8 rounded-md px-2.5 text-xs sm:px-3 font-medium text-soft transition-colors hover:text-ink aria-checked:bg-surface aria-checked:text-ink aria-checked:shadow-lift aria-checked:ring-1 aria-checked:ring-line ${wanted === one && mode !== one ? 'animate-pulse' : ''}`}
            >
              {words[one]}
            </ToggleGroup.Item>
          </Tooltip.Trigger>
          <Tooltip.Content
            sideOffset={6}
            className="z-50 animate-fade rounded-md bg-ink px-2 py-1 text-xs text-canvas"
          >
            {one === 'sse' ? words.sseHint : words.bidiHint}
          </Tooltip.Content>
        </Tooltip.Root>
      ))}
    </ToggleGroup.Root>
  );
}
