import { Tooltip } from 'radix-ui';
import type { ComponentProps, FocusEvent, ReactNode } from 'react';

/** A button that shows a picture, and says its name to a pointer and to a screen reader. */
export function IconButton({
  label,
  hint = label,
  children,
  isRound = false,
  isWarning = false,
  className = '',
  onFocus,
  ...rest
}: ComponentProps<'button'> & {
  label: string;
  /** What a pointer is told, when that is more than the name. */
  hint?: string;
  children: ReactNode;
  isRound?: boolean;
  /** Whether it stands for something that the user must not forget: a camera that is on, a microphone that is muted. */
  isWarning?: boolean;
}) {
  const look = isWarning
    ? 'rounded-lg bg-bad-tint text-bad hover:bg-bad-line'
    : 'rounded-lg text-soft hover:bg-sunken hover:text-ink';
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>
        <button
          type="button"
          aria-label={label}
          {...rest}
          onFocus={(event) => {
            onFocus?.(event);
            if (isGivenBack(event)) event.preventDefault();
          }}
          className={`inline-flex size-9 shrink-0 items-center justify-center transition-colors disabled:pointer-events-none print:hidden ${isRound ? 'rounded-full border border-transparent' : look} ${className}`}
        >
          {children}
        </button>
      </Tooltip.Trigger>
      <Tooltip.Content
        data-tooltip=""
        sideOffset={6}
        collisionPadding={8}
        className="z-50 animate-fade rounded-md bg-ink px-2 py-1 text-xs text-canvas"
      >
        {hint}
      </Tooltip.Content>
    </Tooltip.Root>
  );
}

/** Whether the focus returns from a closed menu or dialog: the user knows the button then, and a tooltip would be in the way. */
function isGivenBack({ currentTarget, relatedTarget }: FocusEvent): boolean {
  if (!(relatedTarget instanceof Element)) return true;
  const left = relatedTarget.closest('[role=menu], [role=dialog], [role=alertdialog]');
  return left !== null && !left.contains(currentTarget);
}
