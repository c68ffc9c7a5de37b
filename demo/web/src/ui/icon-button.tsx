import { Tooltip } from 'radix-ui';
import type { ComponentProps, FocusEvent, ReactNode } from 'react';

/** A button with an icon. Its label is its tooltip, and its name for screen readers. */
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
  /** The text of the tooltip, if it says more than the label. */
  hint?: string;
  children: ReactNode;
  isRound?: boolean;
  /** Whether the button shows a state that the user must not forget, such as a camera that is on. */
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

/** Whether the focus returns from a closed menu or dialog. The user has just used the button then, so no tooltip is shown. */
function isGivenBack({ currentTarget, relatedTarget }: FocusEvent): boolean {
  if (!(relatedTarget instanceof Element)) return true;
  const left = relatedTarget.closest('[role=menu], [role=dialog], [role=alertdialog]');
  return left !== null && !left.contains(currentTarget);
}
