import { Check } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';

/** The classes of a menu item. */
export const MENU_ITEM =
  'flex items-center gap-3 rounded-lg px-3 py-2 outline-none select-none data-highlighted:bg-sunken data-disabled:opacity-50';

/** The classes of a menu. */
export const MENU = 'z-50 animate-fade rounded-2xl border border-line bg-surface p-1.5 text-sm shadow-float';

/** A group of menu items of which one is chosen. */
export function ChoiceGroup({
  label,
  value,
  onChange,
  children,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  children: ReactNode;
}) {
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={onChange} aria-label={label}>
      <DropdownMenu.Label className="px-3 py-1.5 text-xs font-medium text-soft">{label}</DropdownMenu.Label>
      {children}
    </DropdownMenu.RadioGroup>
  );
}

/** An item of a `ChoiceGroup`. */
export function Choice({ value, children }: { value: string; children: ReactNode }) {
  return (
    <DropdownMenu.RadioItem value={value} data-value={value} className={MENU_ITEM}>
      {children}
      <DropdownMenu.ItemIndicator className="ml-auto shrink-0">
        <Check className="size-4 text-accent" aria-hidden="true" />
      </DropdownMenu.ItemIndicator>
    </DropdownMenu.RadioItem>
  );
}

/** The line between groups of menu items. */
export function MenuLine() {
  return <DropdownMenu.Separator className="my-1.5 h-px bg-line" />;
}
